//! What the logs do not put to the test, in sentences that all report formats share.

use super::Report;
use super::words::{escape_hidden, format_count, format_place, group_digits};
use crate::coverage::{LogCoverage, MissingFact, RecordedContent, UnexercisedProperty};

/// How many properties a sentence names.
const MAX_NAMED_PROPERTIES: usize = 12;

/// How many facts with a nearest name are listed.
const MAX_NEAREST: usize = 10;

/// Describes what was not exercised, and what was not joined; nothing if everything was.
pub(super) fn describe_coverage(report: &Report) -> Vec<String> {
    let coverage = &report.coverage;
    let mut sentences = Vec::new();
    match (coverage.silent_sessions, report.sessions.len()) {
        (0, _) => {}
        (silent, all) if silent == all => {
            sentences.push("in no session does anything occur that any property looks at".to_owned());
        }
        (silent, all) => sentences.push(format!(
            "in {} of {} nothing occurs that any property looks at",
            group_digits(silent as u64),
            format_count(all as u64, "session"),
        )),
    }
    sentences.extend(describe_lacking(report));
    let unexercised: Vec<&str> =
        coverage.unexercised().filter(|gap| gap.lacking.is_empty()).map(|gap| gap.property.id.as_str()).collect();
    if !unexercised.is_empty() {
        let named = unexercised.iter().map(|id| escape_hidden(id).into_owned());
        sentences.push(format!(
            "{} of {} properties not exercised, since nothing occurs that could violate them: {}",
            group_digits(unexercised.len() as u64),
            group_digits(report.properties.len() as u64),
            join_some(named),
        ));
    }
    let mut nearest: Vec<&MissingFact> =
        coverage.gaps.iter().flat_map(|gap| &gap.missing).filter(|missing| missing.nearest.is_some()).collect();
    nearest.sort_by_key(|missing| &missing.fact);
    nearest.dedup();
    for MissingFact { fact, nearest } in nearest.into_iter().take(MAX_NEAREST) {
        let name = nearest.as_deref().unwrap_or_default();
        sentences.push(format!("`{}` never occurs; the log has `{}`", escape_hidden(fact), escape_hidden(name)));
    }
    // A formula that asks for the tool was named above, with the same nearest tool.
    let is_said = |named: &str| {
        let asked = format!("(\"{named}\"");
        coverage.gaps.iter().flat_map(|gap| &gap.missing).any(|missing| missing.fact.contains(&asked))
    };
    let renamed = coverage.renamed_tools.iter().filter(|(named, _)| !is_said(named));
    for (named, tool) in renamed.take(MAX_NEAREST) {
        sentences.push(format!(
            "the policy names the tool `{}`, which never occurs; the log has `{}`",
            escape_hidden(named),
            escape_hidden(tool),
        ));
    }
    for (named, tool) in coverage.alike_tools.iter().take(MAX_NEAREST) {
        sentences.push(format!(
            "the policy names the tool `{}`; the log also has `{}`, which it does not name",
            escape_hidden(named),
            escape_hidden(tool),
        ));
    }
    let is_missing = |asked: &str| {
        let all = coverage.gaps.iter().flat_map(|gap| &gap.missing);
        all.filter(|missing| missing.nearest.is_some()).any(|missing| missing.fact.split('(').next() == Some(asked))
    };
    for (asked, stated) in coverage.alike_facts.iter().filter(|(asked, _)| !is_missing(asked)).take(MAX_NEAREST) {
        sentences.push(format!(
            "the log has `{}`, the policy asks for `{}`: they are different facts",
            escape_hidden(stated),
            escape_hidden(asked),
        ));
    }
    sentences.extend(describe_untimed(coverage));
    sentences.extend(describe_content(&coverage.content));
    sentences.extend(describe_unmatched(report));
    sentences
}

/// Describes a log whose events have no times, although there are time bounds.
fn describe_untimed(coverage: &LogCoverage) -> Option<String> {
    let LogCoverage { untimed_events, untimed, content, .. } = coverage;
    let named = join_some(untimed.iter().map(|property| escape_hidden(&property.id).into_owned()));
    let bounds = match untimed.len() {
        1 => "1 property".to_owned(),
        count => format!("{} properties", group_digits(count as u64)),
    };
    let (head, how) = match content.events - untimed_events {
        0 => ("no event has a time".to_owned(), "not put to the test"),
        _ => {
            let events = format_count(content.events, "event");
            let has = if *untimed_events == 1 { "has" } else { "have" };
            (format!("{} of {events} {has} no time", group_digits(*untimed_events)), "put to the test only in part")
        }
    };
    (!untimed.is_empty()).then(|| format!("{head}, so the time bounds of {bounds} were {how}: {named}"))
}

/// Describes a log that was recorded without its content.
fn describe_content(content: &RecordedContent) -> Option<String> {
    content.is_left_out().then(|| {
        format!(
            "{} of {} no arguments, and no message has a text: properties about content could not be violated",
            group_digits(content.bare_calls),
            match content.calls {
                1 => "1 call has".to_owned(),
                calls => format!("{} calls have", group_digits(calls)),
            },
        )
    })
}

/// Describes the entries of other systems that belong to no session.
fn describe_unmatched(report: &Report) -> Vec<String> {
    let join = &report.join;
    let all = format_count((join.joined + join.unmatched) as u64, "event");
    let head = match (join.joined, join.unmatched) {
        (_, 0) => return Vec::new(),
        (0, 1) => "the event to join belongs to no session".to_owned(),
        (0, _) => format!("none of the {all} to join belongs to any session"),
        (_, 1) => format!("1 of {all} to join belongs to no session"),
        (_, unmatched) => format!("{} of {all} to join belong to no session", group_digits(unmatched as u64)),
    };
    let named = join.first_unmatched.iter().map(|entry| {
        let place = format_place(&entry.source.file, entry.source.line);
        format!("`{place}` is not joined: {}", entry.reason)
    });
    std::iter::once(head).chain(named).collect()
}

/// Describes the properties that were not judged, with the evidence that each needs.
fn describe_lacking(report: &Report) -> Option<String> {
    let lacking: Vec<&UnexercisedProperty> = report.coverage.lacking().collect();
    let named = lacking.iter().map(|gap| format!("{} ({})", escape_hidden(&gap.property.id), describe_needs(gap)));
    (!lacking.is_empty()).then(|| {
        format!(
            "{} of {} properties not judged, since the logs never state the evidence they need: {}",
            group_digits(lacking.len() as u64),
            group_digits(report.properties.len() as u64),
            join_some(named),
        )
    })
}

/// Returns the evidence that a property needs: needs `verified` or `verification_passed`.
pub(super) fn describe_needs(gap: &UnexercisedProperty) -> String {
    let facts: Vec<String> = gap.lacking.iter().map(|fact| format!("`{}`", escape_hidden(fact))).collect();
    format!("needs {}", facts.join(" or "))
}

/// Joins the first names of a list, and counts the rest.
pub(super) fn join_some(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = match names.len().saturating_sub(MAX_NAMED_PROPERTIES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.take(MAX_NAMED_PROPERTIES).collect::<Vec<_>>().join(", ") + &more
}
