//! The refusal of input that Lictor cannot read, so that it is not forwarded.

use std::fmt;

use lictor_json::JsonError;

use crate::name::is_name;

/// The longest name that a message shows.
const MAX_SHOWN_NAME_BYTES: usize = 60;

/// The reason why a request, a reply or a stream is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireRefusal {
    /// The kind of mistake, for programs: `json.duplicate_key`, `stream.unknown`.
    pub code: &'static str,
    /// What is wrong, where, and what to do about it.
    pub message: String,
}

impl WireRefusal {
    /// Returns a refusal with this code and message.
    pub fn new(code: &'static str, message: impl Into<String>) -> WireRefusal {
        WireRefusal { code, message: message.into() }
    }

    /// Returns the refusal of a text that is not strict JSON.
    pub(crate) fn json(what: &str, error: JsonError) -> WireRefusal {
        WireRefusal::new(error.code, format!("{what}, at byte {}: {}", error.offset, error.message))
    }

    /// Returns the refusal of a role or a type that is not known.
    pub(crate) fn unknown(what: &str, key: &str, name: &str) -> WireRefusal {
        // The client gets the message, so it must not carry a text that nothing judged.
        let unknown = match is_name(name) && name.len() <= MAX_SHOWN_NAME_BYTES {
            true => format!("the unknown {key} `{name}`"),
            false => format!("an unknown {key}"),
        };
        WireRefusal::new("wire.unknown", format!("{what} has {unknown}, so Lictor cannot judge it"))
    }
}

impl fmt::Display for WireRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WireRefusal {}
