//! The page: self-contained, harmless for any log, and small for any number of sessions.

use std::fs;
use std::path::Path;

use lictor_audit::report::{Report, html};
use serde_json::Value;

use super::{sample, written};

/// The text between two marks.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    text.split_once(start).unwrap().1.split_once(end).unwrap().0
}

fn data(page: &str) -> Value {
    serde_json::from_str(between(page, "<script type=\"application/json\" id=\"data\">", "</script>")).unwrap()
}

/// Keeps a page where a browser can open it.
fn keep(name: &str, page: &str) {
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), page).unwrap();
}

#[test]
fn html_report_loads_no_external_resources() {
    let page = written(html::write, &sample::small());
    keep("report-small.html", &page);
    let markup = page.replace(between(&page, "<script>", "</script>"), "");
    for reference in ["src=", "@import", "url(", "href=\"http", "<link", "<iframe", "<object"] {
        assert!(!markup.contains(reference), "{reference}");
    }
    for connection in
        ["fetch(", "XMLHttpRequest", "WebSocket", "sendBeacon", "innerHTML", "insertAdjacentHTML", "eval("]
    {
        assert!(!page.contains(connection), "{connection}");
    }
}

#[test]
fn html_report_csp_allows_only_own_code() {
    let page = written(html::write, &sample::small());
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(!page.contains(" style=\"") && !page.contains(" onclick="));
}

#[test]
fn html_report_escapes_log_markup() {
    let (calm, hostile) = (written(html::write, &sample::small()), written(html::write, &sample::hostile()));
    keep("report-hostile.html", &hostile);
    for mark in ["<script", "</script", "<!--"] {
        assert_eq!(hostile.matches(mark).count(), calm.matches(mark).count(), "{mark}");
    }
    assert!(!hostile.contains("<img"));
    assert!(!hostile.contains(['\u{2028}', '\u{2029}', '\u{202e}', '\u{0}']));
    let data = data(&hostile);
    let names: Vec<&str> = data["sessions"].as_array().unwrap().iter().map(|row| row[0].as_str().unwrap()).collect();
    assert_eq!(names, sample::ATTACKS);
}

#[test]
fn html_report_of_ten_thousand_sessions_is_small() {
    let report = sample::large(10_000);
    let page = written(html::write, &report);
    keep("report-large.html", &page);
    let data = data(&page);
    assert_eq!(data["sessions"].as_array().unwrap().len(), 10_000);
    assert_eq!(data["findings"].as_array().unwrap().len(), report.findings.len());
    assert!(page.len() < 4_000_000, "{}", page.len());
}

#[test]
fn html_matrix_marks_accepted_findings() {
    let page = written(html::write, &sample::small());
    let data = data(&page);
    let letters: Vec<&str> = data["sessions"].as_array().unwrap().iter().map(|row| row[3].as_str().unwrap()).collect();
    assert_eq!(letters[..5], ["Vssss", "sVsis", "ssVVs", "ssssA", "ssiss"]);
}

#[test]
fn html_report_renders_without_sessions() {
    let page = written(html::write, &Report::default());
    keep("report-empty.html", &page);
    assert!(page.contains("No sessions to judge."));
}
