//! A text that was rewritten, laid beside the text that it was.
//!
//! A guard gives back whole texts, in which a few places are masked. Here the places are found again: what both texts
//! begin and end with is the same, and between the masks stands what stood there before.

use std::ops::Range;

use lictor_event::MASK;

/// A place in a text, and what stands there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) range: Range<usize>,
    pub(crate) with: String,
}

/// The places of `old` that differ in `new`, in order.
pub(crate) fn replaced(old: &str, new: &str) -> Vec<Replaced> {
    if old == new {
        return Vec::new();
    }
    let parts: Vec<&str> = new.split(MASK).collect();
    masked(old, &parts).unwrap_or_else(|| vec![middle(old, new)])
}

/// The masks of a text whose other parts all stand in the old one, in order.
fn masked(old: &str, parts: &[&str]) -> Option<Vec<Replaced>> {
    let (first, rest) = parts.split_first()?;
    let (last, between) = rest.split_last()?;
    let mut at = old.strip_prefix(first).map(|_| first.len())?;
    let end = old.strip_suffix(last).map(|rest| rest.len()).filter(|end| *end >= at)?;
    let mut places = Vec::new();
    for part in between {
        // Something was taken out, so what follows comes later; where, if it is nothing, nobody can tell.
        if part.is_empty() {
            continue;
        }
        let skip = old.get(at..end)?.chars().next()?.len_utf8();
        let found = at + skip + old.get(at + skip..end)?.find(part)?;
        places.push(Replaced { range: at..found, with: MASK.to_owned() });
        at = found + part.len();
    }
    places.push(Replaced { range: at..end, with: MASK.to_owned() });
    Some(places)
}

/// All between what both texts begin and end with.
fn middle(old: &str, new: &str) -> Replaced {
    let same = |(a, b): &(char, char)| a == b;
    let start: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end: usize =
        old_rest.chars().rev().zip(new_rest.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    Replaced { range: start..old.len() - end, with: new_rest[..new_rest.len() - end].to_owned() }
}

/// The pieces of a text, given as ranges, after replacements. What replaces something across a border stands in the
/// first of the pieces; a piece of which nothing would be left shows it too, because vendors refuse empty texts.
pub(crate) fn pieces(old: &str, ranges: &[Range<usize>], places: &[Replaced]) -> Vec<String> {
    let piece = |range: &Range<usize>| {
        let (mut out, mut at) = (String::new(), range.start);
        for place in places.iter().filter(|place| place.range.start < range.end && place.range.end > range.start) {
            out.push_str(old.get(at..place.range.start.max(at)).unwrap_or_default());
            if place.range.start >= range.start || place.range.end >= range.end && out.is_empty() {
                out.push_str(&place.with);
            }
            at = place.range.end.min(range.end);
        }
        // What is put where nothing stood.
        for place in places.iter().filter(|place| place.range.is_empty() && place.range.start == range.end) {
            out.push_str(old.get(at..range.end).unwrap_or_default());
            out.push_str(&place.with);
            at = range.end;
        }
        out.push_str(old.get(at..range.end).unwrap_or_default());
        out
    };
    ranges.iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_found_again() {
        let cases = [
            ("call 0123 or 4567 now", "call [redacted] or [redacted] now", "5..9 13..17"),
            ("0123 4567", "[redacted] [redacted]", "0..4 5..9"),
            ("a 12 b", "a 12 b", ""),
            ("a 12 b", "a twelve b", "2..4"),
            ("aé", "aè", "1..3"),
            ("x", "[redacted]", "0..1"),
            ("aaa", "aaaa", "3..3"),
        ];
        for (old, new, expected) in cases {
            let places = replaced(old, new);
            let shown: Vec<String> =
                places.iter().map(|place| format!("{}..{}", place.range.start, place.range.end)).collect();
            assert_eq!(shown.join(" "), expected, "{new}");
            let whole = 0..old.len();
            assert_eq!(pieces(old, &[whole], &places), [new]);
        }
    }

    #[test]
    fn mask_across_chunks_appears_once() {
        let old = "ab\ncd\nef";
        let ranges = [0..2, 3..5, 6..8];
        assert_eq!(pieces(old, &ranges, &replaced(old, "a[redacted]f")), ["a[redacted]", "[redacted]", "f"]);
        assert_eq!(pieces(old, &ranges, &replaced(old, "ab\n[redacted]\nef")), ["ab", "[redacted]", "ef"]);
    }
}
