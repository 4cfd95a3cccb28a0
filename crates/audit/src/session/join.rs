//! The stage that adds the entries of other systems before the events that they precede.

use lictor_event::Event;
use lictor_json::Text;
use lictor_judge::Judge;

use crate::join::{JoinCursor, JoinEntries, RemainingEntries};

/// The entries of other systems that are joined to one session; none without such entries.
#[derive(Debug)]
pub(crate) struct SessionJoin {
    cursor: Option<Box<JoinCursor>>,
}

impl SessionJoin {
    /// Returns the entries of a session at its beginning.
    pub(crate) fn new(joins: Option<&JoinEntries>, name: impl FnOnce() -> Text) -> SessionJoin {
        SessionJoin { cursor: joins.map(|joins| Box::new(JoinCursor::new(joins, name()))) }
    }

    /// Returns the entries that come before an event.
    #[inline]
    pub(crate) fn take_before(&mut self, joins: Option<&JoinEntries>, judge: &Judge, event: &Event) -> Vec<u32> {
        match (joins, &mut self.cursor) {
            (Some(joins), Some(cursor)) => cursor.take_before(joins, judge, event),
            _ => Vec::new(),
        }
    }

    /// Ends the session and returns the entries that are left.
    pub(crate) fn finish(&mut self) -> RemainingEntries {
        self.cursor.as_mut().map(|cursor| cursor.finish()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lictor_policy::Policy;

    #[test]
    fn session_join_is_empty_without_entries() {
        let judge = Judge::new(&Policy::default()).unwrap();
        let mut join = SessionJoin::new(None, || unreachable!());
        assert!(join.take_before(None, &judge, &Event::default()).is_empty());
        assert!(join.finish().after.is_empty());
    }
}
