//! A position in a JSON text, and the errors at it.

use crate::Json;
use crate::error::JsonError;
use crate::slots::fill;

/// The result of one step of reading; the error is rare and boxed so that the rest stays small.
pub(crate) type ReadResult<T> = Result<T, Box<JsonError>>;

/// A position in a text.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, bytes: text.as_bytes(), at: 0 }
    }

    /// Fails if anything follows.
    pub(super) fn expect_end(&self) -> ReadResult<()> {
        match self.at < self.bytes.len() {
            true => Err(self.error("json.trailing", "unexpected text after the value".to_owned())),
            false => Ok(()),
        }
    }

    /// Skips white space and returns the next byte without taking it, or zero at the end; JSON allows no zero byte.
    #[inline(always)]
    pub(super) fn peek_solid(&mut self) -> u8 {
        loop {
            match self.bytes.get(self.at) {
                Some(&byte) if byte > b' ' => return byte,
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                _ => return 0,
            }
        }
    }

    /// Returns the next byte without taking it.
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn read_word(&mut self, word: &str, slot: &mut Json, value: Json) -> ReadResult<()> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            fill(slot, value);
            return Ok(());
        }
        if word.as_bytes().starts_with(rest) {
            self.at = self.bytes.len();
        }
        Err(self.unexpected_error("a value"))
    }

    #[cold]
    pub(super) fn unexpected_error(&self, wanted: &str) -> Box<JsonError> {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => self.error("json.syntax", format!("expected {wanted}, found {found:?}")),
            None => self.error("json.torn", format!("the text ends where {wanted} was expected")),
        }
    }

    #[cold]
    pub(super) fn error(&self, code: &'static str, message: String) -> Box<JsonError> {
        Box::new(JsonError { code, offset: self.at, message })
    }
}
