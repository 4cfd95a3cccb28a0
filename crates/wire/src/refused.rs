//! Why something cannot be let through.

use std::fmt;

use lictor_json::JsonError;

/// Something that cannot be read, so nobody can say what it would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The kind of mistake, for programs: `json.duplicate_key`, `stream.unknown_event`.
    pub code: &'static str,
    /// What is wrong, where, and what to do about it.
    pub message: String,
}

impl Refused {
    /// A refusal.
    pub fn new(code: &'static str, message: impl Into<String>) -> Refused {
        Refused { code, message: message.into() }
    }

    /// A text that is not taken as JSON.
    pub(crate) fn json(what: &str, error: JsonError) -> Refused {
        Refused::new(error.code, format!("{what}, at byte {}: {}", error.offset, error.message))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}
