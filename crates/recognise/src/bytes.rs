//! Looking at single bytes of a text without ever looking outside it.

/// The byte at a place; beyond the end there are zeros.
#[inline]
pub(super) fn at(bytes: &[u8], place: usize) -> u8 {
    bytes.get(place).copied().unwrap_or(0)
}

/// The byte that stands `back` bytes before a place; before the beginning there are zeros.
#[inline]
pub(super) fn before(bytes: &[u8], place: usize, back: usize) -> u8 {
    place.checked_sub(back).map_or(0, |place| at(bytes, place))
}

/// Where the run of bytes of a class that starts here ends; looks no further than `most` bytes.
#[inline]
pub(super) fn run(bytes: &[u8], start: usize, most: usize, class: impl Fn(u8) -> bool) -> usize {
    let mut end = start;
    while end < bytes.len() && end - start < most && class(bytes[end]) {
        end += 1;
    }
    end
}

/// Where the run of bytes of a class that ends here starts; looks no further than `most` bytes.
#[inline]
pub(super) fn run_back(bytes: &[u8], end: usize, most: usize, class: impl Fn(u8) -> bool) -> usize {
    let mut start = end.min(bytes.len());
    while start > 0 && end - start < most && class(bytes[start - 1]) {
        start -= 1;
    }
    start
}

/// Whether a byte can be a part of a word, of an id, of a number.
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

/// Whether a text ends, at a place, with these letters of any case; the letters are in lower case.
#[inline]
pub(super) fn ends_with(bytes: &[u8], end: usize, letters: &str) -> bool {
    end.checked_sub(letters.len())
        .and_then(|start| bytes.get(start..end))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(letters.as_bytes()))
}

/// Whether a text goes on, from a place, with these letters of any case; the letters are in lower case.
#[inline]
pub(super) fn goes_on_with(bytes: &[u8], start: usize, letters: &str) -> bool {
    bytes
        .get(start..)
        .and_then(|rest| rest.get(..letters.len()))
        .is_some_and(|head| head.eq_ignore_ascii_case(letters.as_bytes()))
}
