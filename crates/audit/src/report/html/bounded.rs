//! A report cut down to what a browser can show.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::report::words::group_digits;
use crate::report::{Report, SessionPlaces, SessionReport};
use lictor_judge::finding::Finding;

/// The most findings and sessions of a page.
const MAX_FINDINGS: usize = 5_000;
const MAX_SESSIONS: usize = 10_000;

/// Returns the part of a report that a page shows, if it is too large for one: the gravest findings, their sessions, and
/// then other sessions in the order of the log.
pub(super) fn bound_report(report: &Report) -> Option<Report> {
    if report.findings.len() <= MAX_FINDINGS && report.sessions.len() <= MAX_SESSIONS {
        return None;
    }
    let mut kept: Vec<usize> = (0..report.findings.len()).collect();
    kept.sort_by_key(|place| {
        let finding = &report.findings[*place];
        (finding.suppressed.is_some(), Reverse(finding.property.severity))
    });
    kept.truncate(MAX_FINDINGS);
    kept.sort_unstable();
    let findings: Vec<Finding> = kept.into_iter().map(|place| report.findings[place].clone()).collect();
    let places = SessionPlaces::new(&report.sessions);
    let mut shown: HashSet<usize> = findings.iter().filter_map(|finding| places.find(finding)).collect();
    for place in 0..report.sessions.len() {
        if shown.len() >= MAX_SESSIONS {
            break;
        }
        shown.insert(place);
    }
    let sessions: Vec<SessionReport> = report
        .sessions
        .iter()
        .enumerate()
        .filter(|(place, _)| shown.contains(place))
        .map(|(_, session)| session.clone())
        .collect();
    Some(Report { findings, sessions, properties: report.properties.clone(), ..Report::default() })
}

/// Describes what a page leaves out that shows a part of a report.
pub(super) fn describe_bound(report: &Report, shown: &Report) -> String {
    let count = |number: usize| group_digits(number as u64);
    format!(
        "This page lists {} of {} findings, the gravest first, and {} of {} sessions. The figures count all of them; the \
         JSON report lists them.",
        count(shown.findings.len()),
        count(report.findings.len()),
        count(shown.sessions.len()),
        count(report.sessions.len()),
    )
}
