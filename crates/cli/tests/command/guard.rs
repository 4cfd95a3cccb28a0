//! A guard that is killed at any moment continues without loss; the client retries unanswered events.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const POLICY: &str = r#"
lictor: 1
name: rules
facts:
  paid(payee, amount): {on: tool_call(pay), payee: args.to, amount: args.amount}
properties:
  - {id: ask-delete, formula: 'always !tool_call("delete")', respond: ask}
  - {id: limit, formula: 'always forall p. (paid(p, _) -> sum(a: paid(p, a)) <= 60)', respond: block, history: global}
  - {id: in-turn, formula: 'always (tool_call("pay") -> !previous tool_call("pay"))', respond: block}
"#;

/// The number of kills by default.
const KILLS: u64 = 15;

fn lictor() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lictor"))
}

fn spawn_guard(folder: &Path) -> Child {
    lictor()
        .args(["guard", "--policy"])
        .arg(folder.join("policy.yaml"))
        .arg("--state")
        .arg(folder.join("state"))
        .arg("--log")
        .arg(folder.join("log"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns the next number of a small random generator.
fn next_random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

fn event(number: u64, numbers: &mut [u64; 3], seed: &mut u64) -> String {
    let what = match next_random(seed) % 6 {
        0 => r#""kind":"user_message","text":"go on""#.to_owned(),
        1 => format!(r#""kind":"tool_call","id":"d{number}","tool":"delete","args":{{}}"#),
        2 => format!(r#""kind":"approval","id":"d{}","by":"ann""#, number.saturating_sub(1)),
        _ => format!(
            r#""kind":"tool_call","tool":"pay","args":{{"to":"p{}","amount":{}}}"#,
            next_random(seed) % 9,
            next_random(seed) % 20
        ),
    };
    let session = (next_random(seed) % 3) as usize;
    numbers[session] += 1;
    let (seq, time) = (numbers[session], 1_700_000_000 + number);
    format!(r#"{{"session":"s{session}","seq":{seq},"time":{time},{what}}}"#)
}

/// Returns the decision without the number of the input line.
fn summarize(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    let settled = value["settled"].as_array().map_or(0, Vec::len);
    format!("{} {} {} {settled}", value["action"], value["step"], value["objections"].as_array().map_or(0, Vec::len))
}

/// Sends events to guards that are killed after some milliseconds each, until all events are answered.
fn run_with_kills(folder: &Path, events: &[String], kills: u64) -> Vec<String> {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("policy.yaml"), POLICY).unwrap();
    let (mut answers, mut seed, mut killed) = (Vec::new(), 99, 0);
    while answers.len() < events.len() {
        let mut child = spawn_guard(folder);
        let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let child = Arc::new(Mutex::new(child));
        let killer = (killed < kills).then(|| {
            let (wait, child) = (Duration::from_millis(20 + next_random(&mut seed) % 120), Arc::clone(&child));
            std::thread::spawn(move || {
                // A kill must come at an arbitrary moment, so there is no condition to wait for.
                std::thread::sleep(wait);
                // On Unix this is SIGKILL.
                child.lock().unwrap().kill()
            })
        });
        killed += u64::from(killer.is_some());
        let mut lines = BufReader::new(output).lines();
        while let Some(event) = events.get(answers.len()) {
            if writeln!(input, "{event}").is_err() {
                break;
            }
            match lines.next() {
                Some(Ok(line)) => answers.push(summarize(&line)),
                _ => break,
            }
        }
        drop(input);
        if let Some(killer) = killer {
            killer.join().unwrap().ok();
        }
        child.lock().unwrap().wait().unwrap();
    }
    answers
}

#[test]
fn guard_continues_after_kill() {
    let kills = std::env::var("LICTOR_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let (mut seed, mut numbers) = (7, [0; 3]);
    let events: Vec<String> = (0..kills * 8).map(|number| event(number, &mut numbers, &mut seed)).collect();
    let folder = tempfile::tempdir().unwrap();
    let (calm, torn) = (folder.path().join("calm"), folder.path().join("torn"));
    let expected = run_with_kills(&calm, &events, 0);
    assert_eq!(run_with_kills(&torn, &events, kills), expected);
    for action in ["forward", "block", "ask"] {
        assert!(expected.iter().any(|line| line.contains(action)), "nothing was decided to {action}");
    }
    let records = |folder: &Path| {
        let log = folder.join("log");
        let key = lictor().args(["log", "key"]).arg(&log).output().unwrap();
        let key = String::from_utf8(key.stdout).unwrap();
        let verified = lictor().arg("verify").arg(&log).args(["--key", key.trim()]).output().unwrap();
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
        let shown = lictor().args(["log", "show"]).arg(&log).output().unwrap();
        String::from_utf8(shown.stdout).unwrap().matches("\"type\":\"decision\"").count()
    };
    assert_eq!(records(&torn), records(&calm), "every decision has one record");
}

/// A missed deadline is reported without further input, and open obligations at the end of the session.
#[test]
fn guard_reports_deadline_without_input() {
    let folder = tempfile::tempdir().unwrap();
    let policy = r#"
lictor: 1
name: rules
properties:
  - {id: answer, formula: 'always (user_message -> eventually[0,1s] assistant_message)'}
  - {id: settle, formula: 'always (tool_call("pay") -> eventually tool_call("settle"))'}
"#;
    std::fs::write(folder.path().join("policy.yaml"), policy).unwrap();
    let mut child = spawn_guard(folder.path());
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    let mut next = || -> serde_json::Value { lines.next().unwrap() };
    writeln!(input, r#"{{"session":"s","kind":"user_message","text":"hi"}}"#).unwrap();
    assert_eq!(next()["action"], "forward");
    let late = next();
    assert_eq!((late["type"].as_str(), late["session"].as_str()), (Some("late"), Some("s")));
    assert_eq!(late["finding"]["property"], "answer");
    writeln!(input, r#"{{"session":"s","kind":"tool_call","tool":"pay","args":{{}}}}"#).unwrap();
    writeln!(input, r#"{{"session":"s","kind":"session_end"}}"#).unwrap();
    assert_eq!(next()["kind"], "tool_call");
    assert_eq!(next()["kind"], "session_end");
    assert_eq!(next()["finding"]["property"], "settle");
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let key = lictor().args(["log", "key"]).arg(folder.path().join("log")).output().unwrap().stdout;
    let key = String::from_utf8(key).unwrap();
    let verified = lictor().args(["verify", "--key", key.trim()]).arg(folder.path().join("log")).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}
