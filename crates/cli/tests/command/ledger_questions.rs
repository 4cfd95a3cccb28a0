//! Questions to a ledger: which records, what was decided, and the reviewers.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::ledger_audit::{guarded, run};

const POLICY: &str = r#"lictor: 1
name: shop
properties:
  - {id: ask-refund, formula: always !tool_call("refund"), respond: ask, after: reset}
  - {id: no-deletion, formula: always !tool_call("delete"), respond: block}
"#;

/// Returns a ledger with two sessions: `a` deletes and is blocked, refunds with an approval; `b` says hello.
fn ledger(options: &[&str]) -> TempDir {
    guarded(
        POLICY,
        options,
        &[
            r#"{"session":"a","kind":"tool_call","id":"c1","tool":"delete","args":{"who":"dua@example.net"}}"#,
            r#"{"session":"a","kind":"tool_call","id":"c2","tool":"refund","args":{}}"#,
            r#"{"session":"b","kind":"user_message","text":"hello"}"#,
            r#"{"session":"a","kind":"approval","id":"c2","by":"ann"}"#,
            r#"{"session":"a","kind":"tool_call","id":"c3","tool":"refund","args":{}}"#,
            r#"{"session":"a","kind":"denial","id":"c3","by":"ben"}"#,
        ],
    )
}

fn good(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments, "");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the bodies that `lictor log show` prints with some options.
fn shown(folder: &Path, options: &[&str]) -> Vec<Value> {
    let text = good(folder, &[&["log", "show", "log", "--format", "jsonl"], options].concat());
    text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].clone()).collect()
}

#[test]
fn log_show_filters_records() {
    let folder = ledger(&["--keep-content"]);
    let folder = folder.path();
    let all = shown(folder, &["--from", "1"]);
    assert_eq!(all.len(), 8, "{all:?}");
    let count = |options: &[&str]| shown(folder, options).len();
    assert_eq!(count(&["--session", "a"]), 7);
    assert_eq!(count(&["--session", "b"]), 1);
    assert_eq!(count(&["--session", all[0]["run"].as_str().unwrap()]), 7);
    assert_eq!(count(&["--action", "block"]), 2, "one is blocked, and one denied");
    assert_eq!(count(&["--property", "no-del*"]), 1);
    assert_eq!(count(&["--kind", "approval"]), 1);
    assert_eq!(count(&["--session", "a", "--action", "ask", "--property", "ask-refund"]), 2);
    assert_eq!(count(&["--subject", "DUA@example.net"]), 1);
    assert_eq!((count(&["--since", "2020-01-01"]), count(&["--until", "2020-01-01"])), (9, 0));
    assert_eq!(count(&["--until", "2999-01-01T00:00:00Z", "-n", "3"]), 3);
}

#[test]
fn log_show_refuses_unknown_session_and_person() {
    let folder = ledger(&[]);
    for (arguments, said) in [
        (["--session", "a"], "give the `run`"),
        (["--subject", "eve@example.net"], "no record names this person"),
        (["--since", "yesterday"], "not a time"),
    ] {
        let output = run(folder.path(), &[&["log", "show", "log"][..], &arguments].concat(), "");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn log_decisions_sums_up_without_content() {
    let folder = ledger(&[]);
    let text = good(folder.path(), &["log", "decisions", "log"]);
    for said in ["8 (4 forward, 2 ask, 2 block)", "1 approved, 1 denied; answered by ann 1, ben 1", "sessions    2"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let line = good(folder.path(), &["log", "decisions", "log", "--format", "jsonl", "--property", "ask-*"]);
    let summary: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(summary["properties"]["ask-refund"]["actions"]["ask"], 2, "{summary}");
    assert_eq!(summary["properties"]["ask-refund"]["waived"], 1, "{summary}");
    assert!(summary["properties"].get("no-deletion").is_none(), "{summary}");
    assert_eq!(good(folder.path(), &["log", "decisions", "log", "--until", "2020-01-01"]), "no decisions\n");
}

#[test]
fn guard_prints_verifier_key_of_new_ledger() {
    let folder = TempDir::new().unwrap();
    let event = "{\"kind\":\"user_message\",\"text\":\"hi\"}\n";
    let arguments = ["guard", "-p", "agent-safety", "--log", "log"];
    let said = |output: std::process::Output| String::from_utf8(output.stderr).unwrap();
    let first = said(run(folder.path(), &arguments, event));
    let key = good(folder.path(), &["log", "key", "log"]);
    assert!(first.contains(&format!("its verifier key is {}\n", key.trim())), "{first}");
    let second = said(run(folder.path(), &arguments, event));
    assert!(!second.contains("verifier key"), "{second}");
}

#[test]
fn ledger_path_of_file_is_refused_once() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let output = run(folder.path(), &["guard", "-p", "agent-safety", "--log", "file"], "{}\n");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("file: is a file, and a ledger is a folder\nhint: "), "{said}");
    let output = run(folder.path(), &["predict", "--chain", "none.json", "-p", "gdpr", "file"], "");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("chain: No such file"), "{said}");
}
