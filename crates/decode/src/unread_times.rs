//! Times of records that cannot be read, which are reported once a file.

use super::{Fault, LogRecord};
use lictor_event::find_unread_time;
use lictor_json::Json;

/// Counts the records and messages of a file with a member that is meant as a time but is none. A property with time
/// bounds would otherwise pass because nothing is late.
#[derive(Debug, Default)]
pub(super) struct UnreadTimes {
    /// The first, and how many.
    unread: Option<(Fault, u64)>,
}

impl UnreadTimes {
    /// Counts a record or a message of it, unless its time can be read.
    pub(super) fn check(&mut self, value: &Json, record: &LogRecord) {
        let Some((key, text)) = value.as_object().and_then(find_unread_time) else { return };
        match &mut self.unread {
            Some((_, count)) => *count += 1,
            None => self.unread = Some((record.unread_time_fault(key, text), 1)),
        }
    }

    /// Returns the fault of all times that could not be read.
    pub(super) fn fault(&mut self) -> Option<Fault> {
        let (fault, count) = self.unread.take()?;
        let message = match count {
            1 => fault.message,
            count => format!("{}; {count} records of this file are so", fault.message),
        };
        Some(Fault { message, ..fault })
    }
}
