//! Every format of a report, on reports made up for the purpose.
//!
//! The files in `tests/golden/report` are what the writers say of a small report. `LICTOR_BLESS=1` writes what they say
//! now; read it before you keep it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod page;
mod sample;
mod schema;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use lictor_audit::report::{FileReport, Report, html, json, jsonl, junit, markdown, sarif, text};
use lictor_event::Source;
use lictor_event::order::{Gap, GapCause};
use lictor_logic::WitnessBasis;
use serde_json::Value;

type Writer = fn(&Report, &mut dyn Write) -> io::Result<()>;

/// The formats that have a golden file, by the name of the file.
const FORMATS: [(&str, Writer); 7] = [
    ("report.txt", |report, out| text::write(report, text::TerminalStyle::default(), out)),
    ("color.txt", |report, out| text::write(report, text::TerminalStyle::default().colour(true).width(80), out)),
    ("report.json", json::write),
    ("report.jsonl", jsonl::write),
    ("report.sarif", sarif::write),
    ("report.xml", junit::write),
    ("report.md", |report, out| markdown::write(report, markdown::ReportDetail::default(), out)),
];

fn written(write: Writer, report: &Report) -> String {
    let mut out = Vec::new();
    write(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn report_formats_list_missing_events() {
    let mut report = sample::small();
    let source = Source { file: "shop.jsonl".into(), line: 20, record: 19 };
    report.sessions[0].gaps.push(Gap { cause: GapCause::Missing, first: 17, last: 19, source });
    for (name, write) in FORMATS.into_iter().chain([("report.html", html::write as Writer)]) {
        let text = written(write, &report);
        assert!(text.contains("gap: events 17 to 19 are missing"), "{name} does not tell:\n{text}");
    }
}

#[test]
fn report_formats_match_golden_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report");
    let version = format!("\"semanticVersion\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let mut wrong = Vec::new();
    for (kind, report) in [("small", sample::small()), ("empty", Report::default())] {
        for (name, write) in FORMATS {
            if (kind, name) == ("empty", "color.txt") {
                continue;
            }
            let now = written(write, &report).replace(&version, "\"semanticVersion\":\"0.0.0\"");
            let path = folder.join(kind).join(name);
            if std::env::var_os("LICTOR_BLESS").is_some() {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, &now).unwrap();
            } else if fs::read_to_string(&path).ok().as_ref() != Some(&now) {
                wrong.push(format!("--- {} has changed; it says now:\n{now}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\nLICTOR_BLESS=1 accepts this", wrong.join("\n"));
}

#[test]
fn report_formats_mark_incomplete_witnesses() {
    let is_marked = |text: &str| text.contains("search reached its budget") || text.contains("witness_basis");
    for basis in [WitnessBasis::Proof, WitnessBasis::Changes] {
        let mut report = sample::small();
        report.findings.iter_mut().for_each(|finding| finding.basis = basis);
        for (name, write) in FORMATS.into_iter().chain([("report.html", html::write as Writer)]) {
            assert_eq!(is_marked(&written(write, &report)), basis == WitnessBasis::Changes, "{name}");
        }
    }
}

#[test]
fn report_bytes_are_deterministic() {
    let html: (&str, Writer) = ("report.html", html::write);
    for (name, write) in FORMATS.into_iter().chain([html]) {
        assert_eq!(written(write, &sample::large(40)), written(write, &sample::large(40)), "{name}");
    }
}

#[test]
fn jsonl_and_json_reports_agree() {
    let report = sample::small();
    let document: Value = serde_json::from_str(&written(json::write, &report)).unwrap();
    let lines: Vec<Value> =
        written(jsonl::write, &report).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (sort, list) in [("file", "files"), ("session", "sessions"), ("finding", "findings"), ("fault", "faults")] {
        let of_sort = lines.iter().filter(|line| line["type"] == sort);
        let stripped: Vec<Value> = of_sort
            .cloned()
            .map(|mut line| {
                assert_eq!(line.as_object_mut().unwrap().remove("lictor"), Some(1.into()));
                line.as_object_mut().unwrap().remove("type");
                line
            })
            .collect();
        assert_eq!(Value::Array(stripped), document[list], "{sort}");
    }
    let last = lines.last().unwrap();
    assert_eq!(last["type"], "summary");
    assert_eq!(last["totals"], document["totals"]);
}

#[test]
fn report_formats_name_logs_policy_and_command() {
    let mut report = sample::small();
    for number in 1..=4 {
        report.files.push(FileReport { name: format!("more-{number}.jsonl").into(), ..report.files[0].clone() });
    }
    report.origin.fingerprint = Some("0123abcd".into());
    report.origin.command = Some("lictor audit --policy shop.yaml logs".into());
    for (name, write) in FORMATS.into_iter().chain([("report.html", html::write as Writer)]) {
        let text = written(write, &report);
        if name == "report.xml" {
            continue;
        }
        assert!(text.contains("lictor audit --policy shop.yaml logs"), "{name}:\n{text}");
        assert!(text.contains("0123abcd") || name.ends_with(".txt"), "{name}:\n{text}");
        if ["report.txt", "report.md", "report.html"].contains(&name) {
            let logs = "shop.jsonl, logs/help desk.jsonl, more-1.jsonl, more-2.jsonl, more-3.jsonl and 1 more";
            assert!(text.contains(logs), "{name}:\n{text}");
        }
    }
}

#[test]
fn report_shows_content_only_on_request() {
    let mut report = sample::small();
    for finding in &mut report.findings {
        for proof in &mut finding.witness {
            proof.content = None;
        }
    }
    for (name, write) in FORMATS {
        let without = written(write, &report);
        assert!(!without.contains("content"), "{name}");
        assert!(written(write, &sample::small()).contains("lookup_customer {"), "{name}");
    }
}

#[test]
fn reset_property_still_counts_as_violated() {
    let session = &sample::small().sessions[3];
    assert_eq!(session.outcomes[4].verdict.to_string(), "satisfied");
    assert_eq!(session.verdict().to_string(), "violated");
}

#[test]
fn markdown_limit_counts_findings_left_out() {
    let report = sample::large(500);
    let whole = written(|report, out| markdown::write(report, markdown::ReportDetail { limit: None }, out), &report);
    let comment = written(|report, out| markdown::write(report, markdown::ReportDetail::default(), out), &report);
    assert!(whole.len() > 60_000 && comment.len() <= 60_000, "{} {}", whole.len(), comment.len());
    let count = |text: &str| text.matches("</code> in session <code>").count();
    assert_eq!(count(&whole), report.findings.len());
    let left = report.findings.len() - count(&comment);
    assert!(comment.contains(&format!("*{left} more findings omitted for length")), "{left}");
}

#[test]
fn report_formats_contain_every_finding() {
    let report = sample::large(300);
    let count = |write: Writer, mark: &str| written(write, &report).matches(mark).count();
    let open = report.findings.iter().filter(|finding| finding.suppressed.is_none()).count();
    assert!(open > 20 && open < report.findings.len(), "{open}");
    let text: Writer = FORMATS[0].1;
    assert_eq!(count(text, "violation["), open);
    assert_eq!(count(text, "suppressed["), report.findings.len() - open);
    assert_eq!(count(sarif::write, "\"ruleId\""), report.findings.len());
    assert_eq!(count(junit::write, "\n  step ") + count(junit::write, "&#10;"), 2 * open);
}
