//! What guards stopped, redacted and let pass with an approval, in sentences that all report formats share.

use std::collections::BTreeMap;

use super::Report;
use super::coverage_words::join_some;
use super::words::{escape_hidden, format_count, format_place, group_digits};
use crate::guarded_log::{ApprovedFinding, GuardedLog, StoppedBy};

/// How many approved findings are described; the rest is counted.
const MAX_DESCRIBED: usize = 5;

/// Describes what guards did; nothing for logs that no guard wrote.
pub(super) fn describe_guarding(report: &Report) -> Vec<String> {
    let mut sentences: Vec<String> = report.approved.iter().take(MAX_DESCRIBED).map(describe_approved).collect();
    if let Some(more @ 1..) = report.approved.len().checked_sub(MAX_DESCRIBED) {
        sentences.push(format!("{} approved, not listed", format_count(more as u64, "more violation")));
    }
    for log in &report.guarded {
        sentences.extend(describe_stopped(log));
        if log.redacted > 0 {
            let events = format_count(log.redacted, "event");
            let verb = if log.redacted == 1 { "was" } else { "were" };
            let file = escape_hidden(&log.file);
            sentences.push(format!("{file}: {events} {verb} redacted before taking effect, and judged as redacted"));
        }
    }
    sentences
}

/// Describes a finding that a person allowed: "approved by ann at …: large-refunds in session s (log:4)".
fn describe_approved(ApprovedFinding { finding, waiver }: &ApprovedFinding) -> String {
    let time = waiver.time.as_deref().map(|time| format!(" at {}", escape_hidden(time))).unwrap_or_default();
    format!(
        "approved by {}{time}, so no violation: {} in session {} ({})",
        escape_hidden(&waiver.by),
        escape_hidden(&finding.property.id),
        escape_hidden(&finding.session),
        format_place(&finding.source.file, finding.source.line),
    )
}

/// Describes the events that did not take effect: how many, in which way, and because of which properties.
fn describe_stopped(log: &GuardedLog) -> Option<String> {
    if log.stopped_events == 0 {
        return None;
    }
    let mut ways: BTreeMap<StoppedBy, Vec<String>> = BTreeMap::new();
    for ((by, property), count) in &log.stopped {
        let cause = property.as_deref().map_or_else(|| "no property".into(), escape_hidden);
        ways.entry(*by).or_default().push(format!("{cause} {}", group_digits(*count)));
    }
    let ways = ways.into_iter().map(|(by, causes)| format!("{} ({})", by.name(), join_some(causes.into_iter())));
    let (events, verb) =
        (format_count(log.stopped_events, "event"), if log.stopped_events == 1 { "was" } else { "were" });
    Some(format!(
        "{}: {events} {verb} stopped before taking effect, and not judged: {}",
        escape_hidden(&log.file),
        ways.collect::<Vec<_>>().join(", "),
    ))
}
