//! Sessions that were judged, and what identifies them.

use crate::report::SessionReport;
use crate::session_records::SessionRecords;
use lictor_json::Text;

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
    pub(super) records: SessionRecords,
}
