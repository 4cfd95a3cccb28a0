//! The error of everything that must be saved or recorded before it counts.

use lictor_store::StoreError;

/// Nothing can be decided: the store or the ledger cannot be written.
#[derive(Clone, Debug)]
pub(crate) struct Unavailable {
    /// The reason, for operators.
    pub(crate) reason: String,
}

impl From<StoreError> for Unavailable {
    fn from(error: StoreError) -> Unavailable {
        Unavailable { reason: error.to_string() }
    }
}
