//! Every event is decided before it takes effect, and a blocked event is not in the trace.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use lictor_audit::{AuditOptions, sessions};
use lictor_decode::Format;
use lictor_decode::input::Input;
use lictor_event::{Event, Kind};
use lictor_judge::Judge;
use lictor_judge::guard::{
    Action, Capabilities, Cause, Decision, Guard, GuardOptions, Refusal, SavedGuardSession, SavedMoments, late_line,
};
use lictor_judge::session::Session;
use lictor_logic::Time;
use lictor_policy::{FileResolver, Policy};
use proptest::prelude::*;
use serde_json::Value;

fn judge(policy: &str) -> Judge {
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    Judge::new(&loaded.policy).unwrap()
}

fn guard(policy: &str) -> Guard {
    Guard::new(judge(policy), GuardOptions::default())
}

/// Returns a guard of its own by [`RULES`], which are compiled once.
fn usual_guard() -> Guard {
    static JUDGE: LazyLock<Judge> = LazyLock::new(|| judge(RULES));
    Guard::new(JUDGE.fork(), GuardOptions::default())
}

fn events(lines: &str) -> Vec<Event> {
    let input = Input::from_bytes("log", lines.to_owned().into_bytes());
    let found = sessions(&[input], &AuditOptions::default().format(Some(Format::Native))).unwrap().sessions;
    let mut events: Vec<Event> = found.into_iter().flat_map(|(_, events)| events).collect();
    events.sort_by_key(|event| event.source.line);
    events
}

fn decisions(guard: &mut Guard, lines: &str) -> Vec<Decision> {
    let decided: Vec<Decision> = events(lines).iter().map(|event| guard.decide(event, None)).collect();
    decided.iter().for_each(|decision| assert_described(&decision.line()));
    decided
}

/// Every line that a guard answers with is as the schema says.
fn assert_described(line: &str) {
    static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
        jsonschema::validator_for(&serde_json::from_str(lictor_judge::guard::SCHEMA).unwrap()).unwrap()
    });
    let value: Value = serde_json::from_str(line).unwrap();
    let complaints: Vec<String> = SCHEMA.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(complaints.is_empty(), "{line}\n{complaints:?}");
}

/// The schemas are printed one by one, so both contain their shared definitions.
#[test]
fn finding_schema_agrees_in_decisions_and_reports() {
    let [decision, report]: [Value; 2] =
        [lictor_judge::guard::SCHEMA, lictor_audit::report::SCHEMA].map(|text| serde_json::from_str(text).unwrap());
    for (name, shape) in decision["$defs"].as_object().unwrap() {
        let other = &report["$defs"][name];
        assert!(other.is_null() || other == shape, "{name}");
    }
    let wrong = serde_json::json!({"lictor": 1, "type": "decision", "action": "perhaps", "line": 1, "step": null});
    assert!(!jsonschema::is_valid(&decision, &wrong));
}

#[test]
fn forecast_of_decision_is_described_by_schema() {
    let chain = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/scenes/files/chain.json");
    let text = format!(
        "{{lictor: 1, name: p, properties: [{{id: a, formula: 'always !tool_call(\"drop\")', respond: block}}], \
         predict: {{chain: '{chain}', within: 2, risk: 0.6, intervene: [stop]}}}}"
    );
    let policy = Policy::parse(&text, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}")).policy;
    let judge = Judge::new(&policy).unwrap();
    let foresight = lictor_judge::Foresight::open(&judge, &policy).unwrap_or_else(|problem| panic!("{problem}"));
    let mut guard = Guard::new(judge, GuardOptions::default()).foreseeing(foresight);
    let lines = "{\"session\":\"s\",\"kind\":\"user_message\",\"text\":\"Tidy up.\"}\n\
                 {\"session\":\"s\",\"kind\":\"tool_call\",\"tool\":\"open_shell\",\"args\":{}}\n";
    let decided = decisions(&mut guard, lines);
    assert!(decided[1].action == Action::Block && decided[1].forecast.is_some());
}

fn actions(decisions: &[Decision]) -> Vec<Action> {
    decisions.iter().map(|decision| decision.action).collect()
}

fn shopper(log: &str) -> Vec<Decision> {
    let path = |name: &str| format!("{}/../../examples/shopper/{name}", env!("CARGO_MANIFEST_DIR"));
    let policy = std::fs::read_to_string(path("policy.yaml")).unwrap();
    let log = std::fs::read_to_string(path(log)).unwrap();
    decisions(&mut guard(&policy), &log)
}

#[test]
fn guard_blocks_shopper_dialogues_at_the_violation() {
    assert!(shopper("benign.jsonl").iter().all(|decision| decision.action == Action::Forward));
    for (log, property) in [
        ("consent-bypass.jsonl", "gdpr/consent-before-processing"),
        ("purpose-laundering.jsonl", "gdpr/purpose-limitation"),
        ("post-erasure-recall.jsonl", "gdpr/right-to-erasure"),
    ] {
        let decisions = shopper(log);
        let (last, before) = decisions.split_last().unwrap();
        assert!(before.iter().all(|decision| decision.action == Action::Forward), "{log}");
        assert_eq!(last.action, Action::Block, "{log}");
        assert_eq!(last.step, None);
        assert!(last.objections.iter().any(|objection| objection.property.id == property), "{log}");
        let message = last.message.as_deref().unwrap();
        assert!(message.contains(property) && message.contains("What would be right"), "{message}");
    }
}

