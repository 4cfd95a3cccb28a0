//! Payment card numbers.

use super::bytes::{Bytes, byte_at, is_alnum};
use super::check::{is_card_number, passes_luhn};
use super::groups::Groups;

/// Returns the end of the card number that these groups start with, by its check digit and grouping: whole, in fours,
/// as on a card of another length, or digit by digit.
pub(super) fn find_card(bytes: Bytes<'_>, groups: &Groups) -> Option<usize> {
    const SHAPES: &[&[usize]] = &[
        &[4, 4, 4, 4],
        &[4, 4, 4, 4, 3],
        &[4, 4, 4, 4, 2],
        &[4, 4, 4, 4, 1],
        &[4, 4, 4, 3],
        &[4, 4, 4, 2],
        &[4, 4, 4, 1],
        &[4, 6, 5],
        &[4, 5, 6],
        &[4, 6, 4],
        &[8, 8],
        &[2, 2, 2, 2, 2, 2, 2, 2],
    ];
    let is_whole = |count: usize| {
        let end = groups.end(count);
        let fits = matches!(groups.digits(count).len(), 13..=19)
            && is_card_number(groups.digits(count))
            && groups.has_same_marks(count);
        (fits && !is_alnum(byte_at(bytes, end))).then_some(end)
    };
    if matches!(groups.length(0), 13..=19) {
        return is_whole(1);
    }
    if let Some(end) = SHAPES.iter().filter(|shape| groups.starts_with(shape)).find_map(|shape| is_whole(shape.len())) {
        return Some(end);
    }
    let is_spelled = groups.count() >= 13 && (0..groups.count()).all(|group| groups.length(group) == 1);
    is_spelled.then(|| is_whole(groups.count())).flatten()
}

/// Returns the end of a number that a word announced as a card's: the right count of digits is enough.
pub(super) fn find_announced(groups: &Groups) -> Option<usize> {
    (1..=groups.count())
        .rev()
        .find(|count| matches!(groups.digits(*count).len(), 12..=19))
        .map(|count| groups.end(count))
}

/// Returns the end of a number after the mere word for a card: the check digit must be right, too.
pub(super) fn find_weakly_announced(bytes: Bytes<'_>, groups: &Groups) -> Option<usize> {
    let fits = |count: &usize| {
        let digits = groups.digits(*count);
        matches!(digits.len(), 12..=19) && passes_luhn(digits) && !is_alnum(byte_at(bytes, groups.end(*count)))
    };
    (1..=groups.count()).rev().find(fits).map(|count| groups.end(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<usize> {
        find_card(text.into(), &Groups::read(text.into(), 0))
    }

    #[test]
    fn card_is_found_in_any_grouping() {
        let cards = [
            "4111111111111111",
            "4111 1111 1111 1111",
            "4111-1111-1111-1111",
            "4111.1111.1111.1111",
            "4111\n1111\n1111\n1111",
            "4111\r\n1111\r\n1111\r\n1111",
            "4111  1111  1111  1111",
            "3782 822463 10005",
            "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            "41111111 11111111",
        ];
        for text in cards {
            assert_eq!(found(text), Some(text.len()), "{text}");
        }
        assert_eq!(found("4111 1111 1111 1111 12/27"), Some(19));
    }

    #[test]
    fn card_lookalikes_are_not_found() {
        let others =
            ["4111 1111 1111 1112", "4111111111111111a", "4111 11 1111 111111", "41111111-1111-1111-1111-111111111111"];
        for text in others {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
