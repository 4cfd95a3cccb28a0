//! Sessions in a private store: they stay live, and are saved when they are evicted.
//!
//! Only this process has them, and they end with it, so saving them with every decision would serialise them for no
//! reader. There is then no saved state to return to: a session is closed if a decision on it fails midway.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;

use lictor_logic::Time;

use crate::kept;

/// The index of live sessions.
#[derive(Debug, Default)]
pub(crate) struct LiveSessions {
    /// The sessions by the time at which they are due, under the keys that other stores keep them by.
    due: BTreeMap<String, String>,
    /// The sessions that a failed decision closed.
    pub(crate) lost: HashSet<String>,
}

impl LiveSessions {
    /// Returns up to `limit` sessions after a key, by the time at which they are due.
    pub(crate) fn due_after(&self, last: Option<&str>, limit: usize) -> Vec<(String, String)> {
        let start = last.map_or(Bound::Unbounded, Bound::Excluded);
        let after = self.due.range::<str, _>((start, Bound::Unbounded));
        after.take(limit).map(|(key, session)| (key.clone(), session.clone())).collect()
    }

    /// Moves a session in the index.
    pub(crate) fn change_due(&mut self, session: &str, from: Option<Time>, to: Option<Time>) {
        if from != to {
            from.map(|from| self.due.remove(&kept::due(from, session)));
            to.map(|to| self.due.insert(kept::due(to, session), session.to_owned()));
        }
    }
}
