//! A report as Markdown, for a comment on a pull request.
//!
//! Tables first, then the findings, each with its witness folded away. Text from a log is put into code spans, where
//! it can neither become markup nor mention a user; sentences are escaped.

use std::fmt::Write as _;
use std::io::{self, Write};

use lictor_logic::Verdict;

use super::coverage_words::describe_coverage;
use super::guarding::describe_guarding;
use super::headline::write_headline;
use super::inconclusive::describe_inconclusive;
use super::origin::describe_origin;
use super::totals::{group_findings, tally_properties};
use super::words::{self, describe_occasion, escape_hidden, format_binding, format_count, format_place, group_digits};
use super::{Report, Totals};
use lictor_judge::finding::{Finding, WitnessEvent};
use lictor_policy::Severity;

/// How much of a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportDetail {
    /// The most bytes to write; findings that do not fit are counted instead.
    pub limit: Option<usize>,
}

/// Fits a comment on GitHub, which takes 65,536 characters.
impl Default for ReportDetail {
    fn default() -> ReportDetail {
        ReportDetail { limit: Some(60_000) }
    }
}

/// How many faults are listed.
const MAX_FAULTS_LISTED: usize = 20;

/// Writes a report as Markdown.
pub fn write(report: &Report, extent: ReportDetail, out: &mut dyn Write) -> io::Result<()> {
    let totals = report.totals();
    let tail = [
        render_sentences("Stopped and approved", &describe_guarding(report)),
        render_sentences("Inconclusive", &describe_inconclusive(report)),
        render_sentences("Not exercised", &describe_coverage(report)),
        render_faults(report),
        render_gaps(report),
        render_origin(report),
    ]
    .concat();
    let mut page = render_head(report, &totals) + &render_properties(report);
    let groups = group_findings(&report.findings);
    if !groups.is_empty() {
        page.push_str("### Findings\n\n");
    }
    let mut shown = 0;
    for group in &groups {
        let text = render_findings(group);
        if extent.limit.is_some_and(|limit| page.len() + text.len() + tail.len() + RESERVED_BYTES > limit) {
            break;
        }
        page.push_str(&text);
        shown += group.len();
    }
    let left = report.findings.len() - shown;
    if left > 0 {
        let more = format_count(left as u64, "more finding");
        let _ = writeln!(page, "*{more} omitted for length; the other formats have all findings.*\n");
    }
    page.push_str(&tail);
    out.write_all(page.trim_end().as_bytes())?;
    writeln!(out)
}

/// Bytes reserved for the line that counts the findings left out.
const RESERVED_BYTES: usize = 200;

fn render_head(report: &Report, totals: &Totals) -> String {
    let sign = match report.verdict() {
        None => "⚪",
        Some(Verdict::Satisfied) => "✅",
        Some(Verdict::Inconclusive) => "❔",
        Some(Verdict::Violated) if totals.findings == 0 => "☑️",
        Some(Verdict::Violated) => "❌",
    };
    let mut text = format!("## {sign} Policy {}: {}\n\n", code_span(&report.policy), totals.result());
    let figures = totals.figures();
    let names: Vec<&str> = figures.iter().map(|(name, _)| *name).collect();
    let values: Vec<&str> = figures.iter().map(|(_, value)| value.as_str()).collect();
    let _ = writeln!(text, "| {} |", names.join(" | "));
    let _ = writeln!(text, "|{}", " --- |".repeat(figures.len()));
    let _ = writeln!(text, "| {} |\n", values.join(" | "));
    text
}

fn render_properties(report: &Report) -> String {
    let mut broken: Vec<_> =
        tally_properties(report).into_iter().filter(|tally| tally.findings + tally.suppressed > 0).collect();
    if broken.is_empty() {
        return String::new();
    }
    // The sort is stable: equals stay in the order of the policy.
    broken.sort_by_key(|tally| std::cmp::Reverse((tally.property.severity, tally.findings)));
    let mut text = String::from("| property | severity | findings | suppressed | sessions |\n");
    text.push_str("| --- | --- | ---: | ---: | ---: |\n");
    for tally in broken {
        let property = tally.property;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            table_cell(&property.id),
            severity_label(property.severity),
            group_digits(tally.findings as u64),
            group_digits(tally.suppressed as u64),
            group_digits(tally.violated as u64),
        );
    }
    text.push('\n');
    text
}

/// Writes the findings of one event that differ only in their values.
fn render_findings(group: &[&Finding]) -> String {
    let Some((first, others)) = group.split_first() else { return String::new() };
    let property = &first.property;
    let sign = if first.suppressed.is_some() { "suppressed" } else { severity_label(property.severity) };
    let mut text = format!(
        "<details>\n<summary>{sign} <code>{}</code> in session <code>{}</code>, {}: <code>{}</code></summary>\n\n",
        escape_html(&escape_hidden(&property.id)),
        escape_html(&escape_hidden(&first.session)),
        describe_occasion(first),
        escape_html(&write_headline(first)),
    );
    let mut note = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(text, "- **{name}:** {value}");
        }
    };
    note("says", escape_prose(&property.says));
    note("suppressed", first.suppressed.as_deref().map(escape_prose).unwrap_or_default());
    note("at", code_span(&format_place(&first.source.file, first.source.line)));
    let bindings = std::iter::once(first).chain(others).map(|finding| format_binding(finding));
    let bindings: Vec<String> = bindings.filter(|values| !values.is_empty()).map(|values| code_span(&values)).collect();
    note("for", bindings.join("; "));
    note("risk", first.risk_note().unwrap_or_default());
    note("witness", first.basis_note().unwrap_or_default().into());
    note("owed", first.owed.as_deref().map(code_span).unwrap_or_default());
    note("help", property.remedy.as_deref().map(escape_prose).unwrap_or_default());
    note("source", property.source.as_deref().map(escape_prose).unwrap_or_default());
    for proof in &first.witness {
        note(
            &format!("content of {}", escape_prose(&words::describe_step(proof))),
            proof.content.as_deref().map(code_span).unwrap_or_default(),
        );
    }
    if !first.witness.is_empty() {
        text.push_str("\n| step | event | place | holds | absent |\n| ---: | --- | --- | --- | --- |\n");
        for proof in &first.witness {
            text.push_str(&render_row(proof));
        }
    }
    let formula = escape_html(&escape_hidden(&property.formula));
    let _ = writeln!(text, "\n<details><summary>formula</summary><code>{formula}</code></details>");
    text.push_str("\n</details>\n\n");
    text
}

