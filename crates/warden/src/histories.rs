//! Histories across sessions: loaded when a decision needs them, saved with it, and found by their deadlines.
//!
//! A private store has no other copy of them, so all of them stay in memory.

use std::collections::BTreeSet;

use lictor_judge::{HistoryKey, SavedHistories, TouchedHistory};
use lictor_logic::Time;
use lictor_store::{Change, ExpectedVersion, StoreError, StoredValue};

use crate::answer::Notice;
use crate::error::WardenError;
use crate::held::StoredHistory;
use crate::kept::{self, KeptHistory};
use crate::record::OutgoingRecord;
use crate::time::MAX_DUE_PER_SAVE;
use crate::warden::Warden;

/// How many histories of an older version are moved in one save.
const MAX_MOVED_HISTORIES: usize = 256;

/// A history that is being saved.
#[derive(Debug)]
pub(crate) struct SavingHistory {
    key: HistoryKey,
    /// Whether the store will have it, and the time of its `history-due` key.
    is_kept: bool,
    due: Option<Time>,
}

impl Warden {
    /// Forgets all histories in memory. They are loaded from the store when they are needed; from a private one, which
    /// has them for a change of policy only, at once.
    pub(crate) fn open_histories(&mut self) -> Result<(), WardenError> {
        self.histories.clear();
        self.guard.clear_histories();
        if self.live.is_none() {
            self.move_old_histories()?;
            self.guard.load_histories_on_demand();
            return Ok(());
        }
        for (key, stored) in self.store.scan(kept::HISTORIES)? {
            self.take_in_history(&key, &stored)?;
        }
        Ok(())
    }

