//! Why saved data cannot be restored.

use std::fmt;

/// Why saved data cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreError {
    message: String,
}

impl RestoreError {
    pub(crate) fn new(message: impl Into<String>) -> RestoreError {
        RestoreError { message: message.into() }
    }
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RestoreError {}
