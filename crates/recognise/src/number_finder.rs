//! Finds the data that a number is, by its shape and its neighbors.

use super::bytes::{Bytes, byte_at, byte_before, ends_with_at, is_alnum, is_one_of, run_end, run_start};
use super::finder::Finder;
use super::government_id::LetteredNumber;
use super::groups::Groups;
use super::{Builtin, Confidence, card, date, government_id, network, order, phone, street};

impl Finder<'_> {
    /// Adds what the number that starts here is.
    #[inline(never)]
    pub(super) fn match_number(&mut self, start: usize) {
        if start < self.covered {
            return;
        }
        let bytes = self.bytes;
        let previous = byte_before(bytes, start, 1);
        let end = run_end(bytes, start, 25, |byte| byte.is_ascii_digit());
        let length = end - start;
        let next = byte_at(bytes, end);
        if previous.is_ascii_alphabetic() || previous == b'-' && byte_before(bytes, start, 2).is_ascii_alphabetic() {
            // Numbers with three to five letters before them are of flights, products, files.
            if !byte_before(bytes, start, 3).is_ascii_alphabetic()
                || byte_before(bytes, start, 6).is_ascii_alphabetic()
                || has_hash(bytes, start)
            {
                self.match_lettered(start);
            }
            if length < 13 || !is_card_word(bytes, start) {
                return;
            }
        } else if matches!(previous, b'-' | b'.' | b'/' | b'_' | b',') && byte_before(bytes, start, 2).is_ascii_digit()
        {
            // Inside of a number that was visited at its beginning. Groups of telephones may follow a one.
            if length != 3 || !matches!(byte_before(bytes, start, 2), b'1') || is_alnum(byte_before(bytes, start, 3)) {
                return;
            }
        } else if previous == b'+' {
            // After a letter or a digit a plus is one of a mailbox or of a sum.
            if !is_alnum(byte_before(bytes, start, 2))
                && let Some(phone) = phone::find_international(bytes, start)
            {
                self.add_covering_phone(phone);
            }
            return;
        }
        if length >= 13 || is_grouped(bytes, start, end) {
            self.match_groups(start);
        }
        if previous == b'('
            && matches!(length, 2..=5)
            && let Some(phone) = phone::find_in_brackets(bytes, start)
        {
            self.add_covering_phone(phone);
        }
        if length == 8 {
            self.add_if_ended(Builtin::GovId, start, government_id::find_spanish(bytes, start, end), Confidence::High);
        }
        if length <= 4 && (next == b'.' || next == b':' || next.is_ascii_hexdigit()) {
            self.add_if_ended(
                Builtin::IpAddress,
                start,
                network::find_public_address(bytes, start),
                if next == b'.' { Confidence::Medium } else { Confidence::High },
            );
        }
        if length <= 5 && (matches!(next, b' ' | b',' | b'-') || previous == b' ' || next.is_ascii_alphabetic()) {
            self.match_street(start, end);
        }
        if matches!(length, 1 | 2 | 4 | 8) && follows_short_cue(bytes, start) {
            self.add_if_ended(Builtin::Dob, start, date::find_date(bytes, start), Confidence::Medium);
        }
    }

    fn add_covering_phone(&mut self, phone: phone::Phone) {
        self.covered = self.covered.max(phone.range.end);
        self.add_phone(phone);
    }

    #[inline(never)]
    fn match_street(&mut self, start: usize, end: usize) {
        if let Some(range) = street::find_around_number(self.bytes, start, end) {
            self.add(Builtin::Address as u16, range, Confidence::Low);
        }
    }

    #[inline(never)]
    fn match_lettered(&mut self, digit: usize) {
        match government_id::find_lettered(self.bytes, digit) {
            Some((LetteredNumber::Account, range)) => self.add_covering(Builtin::Iban, range, Confidence::High),
            Some((LetteredNumber::CheckedPerson, range)) => self.add_covering(Builtin::GovId, range, Confidence::High),
            Some((LetteredNumber::Person, range)) => self.add_covering(Builtin::GovId, range, Confidence::Medium),
            None => {}
        }
        if let Some(range) = order::find_signed(self.bytes, digit) {
            self.add(Builtin::OrderId as u16, range, Confidence::Low);
        }
    }

    #[inline(never)]
    fn match_groups(&mut self, start: usize) {
        let groups = Groups::read(self.bytes, start);
        if let Some(end) = card::find_card(self.bytes, &groups) {
            return self.add_covering(Builtin::Payment, start..end, Confidence::High);
        }
        if let Some((end, confidence)) = government_id::find_by_shape(self.bytes, &groups) {
            return self.add_covering(Builtin::GovId, start..end, confidence);
        }
        if let Some(phone) = phone::find_by_shape(self.bytes, start, &groups) {
            self.add_covering_phone(phone);
        }
    }
}

/// Whether a word for birth that is too short for the lexicon comes right before: `D.O.B.`, `né le`.
fn follows_short_cue(bytes: Bytes<'_>, start: usize) -> bool {
    let end = run_start(bytes, start, 4, |byte| matches!(byte, b' ' | b':' | b'.' | b'=' | b'-' | b'"'));
    let cue = match byte_before(bytes, end, 1) | 0x20 {
        b'b' => "d.o.b",
        b'e' => "ne le",
        _ => return false,
    };
    ends_with_at(bytes, end, cue) && !is_alnum(byte_before(bytes, end, cue.len() + 1))
}

/// Whether a `#` comes shortly before a digit.
fn has_hash(bytes: Bytes<'_>, digit: usize) -> bool {
    bytes[digit.saturating_sub(6)..digit].contains(&b'#')
}

/// Whether digits follow that continue the number: `4111 1111`, `123-45`, `06 12`.
fn is_grouped(bytes: Bytes<'_>, start: usize, end: usize) -> bool {
    let length = end - start;
    if !matches!(byte_at(bytes, end), b' ' | b'-' | b'.' | b'\n' | b'\r' | b'\t' | b'/' | b'_') {
        return false;
    }
    let next = end + 1 + usize::from(!is_alnum(byte_at(bytes, end + 1)));
    let following = run_end(bytes, next, 7, |byte| byte.is_ascii_digit()) - next;
    // A zero in front is dialed: `030 1234567`, `0170 1234567`.
    if byte_at(bytes, start) == b'0' && matches!(length, 2..=5) && following >= 2 {
        return true;
    }
    match length {
        1 => matches!(following, 1 | 2),
        2 => following == 2,
        3 => matches!(following, 2 | 3),
        4 => matches!(following, 4..=6),
        5 => following == 6,
        8 => following == 7 && byte_at(bytes, next + 7).is_ascii_digit(),
        _ => false,
    }
}

/// Whether a number that sticks to a word sticks to one for a card: `VISA4111…`.
fn is_card_word(bytes: Bytes<'_>, digit: usize) -> bool {
    let end = run_start(bytes, digit, 1, |byte| byte == b'-');
    let word = run_start(bytes, end, 12, |byte| byte.is_ascii_alphabetic());
    is_one_of(&bytes[word..end], &["card", "visa", "mastercard", "amex", "cc", "no", "nr", "number", "pan", "n", "kk"])
}
