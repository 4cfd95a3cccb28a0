//! Logs that a guard wrote: what it stopped, and what a person allowed.
//!
//! A ledger holds decisions. Its events that took effect are judged like those of any log. An event that was stopped did
//! not happen, and an event that a person allowed in spite of a property is no violation of the agent: the report counts
//! the first and names the second.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lictor_json::Text;
use lictor_judge::finding::{DecidedBy, Finding};

/// What a guard did with the events of a log, beside forwarding them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GuardedLog {
    /// The log, by the name of its input.
    pub file: Arc<str>,
    /// How many events took effect in a redacted form; they are judged in that form.
    pub redacted: u64,
    /// How many events were stopped, by the way and by the property that objected; none if something else did.
    pub stopped: BTreeMap<(StoppedBy, Option<Text>), u64>,
    /// How many events were stopped: several properties may object to one.
    pub stopped_events: u64,
    waivers: HashMap<u32, Vec<(Text, Waiver)>>,
}

/// How an event was stopped.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoppedBy {
    /// It was blocked.
    Block,
    /// It needed an approval and did not get one.
    Refusal,
    /// It still waits for an approval at the end of the log.
    Waiting,
}

impl StoppedBy {
    /// Its name, as reports write it.
    pub fn name(self) -> &'static str {
        match self {
            StoppedBy::Block => "blocked",
            StoppedBy::Refusal => "not approved",
            StoppedBy::Waiting => "waiting for approval",
        }
    }
}

/// The approval by which a person allowed an event in spite of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// The person, as the approval names them.
    pub by: Text,
    /// When, as the log states it.
    pub time: Option<Text>,
}

/// A finding that a person allowed when the event was decided.
#[derive(Clone, Debug)]
pub struct ApprovedFinding {
    /// The finding.
    pub finding: Finding,
    /// The approval.
    pub waiver: Waiver,
}

impl GuardedLog {
    /// Creates the account of a log of which nothing is known yet.
    pub fn new(file: impl Into<Arc<str>>) -> GuardedLog {
        GuardedLog {
            file: file.into(),
            redacted: 0,
            stopped: BTreeMap::new(),
            stopped_events: 0,
            waivers: HashMap::new(),
        }
    }

    /// Counts a stopped event, for each property that objected to it.
    pub fn add_stopped(&mut self, by: StoppedBy, properties: impl IntoIterator<Item = Text>) {
        self.stopped_events += 1;
        let mut properties: Vec<Option<Text>> = properties.into_iter().map(Some).collect();
        properties.sort();
        properties.dedup();
        if properties.is_empty() {
            properties.push(None);
        }
        for property in properties {
            *self.stopped.entry((by, property)).or_default() += 1;
        }
    }

    /// Adds that a person allowed the event on a line in spite of a property.
    pub fn add_waiver(&mut self, line: u32, property: Text, waiver: Waiver) {
        self.waivers.entry(line).or_default().push((property, waiver));
    }

    /// Returns the approval that covers a finding. A missed deadline is not the event's doing, so none covers it.
    pub(crate) fn find_waiver(&self, finding: &Finding) -> Option<&Waiver> {
        if finding.decided != DecidedBy::Event || finding.source.file != self.file {
            return None;
        }
        let waivers = self.waivers.get(&finding.source.line)?;
        waivers.iter().find(|(property, _)| *property == finding.property.id).map(|(_, waiver)| waiver)
    }
}
