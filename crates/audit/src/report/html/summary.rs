//! The parts of the page that are plain HTML: numbers, properties, what could not be read, files.

use std::fmt::Write;

use super::{first_upper, fragment, shown};
use crate::report::totals::{Tally, tallies};
use crate::report::words::{self, count, grouped, place};
use crate::report::{Report, Totals};
use lictor_policy::{Mode, Severity};

/// How many unreadable places a page lists.
const FAULTS: usize = 500;

/// How many properties are not folded away, at least and at most.
const FEW: usize = 3;
const MANY: usize = 8;

/// The numbers, with the findings that nobody accepts by severity.
pub(super) fn figures(report: &Report, totals: &Totals) -> String {
    let mut text = String::new();
    let mut figure = |name: &str, number: u64, note: &str| {
        let number = grouped(number);
        let _ = write!(text, "<div><dt>{name}</dt><dd>{number}</dd>{note}</div>");
    };
    let severities: Vec<String> = totals
        .severities
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(level, count)| format!("<li>{}{} {}</li>", sign(*level), grouped(*count as u64), level.name()))
        .collect();
    let chips = match severities.is_empty() {
        true => String::new(),
        false => format!("<dd class=\"note\"><ul class=\"chips\">{}</ul></dd>", severities.concat()),
    };
    figure("findings", totals.findings as u64, &chips);
    figure("sessions", totals.sessions as u64, "");
    figure("properties", report.properties.len() as u64, "");
    let files = format!("<dd class=\"note\">in {}</dd>", count(totals.files as u64, "file"));
    figure("events", totals.events, &files);
    if totals.suppressed > 0 {
        figure("suppressed", totals.suppressed as u64, "<dd class=\"note\">accepted by the policy</dd>");
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

/// How the sessions divide, as a bar and in words.
pub(super) fn sessions(totals: &Totals) -> String {
    let parts = [("violated", totals.violated), ("inconclusive", totals.inconclusive), ("satisfied", totals.satisfied)];
    let words = parts
        .iter()
        .filter(|(_, number)| *number > 0)
        .map(|(name, number)| format!("<li><i class=\"{name}\"></i>{} {name}</li>", count(*number as u64, "session")));
    let words: String = words.collect();
    if words.is_empty() {
        return String::new();
    }
    let bar = bar(totals.violated, totals.inconclusive, totals.satisfied);
    format!("{bar}<ul class=\"parts\">{words}</ul>")
}

/// A bar with a part for each verdict; nothing if there is nothing to divide.
fn bar(violated: usize, inconclusive: usize, satisfied: usize) -> String {
    let all = violated + inconclusive + satisfied;
    if all == 0 {
        return String::new();
    }
    let parts = [("violated", violated), ("inconclusive", inconclusive), ("satisfied", satisfied)];
    let words: Vec<String> = parts.iter().map(|(name, number)| format!("{} {name}", grouped(*number as u64))).collect();
    let mut text = format!("<svg class=\"bar\" role=\"img\" aria-label=\"sessions: {}\">", words.join(", "));
    let mut left = 0.0;
    for (name, number) in parts {
        // What exists is seen, however little it is.
        let share = if number == 0 { 0.0 } else { (100.0 * number as f64 / all as f64).max(1.5) };
        let _ = write!(text, "<rect class=\"{name}\" x=\"{left:.2}%\" width=\"{share:.2}%\" height=\"100%\"/>");
        left += share;
    }
    text.push_str("</svg>");
    text
}

/// The properties: first those that something is to be said of, then, folded away, the others.
pub(super) fn properties(report: &Report) -> String {
    let mut tallies = tallies(report);
    // The sort is stable: equals stay in the order of the policy.
    tallies.sort_by_key(|tally| {
        let unrest = (tally.findings > 0, tally.violated > 0, tally.violated + tally.inconclusive > 0);
        std::cmp::Reverse((unrest, tally.property.severity, tally.findings))
    });
    let eventful = tallies.iter().filter(|tally| tally.findings + tally.violated + tally.inconclusive > 0).count();
    let (first, others) = tallies.split_at(eventful.clamp(FEW.min(tallies.len()), MANY.min(tallies.len())));
    let mut text = if first.is_empty() { String::new() } else { table(first) };
    if !others.is_empty() {
        let head = match others.len() {
            1 => "1 more property".into(),
            more => format!("{more} more properties"),
        };
        let _ = write!(text, "<details class=\"more\"><summary>{head}</summary>{}</details>", table(others));
    }
    text
}

fn table(tallies: &[Tally<'_>]) -> String {
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
            number => format!("<span class=\"aside\">+{} suppressed</span>", grouped(number as u64)),
        };
        let _ = write!(
            text,
            "<tr><th scope=\"row\">{}<span><a href=\"#property-{}\"><code><bdi>{}</bdi></code></a>{shadow}</span>\
             <span class=\"says\">{}</span></th><td class=\"share\">{}</td>",
            sign(property.severity),
            fragment(&property.id),
            shown(&property.id),
            shown(&property.says),
            bar(tally.violated, tally.inconclusive, tally.satisfied),
        );
        for (number, class) in [(tally.violated, ""), (tally.inconclusive, " detail"), (tally.satisfied, " detail")] {
            let zero = if number == 0 { " zero" } else { "" };
            let _ = write!(text, "<td class=\"number{class}{zero}\">{}</td>", grouped(number as u64));
        }
        let _ = write!(text, "<td class=\"number strong\">{}{suppressed}</td></tr>", grouped(tally.findings as u64));
    }
    text.push_str("</tbody></table>");
    text
}

