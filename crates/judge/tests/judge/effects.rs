//! What tools do: unknown effects are unknown facts, and definitions in the session tell more.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use lictor_event::Event;
use lictor_event::record::LogRecord;
use lictor_judge::Judge;
use lictor_judge::decision::Action;
use lictor_judge::guard::{Guard, GuardOptions};
use lictor_judge::session::Session;
use lictor_logic::Verdict;
use lictor_policy::{FileResolver, Policy};

const POLICY: &str = r#"
lictor: 1
name: p
tools:
  stated: {effects: [read]}
properties:
  - {id: no-write, says: Nothing is changed., formula: 'always !effect("write")', respond: block}
  - {id: known, says: All tools are known., formula: 'always forall t. !effect_unknown(t)', respond: observe}
"#;

fn judge() -> Judge {
    let loaded = Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    Judge::new(&loaded.policy).unwrap()
}

fn read_event(line: &str) -> Event {
    let value = lictor_json::parse_str(line).unwrap();
    LogRecord { value, file: "-".into(), line: 1, index: 0 }.native_event().unwrap()
}

/// Returns the verdicts of both properties at the end, after saving and restoring the session before each event.
fn verdicts(lines: &[&str]) -> (Verdict, Verdict) {
    let mut judge = judge();
    let mut session = Session::new(&mut judge, "s");
    for line in lines {
        let saved = session.save(&judge, 0).unwrap();
        session = Session::restore(&mut judge, &saved).unwrap();
        session.observe(&mut judge, &read_event(line)).unwrap();
    }
    let summary = session.report_at_end(&mut judge).unwrap();
    (summary.properties[0].verdict, summary.properties[1].verdict)
}

#[test]
fn unknown_effect_is_neither_held_nor_absent() {
    let call = |tool: &str| format!(r#"{{"kind":"tool_call","id":"c","tool":"{tool}","args":{{}}}}"#);
    assert_eq!(verdicts(&[&call("frobnicate")]), (Verdict::Inconclusive, Verdict::Violated));
    assert_eq!(verdicts(&[&call("get_user")]), (Verdict::Satisfied, Verdict::Satisfied));
    assert_eq!(verdicts(&[&call("get_and_delete_user")]), (Verdict::Violated, Verdict::Satisfied));
    assert_eq!(verdicts(&[&call("stated")]), (Verdict::Satisfied, Verdict::Satisfied));
}

#[test]
fn tool_definition_tells_effect_of_unknown_name() {
    let defined = r#"{"kind":"tool_definitions","tools":[
        {"type":"function","function":{"name":"frob","description":"Deletes a user."}},
        {"name":"peek_a_boo","description":"Returns the user."},{"name":"stated","description":"Deletes a user."}]}"#;
    let call = |tool: &str| format!(r#"{{"kind":"tool_call","id":"c","tool":"{tool}","args":{{}}}}"#);
    assert_eq!(verdicts(&[defined, &call("frob")]), (Verdict::Violated, Verdict::Satisfied));
    assert_eq!(verdicts(&[defined, &call("stated")]), (Verdict::Satisfied, Verdict::Satisfied));
    let harmless = r#"{"kind":"tool_definitions","tools":[{"name":"frob","description":"Finds a user."}]}"#;
    assert_eq!(verdicts(&[harmless, &call("frob")]), (Verdict::Satisfied, Verdict::Satisfied));
    // A later definition takes nothing away.
    assert_eq!(verdicts(&[defined, harmless, &call("frob")]), (Verdict::Violated, Verdict::Satisfied));
}

#[test]
fn guard_treats_unknown_effect_as_property_says() {
    let mut guard = Guard::new(judge(), GuardOptions::default());
    let call = |tool: &str| read_event(&format!(r#"{{"session":"s","kind":"tool_call","tool":"{tool}","args":{{}}}}"#));
    assert_eq!(guard.decide(call("frobnicate"), None).action, Action::Block);
    assert_eq!(guard.decide(call("get_user"), None).action, Action::Forward);
}

/// Turns in the role of the user that a program wrote do not lift a quarantine.
#[test]
fn machine_made_turn_lifts_no_quarantine() {
    let policy = "lictor: 1\nname: p\nuses: [agent-safety/no-sink-after-taint]\n";
    let loaded = Policy::parse(policy, "policy.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"));
    let task = "Summarise all mails of the last week, put the result into the file summary.md, and answer those that \
                are urgent in a friendly and short way.";
    let verdict = |said: &str| {
        let mut judge = Judge::new(&loaded.policy).unwrap();
        let mut session = Session::new(&mut judge, "s");
        let said = said.replace('\n', "\\n");
        for line in [
            &format!(r#"{{"kind":"user_message","text":"{task}"}}"#),
            r#"{"kind":"tool_result","id":"c1","tool":"read_mail","text":"x","labels":["tainted"]}"#,
            &format!(r#"{{"kind":"user_message","text":"{said}"}}"#),
            r#"{"kind":"tool_call","id":"c2","tool":"send_mail","args":{}}"#,
        ] {
            session.observe(&mut judge, &read_event(line)).unwrap();
        }
        session.report_at_end(&mut judge).unwrap().verdict
    };
    assert_eq!(verdict("Only the urgent ones."), Verdict::Satisfied);
    assert_eq!(verdict("yes"), Verdict::Satisfied);
    for machine in [
        "[Request interrupted by user]",
        "<system-reminder>The file changed.</system-reminder>",
        "<task-notification>done</task-notification>\n<system-reminder>go on</system-reminder>",
    ] {
        assert_eq!(verdict(machine), Verdict::Violated, "{machine}");
    }
    assert_eq!(verdict("<system-reminder>The file changed.</system-reminder>\nSend it."), Verdict::Satisfied);
    // The same long prompt again: it is unknown whether the user sent it.
    assert_eq!(verdict(task), Verdict::Inconclusive);
}
