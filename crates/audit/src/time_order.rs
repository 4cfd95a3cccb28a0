//! Sessions of native events whose times are not in the order of the log.
//!
//! Native events are judged while they are read, in the order of their log, so another order of the records would be another
//! verdict. Numbered events are put in order by their numbers.

use lictor_decode::Fault;
use lictor_decode::input::{UNORDERED_LOG, is_clear_fall};
use lictor_event::Source;
use lictor_logic::Time;

/// The latest time of a session, and whether a later event was before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeOrder {
    latest: Option<Time>,
    is_broken: bool,
}

/// The sessions whose times fall.
#[derive(Debug, Default)]
pub(super) struct UnorderedSessions {
    /// The first event out of order, with the number of its file, and how many sessions have one.
    first: Option<(usize, Source)>,
    count: u64,
}

impl TimeOrder {
    /// Adds the next event of the log. Whether it is the first one that is out of order.
    pub(super) fn add(&mut self, time: Time) -> bool {
        let is_late = self.latest.is_some_and(|latest| is_clear_fall(latest, time));
        self.latest = self.latest.max(Some(time));
        is_late && !std::mem::replace(&mut self.is_broken, true)
    }
}

impl UnorderedSessions {
    /// Notes a session, at the event that is out of order.
    pub(super) fn note(&mut self, file: usize, source: &Source) {
        self.merge(UnorderedSessions { first: Some((file, source.clone())), count: 1 });
    }

    /// Adds the sessions of another thread.
    pub(super) fn merge(&mut self, other: UnorderedSessions) {
        self.count += other.count;
        let all = [self.first.take(), other.first].into_iter().flatten();
        self.first = all.min_by_key(|(file, source)| (*file, source.line, source.record));
    }

    /// Returns the fault of these sessions, with the number of its file.
    pub(super) fn into_fault(self) -> Option<(usize, Fault)> {
        let (file, source) = self.first?;
        let sessions =
            if self.count == 1 { "1 session has".to_owned() } else { format!("{} sessions have", self.count) };
        let message = format!(
            "{sessions} events that are not in the order of their times; native events are judged from the first of the log \
             to its last; sort them by time, or number them with `seq`"
        );
        Some((file, Fault { file: source.file, line: source.line, column: None, code: UNORDERED_LOG, message }))
    }
}
