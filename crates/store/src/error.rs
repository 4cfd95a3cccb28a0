//! What can go wrong with a store, told apart by what the caller has to do about it.

use std::error::Error;
use std::fmt;

/// Why a store did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else changed the key. Nothing was saved; load it and decide again.
    Conflict {
        /// The first key of the save that is not as expected.
        key: String,
    },
    /// The store cannot hold this, now or ever. Nothing was saved.
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
        /// What it said.
        reason: String,
    },
    /// The store failed in the moment of saving. Load the keys to find out whether it was saved.
    Uncertain {
        /// The file or the server.
        place: String,
        /// What it said.
        reason: String,
    },
    /// What is stored was not written by this program, or is damaged. Nothing was changed.
    Damaged {
        /// The file or the server.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl StoreError {
    /// Is it certain that nothing was saved?
    pub fn is_unsaved(&self) -> bool {
        !matches!(self, StoreError::Uncertain { .. })
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Conflict { key } => {
                write!(f, "`{key}` was changed by somebody else\nhint: load it again and decide anew")
            }
            StoreError::Refused { key, reason } => write!(f, "`{key}` cannot be stored: {reason}"),
            StoreError::Unavailable { place, reason } => write!(
                f,
                "{place}: the store cannot be used: {reason}\nhint: nothing was saved; once the cause is gone, try again"
            ),
            StoreError::Uncertain { place, reason } => write!(
                f,
                "{place}: the store failed while it saved: {reason}\nhint: load the keys again to see whether it was saved"
            ),
            StoreError::Damaged { place, reason } => write!(
                f,
                "{place}: what is stored cannot be understood: {reason}\nhint: restore it from a backup, or begin in an \
                 empty place"
            ),
        }
    }
}

impl Error for StoreError {}
