//! Concurrent calls of a client, and sessions across processes.

use std::io::Write;

use serde_json::json;

use crate::hook::{Answer, Project};

#[test]
fn concurrent_calls_are_decided_in_turn() {
    const CALLS: usize = 8;
    let project = Project::new("claude");
    let mut children = Vec::new();
    for number in 0..CALLS {
        let mut child = project.command(&[]).spawn().unwrap();
        let question = project.before_call(&format!("c{number}"), "Limited", json!({})).to_string();
        child.stdin.take().unwrap().write_all(question.as_bytes()).unwrap();
        children.push(child);
    }
    let answers: Vec<Answer> = children.into_iter().map(|child| child.wait_with_output().unwrap().into()).collect();
    let allowed = answers.iter().filter(|answer| answer.is_silent()).count();
    let denied = answers.iter().filter(|answer| !answer.is_silent() && answer.is_denied()).count();
    assert_eq!((allowed, denied), (3, CALLS - 3), "{answers:?}");
    assert_eq!(project.decisions(), CALLS, "each has one record");
}

#[test]
fn sessions_are_judged_separately() {
    let project = Project::new("codex");
    for session in ["a", "b"] {
        for number in 0..4 {
            let mut question = project.before_call(&format!("c{number}"), "Limited", json!({}));
            question["session_id"] = json!(session);
            assert_eq!(project.ask(&question).is_silent(), number < 3, "{session} {number}");
        }
    }
}

#[test]
fn repeated_call_gets_same_answer() {
    let project = Project::new("claude");
    let question = project.before_call("c1", "Limited", json!({"n": 1}));
    for _ in 0..5 {
        assert!(project.ask(&question).is_silent(), "asked again, not called again");
    }
    assert_eq!(project.decisions(), 1);
    for number in 2..=5 {
        let other = project.before_call("c1", "Limited", json!({"n": number}));
        assert_eq!(project.ask(&other).is_silent(), number < 4, "{number}");
    }
    let denied = project.before_call("d1", "Send", json!({"to": "ann@example.com"}));
    assert_eq!(project.ask(&denied).output, project.ask(&denied).output);
}
