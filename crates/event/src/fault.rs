//! Places of a log that could not be read.

use std::sync::Arc;

/// A place in a log that could not be read as an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The line, from one.
    pub line: u32,
    /// The column, from one, where it is known.
    pub column: Option<u32>,
    /// The kind of mistake, for programs: `json.duplicate_key`.
    pub code: &'static str,
    /// What is wrong, and what to do about it.
    pub message: String,
}
