//! Lictor and Dogwood reach the same decisions: on Dogwood's own cases, and on Lictor's exports.

use std::collections::{BTreeMap, BTreeSet};

use lictor_peers::dogwood::DogwoodComparison;
use lictor_peers::dogwood::corpus::{Outcome, cases};
use lictor_peers::random::Random;
use lictor_peers::rego::events;
use lictor_translate::import::dogwood::REASONS;

/// The least number of Dogwood's cases with past operators that must be reproduced.
const REPRODUCED: usize = 736;

#[test]
fn dogwood_cases_are_reproduced_or_refused() {
    let mut table: BTreeMap<(bool, String), usize> = BTreeMap::new();
    let (mut decisions, mut disagreeing) = (0, Vec::new());
    for case in cases().unwrap() {
        let key = match case.run() {
            Outcome::Reproduced(count) => {
                decisions += count;
                "reproduced".to_owned()
            }
            Outcome::Refused(reason, message) => {
                assert!(REASONS.contains(&reason.as_str()), "{}: {message}", case.name);
                format!("refused: {reason}")
            }
            Outcome::Disagrees(message) => {
                disagreeing.push(message);
                "disagreeing".to_owned()
            }
        };
        *table.entry((case.is_temporal, key)).or_default() += 1;
    }
    for ((is_temporal, key), count) in &table {
        println!("{:<10} {key:<28} {count:>5}", if *is_temporal { "looks back" } else { "plain" });
    }
    println!("{} cases, {decisions} decisions reproduced", table.values().sum::<usize>());
    assert!(disagreeing.is_empty(), "{}", disagreeing.join("\n\n"));
    let of = |is_temporal: bool, key: &str| table.get(&(is_temporal, key.to_owned())).copied().unwrap_or_default();
    assert!(of(true, "reproduced") >= REPRODUCED, "{table:?}");
    // The importer parses everything that Dogwood parses.
    assert_eq!(of(true, "refused: dogwood.syntax") + of(false, "refused: dogwood.syntax"), 0, "{table:?}");
    assert!(decisions > 4400, "{decisions}");
}

/// Policies in the fragment that Dogwood supports, and the facts of random events.
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
        lines.push_str(&serde_json::json!({"time": time, "facts": chosen}).to_string());
        lines.push('\n');
    }
    lines
}

#[test]
fn exported_policies_get_same_decisions_in_dogwood() {
    for (place, (policy, facts)) in POLICIES.iter().enumerate() {
        let mut random = Random::new(place as u64);
        let sample: String = (0..20).map(|_| trace(facts, &mut random)).collect();
        let mut both = DogwoodComparison::new(policy, &events(&sample).unwrap()).unwrap();
        let mut broken: BTreeMap<String, usize> = BTreeMap::new();
        for _ in 0..120 {
            let lines = trace(facts, &mut random);
            let events = events(&lines).unwrap();
            let (ours, theirs) = (both.ours(&events).unwrap(), both.theirs(&events).unwrap());
            assert_eq!(ours, theirs, "{policy}\n{lines}");
            ours.into_iter().for_each(|(_, property)| *broken.entry(property).or_default() += 1);
        }
        println!("{broken:?}, left out {:?}", both.left_out);
        // Engines without any violation would agree as well.
        let properties = policy.matches("id: ").count() - both.left_out.len();
        assert_eq!(broken.len(), properties, "{broken:?}");
        assert!(broken.values().all(|count| *count > 10), "{broken:?}");
    }
}
