//! Policies over plain facts in the fragment that Dogwood supports, and random traces for them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::case::{Language, PeerCase, parse_events};
use crate::random::Random;

/// Traces that fix the types of values, and traces that are judged, for each policy.
const SAMPLES: usize = 20;
const JUDGED: usize = 120;

/// The policies, and the facts of random events.
const POLICIES: [(&str, &[&str]); 4] = [
    (
        r#"
lictor: 1
name: structuring
properties:
  - {id: limit, formula: 'always forall p. (pays(p, _) -> sum[0,24h](a: pays(p, a)) <= 1000)'}
  - {id: often, formula: 'always forall p. (pays(p, _) -> count[0,1h](pays(p, _)) < 4)'}
  - {id: spread, formula: 'always forall p. (pays(p, _) -> distinct[0,24h](a: pays(p, a)) <= 3)'}
  - {id: large, formula: 'always forall p, a. (pays(p, a) & a > 400 -> once[0,2h] checked(p))'}
"#,
        &["pays(\"eve\",{})", "pays(\"bob\",{})", "checked(\"eve\")", "checked(\"bob\")"],
    ),
    (
        r#"
lictor: 1
name: four-eyes
properties:
  - id: two
    formula: 'always forall c, u. (pays(c, u) -> exists a, b. (once[0,24h] approves(c, a) & once[0,24h] approves(c, b) & a != b & a != u & b != u))'
  - id: own
    formula: 'always forall c, u. (approves(c, u) -> !once opened(c, u))'
  - id: last
    formula: 'always forall c, u. (pays(c, u) -> !opened(c, u) since approves(c, _))'
"#,
        &[
            "pays(\"c1\",\"ann\")",
            "pays(\"c2\",\"bob\")",
            "approves(\"c1\",\"bob\")",
            "approves(\"c1\",\"cid\")",
            "approves(\"c2\",\"ann\")",
            "approves(\"c2\",\"cid\")",
            "opened(\"c1\",\"bob\")",
            "opened(\"c2\",\"ann\")",
        ],
    ),
    (
        r#"
lictor: 1
name: grants
properties:
  - {id: granted, formula: 'always forall u. (acts(u) -> (!revoked(u)) since[0,8h] granted(u))'}
  - {id: quiet, formula: 'always (alarm -> !(previous alarm) | once[0,10m] checked)'}
  - {id: calm, formula: 'always forall u. (acts(u) -> historically[0,30m] !alarm)'}
  - {id: either, formula: 'always forall u. (acts(u) -> once[0,1h] granted(u) | once[0,2h] checked)'}
  - {id: stepwise, formula: 'always (alarm -> once[0,3] checked)'}
"#,
        &["acts(\"u\")", "acts(\"v\")", "granted(\"u\")", "granted(\"v\")", "revoked(\"u\")", "alarm", "checked"],
    ),
    (
        r#"
lictor: 1
name: cool-down
properties:
  - {id: rests, formula: 'always forall t. (call(t) -> !once[0,10m] (failed(t) & count[0,30m](failed(t)) >= 3))'}
  - {id: budget, formula: 'always (spent -> sum[0,6h](n: cost(n)) < 900)'}
  - {id: paired, formula: 'always forall t. (failed(t) -> exists n. (once[0,1h] cost(n) & n > 50))'}
"#,
        &["call(\"a\")", "call(\"b\")", "failed(\"a\")", "failed(\"b\")", "cost({})", "spent"],
    ),
];

/// Returns the policies with judged traces, for Dogwood.
pub(crate) fn judge_all() -> Result<Value, String> {
    let mut written = Vec::new();
    for (place, (policy, facts)) in POLICIES.iter().enumerate() {
        let mut random = Random::new(place as u64);
        let sample: String = (0..SAMPLES).map(|_| trace(facts, &mut random)).collect();
        let mut judged = PeerCase::parse(policy, Language::Dogwood, &parse_events(&sample)?)?;
        for number in 0..JUDGED {
            judged.add_trace(&number.to_string(), false, &trace(facts, &mut random))?;
        }
        written.push(judged.into_json());
    }
    Ok(Value::Array(written))
}

/// Returns a trace with up to three facts per event, all with different names; some events have the same time.
fn trace(facts: &[&str], random: &mut Random) -> String {
    let mut time = 0;
    let mut lines = String::new();
    for _ in 0..random.below(25) + 5 {
        time += random.of(&[0, 60, 300, 600, 1800, 3600, 7200, 20000]);
        let mut chosen: Vec<String> = Vec::new();
        let mut names = BTreeSet::new();
        for _ in 0..random.below(3) + 1 {
            let fact = random.of(facts).replace("{}", &(random.below(40) * 20).to_string());
            if names.insert(fact.split('(').next().unwrap_or_default().to_owned()) {
                chosen.push(fact);
            }
        }
        lines.push_str(&json!({"time": time, "facts": chosen}).to_string());
        lines.push('\n');
    }
    lines
}
