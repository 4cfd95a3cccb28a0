//! A report as one page for a browser, complete in itself.
//!
//! The numbers and the properties are plain HTML. Sessions and findings, of which there may be very many, are data that
//! a script draws on demand. Everything from a log reaches the page as text: escaped here, and
//! as text nodes in the script, which has no means to do otherwise: the page's own policy forbids markup from strings,
//! any script or style but the ones it was written with, and any connection.

mod bounded;
mod data;
mod summary;

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};

use lictor_logic::Verdict;
use sha2::{Digest, Sha256};

use super::json_layout::JsonLayout;
use super::words::{capitalize, escape_hidden};
use super::{Report, Totals};

const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = concat!(include_str!("html/style.css"), include_str!("html/findings.css"));
const SCRIPT: &str = concat!(
    "\"use strict\";(() => {\n",
    include_str!("html/element.js"),
    include_str!("html/report.js"),
    include_str!("html/filter.js"),
    include_str!("html/matrix.js"),
    include_str!("html/timeline.js"),
    include_str!("html/findings.js"),
    include_str!("html/start.js"),
    "})();\n"
);

/// Writes a report as a page.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let totals = report.totals();
    let bounded = bounded::bound_report(report);
    let shown = bounded.as_ref();
    let mut rest = PAGE;
    // The page is read once, so that no inserted text is taken for a placeholder.
    while let Some((before, after)) = rest.split_once("{{") {
        out.write_all(before.as_bytes())?;
        let (placeholder, after) = after.split_once("}}").unwrap_or((after, ""));
        match placeholder {
            "data" => JsonLayout::for_page().write(&data::ReportData::new(shown.unwrap_or(report)), &mut out)?,
            "bound" => out.write_all(summary::render_bound(report, shown).as_bytes())?,
            placeholder => out.write_all(fill_placeholder(placeholder, report, &totals).as_bytes())?,
        }
        rest = after;
    }
    out.write_all(rest.as_bytes())?;
    out.flush()
}

/// Returns the text of a placeholder of the page.
fn fill_placeholder(placeholder: &str, report: &Report, totals: &Totals) -> String {
    let verdict = report.verdict();
    match placeholder {
        "style" => STYLE.into(),
        "script" => SCRIPT.into(),
        "style-hash" => csp_hash(STYLE),
        "script-hash" => csp_hash(SCRIPT),
        "version" => env!("CARGO_PKG_VERSION").into(),
        "title" => format!("{}: {}", escape_html(&report.policy), totals.result()),
        "policy" if report.policy.is_empty() => "unnamed".into(),
        "policy" => escape_html(&report.policy),
        "verdict" => match verdict {
            Some(Verdict::Violated) if totals.findings == 0 => "accepted".into(),
            verdict => verdict.map_or_else(|| "nothing".into(), |verdict| verdict.to_string()),
        },
        "mark" => match verdict {
            Some(Verdict::Violated) if totals.findings == 0 => "–",
            Some(Verdict::Violated) => "✕",
            Some(Verdict::Satisfied) => "✓",
            Some(Verdict::Inconclusive) | None => "?",
        }
        .into(),
        "result" => capitalize(&totals.result()) + ".",
        "figures" => summary::render_figures(report, totals),
        "sessions-bar" => summary::render_sessions(totals),
        "properties" => summary::render_properties(report),
        "faults" => [
            summary::render_guarding(report),
            summary::render_inconclusive(report),
            summary::render_coverage(report),
            summary::render_faults(report),
            summary::render_gaps(report),
        ]
        .concat(),
        "files" => summary::render_files(report) + &summary::render_origin(report),
        _ => String::new(),
    }
}

/// Escapes a text for HTML, hidden characters included.
fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in escape_hidden(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Returns a text as part of a link, as `encodeURIComponent` writes it, and the quote as well.
fn encode_fragment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            other => {
                let _ = write!(encoded, "%{other:02X}");
            }
        }
    }
    encoded
}

/// Returns the hash of a source as a content security policy names it.
fn csp_hash(source: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Sha256::digest(source.as_bytes());
    let mut text = String::from("sha256-");
    for triple in digest.chunks(3) {
        let bits = triple.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - triple.len()));
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place)) & 63;
            text.push(if place <= triple.len() { char::from(DIGITS[digit as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csp_hash_is_base64_sha256() {
        assert_eq!(csp_hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(csp_hash("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }

    #[test]
    fn html_template_placeholders_are_all_filled() {
        let report = Report { policy: "p".into(), ..Report::default() };
        for piece in PAGE.split("{{").skip(1) {
            let placeholder = piece.split("}}").next().unwrap_or_default();
            let may_be_empty =
                ["data", "bound", "sessions-bar", "properties", "faults", "files"].contains(&placeholder);
            assert!(
                may_be_empty || !fill_placeholder(placeholder, &report, &report.totals()).is_empty(),
                "{placeholder}"
            );
        }
    }

    #[test]
    fn html_script_and_style_contain_no_end_tag() {
        for source in [SCRIPT, STYLE] {
            assert!(!source.contains("</") && !source.contains("<!--"));
        }
    }
}
