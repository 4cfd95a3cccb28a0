//! The output and the exit codes of the program on small inputs.
//!
//! A file in `tests/golden` lists commands with their output. A line `$ …` is a shell command, run in `tests/data`.
//! Below it are the lines of standard output, then those of standard error after `! `, then the exit code after `= `.
//! Lines above the first command describe the file. `LICTOR_BLESS=1` writes the present output into the files; review
//! it before you commit it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_lictor");

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Runs a line of shell with our binary first on the search path.
fn shell(script: &str) -> Output {
    let binaries = Path::new(BINARY).parent().unwrap();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let search = std::env::join_paths(std::iter::once(binaries.to_path_buf()).chain(std::env::split_paths(&others)));
    Command::new("sh")
        .args(["-c", script])
        .current_dir(folder("data"))
        .env("PATH", search.unwrap())
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn lictor(arguments: &[&str]) -> Output {
    Command::new(BINARY).args(arguments).current_dir(folder("data")).stdin(Stdio::null()).output().unwrap()
}

fn lictor_on(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(BINARY);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // The command may have stopped reading.
    let _ = writer.join();
    output
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Returns a golden file with the present output of its commands.
fn replayed(golden: &str) -> String {
    let mut text_now = String::new();
    let mut in_head = true;
    for line in golden.lines() {
        if let Some(script) = line.strip_prefix("$ ") {
            in_head = false;
            let output = shell(script);
            text_now += &format!("$ {script}\n{}", text(&output.stdout));
            for complaint in text(&output.stderr).lines() {
                text_now += format!("! {complaint}").trim_end();
                text_now.push('\n');
            }
            text_now += &format!("= {}\n\n", output.status.code().unwrap());
        } else if in_head {
            text_now += &format!("{line}\n");
        }
    }
    format!("{}\n", text_now.trim_end())
}

#[test]
fn commands_match_golden_files() {
    let mut wrong = Vec::new();
    let mut files: Vec<PathBuf> = fs::read_dir(folder("golden")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 5, "the golden files are gone");
    for path in files {
        let golden = fs::read_to_string(&path).unwrap();
        let now = replayed(&golden);
        if now != golden && std::env::var_os("LICTOR_BLESS").is_some() {
            fs::write(&path, now).unwrap();
        } else if now != golden {
            let differs = golden.lines().zip(now.lines()).find(|(before, now)| before != now);
            let (before, now) = differs.unwrap_or(("the end of one of the two", ""));
            wrong.push(format!("{}\n  - {before}\n  + {now}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "\n{}\nhint: LICTOR_BLESS=1 rewrites the files\n", wrong.join("\n"));
}

#[test]
fn jsonl_lines_match_the_contract() {
    let output = lictor(&["eval", "G(request -> F answer)", "answered.jsonl", "--format", "jsonl"]);
    let lines: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, steps) = lines.split_last().unwrap();
    assert_eq!(*end, serde_json::json!({"end": true, "verdict": "satisfied"}));
    assert_eq!(steps.len(), 4);
    for (index, step) in steps.iter().enumerate() {
        assert_eq!(step["step"], index + 1);
        assert_eq!(step["verdict"], "inconclusive");
        assert!(step["residual"].is_string() && step["presumptive"].is_string(), "{step}");
        assert!(step.get("formula").is_none(), "{step}");
    }
}

#[test]
fn jsonl_names_formula_with_formulas_file() {
    let output = lictor(&["eval", "--formulas", "formulas.txt", "answered.jsonl", "--format", "jsonl"]);
    let lines: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = lines.iter().map(|line| line["formula"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn json_documents_carry_their_version() {
    let commands: [&[&str]; 3] = [
        &["eval", "G a", "answered.jsonl", "--format", "json"],
        &["explain", "G a", "--format", "json"],
        &["check", "G a", "F a", "--format", "json"],
    ];
    for arguments in commands {
        let document: Value = serde_json::from_slice(&lictor(arguments).stdout).unwrap();
        assert_eq!(document["v"], 1, "{arguments:?}");
    }
}

#[test]
fn jsonl_steps_are_flushed_at_once() {
    use std::io::{BufRead, BufReader};
    let mut command = Command::new(BINARY);
    command.args(["eval", "G a", "-", "--format", "jsonl"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for number in 1..=3 {
        stdin.write_all(b"[\"a\"]\n").unwrap();
        stdin.flush().unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("{{\"step\":{number},")), "{line}");
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn broken_pipe_is_not_reported() {
    let mut trace = Vec::new();
    (0..50_000).for_each(|_| trace.extend_from_slice(b"[\"a\"]\n"));
    let mut command = Command::new(BINARY);
    command.args(["eval", "G a", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&trace));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join();
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn overlong_line_is_refused_and_next_read() {
    let mut input = b"[\"a\"]\n[\"".to_vec();
    input.resize(20 << 20, b'x');
    input.extend_from_slice(b"\"]\n[\"a\"]\n");
    let output = lictor_on(&["eval", "G a", "-", "--quiet"], &input);
    assert!(text(&output.stderr).contains("<stdin>:2:1: error: the line is longer than 16 MiB"));
    assert_eq!(text(&output.stdout), "satisfied at the end: G a\n");
    assert!(text(&output.stderr).ends_with("error: 1 line of <stdin> could not be read; only the rest was judged\n"));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("{{\"facts\":[\"a\"],\"other\":{}{}}}\n", "[".repeat(200_000), "]".repeat(200_000));
    let output = lictor_on(&["eval", "G a", "-", "--quiet"], deep.as_bytes());
    assert_eq!(text(&output.stdout), "satisfied at the end: G a\n", "{}", text(&output.stderr));
}

#[test]
fn long_trace_is_judged_without_witness() {
    let mut input = Vec::new();
    (0..200_000).for_each(|_| input.extend_from_slice(b"[\"a\"]\n"));
    input.extend_from_slice(b"[]\n");
    let output = lictor_on(&["eval", "G a", "-"], &input);
    assert!(
        text(&output.stdout)
            .ends_with("violated at step 200001: G a\n  no witness: the trace is too long to search for one\n")
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn demo_needs_no_input_and_writes_page() {
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo.html");
    let output = lictor(&["demo", "--output", page.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    let told = text(&output.stdout);
    for property in ["consent-before-processing", "data-minimisation", "right-to-erasure", "no-action-after-injection"]
    {
        assert!(told.contains(property), "{property} is not found");
    }
    assert!(fs::read_to_string(page).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn svg_is_one_well_formed_element() {
    let output = lictor(&["explain", "G(a(\"<&>\") -> X b)", "--svg"]);
    let svg = text(&output.stdout);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for (open, close) in [("<g>", "</g>"), ("<text ", "</text>"), ("<title>", "</title>")] {
        assert_eq!(svg.matches(open).count(), svg.matches(close).count(), "{open}");
    }
    assert!(svg.contains("&lt;&amp;&gt;") && !svg.contains("<&>"));
}

#[test]
fn reference_page_names_every_operator_and_pattern() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/logic.md")).unwrap();
    for operator in lictor_logic::operators() {
        for spelling in [operator.word, operator.ascii, operator.unicode] {
            let spelling = format!("`{}`", spelling.replace('|', "\\|"));
            assert!(page.contains(&spelling), "docs/reference/logic.md does not name {spelling}");
        }
    }
    for pattern in lictor_logic::patterns() {
        assert!(page.contains(&pattern.to_string()), "docs/reference/logic.md does not name `{pattern}`");
    }
}
