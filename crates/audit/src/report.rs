//! Reports: the result of an audit, for people and for programs.
//!
//! Each format has a module with a `write`. The same report gives the same bytes: nothing is taken from a clock, a
//! locale or the order of a hash table. Text from a log is untrusted, and each writer keeps it from becoming anything
//! else: an escape sequence of a terminal, markup, a link, a script.

mod coverage_words;
mod fold;
mod guarding;
mod headline;
pub mod html;
mod inconclusive;
pub mod json;
mod json_layout;
pub mod jsonl;
pub mod junit;
pub mod markdown;
mod noise;
mod origin;
pub mod sarif;
pub mod text;
mod totals;
mod view;
mod words;

use std::sync::Arc;

use lictor_logic::Verdict;

use crate::coverage::LogCoverage;
use crate::guarded_log::{ApprovedFinding, GuardedLog};
use crate::join::JoinReport;
use crate::noise::FindingNoise;
use lictor_decode::{Fault, Format};
use lictor_event::order::Gap;
use lictor_json::Text;
use lictor_judge::finding::Finding;
use lictor_policy::Property;

pub use origin::ReportOrigin;
pub(crate) use totals::SessionPlaces;
pub use totals::Totals;
pub use words::escape_hidden;

/// The JSON Schema of reports as JSON.
pub const SCHEMA: &str = include_str!("../schema/report.schema.json");

/// The result of an audit.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The policy's name.
    pub policy: Text,
    /// The properties that were judged, in the order of the policy.
    pub properties: Vec<Arc<Property>>,
    /// The files that were read.
    pub files: Vec<FileReport>,
    /// The sessions, in the order in which they began.
    pub sessions: Vec<SessionReport>,
    /// The findings, in the order of the sessions, then of their events.
    pub findings: Vec<Finding>,
    /// The places that could not be read.
    pub faults: Vec<Fault>,
    /// How many findings are in the baseline; they are not among the findings.
    pub known: usize,
    /// What the logs do not put to the test.
    pub coverage: LogCoverage,
    /// How entries of other systems were joined to the logs.
    pub join: JoinReport,
    /// Where the report comes from; an audit leaves it empty, for its caller to fill.
    pub origin: ReportOrigin,
    /// The labels on which findings rest alone, if they were asked for.
    pub noise: Vec<FindingNoise>,
    /// The findings that a person allowed when their event was decided; they are not among the findings.
    pub approved: Vec<ApprovedFinding>,
    /// What guards did with the events of the logs that they wrote.
    pub guarded: Vec<GuardedLog>,
    /// How far the audit came, if it was stopped.
    pub interruption: Option<Interruption>,
}

/// How far an audit came that was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interruption {
    /// Whether a part of the logs was not read, so that no session is judged by its end.
    pub has_unread_logs: bool,
    /// How many sessions with violations have no findings here, since they were not explained.
    pub unexplained: usize,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// The file, as the user named it.
    pub name: Arc<str>,
    /// Its format.
    pub format: Format,
    /// How many events it held.
    pub events: u64,
}

/// A session that was judged.
#[derive(Clone, Debug)]
pub struct SessionReport {
    /// Its name.
    pub name: Text,
    /// The file in which it began.
    pub file: Arc<str>,
    /// How many events it has.
    pub steps: u32,
    /// The outcome of each property of the report.
    pub outcomes: Vec<PropertyOutcome>,
    /// The gaps, in the order in which they were detected.
    pub gaps: Vec<Gap>,
}

/// The outcome of one property in one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertyOutcome {
    /// The verdict at the end of the session.
    pub verdict: Verdict,
    /// Whether it was definite before the end.
    pub live: bool,
    /// The event of the first violation, from one.
    pub violated_at_step: Option<u32>,
    /// The number of violations.
    pub violations: u32,
    /// Whether the logs have the evidence that the property needs; if not, its verdict is inconclusive and counts nowhere.
    pub is_judged: bool,
}

impl Report {
    /// Returns the worst verdict of any session, accepted or not; none if there was nothing to judge.
    pub fn verdict(&self) -> Option<Verdict> {
        self.sessions.iter().map(SessionReport::verdict).max()
    }

    /// Returns the gaps, with their sessions.
    pub fn gaps(&self) -> impl Iterator<Item = (&SessionReport, &Gap)> {
        self.sessions.iter().flat_map(|session| session.gaps.iter().map(move |gap| (session, gap)))
    }

    /// Whether nothing in the logs could violate any property, so that no violations mean nothing.
    pub fn is_unexercised(&self) -> bool {
        self.coverage.unexercised().count() == self.properties.len()
    }

    /// Describes what is undecided: inconclusive properties, with the reason, and missing events. Empty if everything is
    /// decided.
    pub fn describe_doubts(&self) -> Vec<String> {
        inconclusive::describe_doubts(self)
    }

    /// Returns the totals.
    pub fn totals(&self) -> Totals {
        Totals::new(self)
    }
}

impl Interruption {
    /// Returns what is missing; none if nothing is.
    pub(crate) fn new(has_unread_logs: bool, unexplained: usize) -> Option<Interruption> {
        (has_unread_logs || unexplained > 0).then_some(Interruption { has_unread_logs, unexplained })
    }
}

impl SessionReport {
    /// Returns the worst verdict of any judged property. One that was violated and then reset counts as violated.
    pub fn verdict(&self) -> Verdict {
        let judged = self.outcomes.iter().filter(|outcome| outcome.is_judged);
        let worst = judged.map(|outcome| match outcome.is_broken() {
            true => Verdict::Violated,
            false => outcome.verdict,
        });
        worst.max().unwrap_or(Verdict::Satisfied)
    }
}

impl PropertyOutcome {
    /// Returns the outcome of a property that needs evidence which the logs do not have.
    pub(crate) fn unjudged() -> PropertyOutcome {
        PropertyOutcome {
            verdict: Verdict::Inconclusive,
            live: false,
            violated_at_step: None,
            violations: 0,
            is_judged: false,
        }
    }

    /// Whether the session violated the property, now or before the property was reset.
    pub fn is_broken(&self) -> bool {
        self.verdict == Verdict::Violated || self.violations > 0
    }
}
