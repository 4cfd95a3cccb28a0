//! The histories across sessions of a guard. Its judge cannot be reached to change it: the sessions belong to it.

use lictor_logic::Time;

use super::Guard;
use crate::finding::Finding;
use crate::{RestoreError, SavedHistories};

impl Guard {
    /// Advances the clocks of the histories across sessions; see [`Judge::tick_histories`](crate::Judge::tick_histories).
    pub fn tick_histories(&mut self, now: Time) -> Vec<Finding> {
        self.decider.judge.tick_histories(now)
    }

    /// Returns the histories that were read or changed since the last call; see
    /// [`Judge::take_touched_histories`](crate::Judge::take_touched_histories).
    pub fn take_touched_histories(&mut self) -> Vec<(String, Option<SavedHistories>)> {
        self.decider.judge.take_touched_histories()
    }

    /// Forgets which histories were read since the last call, for a caller that has the only copy of them.
    pub fn clear_consulted_histories(&mut self) {
        self.decider.judge.clear_consulted_histories();
    }

    /// Restores saved histories across sessions; see [`Judge::restore_histories`](crate::Judge::restore_histories).
    pub fn restore_histories(&mut self, saved: &SavedHistories) -> Result<(), RestoreError> {
        self.decider.judge.restore_histories(saved)
    }

    /// Restores histories of another policy; see [`Judge::migrate_histories`](crate::Judge::migrate_histories).
    pub fn migrate_histories(&mut self, saved: &SavedHistories) -> Result<(), RestoreError> {
        self.decider.judge.migrate_histories(saved)
    }

    /// Forgets all histories across sessions.
    pub fn clear_histories(&mut self) {
        self.decider.judge.clear_histories();
    }
}
