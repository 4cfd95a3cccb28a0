//! The keeper, a daemon that the first call starts: quicker, and never more permissive.

use std::path::PathBuf;

use lictor_ledger::{Ledger, LedgerOptions};
use serde_json::json;

use crate::hook::{Answer, POLICY, Project};
use crate::wait_until;

fn project() -> Project {
    Project { has_keeper: true, ..Project::new("claude") }
}

fn socket(project: &Project) -> PathBuf {
    project.path().join(".lictor/state/keeper.sock")
}

fn ask(project: &Project, id: &str, tool: &str) -> Answer {
    let question = project.before_call(id, tool, json!({})).to_string();
    project.ask_with(&["--project", project.path().to_str().unwrap()], &question)
}

/// Waits until the keeper listens.
fn wait_for_keeper(project: &Project) {
    wait_until("the keeper listens", || socket(project).exists());
}

fn is_kept(project: &Project) -> bool {
    Ledger::open(project.path().join(".lictor/log"), LedgerOptions::new(jiff::Timestamp::now))
        .is_err_and(|it| it.is_locked())
}

/// Stops the keeper and waits until it has exited.
fn stop_keeper(project: &Project) {
    wait_until("the keeper exits", || {
        // A keeper that was just started may create its socket later.
        std::fs::remove_file(socket(project)).ok();
        !is_kept(project)
    });
}

#[test]
fn keeper_answers_like_a_single_process() {
    let project = project();
    assert!(ask(&project, "c1", "Limited").is_silent());
    wait_for_keeper(&project);
    assert!(is_kept(&project));
    assert!(ask(&project, "c2", "Limited").is_silent());
    assert!(ask(&project, "c3", "Limited").is_silent());
    assert!(ask(&project, "c4", "Limited").is_denied(), "the session goes on from process to process");
    let broken = project.ask_with(&["--project", project.path().to_str().unwrap()], "{");
    assert_eq!(broken.exit, Some(2));
    assert!(broken.complaint.contains("json."), "{broken:?}");
    assert!(is_kept(&project));
    stop_keeper(&project);
    assert_eq!(project.decisions(), 5);
}

#[test]
fn keeper_exits_when_policy_changes() {
    let project = project();
    assert!(ask(&project, "c1", "Deploy").is_denied());
    wait_for_keeper(&project);
    assert!(ask(&project, "c2", "Bash").is_silent());
    // The same formulas with one stricter response: the session keeps its policy, the next session uses the new one.
    let harsher =
        POLICY.replace("always !tool_call(\"Slow\")', respond: steer", "always !tool_call(\"Slow\")', respond: block");
    std::fs::write(project.path().join("lictor.yaml"), harsher).unwrap();
    let kept = ask(&project, "c3", "Bash");
    assert!(kept.is_denied() && kept.output.contains("began with another policy"), "{kept:?}");
    let mut question = project.before_call("c4", "Slow", json!({}));
    question["session_id"] = "another".into();
    let arguments = ["--project", project.path().to_str().unwrap()];
    assert!(project.ask_with(&arguments, &question.to_string()).is_denied());
    wait_for_keeper(&project);
    stop_keeper(&project);
}

#[test]
fn killed_keeper_is_replaced() {
    let project = project();
    assert!(ask(&project, "c1", "Limited").is_silent());
    wait_for_keeper(&project);
    assert!(ask(&project, "c2", "Limited").is_silent());
    let listed = std::process::Command::new("ps").args(["-eo", "pid,args"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let ours = project.path().to_str().unwrap();
    let line = listed.lines().find(|line| line.contains("--keep ") && line.contains(ours)).unwrap();
    let pid = line.split_whitespace().next().unwrap();
    assert!(std::process::Command::new("kill").args(["-9", pid]).status().unwrap().success());
    assert!(ask(&project, "c3", "Limited").is_silent());
    // Calls are answered while the next keeper starts.
    let denied = ask(&project, "c4", "Limited");
    assert!(denied.is_denied() && denied.output.contains("few"), "{denied:?}");
    wait_for_keeper(&project);
    stop_keeper(&project);
    assert_eq!(project.decisions(), 4, "each has one record");
}

#[test]
fn keeper_exits_when_socket_is_removed() {
    let project = project();
    assert!(ask(&project, "c1", "Bash").is_silent());
    wait_for_keeper(&project);
    stop_keeper(&project);
}
