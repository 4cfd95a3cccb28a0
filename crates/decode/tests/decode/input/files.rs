//! Inputs that the user names.

use std::fs;
use std::path::Path;

use lictor_decode::input::{Input, InputLimits, detect, find, find_with_skipped};
use lictor_decode::{Format, Framing};

fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The names of what is found, without the directory.
fn found(directory: &Path, names: &[&str]) -> Result<Vec<String>, String> {
    let start = format!("{}/", directory.display());
    let paths: Vec<_> = names.iter().map(|name| format!("{start}{name}")).collect();
    let inputs = find(&paths, &InputLimits::default()).map_err(|error| error.to_string().replace(&start, ""))?;
    Ok(inputs.iter().map(|input| input.name().trim_start_matches(&start).to_owned()).collect())
}

#[test]
fn find_lists_files_directories_and_patterns() {
    let directory = tempfile::tempdir().unwrap();
    let logs = ["a.jsonl", "b/c.json", "b/d/e.ndjson.gz", "f.sse", "g.LOG", "h.txt.zst"];
    let others = ["LICENSE", "README.md", ".hidden.json", ".git/x.json", "b/code.py", "b/i.png", "notes.gz"];
    for name in logs.iter().chain(&others) {
        write(directory.path(), name, "{}\n");
    }
    assert_eq!(found(directory.path(), &[""]).unwrap(), logs);
    assert_eq!(found(directory.path(), &["f.sse", "README.md"]).unwrap(), ["f.sse", "README.md"]);
    assert_eq!(found(directory.path(), &["*.sse", "b/**/*.json"]).unwrap(), ["f.sse", "b/c.json"]);
    assert_eq!(found(directory.path(), &["b*"]).unwrap(), ["b/c.json", "b/d/e.ndjson.gz"]);
    assert_eq!(found(directory.path(), &["f.sse", "", "f.sse"]).unwrap().len(), logs.len());
    write(directory.path(), "x[1].json", "{}");
    assert_eq!(found(directory.path(), &["x[1].json"]).unwrap(), ["x[1].json"]);
}

#[test]
fn rotated_logs_are_found_oldest_first() {
    let directory = tempfile::tempdir().unwrap();
    let logs = [
        "agent.jsonl-20260501",
        "agent.jsonl.10.gz",
        "agent.jsonl.2",
        "agent.jsonl.1",
        "agent.jsonl",
        "server.log.2026-05-01",
        "server.log.2026-05-02_10-00.gz",
        "server.log",
    ];
    for name in logs {
        write(directory.path(), name, "{}\n");
    }
    assert_eq!(found(directory.path(), &[""]).unwrap(), logs);
}

#[test]
fn files_skipped_by_name_are_named() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "b.out", "c.trace", "d.csv", "e", ".hidden", "f/g.1"] {
        write(directory.path(), name, "{}\n");
    }
    let start = format!("{}/", directory.path().display());
    let skipped = |paths: &[String]| {
        let found = find_with_skipped(paths, &InputLimits::default()).unwrap();
        found.describe_skipped().map(|notice| notice.replace(&start, ""))
    };
    let notice = skipped(std::slice::from_ref(&start)).unwrap();
    assert!(notice.starts_with("5 files of directories are not read"), "{notice}");
    assert!(notice.contains("b.out, c.trace, d.csv and 2 more"), "{notice}");
    assert_eq!(skipped(&[format!("{start}a.jsonl"), format!("{start}e")]), None);
}

#[test]
fn find_reports_every_missing_path() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "docs/README.md", "hello");
    let error = found(directory.path(), &["missing.json", "docs", "*.nothing"]).unwrap_err();
    for part in
        ["missing.json: no such file or directory", "docs: holds no logs", "*.nothing: no file matches", "hint: "]
    {
        assert!(error.contains(part), "{error}");
    }
    assert!(find(&[], &InputLimits::default()).is_err());
}

