//! `lictor learn labels`: the table on held-out sessions, the model file, and what it says when labels are missing.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn learn(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lictor"));
    command.args(["learn", "labels"]).args(arguments).current_dir(folder).output().unwrap()
}

/// Sessions of one message each: every second is labelled.
fn write_log(folder: &Path, sessions: usize) {
    let lines = (0..sessions).map(|number| match number % 2 {
        0 => format!(
            r#"{{"session":"s{number}","kind":"user_message","text":"This is an outrage, order {number}!","labels":["angry"]}}"#
        ),
        _ => format!(r#"{{"session":"s{number}","kind":"user_message","text":"Thank you for order {number}."}}"#),
    });
    fs::write(folder.join("log.jsonl"), lines.collect::<Vec<_>>().join("\n")).unwrap();
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn learn_labels_prints_table_and_writes_model() {
    let folder = tempfile::tempdir().unwrap();
    write_log(folder.path(), 80);
    let output = learn(folder.path(), &["log.jsonl", "-o", "mood.json"]);
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}{said}");
    for part in ["accuracy", "all false", "all true", "angry", "wrote mood.json"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let first = fs::read(folder.path().join("mood.json")).unwrap();
    assert!(text(&first).contains(r#""name":"mood""#));
    learn(folder.path(), &["log.jsonl", "-o", "mood.json"]);
    assert_eq!(fs::read(folder.path().join("mood.json")).unwrap(), first);
}

#[test]
fn learn_labels_explains_missing_labels() {
    let folder = tempfile::tempdir().unwrap();
    write_log(folder.path(), 8);
    for (arguments, complaint) in [
        (vec!["log.jsonl", "-o", "m.json"], "at least 10 of each are needed"),
        (vec!["log.jsonl", "-o", "m.json", "--fact", "sad"], "labelled with `sad`"),
        (vec!["log.jsonl", "-o", "m.json", "--policy", "gdpr"], "label no fact"),
    ] {
        let output = learn(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(complaint), "{arguments:?}: {}", text(&output.stderr));
        assert!(!folder.path().join("m.json").exists());
    }
}

/// The policy asks a person about messages of the user: other answers, and blank messages, teach nothing.
#[test]
fn learn_labels_takes_answers_policy_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let policy = "lictor: 1\nlabelers: {human: {log: true}}\nfacts: {angry: {ask: the user is angry, of: user_message, \
                  by: human}}\nproperties: [{id: p, formula: always not angry}]\n";
    fs::write(folder.path().join("p.yaml"), policy).unwrap();
    let answer = |number: usize, kind: &str, text: &str, says: &str, by: &str| {
        format!(
            r#"{{"session":"s{number}","kind":"{kind}","text":"{text}","answers":[{{"fact":"angry","says":"{says}"{by}}}]}}"#
        )
    };
    let (human, bot) = (r#","by":"human""#, r#","by":"bot@1""#);
    let session = |number: usize| {
        let (text, says, other) =
            if number.is_multiple_of(2) { ("What an outrage", "yes", "no") } else { ("Thank you", "no", "yes") };
        [
            answer(number, "user_message", text, says, human),
            answer(number, "user_message", text, other, bot),
            answer(number, "user_message", text, other, ""),
            answer(number, "assistant_message", text, other, human),
            answer(number, "user_message", "\u{200b}", other, human),
        ]
        .join("\n")
    };
    fs::write(folder.path().join("log.jsonl"), (0..80).map(session).collect::<Vec<_>>().join("\n")).unwrap();
    let output = learn(folder.path(), &["log.jsonl", "-o", "m.json", "--policy", "p.yaml"]);
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}{said}");
    assert!(said.contains("320 answers do not count"), "{said}");
    let row = printed.lines().find(|line| line.starts_with("angry")).unwrap_or_default();
    assert_eq!(row.split_whitespace().nth(3), Some("1.000"), "{printed}");
}

#[test]
fn learn_labels_refuses_held_out_without_rest() {
    let folder = tempfile::tempdir().unwrap();
    write_log(folder.path(), 80);
    for (share, complaint) in [("0", "nothing would be held out"), ("100", "nothing would be left"), ("NaN", "between")]
    {
        let output = learn(folder.path(), &["log.jsonl", "-o", "m.json", "--held-out", share]);
        assert_eq!(output.status.code(), Some(2), "{share}");
        assert!(text(&output.stderr).contains(complaint), "{share}: {}", text(&output.stderr));
    }
}
