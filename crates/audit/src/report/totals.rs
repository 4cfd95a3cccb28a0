//! A report in numbers.

use std::collections::{HashMap, HashSet};

use lictor_logic::Verdict;

use super::words::{format_count, group_digits};
use super::{Report, SessionReport};
use crate::coverage::UnexercisedProperty;
use lictor_judge::finding::Finding;
use lictor_policy::{Property, Severity};

/// The totals of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files that were read.
    pub files: usize,
    /// Sessions that were judged.
    pub sessions: usize,
    /// Sessions in which every property is satisfied.
    pub satisfied: usize,
    /// Sessions with no violation and some inconclusive property.
    pub inconclusive: usize,
    /// Sessions with a violation, accepted or not.
    pub violated: usize,
    /// Events in the files.
    pub events: u64,
    /// Findings that are not accepted.
    pub findings: usize,
    /// Accepted findings: ignored, with a reason and an expiry date.
    pub suppressed: usize,
    /// Findings that a person allowed when their event was decided.
    pub approved: usize,
    /// Events that a guard stopped, so that they are in no session.
    pub stopped: u64,
    /// Findings that are in the baseline.
    pub known: usize,
    /// Places in the logs that could not be read.
    pub faults: usize,
    /// How many gaps there are.
    pub gaps: usize,
    /// Sessions without a fact that any property asks for.
    pub silent: usize,
    /// Properties that nothing in the logs could violate, or that lack the evidence they need.
    pub unexercised: usize,
    /// Entries of other systems that were joined to sessions.
    pub joined: usize,
    /// Entries of other systems that belong to no session.
    pub unmatched: usize,
    /// Whether nothing in the logs could violate any property.
    pub is_unexercised: bool,
    /// The findings that are not accepted, by severity; every severity is listed, the worst first.
    pub severities: Vec<(Severity, usize)>,
}

/// The severities, the worst first.
pub(super) const SEVERITIES: [Severity; 5] =
    [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info];

impl Totals {
    pub(super) fn new(report: &Report) -> Totals {
        let open = || report.findings.iter().filter(|finding| finding.suppressed.is_none());
        let count = |severity: Severity| open().filter(|finding| finding.property.severity == severity).count();
        let sessions = |verdict: Verdict| report.sessions.iter().filter(|session| session.verdict() == verdict).count();
        Totals {
            files: report.files.len(),
            sessions: report.sessions.len(),
            satisfied: sessions(Verdict::Satisfied),
            inconclusive: sessions(Verdict::Inconclusive),
            violated: sessions(Verdict::Violated),
            events: report.files.iter().fold(0, |sum, file| sum.saturating_add(file.events)),
            findings: open().count(),
            suppressed: report.findings.len() - open().count(),
            approved: report.approved.len(),
            stopped: report.guarded.iter().map(|log| log.stopped_events).sum(),
            known: report.known,
            faults: report.faults.len(),
            gaps: report.gaps().count(),
            silent: report.coverage.silent_sessions,
            unexercised: report.coverage.unexercised().count(),
            joined: report.join.joined,
            unmatched: report.join.unmatched,
            is_unexercised: report.is_unexercised(),
            severities: SEVERITIES.map(|severity| (severity, count(severity))).to_vec(),
        }
    }
}

impl Totals {
    /// Returns the result in words: `violated in 3 of 12 sessions`.
    pub(super) fn result(&self) -> String {
        let sessions = format_count(self.sessions as u64, "session");
        match (self.sessions, self.violated, self.inconclusive) {
            (0, ..) => "no sessions to judge".into(),
            (_, 0, 0) if self.is_unexercised => format!("nothing was put to the test in {sessions}"),
            (_, 0, 0) => format!("no violations in {sessions}"),
            (_, 0, open) => format!("no violations in {sessions}, {} inconclusive", group_digits(open as u64)),
            (_, broken, _) => format!("violated in {} of {sessions}", group_digits(broken as u64)),
        }
    }

    /// Returns the numbers with their names; what does not occur is left out.
    pub(super) fn figures(&self) -> Vec<(&'static str, String)> {
        let number = |number: usize| group_digits(number as u64);
        let parts = |parts: &[(&str, usize)]| {
            let some = parts.iter().filter(|(_, count)| *count > 0);
            let some: Vec<String> = some.map(|(name, count)| format!("{} {name}", number(*count))).collect();
            if some.is_empty() { String::new() } else { format!(" ({})", some.join(", ")) }
        };
        let verdicts =
            [("satisfied", self.satisfied), ("inconclusive", self.inconclusive), ("violated", self.violated)];
        let severities: Vec<_> = self.severities.iter().map(|&(level, count)| (level.name(), count)).collect();
        let mut figures = vec![
            ("files", number(self.files)),
            ("sessions", number(self.sessions) + &parts(&verdicts)),
            ("events", group_digits(self.events)),
            ("findings", number(self.findings) + &parts(&severities)),
        ];
        match (self.joined, self.unmatched) {
            (0, 0) => {}
            (joined, 0) => figures.push(("joined", format_count(joined as u64, "event"))),
            (joined, unmatched) => {
                let joined = format_count(joined as u64, "event");
                figures.push(("joined", format!("{joined}, {} unmatched", number(unmatched))));
            }
        }
        if self.suppressed > 0 {
            figures.push(("suppressed", format!("{}, accepted with a reason", number(self.suppressed))));
        }
        if self.approved > 0 {
            figures.push(("approved", format!("{}, by a person", number(self.approved))));
        }
        if self.stopped > 0 {
            figures.push(("stopped", format!("{}, not judged", format_count(self.stopped, "event"))));
        }
        if self.known > 0 {
            figures.push(("known", format!("{}, in the baseline", number(self.known))));
        }
        if self.faults > 0 {
            figures.push(("unreadable", format_count(self.faults as u64, "place")));
        }
        if self.gaps > 0 {
            figures.push(("order", format_count(self.gaps as u64, "gap")));
        }
        figures
    }
}