#[test]
fn input_file_can_be_read_twice() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "a.jsonl", "{\"kind\":\"tool_call\"}\n{\"kind\":\"tool_result\"}\n");
    let inputs = find(&[directory.path().join("a.jsonl").display().to_string()], &InputLimits::default()).unwrap();
    for _ in 0..2 {
        let count: usize =
            inputs[0].chunks(&InputLimits::default()).unwrap().map(|chunk| chunk.records().count()).sum();
        assert_eq!(count, 2);
        assert_eq!(detect(&inputs[0], &InputLimits::default()).unwrap(), (Framing::Json, Format::Native));
    }
}

#[cfg(unix)]
#[test]
fn input_pipe_can_be_read_twice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let writer = std::thread::spawn({
        let path = path.clone();
        move || fs::write(path, "{\"kind\":\"tool_call\"}\n").unwrap()
    });
    let inputs = find(&[path], &InputLimits::default()).unwrap();
    writer.join().unwrap();
    for _ in 0..2 {
        let records: Vec<_> =
            inputs[0].chunks(&InputLimits::default()).unwrap().map(|chunk| chunk.records().count()).collect();
        assert_eq!(records, [1]);
    }
}

#[test]
fn detect_error_names_option_and_content() {
    let detected = |text: &str| detect(&Input::from_bytes("log", text.as_bytes()), &InputLimits::default());
    assert_eq!(detected("[\"tool_call\"]\n[\"verified\"]\n").unwrap(), (Framing::Json, Format::Native));
    let error = detected("{\"some\":\"thing\"}\n").unwrap_err().to_string();
    assert!(error.contains("--input-format help") && error.contains("an object with keys `some`"), "{error}");
    let error = detected("").unwrap_err().to_string();
    assert!(error.contains("holds no records"), "{error}");
    let error = detected("{\"kind\":\"a\",\"kind\":\"b\"}\n").unwrap_err().to_string();
    assert!(error.contains("line 1, column 13: duplicate key \"kind\""), "{error}");
}

/// Reads examples of many formats where they lie beside the project.
#[test]
fn input_cuts_shared_examples_into_records() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/formats");
    if !directory.is_dir() {
        eprintln!("SKIPPED: no examples in {}", directory.display());
        return;
    }
    let limits = InputLimits::default();
    for input in find(&[directory.display().to_string()], &limits).unwrap() {
        let mut records = 0;
        for chunk in input.chunks(&limits).unwrap() {
            for record in chunk.records() {
                records += usize::from(record.unwrap().index < 1000);
            }
        }
        assert!(records > 0, "{}", input.name());
    }
}

#[test]
fn rotated_parts_name_their_log() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "a.jsonl.1", "a.jsonl.2.gz", "b.jsonl", "b.jsonl.gz", "c/a.jsonl.3"] {
        write(directory.path(), name, "{}\n");
    }
    let start = format!("{}/", directory.path().display());
    let logs = |names: &[&str]| -> Vec<String> {
        let paths: Vec<_> = names.iter().map(|name| format!("{start}{name}")).collect();
        let inputs = find(&paths, &InputLimits::default()).unwrap();
        let log = |input: &Input| format!("{} {}", input.name(), input.log().map_or("-", |log| log));
        inputs.iter().map(|input| log(input).replace(&start, "")).collect()
    };
    let parts = ["a.jsonl.2.gz a.jsonl", "a.jsonl.1 a.jsonl", "a.jsonl a.jsonl"];
    let others = ["b.jsonl -", "b.jsonl.gz -", "c/a.jsonl.3 -"];
    assert_eq!(logs(&[""]), [&parts[..], &others[..]].concat());
    assert_eq!(logs(&["a.jsonl", "b.jsonl", "a.jsonl.1"]), ["a.jsonl.1 a.jsonl", "a.jsonl a.jsonl", "b.jsonl -"]);
}