    /// Moves the histories of an older version, so that they are found by their deadlines.
    fn move_old_histories(&mut self) -> Result<(), WardenError> {
        loop {
            let old = self.store.keys(kept::OLD_HISTORIES, None, MAX_MOVED_HISTORIES)?;
            if old.is_empty() {
                return Ok(());
            }
            let mut changes = Vec::new();
            for old in old {
                let Some(stored) = self.store.load(&old)? else { continue };
                let key = format!("{}{}", kept::HISTORIES, &old[kept::OLD_HISTORIES.len()..]);
                let saved: SavedHistories = kept::read(&stored.value, &old)?;
                self.restore_history(&saved, None, false, &old)?;
                let due = self.guard.history_due(&saved);
                changes.push(Change::delete(old, ExpectedVersion::Version(stored.version)));
                changes.extend(
                    due.map(|due| Change::put(kept::history_due(due, &key), ExpectedVersion::Absent, key.as_str())),
                );
                let (policy, activation) = (String::new(), 0);
                let moved = kept::written(&KeptHistory { due, policy, activation, saved }, &key)?;
                changes.push(Change::put(key, ExpectedVersion::Absent, moved));
            }
            self.guard.clear_histories();
            match self.store.save(&changes) {
                // Another process moves them, too.
                Ok(_) | Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Restores a stored history. Properties that are the same in the policy it was saved with continue, and the others
    /// are judged anew over its moments. Policies that follow the same properties over histories share them.
    fn take_in_history(&mut self, key: &str, stored: &StoredValue) -> Result<(), WardenError> {
        let kept: KeptHistory = kept::read(&stored.value, key)?;
        self.load_scopes(kept.saved.past_policies().chain([kept.policy.as_str()]))?;
        let is_same = kept.policy == self.options.policy
            || self.versions.past.has_same_histories(&kept.policy, self.guard.policy_scope());
        if !is_same {
            self.check_forward(kept.activation, &kept.policy, key)?;
        }
        // A history of an older version does not say when it was kept.
        let is_torn = kept.activation > 0 && self.was_interrupted(kept.activation, &kept.saved)?;
        let from = (!is_same).then_some(kept.policy.as_str());
        self.restore_history(&kept.saved, from, is_torn, key)?;
        self.histories.insert(key.to_owned(), StoredHistory { version: stored.version, due: kept.due });
        Ok(())
    }

    /// Restores a history that the policy `from` judged last; none if that is the present one. `is_torn` means that events
    /// were decided that it does not have.
    fn restore_history(
        &mut self,
        saved: &SavedHistories,
        from: Option<&str>,
        is_torn: bool,
        key: &str,
    ) -> Result<(), WardenError> {
        let restored = self.guard.migrate_histories(saved, from, is_torn, &self.versions.past);
        let moved = restored.map_err(|error| WardenError::Restore { key: key.to_owned(), error })?;
        if !moved.rebuilt.is_empty() || !moved.unknown.is_empty() {
            let record = OutgoingRecord::migrated(from.unwrap_or_default(), &self.options.policy, &moved);
            self.announced.push((None, record));
        }
        Ok(())
    }

    /// Loads histories that a decision needs; those that the store does not have begin.
    pub(crate) fn load_missing(&mut self, missing: &[HistoryKey]) -> Result<(), WardenError> {
        for missing in missing {
            let key = kept::history(missing.as_str());
            if let Some(stored) = self.store.load(&key)? {
                self.take_in_history(&key, &stored)?;
            }
            self.guard.begin_history(missing);
        }
        Ok(())
    }

    /// Forgets the histories that were read or changed since the last save, and returns them.
    pub(crate) fn forget_touched_histories(&mut self) -> Vec<HistoryKey> {
        let touched = self.guard.forget_touched_histories();
        self.announced.retain(|(session, _)| session.is_some());
        for history in &touched {
            self.histories.remove(&kept::history(history.as_str()));
        }
        touched
    }

    /// Evicts the histories that were idle longest, if the store has them.
    pub(crate) fn make_room_for_histories(&mut self, most: usize) {
        if self.live.is_some() {
            return;
        }
        for key in self.guard.make_room_for_histories(most) {
            self.histories.remove(&kept::history(&key));
        }
    }

    /// Adds the changes that save the histories across sessions. Histories that were only read are saved as well: a
    /// decision is valid only if their versions are unchanged.
    pub(crate) fn history_changes(&mut self, changes: &mut Vec<Change>) -> Result<Vec<SavingHistory>, WardenError> {
        let mut saving = Vec::new();
        for TouchedHistory { key, saved, due, .. } in self.guard.take_touched_histories() {
            let stored_key = kept::history(key.as_str());
            let known = self.histories.get(&stored_key).copied();
            let expected = ExpectedVersion::of_version(known.map(|known| known.version));
            let due = due.filter(|_| saved.is_some() && self.live.is_none());
            self.change_index(&stored_key, known.and_then(|known| known.due), due, changes)?;
            saving.push(SavingHistory { key, is_kept: saved.is_some(), due });
            changes.push(match saved {
                Some(saved) => {
                    let (policy, activation) = (self.options.policy.clone(), self.versions.number);
                    let kept = kept::written(&KeptHistory { due, policy, activation, saved }, &stored_key)?;
                    Change::put(stored_key, expected, kept)
                }
                None => Change::delete(stored_key, expected),
            });
        }
        Ok(saving)
    }

    /// Adds the changes that move a history in the index.
    fn change_index(
        &self,
        key: &str,
        from: Option<Time>,
        to: Option<Time>,
        changes: &mut Vec<Change>,
    ) -> Result<(), WardenError> {
        if from == to {
            return Ok(());
        }
        if let Some(from) = from {
            let from = kept::history_due(from, key);
            let stored = self.store.load(&from)?;
            changes.extend(stored.map(|stored| Change::delete(from, ExpectedVersion::Version(stored.version))));
        }
        changes.extend(to.map(|to| Change::put(kept::history_due(to, key), ExpectedVersion::Absent, key)));
        Ok(())
    }

    /// Takes note that histories were saved, or of the error: then they are as they were before the save, touched.
    pub(crate) fn note_saved_histories(&mut self, saving: Vec<SavingHistory>, version: Option<u64>) {
        let Some(version) = version else {
            return self.guard.touch_histories(saving.into_iter().map(|saving| saving.key));
        };
        for SavingHistory { key, is_kept, due } in saving {
            let key = kept::history(key.as_str());
            match is_kept {
                true => drop(self.histories.insert(key, StoredHistory { version, due })),
                false => drop(self.histories.remove(&key)),
            }
        }
    }

    /// Lets time pass in the histories that have a deadline by now.
    pub(crate) fn tick_histories(&mut self, now: Time) -> Result<Vec<Notice>, WardenError> {
        if self.live.is_some() {
            return self.tick_loaded_histories(now);
        }
        let mut notices = Vec::new();
        loop {
            let found = self.due_histories(now)?;
            let count = found.len();
            let mut due = Vec::with_capacity(count);
            for (index, key) in found {
                let stored = self.store.load(&key)?.filter(|_| !self.histories.contains_key(&key));
                match stored.map_or(Ok(()), |stored| self.take_in_history(&key, &stored)) {
                    Ok(()) => due.push((index, key)),
                    // A process with its policy lets time pass in it.
                    Err(WardenError::Superseded { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            if due.is_empty() {
                return Ok(notices);
            }
            match self.tick_loaded_histories(now) {
                Ok(mut found) => notices.append(&mut found),
                // Another process was faster, and reports them.
                Err(WardenError::Store(StoreError::Conflict { .. })) => {
                    self.forget_touched_histories();
                    return Ok(notices);
                }
                Err(error) => return Err(error),
            }
            self.drop_from_index(&due, now)?;
            if count < MAX_DUE_PER_SAVE {
                return Ok(notices);
            }
        }
    }

    /// Returns histories that are due: the keys in the index, and their own.
    fn due_histories(&self, now: Time) -> Result<Vec<(String, String)>, WardenError> {
        let mut due = Vec::new();
        for index in self.store.keys(kept::HISTORIES_DUE, None, MAX_DUE_PER_SAVE)? {
            if kept::due_time(&index).is_none_or(|time| time > now) {
                break;
            }
            let stored = self.store.load(&index)?;
            due.extend(stored.map(|stored| (index, String::from_utf8_lossy(&stored.value).into_owned())));
        }
        Ok(due)
    }

    fn tick_loaded_histories(&mut self, now: Time) -> Result<Vec<Notice>, WardenError> {
        let mut records = Vec::new();
        let late = self.guard.tick_histories(now);
        if late.is_empty() && self.live.is_some() {
            return Ok(Vec::new());
        }
        let notices = self.late(None, late, Some(now), &mut records);
        let (outgoing, _) = self.save(&BTreeSet::new(), &BTreeSet::new(), records, Vec::new())?;
        self.write(outgoing)?;
        self.publish_notices(&notices);
        Ok(notices)
    }

    /// Removes histories from the index that are due by it and by no property of the active policy.
    fn drop_from_index(&mut self, due: &[(String, String)], now: Time) -> Result<(), WardenError> {
        for (index, key) in due {
            let is_moved = self.histories.get(key).is_some_and(|known| known.due.is_none_or(|due| due > now));
            let (Some(entry), false) = (self.store.load(index)?, is_moved) else { continue };
            let mut changes = vec![Change::delete(index.clone(), ExpectedVersion::Version(entry.version))];
            if let Some(stored) = self.store.load(key)? {
                let kept = KeptHistory { due: None, ..kept::read(&stored.value, key)? };
                let expected = ExpectedVersion::Version(stored.version);
                changes.push(Change::put(key.clone(), expected, kept::written(&kept, key)?));
            }
            match self.store.save(&changes) {
                Ok(version) => {
                    self.histories.entry(key.clone()).and_modify(|known| *known = StoredHistory { version, due: None });
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
