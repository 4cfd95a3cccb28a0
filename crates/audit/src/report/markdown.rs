//! A report as Markdown, for a comment on a pull request.
//!
//! Tables first, then the findings, each with its witness folded away. What comes from a log stands in code spans, where
//! it can neither become markup nor call anybody by name; sentences are escaped.

use std::fmt::Write as _;
use std::io::{self, Write};

use lictor_logic::Verdict;

use super::totals::{groups, tallies};
use super::words::{self, binding, count, grouped, occasion, place, visible};
use super::{Report, Totals};
use lictor_judge::finding::{Finding, WitnessEvent};
use lictor_policy::Severity;

/// How much of a report is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportDetail {
    /// The most bytes to write; findings that do not fit are counted instead.
    pub limit: Option<usize>,
}

/// What fits a comment on GitHub, which takes 65,536 characters.
impl Default for ReportDetail {
    fn default() -> ReportDetail {
        ReportDetail { limit: Some(60_000) }
    }
}

/// How many faults are listed.
const FAULTS: usize = 20;

/// Writes a report as Markdown.
pub fn write(report: &Report, extent: ReportDetail, out: &mut dyn Write) -> io::Result<()> {
    let totals = report.totals();
    let tail = [faults(report), gaps(report)].concat();
    let mut page = head(report, &totals) + &properties(report);
    let groups = groups(&report.findings);
    if !groups.is_empty() {
        page.push_str("### Findings\n\n");
    }
    let mut told = 0;
    for group in &groups {
        let text = findings(group);
        if extent.limit.is_some_and(|limit| page.len() + text.len() + tail.len() + ROOM > limit) {
            break;
        }
        page.push_str(&text);
        told += group.len();
    }
    let left = report.findings.len() - told;
    if left > 0 {
        let more = count(left as u64, "more finding");
        let _ = writeln!(page, "*{more} did not fit here; the other formats have them all.*\n");
    }
    page.push_str(&tail);
    out.write_all(page.trim_end().as_bytes())?;
    writeln!(out)
}

/// Room kept for the line that counts what did not fit.
const ROOM: usize = 200;

fn head(report: &Report, totals: &Totals) -> String {
    let sign = match report.verdict() {
        None => "⚪",
        Some(Verdict::Satisfied) => "✅",
        Some(Verdict::Inconclusive) => "❔",
        Some(Verdict::Violated) if totals.findings == 0 => "☑️",
        Some(Verdict::Violated) => "❌",
    };
    let mut text = format!("## {sign} Policy {}: {}\n\n", code(&report.policy), totals.result());
    let figures = totals.figures();
    let names: Vec<&str> = figures.iter().map(|(name, _)| *name).collect();
    let values: Vec<&str> = figures.iter().map(|(_, value)| value.as_str()).collect();
    let _ = writeln!(text, "| {} |", names.join(" | "));
    let _ = writeln!(text, "|{}", " --- |".repeat(figures.len()));
    let _ = writeln!(text, "| {} |\n", values.join(" | "));
    text
}

fn properties(report: &Report) -> String {
    let mut broken: Vec<_> =
        tallies(report).into_iter().filter(|tally| tally.findings + tally.suppressed > 0).collect();
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
            cell(&property.id),
            level(property.severity),
            grouped(tally.findings as u64),
            grouped(tally.suppressed as u64),
            grouped(tally.violated as u64),
        );
    }
    text.push('\n');
    text
}

