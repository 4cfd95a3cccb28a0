//! Sessions in a private store: they stay live, and are saved when they are evicted.
//!
//! Only this process has them, and they end with it, so saving them with every decision would serialise them for no
//! reader. There is then no saved state to return to: a session is closed if a decision on it fails midway.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;

use lictor_logic::Time;

/// The index of live sessions.
#[derive(Debug, Default)]
pub(crate) struct LiveSessions {
    /// The sessions by the time at which they are due.
    due: BTreeMap<Time, BTreeSet<String>>,
    /// The sessions that a failed decision closed.
    pub(crate) lost: HashSet<String>,
}

impl LiveSessions {
    /// Returns about `limit` sessions that are due after `last` and until `now`, with their times, in their order.
    pub(crate) fn due_until(
        &self,
        now: Time,
        last: Option<Time>,
        limit: usize,
    ) -> impl Iterator<Item = (Time, &BTreeSet<String>)> {
        let start = last.map_or(Bound::Unbounded, Bound::Excluded);
        let is_empty = last.is_some_and(|last| last >= now);
        let due = (!is_empty).then(|| self.due.range((start, Bound::Included(now))));
        let mut count = 0;
        due.into_iter().flatten().map(|(time, sessions)| (*time, sessions)).take_while(move |(_, sessions)| {
            let is_within = count < limit;
            count += sessions.len();
            is_within
        })
    }

    /// Moves a session in the index.
    pub(crate) fn change_due(&mut self, session: &str, from: Option<Time>, to: Option<Time>) {
        if from == to {
            return;
        }
        if let Some(from) = from
            && let Some(sessions) = self.due.get_mut(&from)
        {
            sessions.remove(session);
            if sessions.is_empty() {
                self.due.remove(&from);
            }
        }
        if let Some(to) = to {
            self.due.entry(to).or_default().insert(session.to_owned());
        }
    }
}
