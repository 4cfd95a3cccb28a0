//! The parts of the page that are plain HTML: totals, properties, faults, gaps, files.

use std::fmt::Write;

use super::bounded::describe_bound;
use super::{encode_fragment, escape_html};
use crate::report::coverage_words::describe_coverage;
use crate::report::guarding::describe_guarding;
use crate::report::inconclusive::describe_inconclusive;
use crate::report::origin::describe_origin;
use crate::report::totals::{Tally, tally_properties};
use crate::report::words::{self, capitalize, format_count, format_place, group_digits};
use crate::report::{Report, Totals};
use lictor_policy::{Mode, Severity};

/// How many faults a page lists.
const MAX_FAULTS_LISTED: usize = 500;

/// How many properties are shown unfolded, at least and at most.
const MIN_PROPERTIES_SHOWN: usize = 3;
const MAX_PROPERTIES_SHOWN: usize = 8;

/// Renders the totals, with the findings by severity.
pub(super) fn render_figures(report: &Report, totals: &Totals) -> String {
    let mut text = String::new();
    let mut figure = |name: &str, number: u64, note: &str| {
        let number = group_digits(number);
        let _ = write!(text, "<div><dt>{name}</dt><dd>{number}</dd>{note}</div>");
    };
    let severities: Vec<String> = totals
        .severities
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(level, count)| {
            format!("<li>{}{} {}</li>", severity_sign(*level), group_digits(*count as u64), level.name())
        })
        .collect();
    let chips = match severities.is_empty() {
        true => String::new(),
        false => format!("<dd class=\"note\"><ul class=\"chips\">{}</ul></dd>", severities.concat()),
    };
    figure("findings", totals.findings as u64, &chips);
    figure("sessions", totals.sessions as u64, "");
    figure("properties", report.properties.len() as u64, "");
    let files = format!("<dd class=\"note\">in {}</dd>", format_count(totals.files as u64, "file"));
    figure("events", totals.events, &files);
    if totals.joined + totals.unmatched > 0 {
        let unmatched = format!("<dd class=\"note\">{} unmatched</dd>", group_digits(totals.unmatched as u64));
        figure("joined events", totals.joined as u64, if totals.unmatched > 0 { &unmatched } else { "" });
    }
    if totals.suppressed > 0 {
        figure("suppressed", totals.suppressed as u64, "<dd class=\"note\">accepted with a reason</dd>");
    }
    if totals.approved > 0 {
        figure("approved", totals.approved as u64, "<dd class=\"note\">by a person</dd>");
    }
    if totals.stopped > 0 {
        figure("stopped", totals.stopped, "<dd class=\"note\">events, not judged</dd>");
    }
    if totals.known > 0 {
        figure("known", totals.known as u64, "<dd class=\"note\">in the baseline</dd>");
    }
    if totals.faults > 0 {
        figure(
            "unreadable",
            totals.faults as u64,
            "<dd class=\"note\"><a href=\"#faults\">places in the logs</a></dd>",
        );
    }
    if totals.gaps > 0 {
        figure("gaps", totals.gaps as u64, "<dd class=\"note\"><a href=\"#gaps\">events out of place</a></dd>");
    }
    text
}

/// Renders the sessions by verdict, as a bar and in words.
pub(super) fn render_sessions(totals: &Totals) -> String {
    let parts = [("violated", totals.violated), ("inconclusive", totals.inconclusive), ("satisfied", totals.satisfied)];
    let words = parts.iter().filter(|(_, number)| *number > 0).map(|(name, number)| {
        format!("<li><i class=\"{name}\"></i>{} {name}</li>", format_count(*number as u64, "session"))
    });
    let words: String = words.collect();
    if words.is_empty() {
        return String::new();
    }
    let bar = render_bar(totals.violated, totals.inconclusive, totals.satisfied);
    format!("{bar}<ul class=\"parts\">{words}</ul>")
}

