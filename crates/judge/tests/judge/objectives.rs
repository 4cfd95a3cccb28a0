//! Objectives at run time: one property of a running session is added, removed or changed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use lictor_event::record::LogRecord;
use lictor_event::{Event, Kind, Source};
use lictor_json as json;
use lictor_judge::Judge;
use lictor_judge::guard::{Action, Decision, Guard, GuardOptions};
use lictor_judge::guidance::{CallSketch, GuidanceQuery};
use lictor_judge::objective::{ObjectiveChange, ObjectiveSettings};
use lictor_policy::{FileResolver, Policy};

const POLICY: &str = r#"
lictor: 1
name: p
facts:
  paid(to): {on: tool_call(pay), to: args.to}
properties:
  - {id: checked, says: Checked first., formula: 'always (tool_call("pay") -> once tool_call("check"))', respond: block}
  - {id: quiet, says: No mail., formula: 'always !tool_call("mail")', respond: warn}
  - {id: logged, says: Logged., formula: 'always (tool_call("pay") -> eventually tool_call("log"))'}
"#;

const ADDED: &str = r#"{"id": "once", "says": "Paid once.", "formula": "always forall p. (paid(p) -> !previous once paid(p))", "respond": "block"}"#;

fn policy(text: &str) -> Policy {
    let loaded = Policy::parse(text, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    loaded.policy
}

fn guard_of(policy: &Policy) -> Guard {
    Guard::new(Judge::new(policy).unwrap(), GuardOptions::default())
}

fn guard(text: &str) -> Guard {
    guard_of(&policy(text))
}

fn call(tool: &str, to: &str) -> Event {
    let line = format!(r#"{{"session":"s","kind":"tool_call","tool":"{tool}","args":{{"to":"{to}"}}}}"#);
    read(&line)
}

/// Reads an event, without its place in a log.
fn read(line: &str) -> Event {
    let record = LogRecord { value: json::parse_str(line).unwrap(), file: "-".into(), line: 0, index: 0 };
    Event { source: Source::default(), ..record.stored_event().unwrap() }
}

fn set(respond: &str, priority: Option<i64>) -> ObjectiveSettings {
    ObjectiveSettings { respond: Some(respond.into()), priority, ..ObjectiveSettings::default() }
}

fn ids(decision: &Decision) -> Vec<&str> {
    decision.objections.iter().map(|objection| objection.property.id.as_str()).collect()
}

#[test]
fn objective_added_begins_at_the_present_step() {
    let mut guard = guard(POLICY);
    for tool in ["check", "pay"] {
        assert_eq!(guard.decide(call(tool, "ann"), None).action, Action::Forward);
    }
    let added = guard.change_objective("s", &ObjectiveChange::Add(ADDED.into()), None);
    assert_eq!((added.action, added.step), (Action::Forward, Some(3)));
    // The payment before it does not count.
    assert_eq!(guard.decide(call("pay", "ann"), None).action, Action::Forward);
    let again = guard.decide(call("pay", "ann"), None);
    assert_eq!((again.action, ids(&again)), (Action::Block, vec!["once"]));
    assert!(again.message.unwrap().contains("Paid once."));
    // Other sessions do not have it.
    let mut other = call("pay", "ann");
    other.session = Some("t".into());
    assert!(!ids(&guard.decide(other, None)).contains(&"once"));
    assert_eq!(guard.change_objective("s", &ObjectiveChange::Remove("once".into()), None).action, Action::Forward);
    assert_eq!(guard.decide(call("pay", "ann"), None).action, Action::Forward);
}

#[test]
fn objective_removed_or_changed_decides_otherwise() {
    let mut guard = guard(POLICY);
    assert_eq!(guard.decide(call("pay", "ann"), None).action, Action::Block);
    guard.change_objective("s", &ObjectiveChange::Change("quiet".into(), set("block", None)), None);
    guard.change_objective("s", &ObjectiveChange::Remove("checked".into()), None);
    assert_eq!(guard.decide(call("mail", "ann"), None).action, Action::Block);
    assert_eq!(guard.decide(call("pay", "ann"), None).action, Action::Forward);
    let query = GuidanceQuery { owed: true, sketches: vec![CallSketch::new("pay"), CallSketch::new("mail")] };
    let guidance = guard.guide("s", &query, None);
    assert_eq!(guidance.obligations[0].property.id, "logged");
    assert!(guidance.stopping[0].is_empty() && guidance.stopping[1][0].id == "quiet");
    guard.change_objective("s", &ObjectiveChange::Remove("logged".into()), None);
    assert!(guard.guide("s", &query, None).obligations.is_empty() && guard.owed("s").is_empty());
}

#[test]
fn objective_priority_orders_objections() {
    let mut guard = guard(POLICY);
    let both = r#"{id: third, says: Never., formula: 'always !tool_call("mail")', respond: steer}"#;
    guard.change_objective("s", &ObjectiveChange::Add(both.into()), None);
    assert_eq!(ids(&guard.decide(call("mail", "ann"), None)), ["quiet", "third"]);
    guard.change_objective("s", &ObjectiveChange::Change("third".into(), set("block", Some(5))), None);
    let decision = guard.decide(call("mail", "ann"), None);
    assert_eq!((decision.action, ids(&decision)), (Action::Block, vec!["third", "quiet"]));
    let listed: Vec<String> = guard.objectives("s").iter().map(|property| property.id.to_string()).collect();
    assert_eq!(listed, ["third", "checked", "quiet", "logged"]);
    assert_eq!(guard.objectives("unknown").len(), 3);
}

#[test]
fn impossible_objective_changes_are_refused() {
    let mut guard = guard(POLICY);
    let cases = [
        (ObjectiveChange::Remove("nothing".into()), "no property `nothing`"),
        (ObjectiveChange::Change("nothing".into(), set("block", None)), "no property `nothing`"),
        (ObjectiveChange::Add("{id: quiet, formula: 'always !tool_failed'}".into()), "has a property `quiet` already"),
        (ObjectiveChange::Add("{id: x, formula: 'alwyas y'}".into()), "alwyas"),
        (ObjectiveChange::Add("{id: x, formula: 'always !paid(1, 2)'}".into()), "`paid` has 1 value"),
        (ObjectiveChange::Add("{id: x, formula: 'always !paid', history: global}".into()), "across sessions"),
        (ObjectiveChange::Add("[1, 2]".into()), "a property"),
        (ObjectiveChange::Change("quiet".into(), ObjectiveSettings::default()), "`change` needs"),
        (ObjectiveChange::Change("quiet".into(), set("explode", None)), "`respond` must be one of"),
    ];
    for (change, reason) in cases {
        let decision = guard.change_objective("s", &change, None);
        assert_eq!((decision.action, decision.step), (Action::Block, None), "{change:?}");
        assert!(decision.message.as_ref().unwrap().contains(reason), "{change:?}: {:?}", decision.message);
    }
    let mut both = Event::new(Kind::Other("objective".into()));
    both.more.insert("add", "x");
    both.more.insert("remove", "y");
    assert_eq!(guard.decide(both, None).action, Action::Block);
}

/// Random events with changes between them: the same events give the same decisions in a guard that is saved and restored
/// before each of them, and in one that reads the events of the first from its log.
#[test]
fn objectives_survive_restart_and_replay() {
    let policy = policy(POLICY);
    for seed in 1..=6u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) % bound
        };
        let (mut whole, mut restarted, mut replayed) = (guard_of(&policy), guard_of(&policy), guard_of(&policy));
        let mut changes = 0;
        for _ in 0..30 {
            let change = match below(9) {
                0 => Some(ObjectiveChange::Add(ADDED.into())),
                1 => Some(ObjectiveChange::Remove("once".into())),
                2 => Some(ObjectiveChange::Remove("checked".into())),
                3 => Some(ObjectiveChange::Change("quiet".into(), set("block", Some(below(3) as i64)))),
                4 => Some(ObjectiveChange::Add(format!(
                    "{{id: n{}, formula: 'always (tool_call(\"pay\") -> previous tool_call)', respond: ask}}",
                    below(3)
                ))),
                _ => None,
            };
            let tools = ["pay", "check", "mail", "log"];
            let event = match &change {
                Some(change) => change.to_event("s"),
                None => call(tools[below(4) as usize], ["ann", "bob"][below(2) as usize]),
            };
            let decision = whole.decide(event.clone(), None);
            changes += usize::from(change.is_some() && decision.action == Action::Forward);
            if let Some((saved, _)) = restarted.save("s", 0) {
                let saved = serde_json::from_str(&serde_json::to_string(&saved).unwrap()).unwrap();
                restarted = guard_of(&policy);
                restarted.restore(&saved).unwrap();
            }
            assert_eq!(decision.line(), restarted.decide(event.clone(), None).line(), "seed {seed}");
            let logged = read(&event.to_json().to_string());
            assert_eq!(decision.line(), replayed.decide(logged, None).line(), "seed {seed}");
        }
        assert!(changes > 2, "seed {seed}");
        assert_eq!(whole.owed("s").len(), restarted.owed("s").len());
    }
}

/// The definition: an added property is violated as if the session had begun where it was added.
#[test]
fn objective_is_judged_as_if_session_began_there() {
    let formula = r#"always (tool_call("pay") -> once tool_call("check"))"#;
    let alone = format!("lictor: 1\nname: q\nproperties:\n  - {{id: new, formula: '{formula}', respond: block}}\n");
    let (alone, empty) = (policy(&alone), policy("lictor: 1\nname: p\nproperties: []\n"));
    for number in (0..64u32).step_by(9) {
        let tool = |place: u32| if number >> place & 1 == 1 { "pay" } else { ["check", "log"][place as usize % 2] };
        for start in 0..6 {
            let mut running = guard_of(&empty);
            (0..start).for_each(|place| drop(running.decide(call(tool(place), "a"), None)));
            let text = format!("{{id: new, formula: '{formula}', respond: block}}");
            running.change_objective("s", &ObjectiveChange::Add(text), None);
            let mut fresh = guard_of(&alone);
            for place in start..6 {
                let (event, other) = (call(tool(place), "a"), call(tool(place), "a"));
                assert_eq!(running.decide(event, None).action, fresh.decide(other, None).action, "{number} {start}");
            }
        }
    }
}
