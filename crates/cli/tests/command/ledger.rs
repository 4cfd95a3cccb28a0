//! The commands about ledgers, run on ledgers made for each test.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use lictor_ledger::{Draft, Ledger, LedgerOptions, Payload};
use serde_json::{Value, json};

fn lictor(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lictor")).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Returns the output of a command that must succeed.
fn good(arguments: &[&str]) -> String {
    let output = lictor(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Creates a ledger with three records besides the first, and returns its key.
fn ledger(log: &Path) -> String {
    let key = good(&["log", "create", log.to_str().unwrap(), "--origin", "example.com/agents"]);
    let ledger = Ledger::open(log, LedgerOptions::new(jiff::Timestamp::now)).unwrap();
    for (number, subject) in ["ada", "ben", "ada"].into_iter().enumerate() {
        let mut draft = Draft { subjects: vec![subject.to_owned()], ..Draft::default() };
        draft.body.insert("step".to_owned(), number.into());
        draft.payload = Some(Payload::Sealed(format!("said by {subject}").into_bytes()));
        ledger.append(draft).unwrap().wait().unwrap();
    }
    ledger.close().unwrap();
    key.trim().to_owned()
}

#[test]
fn verify_detects_a_changed_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (key, log) = (ledger(&log), log.to_str().unwrap());
    assert_eq!(good(&["log", "key", log]).trim(), key);
    assert!(good(&["verify", log, "--key", &key]).contains("4 records verify"));
    let document: Value = serde_json::from_str(&good(&["verify", log, "--key", &key, "--format", "json"])).unwrap();
    assert_eq!((&document["verified"], &document["records"]), (&Value::from(true), &Value::from(4)));

    let file = folder.path().join("key");
    fs::write(&file, format!("{key}\n")).unwrap();
    assert!(good(&["verify", log, "--key", file.to_str().unwrap()]).contains("4 records"));

    let segment = folder.path().join("log/records/00000000000000000000.jsonl");
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replace("\"step\":1", "\"step\":7")).unwrap();
    let output = lictor(&["verify", log, "--key", &key]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("records/00000000000000000000.jsonl:3: record 2: its hash is not the one in the tree"),
        "{said}"
    );
}

#[test]
fn verify_distinguishes_unreadable_from_invalid() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (key, log) = (ledger(&log), log.to_str().unwrap());
    for arguments in [&["verify", log, "--key", "nonsense"], &["verify", log, "--key", "a+b+c"]] {
        let output = lictor(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
    let output = lictor(&["verify", log, "--key", &key, "--against", log]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn verify_against_checkpoint_detects_older_copy() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (key, pinned) = (ledger(&log), folder.path().join("pinned"));
    let old = folder.path().join("old");
    copy_all(&log, &old);
    let (log, old, pin) = (log.to_str().unwrap(), old.to_str().unwrap(), pinned.to_str().unwrap());
    let new_key = good(&["log", "rotate", log]);
    assert_ne!(new_key.trim(), key);
    fs::write(&pinned, good(&["log", "checkpoint", log])).unwrap();
    assert!(good(&["verify", log, "--key", &key, "--against", pin]).contains("5 records verify"));
    assert!(good(&["log", "export", log]).ends_with(&format!("{}\n", fs::read_to_string(&pinned).unwrap())));
    assert!(lictor(&["verify", old, "--key", &key]).status.success());
    assert_eq!(lictor(&["verify", old, "--key", &key, "--against", pin]).status.code(), Some(1));
}

#[test]
fn log_create_after_names_lost_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new, last) = (folder.path().join("old"), folder.path().join("new"), folder.path().join("last"));
    let key = ledger(&old);
    let (old, new, last) = (old.to_str().unwrap(), new.to_str().unwrap(), last.to_str().unwrap());
    fs::remove_file(folder.path().join("old/keys/signing")).unwrap();
    let refused = lictor(&["log", "create", old, "--origin", "example.com/agents"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("names its last checkpoint"));
    fs::write(last, good(&["log", "checkpoint", old])).unwrap();
    let new_key = good(&["log", "create", new, "--origin", "example.com/agents", "--after", last]);
    assert!(good(&["verify", new, "--key", new_key.trim()]).contains("2 records verify"));
    let shown = good(&["log", "show", new]);
    assert!(shown.contains("continues example.com/agents from its checkpoint of 4 records on"), "{shown}");
    assert!(good(&["verify", old, "--key", &key, "--against", last]).contains("4 records verify"));
}

#[test]
fn erase_forgets_subject_and_ledger_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (key, log) = (ledger(&log), log.to_str().unwrap());
    assert!(good(&["log", "show", log, "--reveal"]).contains("payload: said by ada"));
    let missing = lictor(&["verify", folder.path().to_str().unwrap(), "--key", &key]);
    assert_eq!(missing.status.code(), Some(2), "a folder without a ledger is not a changed ledger");
    assert!(good(&["erase", "ada", "--log", log]).contains("record 4 says so"));
    let shown = good(&["log", "show", log, "--reveal", "--from", "1"]);
    assert!(!shown.contains("said by ada") && shown.contains("said by ben"), "{shown}");
    assert_eq!(shown.matches("payload: erased").count(), 2, "{shown}");
    assert!(good(&["verify", log, "--key", &key]).contains("5 records verify"));
    let output = lictor(&["erase", "ada", "--log", log]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no record names the subject"));
}

#[test]
fn log_proof_contains_everything_to_check_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    ledger(&log);
    let log = log.to_str().unwrap();
    let hash = |value: &Value| lictor_ledger::Hash::from_base64(value.as_str().unwrap()).unwrap();
    let hashes = |value: &Value| value.as_array().unwrap().iter().map(hash).collect::<Vec<_>>();
    let proof: Value = serde_json::from_str(&good(&["log", "proof", log, "2"])).unwrap();
    let (leaf, root) = (hash(&proof["leaf"]), hash(&proof["root"]));
    assert!(lictor_ledger::check_inclusion(leaf, 2, 4, root, &hashes(&proof["proof"])));
    let proof: Value = serde_json::from_str(&good(&["log", "proof", log, "--since", "3"])).unwrap();
    let old_root = hash(&proof["old_root"]);
    assert!(lictor_ledger::check_consistency(3, old_root, 4, root, &hashes(&proof["proof"])));
    assert_eq!(lictor(&["log", "proof", log, "9"]).status.code(), Some(2));
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, target) = entry.map(|entry| (entry.path(), to.join(entry.file_name()))).unwrap();
        if path.is_dir() {
            copy_all(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Creates a ledger in several files with the decisions on two sessions: `a` approves a payment at its third event,
/// which is record 3, and pays at record 6; `b` begins at record 7.
fn decisions(log: &Path) -> String {
    let key = good(&["log", "create", log.to_str().unwrap(), "--origin", "example.com/agents"]);
    let options = LedgerOptions::new(jiff::Timestamp::now).segment_bytes(900);
    let ledger = Ledger::open(log, options).unwrap();
    let events = [
        ("a", 1, r#""kind":"user_message","text":"pay""#),
        ("a", 2, r#""kind":"user_message","text":"now""#),
        ("a", 3, r#""kind":"approval""#),
        ("a", 4, r#""kind":"user_message","text":"please""#),
        ("a", 5, r#""kind":"user_message","text":"go on""#),
        ("a", 6, r#""kind":"tool_call","tool":"pay","args":{}"#),
        ("b", 1, r#""kind":"tool_call","tool":"pay","args":{}"#),
        ("a", 7, r#""kind":"user_message","text":"thanks""#),
    ];
    for (session, number, event) in events {
        let mut draft = Draft::default();
        draft.body.insert("type".to_owned(), "decision".into());
        draft.body.insert("action".to_owned(), "forward".into());
        draft.body.insert("run".to_owned(), format!("run of {session}").into());
        draft.body.insert("number".to_owned(), number.into());
        let payload = format!(r#"{{"event":{{"session":"{session}",{event}}},"decision":{{}}}}"#);
        draft.payload = Some(Payload::Sealed(payload.into_bytes()));
        ledger.append(draft).unwrap().wait().unwrap();
    }
    ledger.close().unwrap();
    key
}

#[test]
fn replay_continues_after_gap_and_reports_it() {
    let folder = tempfile::tempdir().unwrap();
    let (log, policy) = (folder.path().join("log"), folder.path().join("policy.yaml"));
    let formula = r#"always (tool_call("pay") implies once approval)"#;
    fs::write(
        &policy,
        format!("lictor: 1\nname: p\nproperties:\n  - {{id: approved, formula: '{formula}', respond: block}}\n"),
    )
    .unwrap();
    let key = decisions(&log);
    let arguments = ["replay", log.to_str().unwrap(), "--policy", policy.to_str().unwrap()];
    let whole = lictor(&arguments);
    let told = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(told(&whole), "record 7: forward, now block (approved)\n7 decisions stay, 1 change, 0 were erased\n");
    assert_eq!(whole.status.code(), Some(1));

    // Without the file of the approval it is unknown whether the payment of `a` was approved; that of `b` was not.
    let mut files: Vec<_> = fs::read_dir(log.join("records")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 2, "{files:?}");
    let lines = fs::read_to_string(&files[1]).unwrap().lines().count() as u64;
    let first: u64 = files[1].file_stem().unwrap().to_str().unwrap().parse().unwrap();
    assert!(first == 3 && first + lines <= 6, "{first} {lines}");
    fs::remove_file(&files[1]).unwrap();
    let torn = lictor(&arguments);
    let text = told(&torn);
    assert!(text.starts_with(&format!("gap: records 3 to {} are missing\n", first + lines - 1)), "{text}");
    assert!(text.contains("record 6: forward, now block (approved); not all that went before is known\n"), "{text}");
    assert!(text.contains("record 7: forward, now block (approved)\n"), "{text}");
    assert!(text.ends_with("1 change, 0 were erased, 1 uncertain\n"), "{text}");
    assert_eq!(torn.status.code(), Some(2));
    let verified = lictor(&["verify", log.to_str().unwrap(), "--key", key.trim()]);
    assert!(!verified.status.success());
    let complaint = String::from_utf8_lossy(&verified.stderr).into_owned() + &told(&verified);
    assert!(complaint.contains("record 3"), "{complaint}");
}

#[test]
fn audit_of_ledger_leaves_gap_for_missing_records() {
    let folder = tempfile::tempdir().unwrap();
    let (log, policy) = (folder.path().join("log"), folder.path().join("policy.yaml"));
    let formula = r#"always (tool_call("pay") implies once approval)"#;
    fs::write(&policy, format!("lictor: 1\nname: p\nproperties:\n  - {{id: approved, formula: '{formula}'}}\n"))
        .unwrap();
    decisions(&log);
    let verdicts = || {
        let output =
            lictor(&["audit", "-q", "-p", policy.to_str().unwrap(), "--format", "json", log.to_str().unwrap()]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let sessions = report["sessions"].as_array().unwrap().iter();
        let mut told: Vec<String> =
            sessions.map(|session| format!("{} {}", session["name"], session["verdict"])).collect();
        told.sort();
        told.join(", ")
    };
    assert_eq!(verdicts(), r#""a" "satisfied", "b" "violated""#);
    let mut files: Vec<_> = fs::read_dir(log.join("records")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    fs::remove_file(&files[1]).unwrap();
    assert_eq!(verdicts(), r#""a" "inconclusive", "b" "violated""#);
}

#[test]
fn replay_counts_erased_events_as_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let (log, free, strict) = (folder.path().join("log"), folder.path().join("free"), folder.path().join("strict"));
    let property = |formula: &str| {
        format!("lictor: 1\nname: p\nproperties:\n  - {{id: approved, formula: '{formula}', respond: block}}\n")
    };
    fs::write(&free, property("always true")).unwrap();
    fs::write(&strict, property(r#"always (tool_call("pay") implies once approval)"#)).unwrap();
    let [log, free, strict] = [&log, &free, &strict].map(|path| path.to_str().unwrap());
    good(&["log", "create", log, "--origin", "example.com/agents"]);
    let events = r#"{"session":"a","kind":"approval","subjects":["ada"]}
{"session":"a","kind":"tool_call","tool":"pay","args":{}}
{"session":"b","kind":"tool_call","tool":"pay","args":{}}
"#;
    let input = folder.path().join("events");
    fs::write(&input, events).unwrap();
    let guarded = Command::new(env!("CARGO_BIN_EXE_lictor"))
        .args(["guard", "--policy", free, "--log", log, "--keep-content"])
        .stdin(fs::File::open(&input).unwrap())
        .output()
        .unwrap();
    assert!(guarded.status.success(), "{}", String::from_utf8_lossy(&guarded.stderr));
    let replay = ["replay", log, "--policy", strict];
    let told = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
    assert!(told(&lictor(&replay)).ends_with("2 decisions stay, 1 change, 0 were erased\n"));
    good(&["erase", "ada", "--log", log]);
    let erased = lictor(&replay);
    assert_eq!(erased.status.code(), Some(1));
    let expected = "record 2: forward, now block (approved); not all that went before is known\n\
                    record 3: forward, now block (approved)\n\
                    0 decisions stay, 1 change, 1 were erased, 1 uncertain\n";
    assert_eq!(told(&erased), expected);
    let lines = told(&lictor(&[&replay[..], &["--format", "jsonl"]].concat()));
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["unsure"], &lines[1]["unsure"]), (&true.into(), &false.into()));
    assert_eq!(lines[2]["type"], "summary");
    let nowhere = lictor(&["replay", "nowhere", "--policy", strict]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("nowhere: no ledger here"));
}

#[test]
fn replay_leaves_answers_of_other_labelers_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let line = |n: usize| {
        let labels = if n.is_multiple_of(2) { r#","labels":["angry"]"# } else { "" };
        let said = if n.is_multiple_of(2) { "This is an outrage" } else { "Thank you" };
        format!("{{\"session\":\"s{n}\",\"kind\":\"user_message\",\"text\":\"{said}, order {n}\"{labels}}}\n")
    };
    fs::write(path("labelled.jsonl"), (0..80).map(line).collect::<String>()).unwrap();
    good(&["learn", "labels", &path("labelled.jsonl"), "-o", &path("mood.json")]);
    let policy = |name: &str, model: &str, question: &str| {
        let text = format!(
            "lictor: 1\nname: p\nlabelers: {{mood: {{learnt: ./{model}}}}}\nfacts:\n  angry: {{ask: {question}, of: \
             user_message, by: mood}}\nproperties:\n  - {{id: calm, formula: 'always (tool_call(\"pay\") implies !once \
             angry)', respond: block, unknown: ask}}\n"
        );
        fs::write(path(name), text).unwrap();
        path(name)
    };
    fs::write(path("more.jsonl"), (0..90).map(line).collect::<String>()).unwrap();
    good(&["learn", "labels", &path("more.jsonl"), "-o", &path("other.json")]);
    let same = policy("same.yaml", "mood.json", "the user is angry");
    // A learnt labeler reads nothing of the question.
    let rephrased = policy("rephrased.yaml", "mood.json", "the user complains");
    let other = policy("other.yaml", "other.json", "the user is angry");
    good(&["log", "create", &path("log"), "--origin", "example.com/agents"]);
    let events = "{\"session\":\"a\",\"kind\":\"user_message\",\"text\":\"This is an outrage, order 7\"}\n\
                  {\"session\":\"a\",\"kind\":\"tool_call\",\"tool\":\"pay\",\"args\":{}}\n";
    fs::write(path("events"), events).unwrap();
    let guarded = Command::new(env!("CARGO_BIN_EXE_lictor"))
        .args(["guard", "--policy", &same, "--log", &path("log"), "--keep-content"])
        .stdin(fs::File::open(path("events")).unwrap())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&guarded.stdout).contains(r#""action":"block""#));
    let replay = |policy: &str| {
        let output = lictor(&["replay", &path("log"), "--policy", policy]);
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    };
    for policy in [&same, &rephrased] {
        assert_eq!(replay(policy), ("2 decisions stay, 0 change, 0 were erased\n".to_owned(), Some(0)));
    }
    let (text, code) = replay(&other);
    assert!(text.contains("block, now ask (calm); not all that went before is known\n"), "{text}");
    assert_eq!(code, Some(3), "{text}");
}

#[test]
fn replay_repeats_decisions_of_forecasts() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let chain = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/scenes/files/chain.json");
    let properties = "lictor: 1\nname: p\nproperties:\n  - {id: no-drop, formula: 'always !tool_call(\"drop\")'}\n";
    let predict = format!("predict: {{chain: '{chain}', within: 2, risk: 0.6, intervene: [stop]}}\n");
    fs::write(path("plain.yaml"), properties).unwrap();
    fs::write(path("policy.yaml"), format!("{properties}{predict}")).unwrap();
    let call = |tool: &str| format!("{{\"kind\": \"tool_call\", \"session\": \"s\", \"tool\": \"{tool}\"}}\n");
    let events = format!(
        "{{\"kind\": \"user_message\", \"session\": \"s\", \"text\": \"Tidy up.\"}}\n{}{}",
        call("open_shell"),
        call("open_console")
    );
    fs::write(path("events.jsonl"), events).unwrap();
    let guarded = Command::new(env!("CARGO_BIN_EXE_lictor"))
        .args(["guard", "--policy", &path("policy.yaml"), "--log", &path("log"), "--keep-content"])
        .stdin(fs::File::open(path("events.jsonl")).unwrap())
        .output()
        .unwrap();
    let answers = String::from_utf8(guarded.stdout).unwrap();
    assert_eq!(answers.matches("\"action\":\"block\"").count(), 1, "{answers}");

    let again = good(&["replay", &path("log"), "--policy", &path("policy.yaml")]);
    assert_eq!(again, "3 decisions stay, 0 change, 0 were erased\n");
    let without = lictor(&["replay", &path("log"), "--policy", &path("plain.yaml")]);
    assert_eq!(
        String::from_utf8(without.stdout).unwrap(),
        "record 2: block, now forward\n2 decisions stay, 1 change, 0 were erased\n"
    );
    let summed = good(&["log", "interventions", &path("log")]);
    assert!(summed.contains("calls stopped               1\n"), "{summed}");
}

#[test]
fn replay_keeps_sessions_of_tenants_apart() {
    let folder = tempfile::tempdir().unwrap();
    let policy = r#"
lictor: 1
name: p
properties:
  - {id: pay-once, formula: 'always (tool_call("pay") implies !previous once tool_call("pay"))', respond: block}
  - {id: refund-once, formula: 'always (tool_call("refund") implies !previous once tool_call("refund"))', respond: block, history: global}
"#;
    let (log, file) = (folder.path().join("log"), folder.path().join("policy.yaml"));
    fs::write(&file, policy).unwrap();
    let ledger = Ledger::create(&log, "example.com/agents", LedgerOptions::new(jiff::Timestamp::now)).unwrap();
    for (tenant, number, tool, action) in [
        (Some("a"), 1, "pay", "forward"),
        (Some("b"), 1, "pay", "forward"),
        (None, 1, "pay", "forward"),
        (Some("a"), 2, "pay", "block"),
        (Some("b"), 2, "refund", "forward"),
        (Some("a"), 3, "refund", "forward"),
        (Some("b"), 3, "refund", "block"),
        (None, 2, "pay", "block"),
    ] {
        let mut body = json!({"type": "decision", "action": action, "number": number, "settles": false});
        body["run"] = json!(format!("run of {tenant:?}"));
        if let Some(tenant) = tenant {
            body["tenant"] = json!(tenant);
        }
        let event = json!({"kind": "tool_call", "session": "s", "tool": tool, "args": {}});
        let payload = Payload::Sealed(json!({"event": event, "decision": {}}).to_string().into_bytes());
        let draft = Draft { body: body.as_object().unwrap().clone(), payload: Some(payload), ..Draft::default() };
        ledger.append(draft).unwrap().wait().unwrap();
    }
    ledger.close().unwrap();
    let said = good(&["replay", log.to_str().unwrap(), "-p", file.to_str().unwrap()]);
    assert!(said.contains("8 decisions stay, 0 change"), "{said}");
}
