//! What may stand between a cue and what it announces: `order`, then ` no.: #`, then `A-7421`.

use super::bytes::{at, run};
use super::vocabulary::{MARKING, SMALL, classes};

/// The way from a cue to a value.
pub(super) struct Gap {
    /// Where the value starts.
    pub(super) end: usize,
    /// Whether something on the way says that an id follows: `#`, `no.`, `id`.
    pub(super) is_marked: bool,
    /// Whether a colon or an equals sign was on the way.
    pub(super) is_assigned: bool,
}

/// How far a value may be from its cue.
const FURTHEST: usize = 48;

/// Goes from the end of a cue over marks, small words and words of these classes to where a value may start; passes over this
/// many words that it does not know.
pub(super) fn gap(bytes: &[u8], start: usize, fillers: u16, mut strangers: usize) -> Gap {
    let mut gap = Gap { end: start, is_marked: false, is_assigned: false };
    while gap.end < bytes.len() && gap.end - start < FURTHEST {
        match bytes[gap.end] {
            b'#' => gap.is_marked = true,
            b':' | b'=' => gap.is_assigned = true,
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>'
            | b'-' | b'_' | b',' | b'/' | b'*' | b'`' | b'|' | b'\\' => {}
            // The point of an abbreviation; one that ends a sentence ends the search.
            b'.' if gap.end == start || at(bytes, gap.end - 1).is_ascii_alphabetic() && gap.is_marked => {}
            byte if byte.is_ascii_alphabetic() => {
                let end = run(bytes, gap.end, 24, |byte| byte.is_ascii_alphabetic());
                // Letters with a digit behind them are a value, even if they read like a word.
                if at(bytes, end).is_ascii_digit() {
                    return gap;
                }
                let word = classes(&bytes[gap.end..end]);
                if word.has(MARKING) {
                    gap.is_marked = true;
                } else if !word.has(SMALL | fillers) {
                    match strangers.checked_sub(1) {
                        Some(left) => strangers = left,
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
        &text[gap(text.as_bytes(), 0, 0, 0).end..]
    }

    #[test]
    fn small_words_and_marks_are_passed_over() {
        for text in [" A-7", " id: A-7", "_id\": \"A-7", " number is A-7", " no. A-7", " #A-7", " (ref) A-7"] {
            assert_eq!(rest(text), "A-7", "{text}");
        }
        assert_eq!(rest(" total: 7"), "total: 7");
        assert_eq!(rest(" is late. 7"), "late. 7");
        assert_eq!(rest(" id5"), "id5");
    }
}