#[test]
fn guard_redacts_unnecessary_data_and_forwards() {
    let decisions = shopper("over-collection.jsonl");
    let last = decisions.last().unwrap();
    assert_eq!(last.action, Action::Redact);
    let rewritten = last.rewritten.as_ref().unwrap();
    let args = rewritten.to_json().get("args").unwrap().to_string();
    assert_eq!(args, r#"{"email":"alice@example.com","order_id":"A-7421"}"#);
    assert_eq!(last.step, Some(5));
    let taken: Vec<String> = last.redactions.iter().map(ToString::to_string).collect();
    assert_eq!(taken, ["args.dob (dob)", "args.gov_id (gov_id)"]);
}

/// A call without its filter would be about everything.
#[test]
fn redacted_call_keeps_its_arguments() {
    let mut guard = guard(
        "lictor: 1\nname: p\nproperties:\n  - {id: no-person, formula: 'always forall c. !(tool_call & carries(c))', respond: redact}\n",
    );
    for (args, wanted) in [
        (r#"{"email":"ann@example.org"}"#, r#"{"email":"[redacted]"}"#),
        (r#"{"filter":{"email":"ann@example.org"},"all":true}"#, r#"{"filter":{"email":"[redacted]"},"all":true}"#),
        (r#"{"phone":"+49 170 1234567","limit":5}"#, r#"{"phone":"[redacted]","limit":5}"#),
        (r#"{"phone":491701234567}"#, r#"{"phone":"[redacted]"}"#),
        (r#"{"emails":["ann@example.org","bob"]}"#, r#"{"emails":["[redacted]","[redacted]"]}"#),
        (r#"{"email":{"ann@example.org":true}}"#, r#"{"email":{"[redacted]":"[redacted]"}}"#),
    ] {
        let decided = decisions(&mut guard, &format!(r#"{{"kind":"tool_call","tool":"find","args":{args}}}"#));
        assert_eq!(decided[0].action, Action::Redact, "{args}");
        let rewritten = decided[0].rewritten.as_ref().unwrap().to_json();
        assert_eq!(rewritten.get("args").unwrap().to_string(), wanted);
    }
}

const RULES: &str = r#"
lictor: 1
name: rules
properties:
  - {id: pay-once, formula: 'always (tool_call("pay") -> !previous once tool_call("pay"))', respond: block}
  - {id: ask-delete, formula: 'always !tool_call("delete")', respond: ask}
  - {id: no-secrets, formula: 'always forall c. (carries(c) -> !special(c))', respond: redact}
  - {id: greet, formula: 'always (tool_call("greet") -> once user_message)', respond: steer}
  - {id: quiet, formula: 'always !tool_call("shout")', respond: block, mode: shadow}
  - {id: small, formula: 'always !(tool_call("move") & argument("amount", _))', respond: warn, unknown: block}
"#;

#[test]
fn guard_blocks_second_of_two_conflicting_calls() {
    let mut guard = usual_guard();
    let decided = decisions(
        &mut guard,
        r#"{"kind":"tool_call","id":"a","tool":"pay","args":{}}
{"kind":"tool_call","id":"b","tool":"pay","args":{}}
{"kind":"tool_result","id":"b","text":"late"}
{"kind":"tool_call","id":"c","tool":"pay","args":{}}"#,
    );
    assert_eq!(actions(&decided), [Action::Forward, Action::Block, Action::Forward, Action::Block]);
    assert_eq!(decided.iter().map(|decision| decision.step).collect::<Vec<_>>(), [Some(1), None, Some(2), None]);
}

#[test]
fn anywhere_finds_nested_and_respelled_arguments() {
    let mut guard = guard(
        r#"
lictor: 1
name: accounts
facts:
  pays(account): {on: tool_call(transfer), each: 'args.anywhere("iban") + args.anywhere("account")', account: it}
properties:
  - {id: not-there, formula: 'always !pays("X1")', respond: block}
"#,
    );
    let decided = decisions(
        &mut guard,
        r#"{"kind":"tool_call","tool":"transfer","args":{"iban":"X1"}}
{"kind":"tool_call","tool":"transfer","args":{"IBAN":"X1"}}
{"kind":"tool_call","tool":"transfer","args":{"payment":{"to":[{"i_ban":"X1"}]}}}
{"kind":"tool_call","tool":"transfer","args":{"Account":"X1"}}
{"kind":"tool_call","tool":"transfer","args":"{\"iban\":\"X1\""}
{"kind":"tool_call","tool":"transfer","args":{"note":"X1","iban":"X2"}}"#,
    );
    let stopped = [Action::Block; 5];
    assert_eq!(actions(&decided), stopped.into_iter().chain([Action::Forward]).collect::<Vec<_>>());
}

#[test]
fn guard_steers_model_and_shadow_only_reports() {
    let mut guard = usual_guard();
    let decided = decisions(
        &mut guard,
        "{\"kind\":\"tool_call\",\"tool\":\"greet\",\"args\":{}}\n{\"kind\":\"tool_call\",\"tool\":\"shout\",\"args\":{}}",
    );
    assert_eq!(actions(&decided), [Action::Steer, Action::Forward]);
    assert!(decided[0].message.as_deref().unwrap().contains("greet"));
    assert_eq!(decided[1].objections.len(), 1, "it is still written down");
}

#[test]
fn unknown_argument_gets_configured_response() {
    let mut guard = usual_guard();
    let decided = decisions(
        &mut guard,
        r#"{"kind":"tool_call","tool":"move","args":{"to":"x"}}
{"kind":"tool_call","tool":"move","args":"{\"amount\": 5"}
{"kind":"tool_call","tool":"look","args":"{\"amount\": 5"}"#,
    );
    assert_eq!(actions(&decided), [Action::Forward, Action::Block, Action::Forward]);
    assert!(matches!(decided[1].objections[0].why, Cause::Unknown));
}

#[test]
fn unknown_fact_blocks_later_dependent_call() {
    let policy = r#"
lictor: 1
name: later
facts:
  agreed: {ask: "Does the user agree?", of: user_message}
properties:
  - {id: agreed-first, formula: 'always (tool_call("sell") -> once agreed)', respond: block}
"#;
    let mut guard = guard(policy);
    let decided = decisions(
        &mut guard,
        r#"{"kind":"user_message","text":"well"}
{"kind":"tool_call","tool":"look","args":{}}
{"kind":"tool_call","tool":"sell","args":{}}
{"kind":"user_message","text":"yes","labels":["agreed"]}
{"kind":"tool_call","tool":"sell","args":{}}"#,
    );
    let wanted = [Action::Forward, Action::Forward, Action::Block, Action::Forward, Action::Forward];
    assert_eq!(actions(&decided), wanted);
}

#[test]
fn approval_allows_denies_or_expires() {
    let mut guard = usual_guard();
    let decided = decisions(
        &mut guard,
        r#"{"time":"2026-05-01T10:00:00Z","kind":"tool_call","id":"a","tool":"delete","args":{}}
{"time":"2026-05-01T10:01:00Z","kind":"approval","id":"a","by":"ann"}
{"time":"2026-05-01T10:02:00Z","kind":"tool_call","id":"b","tool":"delete","args":{}}
{"time":"2026-05-01T10:03:00Z","kind":"denial","id":"b","by":"ann"}
{"time":"2026-05-01T10:04:00Z","kind":"tool_call","id":"c","tool":"delete","args":{}}
{"time":"2026-05-01T11:04:01Z","kind":"approval","id":"c","by":"ann"}"#,
    );
    assert_eq!(decided[0].action, Action::Ask);
    assert_eq!((decided[0].approval_id.as_deref(), decided[0].step), (Some("a"), None));
    let settled = |place: usize| &decided[place].settled[..];
    assert_eq!(settled(1).len(), 1);
    assert_eq!((settled(1)[0].action, settled(1)[0].step), (Action::Forward, Some(2)));
    assert_eq!(settled(1)[0].objections[0].waived_by.as_deref(), Some("ann"));
    assert_eq!(
        (settled(3)[0].action, settled(3)[0].refused.clone()),
        (Action::Block, Some(Refusal::Denied("ann".into())))
    );
    assert_eq!((settled(5)[0].action, settled(5)[0].refused.clone()), (Action::Block, Some(Refusal::Late)));
    assert_eq!(settled(5).len(), 1, "an answer that comes too late allows nothing");
}

#[test]
fn approval_does_not_cover_other_violations() {
    let policy = r#"
lictor: 1
name: two
properties:
  - {id: ask, formula: 'always !tool_call("delete")', respond: ask}
  - {id: frozen, formula: 'always (tool_call("delete") -> !once tool_call("freeze"))', respond: block}
"#;
    let mut guard = guard(policy);
    let decided = decisions(
        &mut guard,
        r#"{"kind":"tool_call","id":"a","tool":"delete","args":{}}
{"kind":"tool_call","id":"f","tool":"freeze","args":{}}
{"kind":"approval","id":"a","by":"ann"}"#,
    );
    assert_eq!(actions(&decided), [Action::Ask, Action::Forward, Action::Forward]);
    assert_eq!(decided[2].settled[0].action, Action::Block, "it is judged again, as things are then");
}

#[test]
fn passed_deadline_does_not_block_next_event() {
    let policy = r#"
lictor: 1
name: late
properties:
  - {id: answer, formula: 'always (user_message -> eventually[0,10s] assistant_message)', respond: block, after: reset}
"#;
    let mut guard = guard(policy);
    let decided = decisions(
        &mut guard,
        r#"{"time":0,"kind":"user_message","text":"hi"}
{"time":60,"kind":"tool_call","tool":"look","args":{}}"#,
    );
    assert_eq!(actions(&decided), [Action::Forward, Action::Forward]);
    assert_eq!(decided[1].objections.len(), 1);
    let (late, _) = guard.tick(Time::from_seconds(100));
    assert!(late.is_empty(), "it was told once");
    decisions(&mut guard, r#"{"time":200,"kind":"user_message","text":"hi"}"#);
    let (late, _) = guard.tick(Time::from_seconds(300));
    assert_eq!(late.len(), 1);
    assert_described(&late_line(&late[0]));
}

/// Lines of calls and messages, some of which violate something.
fn lines() -> impl Strategy<Value = String> {
    let line = (0..9usize, 0..3usize).prop_map(|(what, session)| {
        let what = match what {
            0 => r#""kind":"user_message","text":"my son has asthma, write to Bob@x.org""#,
            1 => r#""kind":"tool_call","tool":"pay","args":{"to":"x"}"#,
            2 => r#""kind":"tool_call","id":"d","tool":"delete","args":{}"#,
            3 => r#""kind":"approval","id":"d","by":"ann""#,
            4 => r#""kind":"denial","id":"d","by":"ann""#,
            5 => r#""kind":"tool_call","tool":"note","args":{"diagnosis":"asthma","text":"ok","n":[1,{"mail":"bob@x.org"}]}"#,
            6 => r#""kind":"tool_call","tool":"move","args":"{\"amount\": 5""#,
            7 => r#""kind":"tool_call","tool":"greet","args":{}"#,
            _ => r#""kind":"assistant_message","text":"diabetes is not asthma""#,
        };
        format!("{{\"session\":\"s{session}\",{what}}}")
    });
    prop::collection::vec(line, 1..16).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::cases(32), ..ProptestConfig::default() })]

    /// The accepted trace holds the forwarded events as they were forwarded. Judged by itself it violates nothing that
    /// would have been blocked.
    #[test]
    fn blocked_event_leaves_accepted_trace_unchanged(lines in lines()) {
        let mut guard = usual_guard();
        let mut accepted: Vec<(String, Event)> = Vec::new();
        for decision in decisions(&mut guard, &lines) {
            for decision in std::iter::once(&decision).chain(&decision.settled) {
                prop_assert_eq!(decision.step.is_some(), decision.action.takes_effect());
                if decision.action.takes_effect() {
                    let event = decision.rewritten.as_deref().unwrap_or(&decision.event).clone();
                    let name = event.session.clone().unwrap_or_default().to_string();
                    let before = accepted.iter().filter(|(session, _)| *session == name).count();
                    prop_assert_eq!(decision.step, Some(before as u32 + 1));
                    accepted.push((name, event));
                }
            }
        }
        let mut judge = judge(RULES);
        for name in ["s0", "s1", "s2"] {
            let mut session = Session::new(&mut judge, name);
            for (_, event) in accepted.iter().filter(|(session, _)| session == name) {
                for finding in session.observe(&mut judge, event).unwrap() {
                    let id = finding.property.id.as_str();
                    prop_assert!(!["pay-once", "no-secrets"].contains(&id), "{} in\n{}", id, lines);
                }
            }
        }
    }

    /// Equal events get equal decisions.
    #[test]
    fn guard_decisions_are_deterministic(lines in lines()) {
        let told = |decisions: Vec<Decision>| {
            let one = |decision: &Decision| (decision.action, decision.step, decision.message.clone());
            decisions.iter().map(|decision| (one(decision), decision.settled.iter().map(one).collect::<Vec<_>>())).collect::<Vec<_>>()
        };
        prop_assert_eq!(told(decisions(&mut usual_guard(), &lines)), told(decisions(&mut usual_guard(), &lines)));
    }

    /// A session that was saved in parts and restored continues unchanged.
    #[test]
    fn saved_session_continues_after_restore(lines in lines()) {
        let told = |decision: &Decision| (decision.action, decision.step, decision.message.clone(), decision.settled.len());
        let events = events(&lines);
        let (mut one, mut other) = (usual_guard(), usual_guard());
        let mut kept: BTreeMap<String, (SavedGuardSession, Vec<SavedMoments>, usize)> = BTreeMap::new();
        for event in &events {
            let name = event.session.clone().unwrap_or_default().to_string();
            if let Some((saved, parts, total)) = kept.get(&name) {
                let text = serde_json::to_string(saved).unwrap();
                let mut saved: SavedGuardSession = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(saved.clone().put_moments([], *total), *total == 0, "what is missing is noticed");
                prop_assert!(saved.put_moments(parts.iter().cloned(), *total));
                other.restore(&saved).unwrap();
            }
            let (first, second) = (one.decide(event, None), other.decide(event, None));
            prop_assert_eq!(told(&first), told(&second));
            let (parts, from) = kept.remove(&name).map_or((Vec::new(), 0), |(_, parts, total)| (parts, total));
            let (mut stands, total) = other.save(&name, from).unwrap();
            let parts = parts.into_iter().chain([stands.take_moments()]).collect();
            kept.insert(name.clone(), (stands, parts, total));
            other.release(&name);
        }
    }

    /// A redacted event needs no further redaction.
    #[test]
    fn redaction_is_idempotent(lines in lines()) {
        for decision in decisions(&mut usual_guard(), &lines) {
            if let Some(rewritten) = decision.rewritten.filter(|_| decision.action == Action::Redact) {
                let again = usual_guard().decide(&*rewritten, None);
                prop_assert!(again.redactions.is_empty(), "{:?}", again.redactions);
            }
        }
    }
}

const LIMITED: &str = r#"
lictor: 1
name: limited
properties:
  - {id: ask, says: A person allows it., formula: 'always !tool_call("delete")', respond: ask}
  - {id: mask, says: No address leaves., formula: 'always (tool_call("send") -> !carries("email"))', respond: redact}
  - {id: twice, says: Two are enough., formula: 'at_most(2, tool_call("send"))', respond: block}
  - {id: tested, says: Edits are tested., formula: 'always (tool_call("edit") -> eventually tool_call("test"))'}
"#;

#[test]
fn unsupported_action_is_blocked_and_leaves_no_trace() {
    let mut guard = guard(LIMITED);
    let none = Capabilities { rewrite: false, ask: false };
    let calls = events(
        r#"{"kind":"tool_call","tool":"delete","id":"d"}
           {"kind":"tool_call","tool":"send","args":{"to":"ann@example.com"}}
           {"kind":"tool_call","tool":"send","args":{"to":"ann@example.com"}}
           {"kind":"tool_call","tool":"send","args":{}}
           {"kind":"tool_call","tool":"send","args":{}}
           {"kind":"tool_call","tool":"send","args":{}}"#,
    );
    let decided: Vec<Decision> = calls.iter().map(|call| guard.decide_within(none, call, None)).collect();
    let (go, stop) = (Action::Forward, Action::Block);
    assert_eq!(actions(&decided), [stop, stop, stop, go, go, stop], "what was not sent does not count");
    assert!(!guard.waits("log", "d"), "nothing waits that nobody asks about");
    let said = |place: usize| decided[place].message.clone().unwrap();
    assert!(said(0).contains("a person would have to allow it, and no reviewer can be asked here"), "{}", said(0));
    assert!(said(1).contains("It may go on without args.to (email)"), "{}", said(1));
    assert_eq!(guard.decide(&calls[0], None).action, Action::Ask);
}

#[test]
fn owed_query_does_not_end_session() {
    let mut guard = guard(LIMITED);
    let calls = events("{\"kind\":\"tool_call\",\"tool\":\"edit\"}\n{\"kind\":\"tool_call\",\"tool\":\"test\"}");
    let session = calls[0].session.clone().unwrap_or_default();
    assert!(guard.owed(&session).is_empty(), "there is no such session yet");
    for _ in 0..2 {
        guard.decide(&calls[0], None);
        for _ in 0..2 {
            let owed = guard.owed(&session);
            assert_eq!(owed.len(), 1);
            assert!(owed[0].owed.as_deref().unwrap().contains("tool_call(\"test\")"), "{owed:?}");
        }
        guard.decide(&calls[1], None);
        assert!(guard.owed(&session).is_empty());
    }
}

#[test]
fn denial_does_not_name_the_erased_person() {
    let text = r#"
lictor: 1
name: erasure
properties:
  - id: forgotten
    formula: forall s. always (erasure(s) implies always !discloses(s))
    respond: block
"#;
    let mut guard = guard(text);
    let mut decide = |line: &str| {
        let event = &events(line)[0];
        guard.decide(event, None)
    };
    decide(r#"{"session":"s","kind":"erasure","subjects":["zoe@example.org"]}"#);
    let said = r#"{"session":"s","kind":"assistant_message","text":"Write to zoe@example.org, order \"7\"."}"#;
    let decision = decide(said);
    let message = decision.message.unwrap_or_default();
    assert!(message.contains("erasure(somebody)") && message.contains("discloses(somebody)"), "{message}");
    assert!(!message.contains("zoe"), "{message}");
    assert!(format!("{:?}", decision.objections).contains("zoe"), "whoever reads the log is told");
}

/// A policy with one property that blocks, also on unknown.
fn one(facts: &str, formula: &str) -> Guard {
    guard(&format!(
        "lictor: 1\nname: p\nfacts:\n  {facts}\nproperties:\n  - {{id: one, formula: '{formula}', respond: block, unknown: block}}\n"
    ))
}

#[test]
fn limit_holds_for_every_number_spelling() {
    let pay = |amount: &str| format!("{{\"kind\":\"tool_call\",\"tool\":\"pay\",\"args\":{{\"amount\":{amount}}}}}\n");
    let fact = "pays(a): {on: tool_call(pay), a: args.amount}";
    for formula in [
        "always (pays implies sum(a: pays(a)) <= 1000)",
        "always (pays implies max(a: pays(a)) <= 1000)",
        "always forall a. (pays(a) -> a <= 1000)",
    ] {
        for strange in ["\"1000000\"", "[1000000]", "{\"n\":1000000}"] {
            let mut guard = one(fact, formula);
            let decided = decisions(&mut guard, &(pay("9.99") + &pay(strange) + &pay("2") + &pay("1000000")));
            let expected = [Action::Forward, Action::Block, Action::Forward, Action::Block];
            // A text is compared by its form, and is no number below the limit.
            assert_eq!(actions(&decided), expected, "{formula} {strange}");
        }
    }
}

#[test]
fn gap_blocks_dependent_future_formulas() {
    let message = r#"{"seq":1,"kind":"user_message","text":"x"}"#;
    let pay = r#"{"seq":3,"kind":"tool_call","tool":"pay","args":{}}"#;
    let read = r#"{"seq":3,"kind":"tool_call","tool":"read","args":{}}"#;
    for formula in [
        "always (halt implies always not tool_call(\"pay\"))",
        "always (tool_call(\"pay\") implies not once halt)",
        "forall t. always (stopped(t) implies always not tool_call(t))",
    ] {
        let fact = "stopped(t): {on: stop, t: more.tool}";
        let behind_gap = |last: &str| decisions(&mut one(fact, formula), &format!("{message}\n{last}\n"))[1].clone();
        let decision = behind_gap(pay);
        assert_eq!(decision.action, Action::Block, "{formula}");
        assert!(matches!(decision.objections[0].why, Cause::Unknown));
        if !formula.starts_with("forall") {
            assert_eq!(behind_gap(read).action, Action::Forward, "{formula}: it may be done whatever was missed");
        }
        let whole = decisions(&mut one(fact, formula), &format!("{message}\n{}\n", pay.replace('3', "2")));
        assert_eq!(whole[1].action, Action::Forward, "{formula}: nothing is missing");
    }
}

#[test]
fn redaction_covers_person_in_object_key() {
    let policy = "lictor: 1\nname: p\nuses: [gdpr]\nchange: {gdpr/right-to-erasure: {respond: redact}}\n";
    let lines = r#"{"kind":"erasure","subjects":["dana@example.com"]}
{"kind":"tool_result","id":"c","tool":"find","result":{"dana@example.com":{"x":1},"list":["dana@example.com"]}}
"#;
    let decided = decisions(&mut guard(policy), lines);
    assert_eq!(decided[1].action, Action::Redact);
    let rewritten = decided[1].rewritten.as_ref().unwrap().to_json().to_string();
    assert!(!rewritten.contains("dana") && rewritten.contains(r#""x":1"#), "{rewritten}");
    let message = decided[1].message.as_ref().unwrap();
    assert!(!message.contains("dana") && message.contains("somebody"), "{message}");
    // However many members there are, none is lost by a duplicate name.
    let keys: Vec<String> = (0..2_000).map(|number| format!("\"d{number}@example.com\":{number}")).collect();
    let subjects: Vec<String> = (0..2_000).map(|number| format!("\"d{number}@example.com\"")).collect();
    let lines = format!(
        "{{\"kind\":\"erasure\",\"subjects\":[{}]}}\n{{\"kind\":\"tool_result\",\"id\":\"c\",\"tool\":\"find\",\"result\":{{{}}}}}\n",
        subjects.join(","),
        keys.join(",")
    );
    let decided = decisions(&mut guard(policy), &lines);
    let rewritten = decided[1].rewritten.as_ref().unwrap();
    assert_eq!(rewritten.result.as_ref().unwrap().as_object().unwrap().len(), 2_000);
}

/// An event that meets the obligation of one value leaves nothing unknown for it, although other values would be
/// violated.
#[test]
fn fulfilled_duty_is_not_unknown() {
    let mut guard = guard(
        "lictor: 1\nname: p\nfacts:\n  asked(t): {on: ask, t: more.t}\n  answered(t): {on: answer, t: more.t}\nproperties:\n  \
         - {id: one, formula: 'forall t. always (asked(t) implies next answered(t))', respond: block, unknown: warn}\n",
    );
    let lines = r#"{"kind":"answer","t":["nobody can tell who"]}
{"kind":"ask","t":"a"}
{"kind":"answer","t":"a"}
{"kind":"ask","t":"b"}
{"kind":"answer","t":"a"}
"#;
    let decided = decisions(&mut guard, lines);
    assert!(decided[..4].iter().all(|decision| decision.objections.is_empty()), "{decided:?}");
    assert_eq!(decided[4].action, Action::Block);
}

#[test]
fn approval_answers_one_call_only() {
    let policy =
        "lictor: 1\nname: p\nproperties:\n  - {id: ask, formula: 'always !tool_call(\"pay\")', respond: ask}\n";
    let pay = |id: &str, amount: u32| {
        format!("{{\"kind\":\"tool_call\",{id}\"tool\":\"pay\",\"args\":{{\"amount\":{amount}}}}}\n")
    };
    for id in ["", "\"id\":\"c\","] {
        let mut guard = guard(policy);
        let asked = decisions(&mut guard, &(pay(id, 900) + &pay(id, 900_000)));
        let handles: Vec<&str> = asked.iter().map(|decision| decision.approval_id.as_deref().unwrap()).collect();
        assert_ne!(handles[0], handles[1]);
        let allowed = decisions(&mut guard, &format!("{{\"kind\":\"approval\",\"id\":\"{}\"}}\n", handles[0]));
        let settled = allowed[0].settled[0].event.to_json().to_string();
        assert!(settled.contains(":900}"), "{settled}");
        let again = decisions(&mut guard, &pay(id, 1));
        assert!(!handles.contains(&again[0].approval_id.as_deref().unwrap()) || !id.is_empty());
    }
    // The model may choose the id that we would generate.
    let asked = decisions(&mut guard(policy), &(pay("\"id\":\"ask-1\",", 900_000) + &pay("", 900)));
    assert_ne!(asked[0].approval_id, asked[1].approval_id);
}

/// Some servers number their calls alike in every reply.
#[test]
fn approval_by_id_covers_next_call_only() {
    for (uses, delete) in [
        ("agent-safety/irreversible-needs-approval", r#""tool":"delete_file","args":{"path":"NAME"}"#),
        ("coding-agent/destructive-needs-approval", r#""tool":"Bash","args":{"command":"rm -rf NAME"}"#),
    ] {
        let mut guard = guard(&format!("{{lictor: 1, name: p, uses: [{uses}]}}"));
        let call = |second: u32, name: &str| {
            let time = format!("2026-05-01T10:00:{second:02}Z");
            format!(
                "{{\"time\":\"{time}\",\"kind\":\"tool_call\",\"id\":\"call_1\",{}}}\n",
                delete.replace("NAME", name)
            )
        };
        let lines = call(0, "src")
            + "{\"time\":\"2026-05-01T10:00:01Z\",\"kind\":\"approval\",\"id\":\"call_1\",\"by\":\"ann\"}\n"
            + &call(2, "lib")
            + &call(3, "src");
        let decided = decisions(&mut guard, &lines);
        assert_eq!(actions(&decided), [Action::Ask, Action::Forward, Action::Ask, Action::Ask], "{uses}");
        assert_eq!(decided[1].settled[0].action, Action::Forward, "{uses}");
        assert!(decided[1].settled[0].objections.is_empty(), "the approval excuses the call that it is for: {uses}");
    }
}

/// An approval event names a call, a tool or an effect. The id of a call must not be read as one of the others.
#[test]
fn approval_of_call_named_like_effect_frees_nothing() {
    let policy =
        "{lictor: 1, name: p, uses: [agent-safety/irreversible-needs-approval], tools: {w1: {effects: [destructive]}}}";
    for id in ["destructive", "irreversible", "drop_database", "w1"] {
        let mut guard = guard(policy);
        let asked = decisions(
            &mut guard,
            &format!("{{\"time\":0,\"kind\":\"tool_call\",\"id\":\"{id}\",\"tool\":\"delete_file\"}}"),
        );
        let name = asked[0].approval_id.clone().unwrap();
        assert_ne!(name, id);
        let answer = format!("{{\"time\":1,\"kind\":\"approval\",\"id\":\"{name}\",\"by\":\"ann\"}}");
        assert_eq!(decisions(&mut guard, &answer)[0].settled[0].action, Action::Forward, "{id}");
        for tool in ["drop_database", "w1"] {
            let other = format!("{{\"time\":2,\"kind\":\"tool_call\",\"id\":\"c\",\"tool\":\"{tool}\"}}");
            assert_eq!(decisions(&mut guard, &other)[0].action, Action::Ask, "{id}: {tool}");
        }
    }
}

#[test]
fn approval_of_stopped_call_frees_no_other() {
    let policy = "{lictor: 1, name: p, uses: [agent-safety/irreversible-needs-approval], \
                  properties: [{id: frozen, formula: 'always (tool_call(\"delete_file\") -> !once tool_call(\"freeze\"))', \
                  respond: block}]}";
    let mut guard = guard(policy);
    let decided = decisions(
        &mut guard,
        r#"{"time":0,"kind":"tool_call","id":"call_1","tool":"delete_file","args":{}}
{"time":1,"kind":"tool_call","id":"f","tool":"freeze","args":{}}
{"time":2,"kind":"approval","id":"call_1","by":"ann"}
{"time":3,"kind":"tool_call","id":"call_1","tool":"drop_database","args":{}}"#,
    );
    let outcome: Vec<Action> = decided[2].settled.iter().map(|settled| settled.action).collect();
    assert_eq!(outcome, [Action::Block, Action::Forward], "the call is stopped, and the approval is taken back");
    assert_eq!(decided[2].settled[1].event.kind, Kind::Denial);
    assert_eq!(decided[3].action, Action::Ask, "{}", decided[3].line());
}

#[test]
fn result_answers_latest_call_of_its_id() {
    let policy = "{lictor: 1, name: p, properties: [{id: look-first, \
                  formula: 'always (tool_call(\"ship\") -> once tool_result(\"look_up\"))', respond: block}]}";
    let event = |kind: &str, id: u32, tool: &str| {
        let tool = if tool.is_empty() { String::new() } else { format!(",\"tool\":\"{tool}\"") };
        format!("{{\"kind\":\"{kind}\",\"id\":\"{id}\"{tool},\"args\":{{}},\"text\":\"x\"}}\n")
    };
    let (call, result) =
        (|id: u32, tool: &str| event("tool_call", id, tool), |tool: &str| event("tool_result", 1, tool));
    for (lines, may_ship) in [
        (call(1, "look_up") + &call(1, "other") + &result(""), false),
        (call(1, "other") + &call(1, "look_up") + &result(""), true),
        (call(1, "look_up") + &call(1, "other") + &result("look_up"), true),
        (call(1, "look_up") + &call(1, "other") + &result("") + &result(""), true),
        (call(1, "look_up") + &result(""), true),
    ] {
        let decided = decisions(&mut guard(policy), &(lines.clone() + &call(2, "ship")));
        let wanted = if may_ship { Action::Forward } else { Action::Block };
        assert_eq!(decided.last().unwrap().action, wanted, "{lines}");
    }
}

#[test]
fn decision_lists_every_subject() {
    let policy = "lictor: 1\nname: p\nfacts:\n  told(what): {on: user_message, what: text}\nproperties:\n  - {id: quiet, formula: 'always forall w. (tool_call(\"leak\") -> !once told(w))', respond: block}\n";
    let lines = r#"{"kind":"user_message","text":"alice@example.com and CAROL are ill"}
{"kind":"tool_call","tool":"leak","principal":"carol","args":{"dana@example.com":1},"to":"eve@example.com","note":"fay@example.com"}
"#;
    let mut guard = guard(policy);
    let decided = decisions(&mut guard, lines);
    let persons = guard.persons(&decided[1]);
    for person in ["alice@example.com", "carol", "dana@example.com", "eve@example.com", "fay@example.com"] {
        assert!(persons.iter().any(|found| found == person), "{person} in {persons:?}");
    }
    let message = decided[1].message.as_ref().unwrap();
    assert!(!message.contains("alice") && !message.contains("CAROL"), "{message}");
}

/// The author of a result chooses where in it to put a text.
#[test]
fn result_text_is_read_at_any_depth() {
    let formula = "always not told";
    for result in [
        r#""text":"SECRET""#,
        r#""result":{"stdout":"SECRET","stderr":""}"#,
        r#""text":"ok","result":{"a":[{"b":"SECRET"}]}"#,
        r#""result":{"SECRET and more":1}"#,
    ] {
        let mut guard = one("told: {on: tool_result, where: {text: /SECRET/}}", formula);
        let line = format!("{{\"kind\":\"tool_result\",\"id\":\"c\",\"tool\":\"t\",{result}}}\n");
        assert_eq!(actions(&decisions(&mut guard, &line)), [Action::Block], "{result}");
        let harmless = line.replace("SECRET", "hello");
        assert_eq!(actions(&decisions(&mut guard, &harmless)), [Action::Forward], "{result}");
    }
}

/// A waiting call may have arrived by a protocol that requires fewer fields; it is restored nevertheless.
#[test]
fn waiting_call_is_restored_with_missing_fields() {
    let policy = "lictor: 1\nname: p\nfacts:\n  call: {on: tool_call}\nproperties:\n  - {id: ask, formula: 'always !call', respond: ask}\n";
    let mut event = events("{\"kind\":\"tool_call\",\"tool\":\"pay\"}\n").remove(0);
    event.tool = None;
    let mut one = guard(policy);
    let handle = one.decide(&event, None).approval_id.unwrap();
    let (saved, _) = one.save("", 0).unwrap();
    let mut other = guard(policy);
    other.restore(&saved).unwrap();
    assert!(other.waits("", &handle));
    let allowed = decisions(&mut other, &format!("{{\"kind\":\"approval\",\"id\":\"{handle}\"}}\n"));
    assert_eq!(actions(&allowed[0].settled), [Action::Forward]);
}

/// The reason of a denial does not contain the withheld content.
#[test]
fn denial_does_not_reveal_withheld_content() {
    let facts = r"secret(code): {on: [assistant_message, tool_result], where: {text: '/code is (?P<code>\S+)/'}}";
    for event in [
        r#"{"kind":"assistant_message","text":"The code is HUNTER2."}"#,
        r#"{"kind":"tool_result","id":"c","tool":"look","text":"The code is HUNTER2."}"#,
        r#"{"kind":"assistant_message","text":"The code is \\HUNTER\"2\"."}"#,
    ] {
        let decided = decisions(&mut one(facts, "always forall c. not secret(c)"), &format!("{event}\n"));
        assert_eq!(decided[0].action, Action::Block);
        let message = decided[0].message.as_ref().unwrap();
        assert!(message.contains("secret([withheld])") && !message.contains("HUNTER"), "{message}");
    }
}

#[test]
fn absent_argument_does_not_evade_a_block() {
    let conditions = [
        "args.country != 'DE'",
        "!(args.country in ['DE', 'FR'])",
        "!(args.country == 'DE' || args.country == 'FR')",
        "args.country == 'DE' ? false : true",
        "(args.country == 'DE') == false",
    ];
    let fact = |fact: &str| {
        format!(
            "{{lictor: 1, name: p, facts: {{abroad: {{on: tool_call(ship), {fact}}}}}, properties: [\
             {{id: home, says: Ships at home., formula: always !abroad, respond: block}}]}}"
        )
    };
    let facts = conditions.map(|when| fact(&format!("when: \"{when}\"")));
    for policy in facts.into_iter().chain([fact("where: {args.country: '!= DE'}")]) {
        let ship = |args: &str| {
            decisions(&mut guard(&policy), &format!(r#"{{"kind":"tool_call","tool":"ship","args":{args}}}"#))
        };
        assert_eq!(actions(&ship(r#"{"country":"DE"}"#)), [Action::Forward], "{policy}");
        assert_eq!(actions(&ship(r#"{"country":"US"}"#)), [Action::Block], "{policy}");
        let left_out = ship("{}");
        assert_eq!(actions(&left_out), [Action::Block], "{policy}");
        assert!(matches!(left_out[0].objections[0].why, Cause::Unknown), "{policy}");
    }
}
