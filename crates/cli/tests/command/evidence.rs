//! Logs as evidence: a report never overwrites what it was made from, commands say what they could not read, and names
//! from a log stay text.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const POLICY: &str = "lictor: 1\nname: p\nproperties:\n  - id: no-evil\n    formula: always !tool_call(\"evil\")\n";
const LOG: &str = "{\"kind\":\"tool_call\",\"tool\":\"evil\",\"session\":\"s\"}\n";

/// Runs the program in a folder that holds `p.yaml` and `log.jsonl`; returns its result.
fn lictor(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lictor"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

/// A command, and the unreadable files it is given, each with the code of its fault.
type UnreadRun<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)]);

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.yaml"), POLICY).unwrap();
    fs::write(folder.path().join("log.jsonl"), LOG).unwrap();
    folder
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns a gzip file of many events that is cut after its first block.
fn truncated_gzip() -> Vec<u8> {
    let text = LOG.repeat(500);
    let length = u16::try_from(text.len()).unwrap();
    // The header, then a block that is stored as it is and not the last one.
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0];
    bytes.extend(length.to_le_bytes());
    bytes.extend((!length).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

#[test]
fn audit_output_never_overwrites_its_input() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("join.jsonl"), "{\"kind\":\"approval\",\"session\":\"s\",\"name\":\"evil\"}\n").unwrap();
    fs::write(path("base.json"), "{\"lictor\":1,\"findings\":[]}").unwrap();
    fs::create_dir(path("sub")).unwrap();
    fs::hard_link(path("log.jsonl"), path("hard.jsonl")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(path("log.jsonl"), path("soft.jsonl")).unwrap();
    let outputs = ["log.jsonl", "./sub/../log.jsonl", "p.yaml", "join.jsonl", "base.json"];
    let links: &[&str] = if cfg!(unix) { &["hard.jsonl", "soft.jsonl"] } else { &[] };
    let audit = ["audit", "-p", "p.yaml", "--join", "join.jsonl", "--baseline", "base.json", "log.jsonl", "-o"];
    for output in outputs.iter().chain(links) {
        let before = fs::read(path(output)).unwrap();
        let run = lictor(folder.path(), &[&audit[..], &[output]].concat());
        assert_eq!(run.status.code(), Some(2), "{output}: {}", stderr(&run));
        assert!(stderr(&run).contains("would overwrite"), "{output}: {}", stderr(&run));
        assert_eq!(fs::read(path(output)).unwrap(), before, "{output}");
    }
    // An old report is no input.
    for _ in 0..2 {
        let run = lictor(folder.path(), &[&audit[..], &["report.txt"]].concat());
        assert_eq!(run.status.code(), Some(1), "{}", stderr(&run));
    }
}

#[test]
fn unread_file_shows_in_every_command() {
    let folder = folder();
    fs::write(folder.path().join("package.json"), "{\"name\":\"x\",\"version\":\"1\"}").unwrap();
    fs::write(folder.path().join("half.jsonl.gz"), truncated_gzip()).unwrap();
    let spans = "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"5b8efff798038103d269b633813fc60c\",\
                 \"spanId\":\"eee19b7ec3c1b174\",\"name\":\"GET /\",\"startTimeUnixNano\":\"1\",\"attributes\":[]}]}]}]}";
    fs::write(folder.path().join("http.json"), spans).unwrap();
    let (package, half, http) =
        (("package.json", "input.unreadable"), ("half.jsonl.gz", "input.compressed"), ("http.json", "input.no_events"));
    let runs: [UnreadRun<'_>; 5] = [
        (&["audit", "-q", "-p", "p.yaml", "log.jsonl"], &[package, half, http]),
        (&["diff", "p.yaml", "p.yaml", "log.jsonl"], &[package, half]),
        (&["check", "p.yaml", "log.jsonl"], &[half, http]),
        (&["inspect", "log.jsonl"], &[http]),
        (&["init", "new.yaml", "--from", "log.jsonl", "--from"], &[half]),
    ];
    for (command, faults) in runs {
        for (file, code) in faults {
            let run = lictor(folder.path(), &[command, &[file]].concat());
            let said = stdout(&run) + &stderr(&run);
            assert_eq!(run.status.code(), Some(2), "{command:?} {file}: {said}");
            assert!(said.contains(file) && said.contains(code), "{command:?} {file}: {said}");
            if matches!(command[0], "audit" | "diff" | "check") {
                let run = lictor(folder.path(), &[command, &[file, "--max-faults", "100"]].concat());
                assert_ne!(run.status.code(), Some(2), "{command:?} {file}: {}", stderr(&run));
            }
        }
    }
}

