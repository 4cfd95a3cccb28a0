//! The store in memory: the reference implementation, short enough to be obviously right.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::StoreError;
use crate::key::{check_changes, check_key};
use crate::store::{Change, ExpectedVersion, Store, StoredValue};

/// A store in memory, for tests and for state that need not survive a restart.
#[derive(Debug, Default)]
pub struct MemoryStore {
    entries: Mutex<Entries>,
    is_private: bool,
}

#[derive(Debug, Default)]
struct Entries {
    by_key: BTreeMap<String, StoredValue>,
    last_version: u64,
}

impl MemoryStore {
    /// Returns an empty store.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// Returns an empty store for one caller: see [`Store::is_private`].
    pub fn private() -> MemoryStore {
        MemoryStore { is_private: true, ..MemoryStore::default() }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // No code can panic between the first and the last change of a save, so poisoned entries are consistent.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn load(&self, key: &str) -> Result<Option<StoredValue>, StoreError> {
        check_key(key)?;
        Ok(self.entries().by_key.get(key).cloned())
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, StoredValue)>, StoreError> {
        let entries = self.entries();
        let from = entries.by_key.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        let found = from.take_while(|(key, _)| key.starts_with(prefix));
        Ok(found.map(|(key, stored)| (key.clone(), stored.clone())).collect())
    }

    fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>, StoreError> {
        let entries = self.entries();
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let found = entries.by_key.range::<str, _>((start, Bound::Unbounded)).map(|(key, _)| key);
        Ok(found.take_while(|key| key.starts_with(prefix)).take(limit).cloned().collect())
    }

    fn save(&self, changes: &[Change]) -> Result<u64, StoreError> {
        check_changes(changes)?;
        let mut entries = self.entries();
        for change in changes {
            if ExpectedVersion::of(entries.by_key.get(&change.key)) != change.expected {
                return Err(StoreError::Conflict { key: change.key.clone() });
            }
        }
        entries.last_version += 1;
        let version = entries.last_version;
        for change in changes {
            match &change.value {
                Some(value) => entries.by_key.insert(change.key.clone(), StoredValue { version, value: value.clone() }),
                None => entries.by_key.remove(&change.key),
            };
        }
        Ok(version)
    }

    fn waits(&self) -> bool {
        false
    }

    fn is_private(&self) -> bool {
        self.is_private
    }
}
