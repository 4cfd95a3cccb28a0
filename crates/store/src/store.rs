//! The one trait, and the values that go in and out.

use crate::error::StoreError;

/// Bytes under keys with versions, shared by threads and, depending on the implementation, by processes.
pub trait Store: Send + Sync {
    /// What stands under a key; nothing if there is no such key.
    fn load(&self, key: &str) -> Result<Option<StoredValue>, StoreError>;

    /// All keys that begin with the prefix, with what stands under them, in the order of the bytes of the keys.
    ///
    /// It is one moment of the store: a save is seen as a whole or not at all. All of it is in memory at once, so ask
    /// for the entries of one session, and use [`Store::keys`] for more.
    fn scan(&self, prefix: &str) -> Result<Vec<(String, StoredValue)>, StoreError>;

    /// At most `limit` keys that begin with the prefix and come behind `after`, in the order of their bytes.
    ///
    /// To walk over any number of keys in bounded memory, ask again with the last key of the answer until the answer is
    /// empty. Saves in between may or may not be seen.
    fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>, StoreError>;

    /// Makes all changes or none, and returns when they are durable.
    ///
    /// Every key that was put has the version that is returned. The key has never had it before, not even before it was
    /// deleted, so that somebody who slept meanwhile never mistakes a new value for the one that they knew.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if a key is not as expected: nothing was changed, load it and decide again.
    /// [`StoreError::Uncertain`] if the store failed in the very moment of saving: load the keys to find out.
    fn save(&self, changes: &[Change]) -> Result<u64, StoreError>;

    /// Whether it may have to wait, for a disk or a server: whoever must not wait asks it on another thread then.
    fn waits(&self) -> bool {
        true
    }
}

/// What stands under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredValue {
    /// Names this value of this key; to change it, expect it.
    pub version: u64,
    /// The bytes that were saved.
    pub value: Vec<u8>,
}

/// What the author of a change believes about its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// There is no such key.
    Absent,
    /// The key has this version.
    Version(u64),
}

impl ExpectedVersion {
    /// What to expect of a key after it was loaded.
    pub fn of(loaded: Option<&StoredValue>) -> ExpectedVersion {
        ExpectedVersion::of_version(loaded.map(|stored| stored.version))
    }

    /// What to expect of a key that has this version, if it is there at all.
    pub fn of_version(version: Option<u64>) -> ExpectedVersion {
        version.map_or(ExpectedVersion::Absent, ExpectedVersion::Version)
    }
}

/// One change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key; it may stand in a save only once.
    pub key: String,
    /// What must be stored under the key for the save to happen.
    pub expected: ExpectedVersion,
    /// What to store, or nothing to delete the key.
    pub value: Option<Vec<u8>>,
}

impl Change {
    /// Stores bytes under a key.
    pub fn put(key: impl Into<String>, expected: ExpectedVersion, value: impl Into<Vec<u8>>) -> Change {
        Change { key: key.into(), expected, value: Some(value.into()) }
    }

    /// Deletes a key. Of a key that is expected to be absent this only makes sure that it is.
    pub fn delete(key: impl Into<String>, expected: ExpectedVersion) -> Change {
        Change { key: key.into(), expected, value: None }
    }
}