/// Renders a bar with a part for each verdict; nothing if there is nothing to divide.
fn render_bar(violated: usize, inconclusive: usize, satisfied: usize) -> String {
    let all = violated + inconclusive + satisfied;
    if all == 0 {
        return String::new();
    }
    let parts = [("violated", violated), ("inconclusive", inconclusive), ("satisfied", satisfied)];
    let words: Vec<String> =
        parts.iter().map(|(name, number)| format!("{} {name}", group_digits(*number as u64))).collect();
    let mut text = format!("<svg class=\"bar\" role=\"img\" aria-label=\"sessions: {}\">", words.join(", "));
    let mut left = 0.0;
    for (name, number) in parts {
        // A part that exists is visible, however small it is.
        let share = if number == 0 { 0.0 } else { (100.0 * number as f64 / all as f64).max(1.5) };
        let _ = write!(text, "<rect class=\"{name}\" x=\"{left:.2}%\" width=\"{share:.2}%\" height=\"100%\"/>");
        left += share;
    }
    text.push_str("</svg>");
    text
}

/// Renders the properties: first those with violations or open verdicts, then, folded away, the others.
pub(super) fn render_properties(report: &Report) -> String {
    let mut tallies = tally_properties(report);
    // The sort is stable: equals stay in the order of the policy.
    tallies.sort_by_key(|tally| {
        let unrest = (tally.findings > 0, tally.violated > 0, tally.violated + tally.inconclusive > 0);
        std::cmp::Reverse((unrest, tally.property.severity, tally.findings))
    });
    let eventful = tallies.iter().filter(|tally| tally.findings + tally.violated + tally.inconclusive > 0).count();
    let (first, others) = tallies
        .split_at(eventful.clamp(MIN_PROPERTIES_SHOWN.min(tallies.len()), MAX_PROPERTIES_SHOWN.min(tallies.len())));
    let mut text = if first.is_empty() { String::new() } else { render_table(first) };
    if !others.is_empty() {
        let head = match others.len() {
            1 => "1 more property".into(),
            more => format!("{more} more properties"),
        };
        let _ = write!(text, "<details class=\"more\"><summary>{head}</summary>{}</details>", render_table(others));
    }
    text
}

