//! Long texts are asked about in parts.

use lictor_event::AnswerValue;

/// Parts overlap by this share of their length, so that a sentence at a border is whole in one of them.
const OVERLAP_DIVISOR: usize = 10;

/// The parts of a text that are asked about.
pub(super) struct TextParts<'a> {
    pub(super) parts: Vec<&'a str>,
    /// Whether they are the whole text.
    pub(super) is_whole: bool,
}

/// Cuts a text into at most so many overlapping parts of at most so many bytes.
pub(super) fn cut_text(text: &str, max_bytes: usize, max_parts: usize) -> TextParts<'_> {
    // A character has up to four bytes, and each part must go on after the one before.
    let max_bytes = max_bytes.max(64);
    let mut parts = Vec::new();
    let mut start = 0;
    loop {
        let end = round_down(text, start + max_bytes);
        if parts.len() == max_parts.max(1) {
            return TextParts { parts, is_whole: false };
        }
        parts.push(&text[start..end]);
        if end == text.len() {
            return TextParts { parts, is_whole: true };
        }
        start = round_down(text, end - max_bytes / OVERLAP_DIVISOR);
    }
}

/// Returns the last place at or before a byte at which a character begins, or the end.
fn round_down(text: &str, byte: usize) -> usize {
    (0..=byte.min(text.len())).rev().find(|byte| text.is_char_boundary(*byte)).unwrap_or(0)
}

/// Joins the answers about the parts of a text: a statement is true of a text if it is true of a part.
///
/// The score is the highest one. Without a yes, a part that failed or is unclear leaves the whole so.
pub(super) fn join_parts(
    one: (AnswerValue, Option<f64>),
    other: (AnswerValue, Option<f64>),
) -> (AnswerValue, Option<f64>) {
    let rank = |value: AnswerValue| match value {
        AnswerValue::Yes => 3,
        AnswerValue::Failed => 2,
        AnswerValue::Unclear => 1,
        AnswerValue::No => 0,
    };
    let says = if rank(one.0) >= rank(other.0) { one.0 } else { other.0 };
    let scores = [one, other].into_iter().filter(|(value, _)| *value == says).filter_map(|(_, score)| score);
    let score = scores.fold(None, |most: Option<f64>, score| Some(most.map_or(score, |most| most.max(score))));
    (says, score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_parts_cover_the_text_and_overlap() {
        for text in ["", "short", &"ä".repeat(500), &"word ".repeat(300)] {
            let cut = cut_text(text, 100, 1000);
            assert!(cut.is_whole);
            let mut covered = 0;
            for part in &cut.parts {
                let start = part.as_ptr() as usize - text.as_ptr() as usize;
                assert!(start <= covered && part.len() <= 100, "a gap before byte {start}");
                assert!(start == 0 || start + 5 < covered, "no overlap at byte {start}");
                covered = start + part.len();
            }
            assert_eq!(covered, text.len());
        }
    }

    #[test]
    fn text_beyond_last_part_is_not_whole() {
        let text = "x".repeat(1000);
        let cut = cut_text(&text, 100, 3);
        assert_eq!((cut.parts.len(), cut.is_whole), (3, false));
    }

    #[test]
    fn joined_parts_are_no_only_together() {
        use AnswerValue::{Failed, No, Unclear, Yes};
        for (one, other, joined) in [
            ((Yes, Some(0.6)), (No, Some(0.1)), (Yes, Some(0.6))),
            ((Yes, Some(0.6)), (Yes, Some(0.9)), (Yes, Some(0.9))),
            ((No, Some(0.2)), (No, Some(0.3)), (No, Some(0.3))),
            ((No, Some(0.2)), (Unclear, None), (Unclear, None)),
            ((No, None), (Failed, None), (Failed, None)),
            ((Unclear, None), (Failed, None), (Failed, None)),
            ((Failed, None), (Yes, None), (Yes, None)),
        ] {
            assert_eq!(join_parts(one, other), joined);
            assert_eq!(join_parts(other, one), joined);
        }
    }
}
