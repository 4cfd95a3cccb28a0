//! The sessions that are in memory, in the order of their last use.

use std::collections::{BTreeMap, HashMap};

use crate::held::HeldSession;

/// The sessions that are in memory, in the order of their last use.
#[derive(Debug, Default)]
pub(crate) struct HeldSessions {
    by_name: HashMap<String, HeldSession>,
    /// The names, by the number of the last use of each session.
    by_use: BTreeMap<u64, String>,
    uses: u64,
}

impl HeldSessions {
    /// Counts a use of a session. Returns `false` if it is not in memory.
    pub(crate) fn touch(&mut self, session: &str) -> bool {
        let Some(held) = self.by_name.get_mut(session) else { return false };
        // Most often the last one that was used.
        if held.last_use != self.uses {
            self.uses += 1;
            if let Some(name) = self.by_use.remove(&held.last_use) {
                self.by_use.insert(self.uses, name);
            }
            held.last_use = self.uses;
        }
        true
    }

    pub(crate) fn insert(&mut self, session: &str, held: HeldSession) {
        self.remove(session);
        self.uses += 1;
        self.by_use.insert(self.uses, session.to_owned());
        self.by_name.insert(session.to_owned(), HeldSession { last_use: self.uses, ..held });
    }

    pub(crate) fn get(&self, session: &str) -> Option<&HeldSession> {
        self.by_name.get(session)
    }

    pub(crate) fn get_mut(&mut self, session: &str) -> Option<&mut HeldSession> {
        self.by_name.get_mut(session)
    }

    pub(crate) fn remove(&mut self, session: &str) {
        if let Some(held) = self.by_name.remove(session) {
            self.by_use.remove(&held.last_use);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.by_name.clear();
        self.by_use.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.by_name.keys()
    }

    /// Returns the sessions that were idle longest.
    pub(crate) fn oldest(&self, count: usize) -> Vec<String> {
        self.by_use.values().take(count).cloned().collect()
    }
}