fn render_table(tallies: &[Tally<'_>]) -> String {
    let mut text = String::from(
        "<table class=\"properties\"><thead><tr><th scope=\"col\">Property</th>\
         <th scope=\"col\" class=\"share\">Sessions</th><th scope=\"col\" class=\"number\">Violated</th>\
         <th scope=\"col\" class=\"number detail\">Inconclusive</th><th scope=\"col\" class=\"number detail\">Satisfied</th>\
         <th scope=\"col\" class=\"number\">Findings</th></tr></thead><tbody>",
    );
    for tally in tallies {
        let property = tally.property;
        let shadow = if property.mode == Mode::Shadow { " <span class=\"tag\">shadow</span>" } else { "" };
        let suppressed = match tally.suppressed {
            0 => String::new(),
            number => format!("<span class=\"aside\">+{} suppressed</span>", group_digits(number as u64)),
        };
        let _ = write!(
            text,
            "<tr><th scope=\"row\">{}<span><a href=\"#property-{}\"><code><bdi>{}</bdi></code></a>{shadow}</span>\
             <span class=\"says\">{}</span></th><td class=\"share\">{}</td>",
            severity_sign(property.severity),
            encode_fragment(&property.id),
            escape_html(&property.id),
            escape_html(&property.says),
            render_bar(tally.violated, tally.inconclusive, tally.satisfied),
        );
        for (number, class) in [(tally.violated, ""), (tally.inconclusive, " detail"), (tally.satisfied, " detail")] {
            let zero = if number == 0 { " zero" } else { "" };
            let _ = write!(text, "<td class=\"number{class}{zero}\">{}</td>", group_digits(number as u64));
        }
        let _ =
            write!(text, "<td class=\"number strong\">{}{suppressed}</td></tr>", group_digits(tally.findings as u64));
    }
    text.push_str("</tbody></table>");
    text
}

/// Renders what a page leaves out that shows a part of a report.
pub(super) fn render_bound(report: &Report, shown: Option<&Report>) -> String {
    let text = shown.map(|shown| escape_html(&describe_bound(report, shown)));
    text.map_or_else(String::new, |text| format!("<p class=\"notice\">{text}</p>"))
}

/// Renders what guards stopped, and what a person approved.
pub(super) fn render_guarding(report: &Report) -> String {
    render_sentences("guarding", "Stopped and approved", &describe_guarding(report))
}

/// Renders the properties that are inconclusive, with the reasons.
pub(super) fn render_inconclusive(report: &Report) -> String {
    render_sentences("inconclusive", "Inconclusive", &describe_inconclusive(report))
}

/// Renders what the logs do not put to the test.
pub(super) fn render_coverage(report: &Report) -> String {
    render_sentences("coverage", "Not exercised", &describe_coverage(report))
}

fn render_sentences(id: &str, title: &str, sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let items: String =
        sentences.iter().map(|sentence| format!("<li><span>{}</span></li>", escape_html(sentence))).collect();
    format!(
        "<section aria-labelledby=\"{id}\"><div class=\"heading\"><h2 id=\"{id}\">{title}</h2></div>\
         <ul class=\"faults\">{items}</ul></section>"
    )
}

/// Renders the events that could not be judged in their place.
pub(super) fn render_gaps(report: &Report) -> String {
    let count = report.gaps().count();
    if count == 0 {
        return String::new();
    }
    let mut text = String::from(
        "<section aria-labelledby=\"gaps\"><div class=\"heading\"><h2 id=\"gaps\">Could not be judged in place</h2></div>\
         <ul class=\"faults\">",
    );
    for (session, gap) in report.gaps().take(MAX_FAULTS_LISTED) {
        let (at, message) = (
            escape_html(&format_place(&gap.source.file, gap.source.line)),
            escape_html(&words::describe_gap(session, gap)),
        );
        let _ = write!(text, "<li><code><bdi>{at}</bdi></code> <span>{message}</span></li>");
    }
    if count > MAX_FAULTS_LISTED {
        let _ = write!(text, "<li>and {} more</li>", group_digits((count - MAX_FAULTS_LISTED) as u64));
    }
    text.push_str("</ul></section>");
    text
}

/// Renders the places that could not be read.
pub(super) fn render_faults(report: &Report) -> String {
    if report.faults.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<section aria-labelledby=\"faults\"><div class=\"heading\"><h2 id=\"faults\">Could not be read</h2></div>\
         <ul class=\"faults\">",
    );
    for fault in report.faults.iter().take(MAX_FAULTS_LISTED) {
        let column = fault.column.map(|column| format!(":{column}")).unwrap_or_default();
        let at = escape_html(&format_place(&fault.file, fault.line));
        let message = escape_html(&fault.message);
        let _ = write!(text, "<li><code><bdi>{at}{column}</bdi></code> <span>{message}</span></li>");
    }
    let more = report.faults.len().saturating_sub(MAX_FAULTS_LISTED);
    if more > 0 {
        let _ = write!(text, "<li>and {} more</li>", group_digits(more as u64));
    }
    text.push_str("</ul></section>");
    text
}

/// Renders where the report comes from.
pub(super) fn render_origin(report: &Report) -> String {
    let rows: String = describe_origin(report)
        .iter()
        .map(|(name, text)| format!("<dt>{name}</dt><dd><code><bdi>{}</bdi></code></dd>", escape_html(text)))
        .collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!("<dl class=\"notes origin\">{rows}</dl>"),
    }
}

/// Renders the files that were read.
pub(super) fn render_files(report: &Report) -> String {
    if report.files.is_empty() {
        return String::new();
    }
    let head = format_count(report.files.len() as u64, "file");
    let mut text = format!("<details class=\"more files\"><summary>{head}</summary><table><tbody>");
    for file in report.files.iter().take(MAX_FAULTS_LISTED) {
        let (name, format) = (escape_html(&file.name), file.format.name());
        let events = format_count(file.events, "event");
        let _ = write!(text, "<tr><th scope=\"row\"><code><bdi>{name}</bdi></code></th><td>{format}</td>");
        let _ = write!(text, "<td class=\"number\">{events}</td></tr>");
    }
    let more = report.files.len().saturating_sub(MAX_FAULTS_LISTED);
    if more > 0 {
        let _ = write!(text, "<tr><th scope=\"row\">and {} more</th></tr>", group_digits(more as u64));
    }
    text.push_str("</tbody></table></details>");
    text
}

/// Returns the sign of a severity: a letter on a shape of its own, so that it does not depend on color.
fn severity_sign(level: Severity) -> String {
    let name = level.name();
    let letter: String = capitalize(name).chars().take(1).collect();
    format!(
        "<span class=\"sign {name}\" title=\"{name}\"><span aria-hidden=\"true\">{letter}</span><span class=\"unseen\">{name}</span></span>"
    )
}
