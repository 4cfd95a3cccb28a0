//! What an audit found, for people and for programs.
//!
//! Each format has a module with a `write`. The same report gives the same bytes: nothing is taken from a clock, a locale
//! or the order of a hash table. What comes from a log is data of strangers, and each writer keeps it from becoming
//! anything else: an escape sequence of a terminal, markup, a link, a script.

pub mod html;
pub mod json;
pub mod jsonl;
pub mod junit;
mod lines;
pub mod markdown;
pub mod sarif;
pub mod text;
mod totals;
mod view;
mod words;

use std::sync::Arc;

use lictor_logic::Verdict;

use lictor_decode::{Fault, Format};
use lictor_event::order::Gap;
use lictor_json::Text;
use lictor_judge::finding::Finding;
use lictor_policy::Property;

pub(crate) use totals::SessionPlaces;
pub use totals::Totals;

/// The JSON Schema of reports as JSON.
pub const SCHEMA: &str = include_str!("../schema/report.schema.json");

/// What an audit found.
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
    /// What was found, in the order of the sessions, then of their events.
    pub findings: Vec<Finding>,
    /// What could not be read.
    pub faults: Vec<Fault>,
    /// How many findings the baseline already knew; they are not among the findings.
    pub known: usize,
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
    /// For each property of the report what came out.
    pub outcomes: Vec<PropertyOutcome>,
    /// Events that could not be judged in their place, in the order in which that was found out.
    pub gaps: Vec<Gap>,
}

/// What came out for one property in one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertyOutcome {
    /// The verdict at the end of the session.
    pub verdict: Verdict,
    /// Whether it was definite before the end.
    pub live: bool,
    /// The event that first broke it, from one.
    pub violated_at_step: Option<u32>,
    /// How often it was broken.
    pub violations: u32,
}

impl Report {
    /// The worst verdict of any session, accepted or not; none if there was nothing to judge.
    pub fn verdict(&self) -> Option<Verdict> {
        self.sessions.iter().map(SessionReport::verdict).max()
    }

    /// The events that could not be judged in their place, with their sessions.
    pub fn gaps(&self) -> impl Iterator<Item = (&SessionReport, &Gap)> {
        self.sessions.iter().flat_map(|session| session.gaps.iter().map(move |gap| (session, gap)))
    }

    /// What was read and found, in numbers.
    pub fn totals(&self) -> Totals {
        Totals::of(self)
    }
}

impl SessionReport {
    /// The worst verdict of any property. One that was broken and started anew counts as violated.
    pub fn verdict(&self) -> Verdict {
        let worst = self.outcomes.iter().map(|outcome| match outcome.is_broken() {
            true => Verdict::Violated,
            false => outcome.verdict,
        });
        worst.max().unwrap_or(Verdict::Satisfied)
    }
}

impl PropertyOutcome {
    /// Whether the session broke the property, now or before the property started anew.
    pub fn is_broken(&self) -> bool {
        self.verdict == Verdict::Violated || self.violations > 0
    }
}
