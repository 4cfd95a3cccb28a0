//! Finds the changed places of a text that was rewritten.
//!
//! A guard returns whole texts with a few masked places. The places are found by comparing the two texts: they share a
//! beginning and an end, and the parts between two masks are the same in both.

use std::ops::Range;

use lictor_event::MASK;

/// A place in the old text, and its new content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub(crate) range: Range<usize>,
    pub(crate) with: String,
}

/// Returns the places of `old` that differ in `new`, in order.
pub(crate) fn find_replacements(old: &str, new: &str) -> Vec<Replacement> {
    if old == new {
        return Vec::new();
    }
    let parts: Vec<&str> = new.split(MASK).collect();
    find_masks(old, &parts).unwrap_or_else(|| vec![find_middle(old, new)])
}

/// Returns the masked places, if all other parts of the new text occur in the old one in order.
fn find_masks(old: &str, parts: &[&str]) -> Option<Vec<Replacement>> {
    let (first, rest) = parts.split_first()?;
    let (last, between) = rest.split_last()?;
    let mut at = old.strip_prefix(first).map(|_| first.len())?;
    let end = old.strip_suffix(last).map(|rest| rest.len()).filter(|end| *end >= at)?;
    let mut places = Vec::new();
    for part in between {
        // Between two adjacent masks nothing says where the first ends: they count as one.
        if part.is_empty() {
            continue;
        }
        let skip = old.get(at..end)?.chars().next()?.len_utf8();
        let found = at + skip + old.get(at + skip..end)?.find(part)?;
        places.push(Replacement { range: at..found, with: MASK.to_owned() });
        at = found + part.len();
    }
    places.push(Replacement { range: at..end, with: MASK.to_owned() });
    Some(places)
}

/// Returns the one place between the shared beginning and the shared end.
fn find_middle(old: &str, new: &str) -> Replacement {
    let same = |(a, b): &(char, char)| a == b;
    let start: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end: usize =
        old_rest.chars().rev().zip(new_rest.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    Replacement { range: start..old.len() - end, with: new_rest[..new_rest.len() - end].to_owned() }
}

/// Returns the pieces of a text, given as ranges, after the replacements. A replacement across a border goes into the
/// first of its pieces. It also goes into a piece that would be empty otherwise, because vendors refuse empty texts.
pub(crate) fn replace_in_pieces(old: &str, ranges: &[Range<usize>], places: &[Replacement]) -> Vec<String> {
    let piece = |range: &Range<usize>| {
        let (mut out, mut at) = (String::new(), range.start);
        for place in places.iter().filter(|place| place.range.start < range.end && place.range.end > range.start) {
            out.push_str(old.get(at..place.range.start.max(at)).unwrap_or_default());
            if place.range.start >= range.start || place.range.end >= range.end && out.is_empty() {
                out.push_str(&place.with);
            }
            at = place.range.end.min(range.end);
        }
        // Insertions at the end of the piece.
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
    fn masks_are_found_in_rewritten_text() {
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
            let places = find_replacements(old, new);
            let shown: Vec<String> =
                places.iter().map(|place| format!("{}..{}", place.range.start, place.range.end)).collect();
            assert_eq!(shown.join(" "), expected, "{new}");
            let whole = 0..old.len();
            assert_eq!(replace_in_pieces(old, &[whole], &places), [new]);
        }
    }

    #[test]
    fn mask_across_chunks_appears_once() {
        let old = "ab\ncd\nef";
        let ranges = [0..2, 3..5, 6..8];
        assert_eq!(
            replace_in_pieces(old, &ranges, &find_replacements(old, "a[redacted]f")),
            ["a[redacted]", "[redacted]", "f"]
        );
        assert_eq!(
            replace_in_pieces(old, &ranges, &find_replacements(old, "ab\n[redacted]\nef")),
            ["ab", "[redacted]", "ef"]
        );
    }
}
