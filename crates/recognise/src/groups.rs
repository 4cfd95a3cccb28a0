//! Digits in groups, as numbers of cards, telephones and persons are written.

use super::bytes::{Bytes, byte_at};

/// Groups of digits with marks in between.
pub(super) struct Groups {
    digits: [u8; MAX_DIGITS],
    /// How many digits there are up to the end of each group.
    totals: [u8; MAX_GROUPS],
    /// Where each group ends in the text.
    ends: [usize; MAX_GROUPS],
    /// The mark after each group but the last.
    marks: [u8; MAX_GROUPS],
    count: usize,
}

const MAX_DIGITS: usize = 24;
const MAX_GROUPS: usize = 20;

impl Groups {
    /// Reads the groups that start here. Groups that would make too many digits are left out.
    pub(super) fn read(bytes: Bytes<'_>, start: usize) -> Groups {
        let mut groups = Groups {
            digits: [0; MAX_DIGITS],
            totals: [0; MAX_GROUPS],
            ends: [0; MAX_GROUPS],
            marks: [0; MAX_GROUPS],
            count: 0,
        };
        let mut place = start;
        let mut total = 0;
        while groups.count < MAX_GROUPS {
            let before = total;
            while byte_at(bytes, place).is_ascii_digit() {
                if total == MAX_DIGITS {
                    return groups;
                }
                groups.digits[total] = bytes[place];
                total += 1;
                place += 1;
            }
            if total == before {
                return groups;
            }
            groups.totals[groups.count] = total as u8;
            groups.ends[groups.count] = place;
            let mark = byte_at(bytes, place);
            if !is_mark(mark) {
                groups.count += 1;
                return groups;
            }
            groups.marks[groups.count] = if mark == b'\r' { b'\n' } else { mark };
            groups.count += 1;
            place += 1 + usize::from(is_mark(byte_at(bytes, place + 1)));
        }
        groups
    }

    /// Returns the number of groups.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the digits of the first groups.
    pub(super) fn digits(&self, groups: usize) -> &[u8] {
        let total = groups.checked_sub(1).and_then(|last| self.totals.get(last)).copied().unwrap_or(0);
        &self.digits[..usize::from(total)]
    }

    /// Returns where the first groups end in the text.
    pub(super) fn end(&self, groups: usize) -> usize {
        groups.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0)
    }

    /// Returns the mark after a group.
    pub(super) fn mark(&self, group: usize) -> u8 {
        self.marks.get(group).copied().unwrap_or(0)
    }

    /// Returns how many digits a group has.
    pub(super) fn length(&self, group: usize) -> usize {
        match group.checked_sub(1) {
            _ if group >= self.count => 0,
            None => usize::from(self.totals[0]),
            Some(last) => usize::from(self.totals[group] - self.totals[last]),
        }
    }

    /// Whether the first groups have these lengths.
    pub(super) fn starts_with(&self, lengths: &[usize]) -> bool {
        lengths.len() <= self.count && lengths.iter().enumerate().all(|(group, length)| self.length(group) == *length)
    }

    /// Whether the same mark separates the first groups.
    pub(super) fn has_same_marks(&self, groups: usize) -> bool {
        self.marks[..groups.saturating_sub(1).min(MAX_GROUPS)].windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// Whether a byte may separate the groups of one number.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b' ' | b'-' | b'.' | b'\n' | b'\r' | b'\t' | b'/' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digit_groups_are_read_with_marks() {
        let groups = Groups::read("x4111 1111-11 9x".into(), 1);
        assert!(groups.starts_with(&[4, 4, 2, 1]) && groups.count() == 4);
        assert_eq!((groups.digits(2), groups.end(2)), (&b"41111111"[..], 10));
        assert_eq!((groups.mark(0), groups.mark(1)), (b' ', b'-'));
        assert!(groups.has_same_marks(2) && !groups.has_same_marks(3));
        assert_eq!(Groups::read("1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2".into(), 0).count(), 20);
        assert_eq!(Groups::read("1234567890123456789012345".into(), 0).count(), 0);
    }
}
