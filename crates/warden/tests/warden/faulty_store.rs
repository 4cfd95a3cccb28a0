//! A store in memory whose saves fail on demand.

use std::sync::Arc;

use lictor_store::{Change, MemoryStore, Store, StoreError, StoredValue};

/// Saves, or fails before or after saving.
type SaveFunction = Box<dyn Fn(&MemoryStore, &[Change]) -> Result<u64, StoreError> + Send + Sync>;

/// A store in memory with a replaced `save`.
pub(crate) struct FaultyStore {
    inner: Arc<MemoryStore>,
    save: SaveFunction,
}

impl FaultyStore {
    pub(crate) fn new(
        inner: Arc<MemoryStore>,
        save: impl Fn(&MemoryStore, &[Change]) -> Result<u64, StoreError> + Send + Sync + 'static,
    ) -> FaultyStore {
        FaultyStore { inner, save: Box::new(save) }
    }
}

impl Store for FaultyStore {
    fn load(&self, key: &str) -> Result<Option<StoredValue>, StoreError> {
        self.inner.load(key)
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, StoredValue)>, StoreError> {
        self.inner.scan(prefix)
    }

    fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>, StoreError> {
        self.inner.keys(prefix, after, limit)
    }

    fn save(&self, changes: &[Change]) -> Result<u64, StoreError> {
        (self.save)(&self.inner, changes)
    }

    fn waits(&self) -> bool {
        self.inner.waits()
    }

    fn is_private(&self) -> bool {
        self.inner.is_private()
    }
}
