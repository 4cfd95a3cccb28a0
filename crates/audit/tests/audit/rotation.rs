//! Sessions that continue from one part of a rotated log to the next.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use lictor_audit::report::Report;
use lictor_audit::{AuditOptions, audit, sessions};
use lictor_decode::input::{Input, InputLimits, find};
use lictor_judge::Judge;
use lictor_policy::{FileResolver, Policy};

const POLICY: &str = r#"
lictor: 1
name: test
properties:
  - {id: once, formula: 'always (tool_call("refund") implies not previous once tool_call("refund"))'}
  - {id: looked, formula: 'always (tool_call("refund") implies once tool_call("look"))'}
"#;

fn row(session: &str, id: &str, tool: &str) -> String {
    let call = format!(r#"{{"id":"{id}","type":"function","function":{{"name":"{tool}","arguments":"{{}}"}}}}"#);
    format!(r#"{{"session_id":"{session}","role":"assistant","content":null,"tool_calls":[{call}]}}"#)
}

/// A request that repeats the calls before its last one.
fn request(session: &str, calls: &[(&str, &str)]) -> String {
    let call = |(id, tool): &(&str, &str)| {
        let call = format!(r#"{{"id":"{id}","type":"function","function":{{"name":"{tool}","arguments":"{{}}"}}}}"#);
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{call}]}},{{"role":"tool","tool_call_id":"{id}","content":"ok"}}"#
        )
    };
    let messages: Vec<String> = calls.iter().map(call).collect();
    let user = r#"{"role":"user","content":"go"}"#;
    format!(r#"{{"session_id":"{session}","model":"m","messages":[{user},{}]}}"#, messages.join(","))
}

fn with_files<T>(files: &[(&str, Vec<String>)], run: impl Fn(&[Input]) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    for (name, lines) in files {
        fs::write(folder.path().join(name), lines.join("\n") + "\n").unwrap();
    }
    run(&find(&[folder.path().display().to_string()], &InputLimits::default()).unwrap())
}

fn judge_files(files: &[(&str, Vec<String>)]) -> Report {
    let policy = Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap().policy;
    with_files(files, |inputs| audit(&mut Judge::new(&policy).unwrap(), inputs, &AuditOptions::default(), &()).unwrap())
}

fn broken(report: &Report) -> Vec<(&str, &str)> {
    report.findings.iter().map(|finding| (finding.property.id.as_str(), finding.session.as_str())).collect()
}

#[test]
fn rotated_log_continues_its_sessions() {
    let report = judge_files(&[
        ("agent.jsonl.1", vec![row("s", "call_1", "look"), row("s", "call_2", "refund"), row("t", "call_3", "look")]),
        ("agent.jsonl", vec![row("t", "call_4", "refund"), row("s", "call_5", "refund")]),
    ]);
    assert_eq!(report.sessions.len(), 2);
    assert_eq!(broken(&report), [("once", "s")]);
    assert!(report.faults.is_empty(), "{:?}", report.faults);
}

#[test]
fn rotated_log_repeats_no_history() {
    let calls = [("call_1", "look"), ("call_2", "refund"), ("call_3", "look")];
    let report = judge_files(&[
        ("agent.jsonl.1", vec![request("s", &calls[..1]), request("s", &calls[..2])]),
        ("agent.jsonl", vec![request("s", &calls)]),
    ]);
    assert_eq!(report.sessions.iter().map(|session| session.steps).collect::<Vec<_>>(), [7]);
    assert!(broken(&report).is_empty(), "{:?}", broken(&report));
}

#[test]
fn sessions_of_unrelated_files_stay_apart() {
    let first = vec![row("1", "call_1", "look"), row("1", "call_2", "refund")];
    let second = vec![row("1", "call_1", "refund")];
    for (one, other) in [("a.jsonl", "b.jsonl"), ("a.jsonl.1", "b.jsonl"), ("a.jsonl", "a.jsonl.gz")] {
        let report = judge_files(&[(one, first.clone()), (other, second.clone())]);
        assert_eq!(report.sessions.len(), 2, "{one} {other}");
        assert_eq!(broken(&report), [("looked", "1")], "{one} {other}");
    }
}

#[test]
fn rotated_log_is_one_session_for_translation() {
    let files = [("a.jsonl.1", vec![row("s", "call_1", "look")]), ("a.jsonl", vec![row("s", "call_2", "refund")])];
    let found = with_files(&files, |inputs| sessions(inputs, &AuditOptions::default()).unwrap().sessions);
    assert_eq!(found.iter().map(|(name, events)| (name.as_str(), events.len())).collect::<Vec<_>>(), [("s", 2)]);
}

#[test]
fn batch_answers_continue_their_requests() {
    let ask = |id: &str| {
        format!(r#"{{"custom_id":"{id}","body":{{"model":"m","messages":[{{"role":"user","content":"go"}}]}}}}"#)
    };
    let answer = |id: &str, tool: &str| {
        let call = format!(r#"{{"id":"call_1","type":"function","function":{{"name":"{tool}","arguments":"{{}}"}}}}"#);
        let message = format!(r#"{{"role":"assistant","content":null,"tool_calls":[{call}]}}"#);
        format!(
            r#"{{"custom_id":"{id}","response":{{"status_code":200,"body":{{"choices":[{{"message":{message}}}]}}}}}}"#
        )
    };
    let files = [
        ("answers.jsonl", vec![answer("r2", "look"), answer("r1", "refund")]),
        ("requests.jsonl", vec![ask("r1"), ask("r2")]),
    ];
    let found = with_files(&files, |inputs| sessions(inputs, &AuditOptions::default()).unwrap().sessions);
    let kinds = |(name, events): &(_, Vec<lictor_event::Event>)| {
        format!("{name} {}", events.iter().map(|event| event.kind.to_string()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(found.iter().map(kinds).collect::<Vec<_>>(), ["r1 user_message tool_call", "r2 user_message tool_call"]);
}
