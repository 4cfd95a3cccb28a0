//! The gap between a cue and what it announces: `order`, then ` no.: #`, then `A-7421`.

use super::bytes::{Bytes, byte_at, run_end};
use super::vocabulary::{FILLER, ID_MARK, classify};

/// The gap between a cue and its value.
pub(super) struct Gap {
    /// Where the value starts.
    pub(super) end: usize,
    /// Whether it says that an id follows: `#`, `no.`, `id`.
    pub(super) is_marked: bool,
    /// Whether it has a colon or an equals sign.
    pub(super) is_assigned: bool,
}

/// How many bytes may be between a cue and its value.
const MAX_GAP_BYTES: usize = 48;

/// Skips marks, small words and words of the filler classes after a cue, up to where a value may start; skips at most
/// so many unknown words.
pub(super) fn skip_gap(bytes: Bytes<'_>, start: usize, fillers: u16, mut unknown_words: usize) -> Gap {
    let mut gap = Gap { end: start, is_marked: false, is_assigned: false };
    while gap.end - start < MAX_GAP_BYTES {
        match byte_at(bytes, gap.end) {
            b'#' => gap.is_marked = true,
            b':' | b'=' => gap.is_assigned = true,
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>'
            | b'-' | b'_' | b',' | b'/' | b'*' | b'`' | b'|' | b'\\' => {}
            // `¿`, with which a Spanish question starts.
            0xC2 if byte_at(bytes, gap.end + 1) == 0xBF => gap.end += 1,
            // The point of an abbreviation; one that ends a sentence ends the search.
            b'.' if gap.end == start || byte_at(bytes, gap.end - 1).is_ascii_alphabetic() && gap.is_marked => {}
            byte if byte.is_ascii_alphabetic() => {
                let end = run_end(bytes, gap.end, 24, |byte| byte.is_ascii_alphabetic());
                // Letters with a digit after them are a value, even if they read like a word.
                if byte_at(bytes, end).is_ascii_digit() {
                    return gap;
                }
                let word = classify(&bytes[gap.end..end]);
                if word.has(ID_MARK) {
                    gap.is_marked = true;
                } else if !word.has(FILLER | fillers) {
                    match unknown_words.checked_sub(1) {
                        Some(left) => unknown_words = left,
                        None => return gap,
                    }
                }
                gap.end = end;
                continue;
            }
            _ => return gap,
        }
        gap.end += 1;
    }
    gap
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(text: &str) -> &str {
        &text[skip_gap(text.into(), 0, 0, 0).end..]
    }

    #[test]
    fn gap_skips_small_words_and_marks() {
        for text in [" A-7", " id: A-7", "_id\": \"A-7", " number is A-7", " no. A-7", " #A-7", " (ref) A-7"] {
            assert_eq!(rest(text), "A-7", "{text}");
        }
        assert_eq!(rest(" total: 7"), "total: 7");
        assert_eq!(rest(" is late. 7"), "late. 7");
        assert_eq!(rest(" id5"), "id5");
    }
}
