//! Looks at single bytes of a text, never outside it.

/// Returns the byte at a position; zero beyond the end.
#[inline]
pub(super) fn byte_at(bytes: &[u8], place: usize) -> u8 {
    bytes.get(place).copied().unwrap_or(0)
}

/// Returns the byte `back` bytes before a position; zero before the beginning.
#[inline]
pub(super) fn byte_before(bytes: &[u8], place: usize, back: usize) -> u8 {
    place.checked_sub(back).map_or(0, |place| byte_at(bytes, place))
}

/// Returns the end of the run of bytes of a class that starts here, after `most` bytes at the latest.
#[inline]
pub(super) fn run_end(bytes: &[u8], start: usize, most: usize, class: impl Fn(u8) -> bool) -> usize {
    let mut end = start;
    while end < bytes.len() && end - start < most && class(bytes[end]) {
        end += 1;
    }
    end
}

/// Returns the start of the run of bytes of a class that ends here, at most `most` bytes before.
#[inline]
pub(super) fn run_start(bytes: &[u8], end: usize, most: usize, class: impl Fn(u8) -> bool) -> usize {
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
pub(super) fn ends_with_at(bytes: &[u8], end: usize, letters: &str) -> bool {
    end.checked_sub(letters.len())
        .and_then(|start| bytes.get(start..end))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(letters.as_bytes()))
}

/// Whether a text continues at a position with these letters in any case; the letters are in lower case.
#[inline]
pub(super) fn starts_with_at(bytes: &[u8], start: usize, letters: &str) -> bool {
    bytes
        .get(start..)
        .and_then(|rest| rest.get(..letters.len()))
        .is_some_and(|head| head.eq_ignore_ascii_case(letters.as_bytes()))
}