/// The events that could not be judged in their place.
pub(super) fn gaps(report: &Report) -> String {
    let count = report.gaps().count();
    if count == 0 {
        return String::new();
    }
    let mut text = String::from(
        "<section aria-labelledby=\"gaps\"><div class=\"heading\"><h2 id=\"gaps\">Could not be judged in place</h2></div>\
         <ul class=\"faults\">",
    );
    for (session, gap) in report.gaps().take(FAULTS) {
        let (at, message) = (shown(&place(&gap.source.file, gap.source.line)), shown(&words::gap(session, gap)));
        let _ = write!(text, "<li><code><bdi>{at}</bdi></code> <span>{message}</span></li>");
    }
    if count > FAULTS {
        let _ = write!(text, "<li>and {} more</li>", grouped((count - FAULTS) as u64));
    }
    text.push_str("</ul></section>");
    text
}

/// The places that could not be read.
pub(super) fn faults(report: &Report) -> String {
    if report.faults.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<section aria-labelledby=\"faults\"><div class=\"heading\"><h2 id=\"faults\">Could not be read</h2></div>\
         <ul class=\"faults\">",
    );
    for fault in report.faults.iter().take(FAULTS) {
        let column = fault.column.map(|column| format!(":{column}")).unwrap_or_default();
        let at = shown(&place(&fault.file, fault.line));
        let message = shown(&fault.message);
        let _ = write!(text, "<li><code><bdi>{at}{column}</bdi></code> <span>{message}</span></li>");
    }
    let more = report.faults.len().saturating_sub(FAULTS);
    if more > 0 {
        let _ = write!(text, "<li>and {} more</li>", grouped(more as u64));
    }
    text.push_str("</ul></section>");
    text
}

/// The files that were read.
pub(super) fn files(report: &Report) -> String {
    if report.files.is_empty() {
        return String::new();
    }
    let head = count(report.files.len() as u64, "file");
    let mut text = format!("<details class=\"more files\"><summary>{head}</summary><table><tbody>");
    for file in &report.files {
        let (name, format) = (shown(&file.name), file.format.name());
        let events = count(file.events, "event");
        let _ = write!(text, "<tr><th scope=\"row\"><code><bdi>{name}</bdi></code></th><td>{format}</td>");
        let _ = write!(text, "<td class=\"number\">{events}</td></tr>");
    }
    text.push_str("</tbody></table></details>");
    text
}

/// The sign of a severity: a letter on a shape of its own, so that it does not depend on color.
fn sign(level: Severity) -> String {
    let name = level.name();
    let letter: String = first_upper(name).chars().take(1).collect();
    format!(
        "<span class=\"sign {name}\" title=\"{name}\"><span aria-hidden=\"true\">{letter}</span><span class=\"unseen\">{name}</span></span>"
    )
}
