//! Sessions that were judged, and what identifies them.

use crate::report::{PropertyOutcome, SessionReport};
use crate::session_records::SessionRecords;
use lictor_event::order::GapCause;
use lictor_json::Text;
use lictor_logic::Time;

/// The place of an event: file, line, index among the events of its batch.
pub(super) type EventPlace = (u32, u32, u32);

/// The identity of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionKey {
    /// The file, unless sessions continue in other files.
    pub(super) file: Option<u32>,
    /// Its name in the log; none for the session of the whole file.
    pub(super) name: Option<Text>,
}

/// How the log of the sessions ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogEnd {
    /// It was read to its end. Deadlines are evaluated as of a time.
    Reached(Option<Time>),
    /// The audit was stopped before, so that the sessions may go on.
    Cut,
}

/// A session that was judged.
pub(super) struct ClosedSession {
    pub(super) key: SessionKey,
    /// The place of its first event.
    pub(super) order: EventPlace,
    pub(super) report: SessionReport,
    /// Whether it must be replayed for its witnesses.
    pub(super) is_suspect: bool,
    /// Whether some of its events were out of order.
    pub(super) is_unordered: bool,
    /// Whether some event had a fact that a property asks for.
    pub(super) has_facts: bool,
    pub(super) records: SessionRecords,
}

impl ClosedSession {
    /// Withdraws the outcomes of properties that lack the evidence they need. A session that is suspect for nothing
    /// else need not be replayed.
    pub(super) fn withdraw_unjudged(&mut self, is_judged: &[bool]) {
        for (outcome, is_judged) in self.report.outcomes.iter_mut().zip(is_judged) {
            if !is_judged {
                *outcome = PropertyOutcome::unjudged();
            }
        }
        let is_repeated = self.report.gaps.iter().any(|gap| gap.cause == GapCause::Repeated);
        self.is_suspect &= is_repeated || self.report.outcomes.iter().any(PropertyOutcome::is_broken);
    }
}
