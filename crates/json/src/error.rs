//! The error of a text that is not accepted as JSON.

use std::fmt;
use std::str::Utf8Error;

/// The reason why a text is not accepted as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The kind of mistake, for programs: `json.duplicate_key`. A text that only ends too early is `json.torn`.
    pub code: &'static str,
    /// The offset of the byte at which it was noticed.
    pub offset: usize,
    /// What is wrong, in words.
    pub message: String,
}

impl JsonError {
    /// Returns the error of bytes that are not UTF-8.
    pub fn from_utf8(error: Utf8Error) -> JsonError {
        let (code, message) = match error.error_len() {
            Some(_) => ("json.utf8", "the bytes are not UTF-8"),
            None => ("json.torn", "the text ends inside a character"),
        };
        JsonError { code, offset: error.valid_up_to(), message: message.to_owned() }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonError {}