/// A log of many calls that are read, and one record of each way to hide a call.
fn log_with(good: &str, hidden: &str) -> String {
    (0..300).map(|number| good.replace('#', &number.to_string()) + "\n").collect::<String>() + hidden + "\n"
}

#[test]
fn audit_is_unjudged_by_one_unread_call() {
    let folder = folder();
    let chat = r##"{"role":"assistant","content":"","tool_calls":[{"id":"call_#","type":"function","function":{"name":"get","arguments":"{}"}}]}"##;
    let call = r#"{"id":"x","type":"function","function":{"name":"evil","arguments":"{}"}}"#;
    let native = r##"{"kind":"tool_call","tool":"get","session":"s","id":"#"}"##;
    let hidden = [
        // A call in another place, twice for both commands, without its tool, in a torn record, and as JSON text in a record that is refused.
        (chat, format!(r#"{{"role":"assistant","content":"a","extra":{{"tool_calls":[{call}]}}}}"#)),
        (chat, format!(r#"{{"role":"assistant","content":"a","extra":{{"tool_calls":[{call}]}}}}"#)),
        (chat, chat.replace("\"get\"", "null")),
        (chat, chat[..chat.len() - 3].to_owned()),
        (chat, format!(r#"{{"role":"assistant","role":"user","content":{}}}"#, serde_json::json!(chat))),
        // Results of a session whose calls are not in the log.
        (
            chat,
            "{\"session_id\":\"t\",\"role\":\"user\",\"content\":\"hi\"}\n\
             {\"session_id\":\"t\",\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"ok\"}"
                .to_owned(),
        ),
        // Events of Lictor's own that are refused, and a message among them.
        (native, r#"{"kind":"tool_call","tool":"evil","time":"noon"}"#.to_owned()),
        (native, r#"{"kind":"tool-call","tool":"evil"}"#.to_owned()),
        (native, r#"{"kind":"tool_call","tool":"evil","kind":"tool_call"}"#.to_owned()),
        (native, r#"{"facts":["tool_call(\"evil\""]}"#.to_owned()),
        (native, r#"["tool_call(\"evil\""]"#.to_owned()),
        (native, format!(r#"{{"role":"assistant","tool_calls":[{call}]}}"#)),
    ];
    for (place, (good, hidden)) in hidden.into_iter().enumerate() {
        fs::write(folder.path().join("calls.jsonl"), log_with(good, &hidden)).unwrap();
        // Another command has the same rule.
        let command: &[&str] = match place {
            0 => &["diff", "p.yaml", "p.yaml", "calls.jsonl"],
            _ => &["audit", "-q", "-p", "p.yaml", "calls.jsonl"],
        };
        let run = lictor(folder.path(), command);
        let said = stdout(&run) + &stderr(&run);
        assert_eq!(run.status.code(), Some(2), "{hidden}: {said}");
        assert!(said.contains("a call could not be read"), "{hidden}: {said}");
        let run = lictor(folder.path(), &[command, &["--max-faults", "100"]].concat());
        assert_eq!(run.status.code(), Some(0), "{hidden}: {}", stderr(&run));
    }
}

#[test]
fn commands_report_unread_records_and_write_results() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let policy = "lictor: 1\nlabelers: {injection: {learnt: \"builtin:injection\"}}\nfacts:\n  \
        told: {ask: the text gives instructions, of: tool_result, by: injection}\nproperties:\n  \
        - {id: untold, formula: always not told}\n";
    fs::write(path("l.yaml"), policy).unwrap();
    let session = |number: usize| {
        let mood =
            if number.is_multiple_of(2) { ("This is an outrage", r#""labels":["angry"],"#) } else { ("Thank you", "") };
        let of = |rest: &str| format!("{{\"session\":\"s{number}\",{rest}}}\n");
        of(&format!(r#"{}"kind":"user_message","text":"{}, order {number}.""#, mood.1, mood.0))
            + &of(r#""kind":"tool_call","tool":"get","id":"c""#)
            + &of(r#""kind":"tool_result","tool":"get","id":"c","text":"sent""#)
    };
    let clean: String = (0..80).map(session).collect();
    fs::write(path("clean.jsonl"), &clean).unwrap();
    let chain = lictor(folder.path(), &["learn", "chain", "-p", "p.yaml", "-o", "chain.json", "clean.jsonl"]);
    assert_eq!((chain.status.code(), &*stderr(&chain)), (Some(0), ""));
    // A record that holds words only, and one that holds a call.
    let words = "{\"kind\":\"user_message\",\"content\":\"please pay\"}\n";
    let call = "{\"kind\":\"tool_call\",\"tool\":\"evil\",\"time\":\"noon\"}\n";
    fs::write(path("words.jsonl"), clean.clone() + words).unwrap();
    fs::write(path("call.jsonl"), clean.clone() + call).unwrap();
    let commands: [(&[&str], &str); 6] = [
        (&["learn", "labels", "-o", "new/m.json"], "m.json"),
        (&["learn", "chain", "-p", "p.yaml", "-o", "new/c.json"], "c.json"),
        (&["predict", "-p", "p.yaml", "--chain", "chain.json", "--plots", "new/plots"], "plots"),
        (&["predict", "-p", "p.yaml", "--chain", "chain.json", "--now"], ""),
        (&["label", "-p", "l.yaml", "-o", "new/labelled.jsonl"], "labelled.jsonl"),
        (&["export", "mfotl", "-p", "p.yaml", "-o", "new/export"], "export/s7.log"),
    ];
    for (command, result) in commands {
        for (log, tolerance, code) in [
            ("clean.jsonl", "5", 0),
            ("words.jsonl", "5", 0),
            ("words.jsonl", "0.1", 2),
            ("call.jsonl", "5", 2),
            ("call.jsonl", "100", 0),
        ] {
            fs::create_dir(path("new")).unwrap();
            let run = lictor(folder.path(), &[command, &["--max-faults", tolerance, log]].concat());
            let said = stderr(&run);
            assert_eq!(run.status.code(), Some(code), "{command:?} {log}: {said}");
            assert_eq!(
                said.contains(&format!("warning: {log}:241")),
                log != "clean.jsonl",
                "{command:?} {log}: {said}"
            );
            assert_eq!(said.contains("the result does not cover"), code == 2, "{command:?} {log}: {said}");
            assert!(path("new").join(result).exists() && !run.stdout.is_empty(), "{command:?} {log}: {said}");
            fs::remove_dir_all(path("new")).unwrap();
        }
    }
}

#[test]
fn session_key_of_no_record_is_refused() {
    let folder = folder();
    let record = |chat: u32| {
        format!(
            "{{\"role\":\"user\",\"content\":\"hi\",\"meta\":{{\"chatId\":\"{chat}\"}},\"ticket\":\"t{chat}\",\"lang\":\"en\"}}\n"
        )
    };
    let chat = record(1) + "{\"role\":\"assistant\",\"content\":\"hello\"}\n" + &record(2);
    fs::write(folder.path().join("chat.jsonl"), &chat).unwrap();
    let commands: [&[&str]; 5] = [
        &["audit", "-q", "-p", "p.yaml"],
        &["diff", "p.yaml", "p.yaml"],
        &["inspect"],
        &["learn", "chain", "-p", "p.yaml", "-o", "chain.json"],
        &["export", "mfotl", "-p", "p.yaml"],
    ];
    for command in commands {
        for (key, is_known) in [("room", false), ("meta.chat", false), ("meta.chatId", true), ("ticket", true)] {
            let run = lictor(folder.path(), &[command, &["--session-key", key, "chat.jsonl"]].concat());
            let said = stderr(&run);
            let is_refused = said.contains(&format!("error: no record of the logs has a member `{key}`"));
            assert_eq!(is_refused, !is_known, "{command:?} {key}: {said}");
            let hint = "hint: members that may tell sessions are `meta.chatId`, `ticket`\n";
            assert_eq!(said.contains(hint), !is_known, "{command:?} {key}: {said}");
            // One record of three has no member: that is a fault.
            assert_eq!(run.status.code(), Some(2), "{command:?} {key}: {said}");
            assert_eq!(
                said.contains("one record has no member") || stdout(&run).contains("one record has no member"),
                is_known,
                "{command:?} {key}: {said}"
            );
        }
    }
}

#[test]
fn calibration_refuses_samples_with_unread_records() {
    let folder = folder();
    let sample = r#"{"session":"s","kind":"user_message","text":"hi","truth":{"rude":true},"answers":[{"fact":"rude","says":"yes","by":"a@1"}]}"#;
    fs::write(
        folder.path().join("sample.jsonl"),
        format!("{sample}\n{{\"kind\":\"user_message\",\"time\":\"noon\"}}\n"),
    )
    .unwrap();
    let run = lictor(folder.path(), &["learn", "calibration", "sample.jsonl", "-o", "c.json"]);
    assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
    assert!(stderr(&run).contains("warning: sample.jsonl:2"), "{}", stderr(&run));
    assert!(stderr(&run).contains("1 place of the sample could not be read"), "{}", stderr(&run));
    assert!(!folder.path().join("c.json").exists());
}

/// Labelled answers are a sample in any order, not the log of a session.
#[test]
fn calibration_takes_samples_in_any_order() {
    let folder = folder();
    let line = |second: u32| {
        format!(
            r#"{{"session":"s","kind":"assistant_message","text":"<tool_call>{{\"name\":\"pay\",\"arguments\":{{}}}}</tool_call>","time":"2026-05-01T10:00:{second}Z","truth":{{"rude":true}},"answers":[{{"fact":"rude","says":"yes","by":"a@1"}}]}}"#
        )
    };
    fs::write(folder.path().join("sample.jsonl"), format!("{}\n{}\n", line(30), line(10))).unwrap();
    let run = lictor(folder.path(), &["learn", "calibration", "sample.jsonl", "-o", "c.json"]);
    assert!(!stderr(&run).contains("could not be read") && stdout(&run).contains("hash"), "{}", stderr(&run));
}

#[test]
fn audit_judges_log_with_few_unread_words() {
    let folder = folder();
    let chat = r##"{"role":"assistant","content":"a #"}"##;
    let native = r##"{"kind":"assistant_message","text":"a #","session":"s"}"##;
    for (good, unread) in [
        (chat, r#"{"role":"assistant","content":"arguments, tool_calls","content":"b"}"#),
        (chat, r#"{"role":"assistant","content":[{"type":"hologram"}]}"#),
        (native, r#"{"kind":"tool_result","tool":"get","time":"noon"}"#),
        (native, r#"{"kind":"user_message","content":"please pay"}"#),
    ] {
        fs::write(folder.path().join("words.jsonl"), log_with(good, unread)).unwrap();
        let run = lictor(folder.path(), &["audit", "-q", "-p", "p.yaml", "words.jsonl"]);
        let said = stdout(&run) + &stderr(&run);
        assert!(said.contains(":301"), "{unread}: {said}");
        assert_eq!(run.status.code(), Some(0), "{unread}: {said}");
    }
}

#[test]
fn names_of_log_are_escaped_on_terminals() {
    let folder = folder();
    let log = "{\"kind\":\"tool_call\",\"tool\":\"evil\",\"session\":\"s\\u001b[2J\\nforged\",\
               \"args\":{\"a\\nforged: 1\\u202e\":1}}\n\
               {\"kind\":\"tool_call\",\"tool\":\"delete\\u001b[2J\\nforged\\u0085\\u2028x\",\"args\":{\"b\\nforged: 1\":1}}\n";
    let name = if cfg!(unix) { "log\nforged: 1\n.jsonl" } else { "log-2.jsonl" };
    fs::write(folder.path().join(name), log).unwrap();
    fs::write(folder.path().join("q.yaml"), POLICY.replace("evil", "other")).unwrap();
    let commands: [(&[&str], i32); 4] = [
        (&["inspect", name], 0),
        (&["diff", "p.yaml", "q.yaml", name], 1),
        (&["check", "q.yaml", name], 0),
        (&["init", "new.yaml", "--from", name], 0),
    ];
    let is_raw = |text: &str| {
        text.contains(['\u{1b}', '\u{85}', '\u{2028}', '\u{202e}'])
            || text.lines().any(|line| line.starts_with("forged"))
    };
    for (command, code) in commands {
        let run = lictor(folder.path(), command);
        assert_eq!(run.status.code(), Some(code), "{command:?}: {}", stderr(&run));
        assert!(!is_raw(&stdout(&run)), "{command:?}: {}", stdout(&run));
        assert!(!is_raw(&stderr(&run)), "{command:?}: {}", stderr(&run));
    }
    let policy = fs::read_to_string(folder.path().join("new.yaml")).unwrap();
    assert!(!is_raw(&policy), "{policy}");
    let run = lictor(folder.path(), &["check", "new.yaml"]);
    assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
}

#[test]
fn check_tells_paths_from_formulas() {
    let folder = folder();
    fs::create_dir(folder.path().join("policies")).unwrap();
    let run = lictor(folder.path(), &["check", "policies"]);
    assert_eq!(run.status.code(), Some(2), "{}", stdout(&run));
    assert!(stderr(&run).contains("is a folder"), "{}", stderr(&run));
    let run = lictor(folder.path(), &["check", "policy"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    assert!(stderr(&run).contains("policy: no such file; read as a formula"), "{}", stderr(&run));
    for formula in ["(policies)", "always policy"] {
        let run = lictor(folder.path(), &["check", formula]);
        assert_eq!((run.status.code(), &*stderr(&run)), (Some(0), ""), "{formula}");
    }
}