/// Findings of one event that differ only in their values.
fn findings(group: &[&Finding]) -> String {
    let Some((first, others)) = group.split_first() else { return String::new() };
    let property = &first.property;
    let sign = if first.suppressed.is_some() { "suppressed" } else { level(property.severity) };
    let mut text = format!(
        "<details>\n<summary>{sign} <code>{}</code> in session <code>{}</code>, {}: <code>{}</code></summary>\n\n",
        html(&visible(&property.id)),
        html(&visible(&first.session)),
        occasion(first),
        html(&words::event(first.kind.name(), first.tool.as_deref())),
    );
    let mut note = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(text, "- **{name}:** {value}");
        }
    };
    note("says", prose(&property.says));
    note("suppressed", first.suppressed.as_deref().map(prose).unwrap_or_default());
    note("at", code(&place(&first.source.file, first.source.line)));
    let bindings = std::iter::once(first).chain(others).map(|finding| binding(finding));
    let bindings: Vec<String> = bindings.filter(|values| !values.is_empty()).map(|values| code(&values)).collect();
    note("for", bindings.join("; "));
    note("owed", first.owed.as_deref().map(code).unwrap_or_default());
    note("help", property.remedy.as_deref().map(prose).unwrap_or_default());
    note("source", property.source.as_deref().map(prose).unwrap_or_default());
    note("formula", code(&property.formula));
    for proof in &first.witness {
        note(
            &format!("content of {}", prose(&words::step(proof))),
            proof.content.as_deref().map(code).unwrap_or_default(),
        );
    }
    if !first.witness.is_empty() {
        text.push_str("\n| step | event | place | holds | absent |\n| ---: | --- | --- | --- | --- |\n");
        for proof in &first.witness {
            text.push_str(&row(proof));
        }
    }
    text.push_str("\n</details>\n\n");
    text
}

fn row(proof: &WitnessEvent) -> String {
    let facts = |facts: &[String]| facts.iter().map(|fact| cell(fact)).collect::<Vec<_>>().join("<br>");
    format!(
        "| {} | {} | {} | {} | {} |\n",
        match proof.session {
            Some(_) => cell(&words::step(proof)),
            None => proof.step.to_string(),
        },
        cell(&words::event(proof.kind.name(), proof.tool.as_deref())),
        cell(&place(&proof.source.file, proof.source.line)),
        facts(&proof.present),
        facts(&proof.absent),
    )
}

fn faults(report: &Report) -> String {
    if report.faults.is_empty() {
        return String::new();
    }
    let mut text = String::from("### Could not be read\n\n");
    for fault in report.faults.iter().take(FAULTS) {
        let message: String = fault.message.chars().take(300).collect();
        let _ = writeln!(text, "- {}: {}", code(&place(&fault.file, fault.line)), prose(&message));
    }
    let more = report.faults.len().saturating_sub(FAULTS);
    if more > 0 {
        let _ = writeln!(text, "- and {} more", grouped(more as u64));
    }
    text
}

fn gaps(report: &Report) -> String {
    let count = report.gaps().count();
    if count == 0 {
        return String::new();
    }
    let mut text = String::from("### Could not be judged in place\n\n");
    for (session, gap) in report.gaps().take(FAULTS) {
        let at = code(&place(&gap.source.file, gap.source.line));
        let _ = writeln!(text, "- {at}: {}", prose(&words::gap(session, gap)));
    }
    if count > FAULTS {
        let _ = writeln!(text, "- and {} more", grouped((count - FAULTS) as u64));
    }
    text
}

/// A severity with a sign that does not depend on its color.
fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "🟥 critical",
        Severity::High => "🔴 high",
        Severity::Medium => "🔶 medium",
        Severity::Low => "🔹 low",
        Severity::Info => "▫️ info",
    }
}

/// A code span that holds any text: fenced by more backticks than it has in a row.
pub(super) fn code(text: &str) -> String {
    let text = visible(text);
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

/// Code in a table, where a bar ends the cell even inside a code span.
fn cell(text: &str) -> String {
    match text.contains('|') {
        true => format!("<code>{}</code>", html(&visible(text))),
        false => code(text),
    }
}

/// A sentence in which nothing is markup. Addresses stay links: sentences come from the policy.
pub(super) fn prose(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in visible(text).chars() {
        match character {
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '|' | '~' | '!' | '$' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // A joiner without width, so that nobody is called by name.
            '@' => escaped.push_str("@\u{2060}"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A text inside HTML inside Markdown: whatever either could read as its own is an entity.
fn html(text: &str) -> String {
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
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`a``"), "``` `a`` ```");
        assert_eq!(code("a\nb"), "`a\\nb`");
        assert_eq!(code("  "), "` `");
        assert_eq!(cell("a|b<i>"), "<code>a&#124;b&#60;i&#62;</code>");
    }

    #[test]
    fn markdown_prose_escapes_all_markup() {
        assert_eq!(prose("*a* <b> @c"), "\\*a\\* &lt;b&gt; @\u{2060}c");
    }
}
