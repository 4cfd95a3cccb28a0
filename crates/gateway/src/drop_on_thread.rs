//! A store that is dropped on a thread of its own.
//!
//! The last owner may be a task of the runtime, which must not block; and closing a store may wait for a server.

use std::sync::Arc;

use lictor_store::{Change, Store, StoreError, StoredValue};

/// A store that is dropped on a thread of its own.
pub(crate) struct DropOnThread {
    inner: Option<Arc<dyn Store>>,
}

impl DropOnThread {
    pub(crate) fn new(inner: Arc<dyn Store>) -> DropOnThread {
        DropOnThread { inner: Some(inner) }
    }

    fn inner(&self) -> Result<&dyn Store, StoreError> {
        let gone = || StoreError::Unavailable { place: "the store".to_owned(), reason: "it is closed".to_owned() };
        self.inner.as_deref().ok_or_else(gone)
    }
}

impl Drop for DropOnThread {
    fn drop(&mut self) {
        let inner = self.inner.take();
        // If no thread can be started, it is dropped here.
        let _ = std::thread::Builder::new().name("parting".into()).spawn(move || drop(inner));
    }
}

impl Store for DropOnThread {
    fn load(&self, key: &str) -> Result<Option<StoredValue>, StoreError> {
        self.inner()?.load(key)
    }

    fn scan(&self, prefix: &str) -> Result<Vec<(String, StoredValue)>, StoreError> {
        self.inner()?.scan(prefix)
    }

    fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>, StoreError> {
        self.inner()?.keys(prefix, after, limit)
    }

    fn save(&self, changes: &[Change]) -> Result<u64, StoreError> {
        self.inner()?.save(changes)
    }

    fn waits(&self) -> bool {
        self.inner.as_ref().is_none_or(|inner| inner.waits())
    }

    fn is_private(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.is_private())
    }
}