/// The results of one property.
#[derive(Clone, Debug)]
pub(super) struct Tally<'a> {
    pub(super) property: &'a Property,
    /// What of it the logs do not put to the test.
    pub(super) gap: Option<&'a UnexercisedProperty>,
    /// Findings that are not accepted.
    pub(super) findings: usize,
    /// Accepted findings: ignored, with a reason and an expiry date.
    pub(super) suppressed: usize,
    /// Sessions with findings that are not accepted.
    pub(super) sessions: usize,
    /// Sessions that satisfy it.
    pub(super) satisfied: usize,
    /// Sessions in which it is inconclusive.
    pub(super) inconclusive: usize,
    /// Sessions that violate it, accepted or not.
    pub(super) violated: usize,
    /// Sessions in which it was not judged, as the logs lack the evidence it needs.
    pub(super) unjudged: usize,
}

/// Returns the results of each property, in the order of the policy.
pub(super) fn tally_properties(report: &Report) -> Vec<Tally<'_>> {
    let gaps: HashMap<&str, &UnexercisedProperty> =
        report.coverage.gaps.iter().map(|gap| (gap.property.id.as_str(), gap)).collect();
    let properties = report.properties.iter();
    let mut tallies: Vec<Tally<'_>> =
        properties.map(|property| Tally::new(property, gaps.get(property.id.as_str()).copied())).collect();
    for session in &report.sessions {
        for (tally, outcome) in tallies.iter_mut().zip(&session.outcomes) {
            match outcome.verdict {
                _ if !outcome.is_judged => tally.unjudged += 1,
                _ if outcome.is_broken() => tally.violated += 1,
                Verdict::Inconclusive => tally.inconclusive += 1,
                _ => tally.satisfied += 1,
            }
        }
    }
    let (places, sessions) = (property_places(report), SessionPlaces::new(&report.sessions));
    let mut seen = HashSet::new();
    for finding in &report.findings {
        let Some(&place) = places.get(finding.property.id.as_str()) else { continue };
        let Some(tally) = tallies.get_mut(place) else { continue };
        if finding.suppressed.is_some() {
            tally.suppressed += 1;
        } else {
            tally.findings += 1;
            tally.sessions += usize::from(seen.insert((place, sessions.find(finding))));
        }
    }
    tallies
}

impl<'a> Tally<'a> {
    fn new(property: &'a Property, gap: Option<&'a UnexercisedProperty>) -> Tally<'a> {
        Tally {
            property,
            gap,
            findings: 0,
            suppressed: 0,
            sessions: 0,
            satisfied: 0,
            inconclusive: 0,
            violated: 0,
            unjudged: 0,
        }
    }
}

/// Returns the index of each property in the report.
pub(super) fn property_places(report: &Report) -> HashMap<&str, usize> {
    report.properties.iter().enumerate().map(|(place, property)| (property.id.as_str(), place)).collect()
}

/// Groups findings of one event that differ only in their values; in the order in which each group begins.
pub(super) fn group_findings(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    let mut known = HashMap::new();
    for finding in findings {
        let key = (
            finding.property.id.as_str(),
            finding.session.as_str(),
            (&*finding.source.file, finding.source.line),
            (finding.step, finding.decided as u8),
            finding.suppressed.as_deref(),
        );
        let place = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

/// The index of each session in the report, by name and file, else by name alone.
#[derive(Debug)]
pub(crate) struct SessionPlaces<'a> {
    exact: HashMap<(&'a str, &'a str), usize>,
    named: HashMap<&'a str, usize>,
}

impl<'a> SessionPlaces<'a> {
    pub(crate) fn new(sessions: impl IntoIterator<Item = &'a SessionReport>) -> SessionPlaces<'a> {
        let (mut exact, mut named) = (HashMap::new(), HashMap::new());
        for (place, session) in sessions.into_iter().enumerate() {
            exact.entry((session.name.as_str(), &*session.file)).or_insert(place);
            named.entry(session.name.as_str()).or_insert(place);
        }
        SessionPlaces { exact, named }
    }

    pub(crate) fn find(&self, finding: &Finding) -> Option<usize> {
        let name = finding.session.as_str();
        self.exact.get(&(name, &*finding.source.file)).or_else(|| self.named.get(name)).copied()
    }
}
