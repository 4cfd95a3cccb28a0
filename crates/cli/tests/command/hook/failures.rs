//! Failures are answered with a denial, because a client continues if it does not understand an answer.

use std::process::{Command, Stdio};

use lictor_ledger::{Ledger, LedgerOptions};
use serde_json::json;

use crate::hook::{Answer, Project};

const CLIENTS: [&str; 2] = ["claude", "codex"];

/// Whether the hook exited with 2 and a reason on standard error, which no client treats as a failed hook.
fn is_stopped(answer: &Answer) -> bool {
    answer.exit == Some(2) && !answer.complaint.trim().is_empty() && answer.output.is_empty()
}

#[test]
fn unreadable_input_is_denied() {
    let cases = [
        ("", "json."),
        ("{", "json."),
        ("nonsense", "json."),
        ("{} {}", "json."),
        (r#"{"hook_event_name":"PreToolUse","hook_event_name":"Stop","session_id":"s"}"#, "json.duplicate_key"),
        (
            r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"a","tool_n\u0061me":"b"}"#,
            "json.duplicate_key",
        ),
        (r#"{"session_id":"s1"}"#, "hook_event_name"),
        (r#"{"hook_event_name":"PreToolUse"}"#, "session_id"),
        (r#"{"hook_event_name":"PreToolUse","session_id":""}"#, "session_id"),
        (
            r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":7,"tool_use_id":"c","tool_input":{}}"#,
            "tool_name",
        ),
        (r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"a","tool_use_id":"c"}"#, "tool_input"),
        (r#"{"hook_event_name":"SomethingNew","session_id":"s"}"#, "SomethingNew"),
        (r#"{"hook_event_name":"PreToolUse","session_id":"\ud800"}"#, "json."),
    ];
    let deep = format!("{}{}", r#"{"a":"#.repeat(5000), "}".repeat(5000));
    for client in CLIENTS {
        let project = Project::new(client);
        let folder = project.path().to_str().unwrap().to_owned();
        for (input, reason) in cases.into_iter().chain([(deep.as_str(), "json.")]) {
            let answer = project.ask_with(&["--project", &folder], input);
            assert!(is_stopped(&answer) && answer.complaint.contains(reason), "{input:.80}: {answer:?}");
        }
        assert_eq!(project.decisions(), cases.len() + 1, "each has a record");
    }
}

#[test]
fn broken_policy_denies_everything() {
    for client in CLIENTS {
        let project = Project::new(client);
        std::fs::write(
            project.path().join("lictor.yaml"),
            "lictor: 1\nname: x\nproperties: [{id: a, formula: 'always ('}]\n",
        )
        .unwrap();
        let answer = project.ask(&project.before_call("c1", "Bash", json!({})));
        assert!(answer.is_denied() && answer.output.contains("lictor.yaml"), "{answer:?}");
        let answer = project.ask(&project.input("UserPromptSubmit", json!({"prompt": "hello"}))).json();
        assert_eq!(answer["decision"], "block");
        let answer = project.ask(&project.after_call("c1", "Bash", json!({"stdout": "secret"}))).json();
        assert_eq!(answer["decision"], "block");
        assert!(!answer.to_string().contains("secret"), "{answer}");
        // An agent that cannot stop would loop forever.
        let answer = project.ask(&project.stop(false, "done")).json();
        assert!(answer.get("decision").is_none() && answer["systemMessage"].is_string(), "{answer}");
    }
}

#[test]
fn dangling_policy_link_denies_everything() {
    let project = Project::new("claude");
    let policy = project.path().join("lictor.yaml");
    std::fs::remove_file(&policy).unwrap();
    std::os::unix::fs::symlink("nowhere.yaml", &policy).unwrap();
    let folder = project.path().to_str().unwrap().to_owned();
    let answer = project.ask_with(&["--project", &folder], &project.before_call("c1", "Bash", json!({})).to_string());
    assert!(answer.is_denied() && answer.output.contains("lictor.yaml"), "{answer:?}");
}

#[test]
fn policy_broken_mid_session_denies_everything() {
    let project = Project::new("claude");
    assert!(project.ask(&project.before_call("c1", "Bash", json!({}))).is_silent());
    std::fs::write(
        project.path().join("lictor.yaml"),
        "lictor: 1\nname: x\nproperties: [{id: a, formula: 'always !tool_call(\"A\")'}]\n",
    )
    .unwrap();
    assert!(project.ask(&project.before_call("c2", "Bash", json!({}))).is_denied());
}

#[test]
fn unusable_state_or_ledger_denies_everything() {
    for client in CLIENTS {
        let project = Project::new(client);
        std::fs::write(project.path().join(".lictor"), "not a folder").unwrap();
        assert!(project.ask(&project.before_call("c1", "Bash", json!({}))).is_denied());

        let project = Project::new(client);
        let question = project.before_call("c1", "Bash", json!({}));
        assert!(project.ask(&question).is_silent());
        let database = std::fs::read_dir(project.path().join(".lictor/state")).unwrap().next().unwrap().unwrap().path();
        std::fs::write(database, "this is no database, it is a text that is long enough to be one").unwrap();
        assert!(project.ask(&project.before_call("c2", "Bash", json!({}))).is_denied());

        let project = Project::new(client);
        assert!(project.ask(&project.before_call("c1", "Bash", json!({}))).is_silent());
        let segment = project.path().join(".lictor/log/records/00000000000000000000.jsonl");
        let text = std::fs::read_to_string(&segment).unwrap();
        std::fs::write(&segment, text.replacen("forward", "blocked", 1)).unwrap();
        assert!(project.ask(&project.before_call("c2", "Bash", json!({}))).is_denied(), "the ledger was changed");
    }
}

#[test]
fn locked_ledger_is_denied_after_timeout() {
    for client in CLIENTS {
        let project = Project::new(client);
        assert!(project.ask(&project.before_call("c1", "Bash", json!({}))).is_silent());
        let held = Ledger::open(project.path().join(".lictor/log"), LedgerOptions::new(jiff::Timestamp::now)).unwrap();
        let answer = project.ask_with(&["--deadline", "2"], &project.before_call("c2", "Bash", json!({})).to_string());
        assert!(answer.is_denied() && answer.output.contains("could not decide"), "{answer:?}");
        drop(held);
        assert!(project.ask(&project.before_call("c3", "Bash", json!({}))).is_silent());
    }
}

#[test]
fn unfinished_input_is_denied_after_timeout() {
    for client in CLIENTS {
        let project = Project::new(client);
        let mut child = project.command(&["--deadline", "1"]).spawn().unwrap();
        let kept_open = child.stdin.take().unwrap();
        let answer = Answer::from(child.wait_with_output().unwrap());
        assert!(is_stopped(&answer) && answer.complaint.contains("within 1 s"), "{answer:?}");
        drop(kept_open);
    }
}

#[test]
fn invalid_arguments_deny_the_call() {
    for client in CLIENTS {
        let project = Project::new(client);
        let answer = project.ask_with(&["--no-such-argument"], "{}");
        assert_eq!(answer.exit, Some(2));
        assert!(!answer.complaint.is_empty());
    }
}

/// The command of the settings denies the call even if the program is missing or killed.
#[test]
#[cfg(unix)]
fn settings_command_fails_closed() {
    for client in CLIENTS {
        let project = Project::new(client);
        let printed = project.ask_with(&["--settings", "--project", project.path().to_str().unwrap()], "").json();
        let command = printed["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_lictor")).parent().unwrap();
        let system = std::env::var("PATH").unwrap();
        let run = |before: &str, path: &str| {
            let question = project.before_call("c1", "Bash", json!({})).to_string();
            let file = project.path().join("question.json");
            std::fs::write(&file, question).unwrap();
            let input = std::fs::File::open(&file).unwrap();
            let script = format!("{before}{command}");
            let output =
                Command::new("/bin/sh").args(["-c", &script]).env("PATH", path).stdin(Stdio::from(input)).output();
            Answer::from(output.unwrap())
        };
        assert!(run("", &format!("{}:{system}", bin.display())).is_silent());
        assert!(is_stopped(&run("", "")), "the program is not there");
        // No file may grow, as on a full disk: the system kills the process.
        let killed = run("ulimit -f 0; ", &format!("{}:{system}", bin.display()));
        assert!(is_stopped(&killed) || killed.is_denied(), "{killed:?}");
    }
}
