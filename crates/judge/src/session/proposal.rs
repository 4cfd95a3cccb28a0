//! An event that may become part of a session.

use std::sync::Arc;

use lictor_json::Text;
use lictor_logic::{Time, TraceState};
use lictor_policy::Property;

use super::{Session, Version};
use crate::finding::Finding;
use crate::risk::Beliefs;
use crate::trail::EventSummary;
use crate::{HistoryEvent, LabeledEvent, Violations};

/// An event that may become part of a session, and what it would violate. It knows the session and the state that it
/// was made for.
#[derive(Debug)]
pub struct Proposal {
    pub(super) session: Text,
    /// The version it was made for, and the version it leads to.
    pub(super) from: Version,
    pub(super) to: Version,
    /// The versions that the proposals before it were made for, if it was made upon others.
    pub(super) earlier: Vec<Version>,
    /// For a proposal made upon another one: the session after that one.
    pub(super) base: Option<Box<Session>>,
    /// The state after the event.
    pub(crate) standing: TraceState,
    /// The beliefs after the event.
    pub(super) beliefs: Beliefs,
    pub(crate) labeled: LabeledEvent,
    pub(super) violations: Violations,
    /// The event as witnesses describe it.
    pub(crate) summary: EventSummary,
    /// How many of the findings come from properties judged over the session; they are first.
    pub(super) own: usize,
    /// The event for histories across sessions.
    pub(super) history_event: Option<HistoryEvent>,
    /// What the event would newly violate.
    pub findings: Vec<Finding>,
    /// The properties for which it is unknown whether the event violates them.
    pub doubts: Vec<Arc<Property>>,
}

impl Proposal {
    /// The name of the session that it was made for.
    pub fn session(&self) -> &Text {
        &self.session
    }

    /// The number that its event would have in the session, from one.
    pub fn step(&self) -> u32 {
        self.summary.step
    }

    /// Notes when the event was received.
    pub(crate) fn note_received(&mut self, received: Option<Time>) {
        if let Some(event) = &mut self.history_event {
            event.received = received;
        }
    }

    /// Whether it was made for a version of a session, or upon proposals that were.
    pub(super) fn continues(&self, version: &Version) -> bool {
        self.earlier.iter().chain([&self.from]).any(|from| Arc::ptr_eq(from, version))
    }

    /// Returns a copy, for further proposals upon it.
    pub(super) fn copy(&self) -> Proposal {
        Proposal {
            session: self.session.clone(),
            from: Arc::clone(&self.from),
            to: Arc::clone(&self.to),
            earlier: self.earlier.clone(),
            base: None,
            standing: self.standing.clone(),
            beliefs: self.beliefs.clone(),
            labeled: self.labeled.clone(),
            violations: self.violations.clone(),
            summary: self.summary.clone(),
            own: self.own,
            history_event: self.history_event.clone(),
            findings: self.findings.clone(),
            doubts: self.doubts.clone(),
        }
    }
}