fn render_row(proof: &WitnessEvent) -> String {
    let facts = |facts: &[String]| facts.iter().map(|fact| table_cell(fact)).collect::<Vec<_>>().join("<br>");
    format!(
        "| {} | {} | {} | {} | {} |\n",
        match proof.session {
            Some(_) => table_cell(&words::describe_step(proof)),
            None => proof.step.to_string(),
        },
        table_cell(&words::describe_event(proof.kind.name(), proof.tool.as_deref())),
        table_cell(&format_place(&proof.source.file, proof.source.line)),
        facts(&proof.present),
        facts(&proof.absent),
    )
}

/// Writes a section of sentences; nothing if there are none.
fn render_sentences(title: &str, sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let lines: String = sentences.iter().map(|sentence| format!("- {}\n", escape_prose(sentence))).collect();
    format!("### {title}\n\n{lines}\n")
}

fn render_faults(report: &Report) -> String {
    if report.faults.is_empty() {
        return String::new();
    }
    let mut text = String::from("### Could not be read\n\n");
    for fault in report.faults.iter().take(MAX_FAULTS_LISTED) {
        let message: String = fault.message.chars().take(300).collect();
        let _ = writeln!(text, "- {}: {}", code_span(&format_place(&fault.file, fault.line)), escape_prose(&message));
    }
    let more = report.faults.len().saturating_sub(MAX_FAULTS_LISTED);
    if more > 0 {
        let _ = writeln!(text, "- and {} more", group_digits(more as u64));
    }
    text
}

fn render_gaps(report: &Report) -> String {
    let count = report.gaps().count();
    if count == 0 {
        return String::new();
    }
    let mut text = String::from("### Could not be judged in place\n\n");
    for (session, gap) in report.gaps().take(MAX_FAULTS_LISTED) {
        let at = code_span(&format_place(&gap.source.file, gap.source.line));
        let _ = writeln!(text, "- {at}: {}", escape_prose(&words::describe_gap(session, gap)));
    }
    if count > MAX_FAULTS_LISTED {
        let _ = writeln!(text, "- and {} more", group_digits((count - MAX_FAULTS_LISTED) as u64));
    }
    text
}

/// Writes where the report comes from, folded away.
fn render_origin(report: &Report) -> String {
    let rows = describe_origin(report);
    if rows.is_empty() {
        return String::new();
    }
    let lines: String = rows.iter().map(|(name, text)| format!("- **{name}:** {}\n", code_span(text))).collect();
    format!("\n<details>\n<summary>About this report</summary>\n\n{lines}\n</details>\n")
}

/// Returns a severity with a sign that does not depend on its color.
fn severity_label(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "🟥 critical",
        Severity::High => "🔴 high",
        Severity::Medium => "🔶 medium",
        Severity::Low => "🔹 low",
        Severity::Info => "▫️ info",
    }
}

/// Returns a code span that holds any text: fenced by more backticks than it has in a row.
pub(super) fn code_span(text: &str) -> String {
    let text = escape_hidden(text);
    if text.trim().is_empty() {
        return if text.is_empty() { String::new() } else { "` `".into() };
    }
    let (mut longest, mut run) = (0, 0);
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    // A reader takes one space off each end, if there is one at both.
    let has_edge = |edge: char| edge == '`' || edge == ' ';
    let pad = if text.starts_with(has_edge) || text.ends_with(has_edge) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Returns a code span for a table, where a bar ends the cell even inside a code span.
fn table_cell(text: &str) -> String {
    match text.contains('|') {
        true => format!("<code>{}</code>", escape_html(&escape_hidden(text))),
        false => code_span(text),
    }
}

/// Escapes the markup of a sentence. Addresses stay links: sentences come from the policy.
pub(super) fn escape_prose(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in escape_hidden(text).chars() {
        match character {
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '|' | '~' | '!' | '$' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // A zero-width joiner, so that no user is mentioned.
            '@' => escaped.push_str("@\u{2060}"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Escapes a text for HTML inside Markdown: all punctuation that either could read as markup.
fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_ascii_punctuation() && !matches!(character, '.' | ',' | '-' | '/' | '(' | ')') {
            true => {
                let _ = write!(escaped, "&#{};", u32::from(character));
            }
            false => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_code_span_holds_any_text() {
        assert_eq!(code_span("a"), "`a`");
        assert_eq!(code_span("a`b"), "``a`b``");
        assert_eq!(code_span("`a``"), "``` `a`` ```");
        assert_eq!(code_span("a\nb"), "`a\\nb`");
        assert_eq!(code_span("  "), "` `");
        assert_eq!(table_cell("a|b<i>"), "<code>a&#124;b&#60;i&#62;</code>");
    }

    #[test]
    fn markdown_prose_escapes_all_markup() {
        assert_eq!(escape_prose("*a* <b> @c"), "\\*a\\* &lt;b&gt; @\u{2060}c");
    }
}
