//! Why something cannot be let through.

use std::fmt;

use lictor_json::JsonError;

/// Something that cannot be read, so nobody can say what it would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireRefusal {
    /// The kind of mistake, for programs: `json.duplicate_key`, `stream.unknown_event`.
    pub code: &'static str,
    /// What is wrong, where, and what to do about it.
    pub message: String,
}

impl WireRefusal {
    /// A refusal.
    pub fn new(code: &'static str, message: impl Into<String>) -> WireRefusal {
        WireRefusal { code, message: message.into() }
    }

    /// A text that is not taken as JSON.
    pub(crate) fn json(what: &str, error: JsonError) -> WireRefusal {
        WireRefusal::new(error.code, format!("{what}, at byte {}: {}", error.offset, error.message))
    }
}

impl fmt::Display for WireRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WireRefusal {}
