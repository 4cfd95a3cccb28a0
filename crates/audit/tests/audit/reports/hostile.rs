//! Text from a log stays data in every format.

use serde_json::Value;

use super::sample::{self, ATTACKS};
use super::{FORMATS, Writer, written};

fn said_by(name: &str) -> String {
    let write: Writer = FORMATS.iter().find(|(format, _)| *format == name).unwrap().1;
    written(write, &sample::hostile())
}

#[test]
fn text_report_escapes_terminal_sequences() {
    let plain = said_by("report.txt");
    assert!(!plain.chars().any(|character| character.is_control() && character != '\n'));
    assert!(!plain.contains(['\u{202e}', '\u{2028}', '\u{feff}']));
    // In color, every escape is one of ours.
    let ours = said_by("color.txt").split('\u{1b}').skip(1).all(|rest| {
        let (code, _) = rest.split_once('m').unwrap();
        ["[0", "[1", "[2", "[31", "[32", "[1;31", "[1;33", "[1;34"].contains(&code)
    });
    assert!(ours);
}

#[test]
fn jsonl_report_has_one_object_per_line() {
    let text = said_by("report.jsonl");
    assert!(!text.contains(['\u{2028}', '\u{2029}', '\u{85}', '\r', '\u{b}', '\u{c}', '\u{9b}']));
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        assert!(value.is_object());
    }
}

#[test]
fn json_report_round_trips_every_text() {
    let document: Value = serde_json::from_str(&said_by("report.json")).unwrap();
    let names = |list: &str, key: &str| -> Vec<String> {
        document[list].as_array().unwrap().iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("sessions", "name"), ATTACKS);
    assert_eq!(names("findings", "owed"), ATTACKS);
    assert_eq!(names("faults", "message"), ATTACKS);
}

#[test]
fn junit_report_is_well_formed_xml() {
    let text = said_by("report.xml");
    let is_char =
        |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(text.chars().all(is_char));
    let mut reader = quick_xml::Reader::from_str(&text);
    let mut failures = 0;
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(tag) | quick_xml::events::Event::Empty(tag) => {
                for attribute in tag.attributes() {
                    attribute.unwrap();
                }
                failures += usize::from(tag.name().as_ref() == "failure");
            }
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(failures, ATTACKS.len() / 2);
}

#[test]
fn markdown_report_escapes_log_markup() {
    let text = said_by("report.md");
    // A finding, its formula, and at the end where the report comes from.
    assert_eq!(text.matches("<details>").count(), 2 * ATTACKS.len() + 1);
    assert_eq!(text.matches("</details>").count(), 2 * ATTACKS.len() + 1);
    // Escaped text is no markup.
    let outside = outside_code(&text).replace("\\]", "").replace("\\*", "");
    for markup in ["<img", "<script", "<!--", "](", "@somebody", " #1", " **e** "] {
        assert!(!outside.contains(markup), "{markup} in:\n{outside}");
    }
}

/// A text without its code spans and code elements.
fn outside_code(text: &str) -> String {
    let mut outside = String::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some(start) = [rest.find('`'), rest.find("<code>")].into_iter().flatten().min() {
            let (before, span) = rest.split_at(start);
            outside.push_str(before);
            // A backtick that is escaped begins nothing.
            let fence = match before.ends_with('\\') {
                true => "",
                false if span.starts_with('<') => "</code>",
                false => &span[..span.len() - span.trim_start_matches('`').len()],
            };
            let inside = &span[fence.len().max(1)..];
            rest = inside.find(fence).map_or("", |end| &inside[end + fence.len()..]);
        }
        outside.push_str(rest);
        outside.push('\n');
    }
    outside
}

#[test]
fn sarif_report_has_no_links_from_log() {
    let log: Value = serde_json::from_str(&said_by("report.sarif")).unwrap();
    let run = &log["runs"][0];
    for result in run["results"].as_array().unwrap() {
        assert!(!result["message"]["text"].as_str().unwrap().contains("]("));
    }
    for artifact in run["artifacts"].as_array().unwrap() {
        let uri = artifact["location"]["uri"].as_str().unwrap();
        assert!(uri.chars().all(|c| c.is_ascii_alphanumeric() || "-._~/%".contains(c)), "{uri}");
    }
}
