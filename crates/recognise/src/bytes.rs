//! Looks at single bytes of a text, never outside it.

use std::cell::Cell;
use std::ops::{Deref, Range};

/// The bytes of a text, of which more may arrive.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'t> {
    bytes: &'t [u8],
    /// Is set when a byte beyond the end is asked for.
    beyond: Option<&'t Cell<bool>>,
}

impl<'t> Bytes<'t> {
    /// Returns the bytes of a text that may continue. `beyond` is set when a byte beyond its end is asked for: then more
    /// text can change the answer. An answer that did not set it is final.
    pub(super) fn open(text: &'t str, beyond: &'t Cell<bool>) -> Bytes<'t> {
        Bytes { bytes: text.as_bytes(), beyond: Some(beyond) }
    }

    /// Returns all of them, for as long as the text lives.
    #[inline]
    pub(super) fn all(self) -> &'t [u8] {
        self.bytes
    }

    /// Returns a part; none if it is not all there.
    #[inline]
    pub(super) fn part(self, range: Range<usize>) -> Option<&'t [u8]> {
        let part = self.bytes.get(range);
        if part.is_none() {
            self.note_beyond();
        }
        part
    }

    #[cold]
    fn note_beyond(self) {
        if let Some(beyond) = self.beyond {
            beyond.set(true);
        }
    }
}

impl<'t> From<&'t [u8]> for Bytes<'t> {
    fn from(bytes: &'t [u8]) -> Bytes<'t> {
        Bytes { bytes, beyond: None }
    }
}

impl<'t> From<&'t str> for Bytes<'t> {
    fn from(text: &'t str) -> Bytes<'t> {
        Bytes { bytes: text.as_bytes(), beyond: None }
    }
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

/// Returns the byte at a position; zero beyond the end.
#[inline]
pub(super) fn byte_at(bytes: Bytes<'_>, place: usize) -> u8 {
    match bytes.bytes.get(place) {
        Some(byte) => *byte,
        None => {
            bytes.note_beyond();
            0
        }
    }
}

/// Returns the byte `back` bytes before a position; zero before the beginning.
#[inline]
pub(super) fn byte_before(bytes: Bytes<'_>, place: usize, back: usize) -> u8 {
    place.checked_sub(back).map_or(0, |place| byte_at(bytes, place))
}

/// Returns the end of the run of bytes of a class that starts here, after `most` bytes at the latest.
#[inline]
pub(super) fn run_end(bytes: Bytes<'_>, start: usize, most: usize, class: impl Fn(u8) -> bool) -> usize {
    let mut end = start;
    while end - start < most {
        match bytes.bytes.get(end) {
            Some(byte) if class(*byte) => end += 1,
            Some(_) => break,
            None => {
                bytes.note_beyond();
                break;
            }
        }
    }
    end
}

/// Returns the start of the run of bytes of a class that ends here, at most `most` bytes before.
#[inline]
pub(super) fn run_start(bytes: Bytes<'_>, end: usize, most: usize, class: impl Fn(u8) -> bool) -> usize {
    let mut start = end.min(bytes.len());
    while start > 0 && end - start < most && class(bytes[start - 1]) {
        start -= 1;
    }
    start
}

/// Whether a byte is an ASCII letter or digit.
#[inline]
pub(super) fn is_alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// Whether a byte is a blank of any kind.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether a word is in a list; the list is in lower case.
#[inline]
pub(super) fn is_one_of(word: &[u8], list: &[&str]) -> bool {
    list.iter().any(|entry| word.eq_ignore_ascii_case(entry.as_bytes()))
}

/// Whether a text ends at a position with these letters in any case; the letters are in lower case.
#[inline]
pub(super) fn ends_with_at(bytes: Bytes<'_>, end: usize, letters: &str) -> bool {
    end.checked_sub(letters.len())
        .and_then(|start| bytes.get(start..end))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(letters.as_bytes()))
}

/// Whether a text continues at a position with these letters in any case; the letters are in lower case.
#[inline]
pub(super) fn starts_with_at(bytes: Bytes<'_>, start: usize, letters: &str) -> bool {
    let rest = bytes.bytes.get(start..).unwrap_or_default();
    let length = rest.len().min(letters.len());
    if !rest[..length].eq_ignore_ascii_case(&letters.as_bytes()[..length]) {
        return false;
    }
    if length < letters.len() {
        bytes.note_beyond();
    }
    length == letters.len()
}
