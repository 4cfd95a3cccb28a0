//! `lictor predict`: which forecasts are compared with what happened, and the exit code.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const POLICY: &str = r#"
lictor: 1
name: p
properties:
  - {id: no-bad, formula: 'always !tool_call("bad")', respond: warn, after: latch}
"#;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lictor"));
    command.args(arguments).args(["-p", "policy.yaml"]).current_dir(folder).output().unwrap()
}

/// Writes a log of sessions, each the tools that it calls.
fn write_log(folder: &Path, name: &str, sessions: &[Vec<&str>]) {
    let mut log = String::new();
    for (number, tools) in sessions.iter().enumerate() {
        for tool in tools {
            log += &format!("{{\"session\":\"s{number}\",\"kind\":\"tool_call\",\"tool\":\"{tool}\",\"args\":{{}}}}\n");
        }
    }
    fs::write(folder.join(name), log).unwrap();
}

/// Returns a folder with a policy and a chain: every fourth session of six calls is bad after them.
fn learnt() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
    let session = |n: usize| [vec!["b"; 6], vec!["bad"; usize::from(n.is_multiple_of(4))]].concat();
    let sessions: Vec<Vec<&str>> = (0..80).map(session).collect();
    write_log(folder.path(), "past.jsonl", &sessions);
    let output = run(folder.path(), &["learn", "chain", "past.jsonl", "-o", "chain.json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

#[test]
fn predict_scores_forecast_after_last_event() {
    let folder = learnt();
    let mut sessions = vec![vec!["b"]; 20];
    sessions.extend([vec!["b", "bad"], vec!["b", "bad"]]);
    write_log(folder.path(), "log.jsonl", &sessions);
    let output = run(folder.path(), &["predict", "log.jsonl", "--chain", "chain.json"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    // One after each `b`, of which 2 of 22 go on, and one after each `bad`.
    let line = printed.lines().find(|line| line.starts_with("no-bad")).unwrap_or_default();
    assert_eq!(line.split_whitespace().skip(1).take(2).collect::<Vec<_>>(), ["24", "8.33%"], "{printed}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn predict_without_forecast_exits_with_two() {
    let folder = learnt();
    write_log(folder.path(), "strange.jsonl", &[vec!["strange"; 30]]);
    let output = run(folder.path(), &["predict", "strange.jsonl", "--chain", "chain.json", "--now"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("out of model"), "{printed}");
    assert_eq!(output.status.code(), Some(2));
    write_log(folder.path(), "known.jsonl", &[vec!["b"]]);
    let output = run(folder.path(), &["predict", "known.jsonl", "--chain", "chain.json", "--now"]);
    assert_eq!(output.status.code(), Some(0));
}
