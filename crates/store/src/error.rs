//! Errors of a store, by what the caller must do about them.

use std::error::Error;
use std::fmt;

/// The reason a store operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer changed the key. Nothing was saved; load it and decide again.
    Conflict {
        /// The first key of the save with another version than expected.
        key: String,
    },
    /// The key or the value is invalid. Nothing was saved.
    Refused {
        /// The key, shortened if it is long.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The store could not be read or written. Nothing was saved; the same call may succeed later.
    Unavailable {
        /// The file or the server.
        place: String,
        /// The error it reported.
        reason: String,
    },
    /// The store failed during a commit. Load the keys to find out whether it was saved.
    Uncertain {
        /// The file or the server.
        place: String,
        /// The error it reported.
        reason: String,
    },
    /// The tables have the layout of another version of Lictor. Nothing was changed.
    Layout {
        /// The file or the server.
        place: String,
        /// The number of their layout.
        found: i32,
        /// The layout that this version reads and writes.
        supported: i32,
    },
    /// The stored data was not written by this program, or is damaged. Nothing was changed.
    Damaged {
        /// The file or the server.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl StoreError {
    /// Whether it is certain that nothing was saved.
    pub fn is_unsaved(&self) -> bool {
        !matches!(self, StoreError::Uncertain { .. })
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Conflict { key } => {
                write!(f, "version conflict: `{key}` was changed by another writer\nhint: load it again and retry")
            }
            StoreError::Refused { key, reason } => write!(f, "`{key}` cannot be stored: {reason}"),
            StoreError::Unavailable { place, reason } => write!(
                f,
                "{place}: the store is unavailable: {reason}\nhint: nothing was saved; fix the cause and retry"
            ),
            StoreError::Uncertain { place, reason } => write!(
                f,
                "{place}: the store failed during a commit: {reason}\nhint: load the keys again to see whether it was saved"
            ),
            StoreError::Layout { place, found, supported } => {
                let hint = match found > supported {
                    true => "use a version of Lictor that is at least as new as the one that wrote it",
                    false => {
                        "use the version of Lictor that wrote it until its sessions have ended, then start with an \
                              empty folder or database"
                    }
                };
                write!(
                    f,
                    "{place}: the store has layout {found}, and this version of Lictor reads and writes layout \
                     {supported}\nhint: nothing was changed; {hint}"
                )
            }
            StoreError::Damaged { place, reason } => write!(
                f,
                "{place}: the stored data is damaged or foreign: {reason}\nhint: restore a backup, or start with an empty \
                 folder or database"
            ),
        }
    }
}

impl Error for StoreError {}
