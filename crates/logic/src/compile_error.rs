//! Why a formula cannot be monitored, and what to do about it.

use std::fmt;

/// Why a formula cannot be monitored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    message: String,
    hint: String,
}

impl CompileError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> CompileError {
        CompileError { message: message.into(), hint: hint.into() }
    }

    /// Returns what is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nhint: {}", self.message, self.hint)
    }
}

impl std::error::Error for CompileError {}
