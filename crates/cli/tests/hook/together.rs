//! Calls that a client makes at the same time, and sessions that go on from process to process.

use std::io::Write;

use serde_json::json;

use crate::{Answer, Project};

#[test]
fn calls_at_the_same_time_are_decided_one_after_the_other() {
    const CALLS: usize = 8;
    let project = Project::new("claude");
    let mut children = Vec::new();
    for number in 0..CALLS {
        let mut child = project.command(&[]).spawn().unwrap();
        let question = project.before(&format!("c{number}"), "Limited", json!({})).to_string();
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
fn sessions_do_not_count_for_each_other() {
    let project = Project::new("codex");
    for session in ["a", "b"] {
        for number in 0..4 {
            let mut question = project.before(&format!("c{number}"), "Limited", json!({}));
            question["session_id"] = json!(session);
            assert_eq!(project.ask(&question).is_silent(), number < 3, "{session} {number}");
        }
    }
}

#[test]
fn the_same_question_has_the_same_answer_and_another_one_by_the_same_name_is_judged() {
    let project = Project::new("claude");
    let question = project.before("c1", "Limited", json!({"n": 1}));
    for _ in 0..5 {
        assert!(project.ask(&question).is_silent(), "asked again, not called again");
    }
    assert_eq!(project.decisions(), 1);
    for number in 2..=5 {
        let other = project.before("c1", "Limited", json!({"n": number}));
        assert_eq!(project.ask(&other).is_silent(), number < 4, "{number}");
    }
    let denied = project.before("d1", "Send", json!({"to": "ann@example.com"}));
    assert_eq!(project.ask(&denied).output, project.ask(&denied).output);
}
