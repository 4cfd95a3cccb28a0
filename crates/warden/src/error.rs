//! The errors of a warden.

use std::fmt;

use lictor_judge::RestoreError;
use lictor_store::StoreError;

/// Why an event could not be decided. It must not be forwarded.
#[derive(Debug)]
#[non_exhaustive]
pub enum WardenError {
    /// The state of sessions cannot be read or written.
    Store(StoreError),
    /// The record cannot be written.
    Ledger(lictor_ledger::LedgerError),
    /// The stored state of a session does not fit the policy.
    Restore {
        /// Its key in the store.
        key: String,
        /// The reason.
        error: RestoreError,
    },
    /// A session began with another policy, and continues with no other.
    PolicyChanged {
        /// The session.
        session: String,
    },
    /// A later policy judges a session or a history, and it never moves back.
    Superseded {
        /// The session, or the key of the history.
        session: String,
        /// The fingerprint of the later policy.
        policy: String,
    },
    /// A stored value cannot be read.
    Damaged {
        /// Its key in the store.
        key: String,
        /// The reason.
        reason: String,
    },
    /// A decision on the session failed midway, and its earlier state is not saved anywhere.
    Lost {
        /// The session.
        session: String,
    },
    /// The thread that decides has died.
    Broken,
    /// Too many concurrent updates of the session: every attempt conflicted with another process.
    Crowded {
        /// The session.
        session: String,
    },
}

impl fmt::Display for WardenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WardenError::Store(error) => error.fmt(f),
            WardenError::Ledger(error) => error.fmt(f),
            WardenError::Restore { key, error } => write!(
                f,
                "the stored value `{key}` cannot be restored: {error}\nhint: use the policy it was saved with, \
                 restore the store from a backup, or begin with an empty one"
            ),
            WardenError::PolicyChanged { session } => write!(
                f,
                "session `{session}` began with another policy, and sessions keep theirs\nhint: put the policy back, or \
                 begin another session"
            ),
            WardenError::Superseded { session, policy } => write!(
                f,
                "session `{session}` is judged by the policy {}, which was activated later than that of this process\nhint: \
                 start this process with that policy; to return to the earlier one, load it again where it is to be active",
                policy.get(..12).unwrap_or(policy)
            ),
            WardenError::Damaged { key, reason } => {
                write!(f, "the stored value `{key}` is damaged: {reason}\nhint: restore the store from a backup")
            }
            WardenError::Lost { session } => write!(
                f,
                "session `{session}` is closed: a decision on it failed midway, and its state was only in memory\nhint: \
                 begin another session; with a store (`--state`) sessions survive such failures"
            ),
            WardenError::Broken => f.write_str(
                "the thread that decides has died\nhint: start the process again; what was answered is kept",
            ),
            WardenError::Crowded { session } => write!(
                f,
                "session `{session}` is busy: too many concurrent updates\nhint: let one process guard a session, or retry"
            ),
        }
    }
}

impl std::error::Error for WardenError {}

impl From<StoreError> for WardenError {
    fn from(error: StoreError) -> WardenError {
        WardenError::Store(error)
    }
}

impl From<lictor_ledger::LedgerError> for WardenError {
    fn from(error: lictor_ledger::LedgerError) -> WardenError {
        WardenError::Ledger(error)
    }
}
