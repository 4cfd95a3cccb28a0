//! The trait [`Store`] and its values.

use crate::error::StoreError;

/// A store of versioned bytes under keys, shared by threads and, depending on the implementation, by processes.
pub trait Store: Send + Sync {
    /// Returns the value of a key, or none.
    fn load(&self, key: &str) -> Result<Option<StoredValue>, StoreError>;

    /// Returns all keys with a prefix and their values, sorted by the bytes of the keys.
    ///
    /// The result is a consistent snapshot: a save is visible as a whole or not at all. It is held in memory, so scan
    /// the entries of one session, and use [`Store::keys`] for more.
    fn scan(&self, prefix: &str) -> Result<Vec<(String, StoredValue)>, StoreError>;

    /// Returns up to `limit` keys with a prefix that sort after `after`, sorted by their bytes.
    ///
    /// To list any number of keys in bounded memory, call it again with the last key of the page until a page is empty.
    /// Saves in between may or may not be visible.
    fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>, StoreError>;

    /// Makes all changes or none, and returns their version when they are durable.
    ///
    /// A key never has the same version twice, not even after it was deleted, so a caller that was suspended never
    /// mistakes a new value for the one it knew.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if a key has another version than expected: nothing was changed, load it and decide
    /// again. [`StoreError::Uncertain`] if the store failed during the commit: load the keys to find out.
    fn save(&self, changes: &[Change]) -> Result<u64, StoreError>;

    /// Whether calls may block, on a disk or a server. Callers that must not block use another thread then.
    fn waits(&self) -> bool {
        true
    }

    /// Whether only the caller reads and writes it, and it ends with the process. The caller may then keep live objects
    /// and save them when it evicts them.
    fn is_private(&self) -> bool {
        false
    }
}

/// The value of a key, with its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredValue {
    /// The version of this value; a change of the key must expect it.
    pub version: u64,
    /// The bytes that were saved.
    pub value: Vec<u8>,
}

/// The version of a key that a change expects: an optimistic lock.
// Exhaustive on purpose: every store must handle every expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// The key does not exist.
    Absent,
    /// The key has this version.
    Version(u64),
}

impl ExpectedVersion {
    /// Returns the expectation for a loaded value.
    pub fn of(loaded: Option<&StoredValue>) -> ExpectedVersion {
        ExpectedVersion::of_version(loaded.map(|stored| stored.version))
    }

    /// Returns the expectation for a version; none means that the key does not exist.
    pub fn of_version(version: Option<u64>) -> ExpectedVersion {
        version.map_or(ExpectedVersion::Absent, ExpectedVersion::Version)
    }
}

/// One change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key, at most once in a save.
    pub key: String,
    /// The version that the key must have, or the save fails.
    pub expected: ExpectedVersion,
    /// The new value, or none to delete the key.
    pub value: Option<Vec<u8>>,
}

impl Change {
    /// Returns a change that stores bytes under a key.
    pub fn put(key: impl Into<String>, expected: ExpectedVersion, value: impl Into<Vec<u8>>) -> Change {
        Change { key: key.into(), expected, value: Some(value.into()) }
    }

    /// Returns a change that deletes a key. With [`ExpectedVersion::Absent`] it only asserts that the key is missing.
    pub fn delete(key: impl Into<String>, expected: ExpectedVersion) -> Change {
        Change { key: key.into(), expected, value: None }
    }
}
