//! The histories across sessions of a guard. Its judge cannot be reached to change it: the sessions belong to it.

use lictor_logic::Time;

use super::Guard;
use crate::finding::Finding;
use crate::{HistoryKey, PastPolicies, PolicyMove, RestoreError, SavedHistories, TouchedHistory};

impl Guard {
    /// Advances the clocks of the histories across sessions; see [`Judge::tick_histories`](crate::Judge::tick_histories).
    pub fn tick_histories(&mut self, now: Time) -> Vec<Finding> {
        self.decider.judge.tick_histories(now)
    }

    /// Returns the histories that were read or changed since the last call; see
    /// [`Judge::take_touched_histories`](crate::Judge::take_touched_histories).
    pub fn take_touched_histories(&mut self) -> Vec<TouchedHistory> {
        self.decider.judge.take_touched_histories()
    }

    /// Takes back histories that were touched; see [`Judge::touch_histories`](crate::Judge::touch_histories).
    pub fn touch_histories(&mut self, keys: impl IntoIterator<Item = HistoryKey>) {
        self.decider.judge.touch_histories(keys);
    }

    /// Forgets the histories that were read or changed since the last call; see
    /// [`Judge::forget_touched_histories`](crate::Judge::forget_touched_histories).
    pub fn forget_touched_histories(&mut self) -> Vec<HistoryKey> {
        self.decider.judge.forget_touched_histories()
    }

    /// Lets the caller load histories when they are needed; see
    /// [`Judge::load_histories_on_demand`](crate::Judge::load_histories_on_demand).
    pub fn load_histories_on_demand(&mut self) {
        self.decider.judge.load_histories_on_demand();
    }

    /// Returns the histories that were read and are not in memory; see
    /// [`Judge::take_missing_histories`](crate::Judge::take_missing_histories).
    pub fn take_missing_histories(&mut self) -> Vec<HistoryKey> {
        self.decider.judge.take_missing_histories()
    }

    /// Returns when the next deadline of a restored history passes.
    pub fn history_due(&self, saved: &SavedHistories) -> Option<Time> {
        self.decider.judge.history_due(saved)
    }

    /// Begins a missing history; see [`Judge::begin_history`](crate::Judge::begin_history).
    pub fn begin_history(&mut self, missing: &HistoryKey) {
        self.decider.judge.begin_history(missing);
    }

    /// Removes idle histories from memory; see
    /// [`Judge::make_room_for_histories`](crate::Judge::make_room_for_histories).
    pub fn make_room_for_histories(&mut self, most: usize) -> Vec<String> {
        self.decider.judge.make_room_for_histories(most)
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
    pub fn migrate_histories(
        &mut self,
        saved: &SavedHistories,
        from: Option<&str>,
        is_torn: bool,
        past: &PastPolicies,
    ) -> Result<PolicyMove, RestoreError> {
        self.decider.judge.migrate_histories(saved, from, is_torn, past)
    }

    /// Forgets all histories across sessions.
    pub fn clear_histories(&mut self) {
        self.decider.judge.clear_histories();
    }
}
