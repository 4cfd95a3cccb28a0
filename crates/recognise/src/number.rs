//! What a number is, by itself and by what it is next to.

use super::bytes::{at, before, ends_with, is_alnum, is_one_of, run, run_back};
use super::finder::Finder;
use super::groups::Groups;
use super::person::Paper;
use super::{Builtin, card, date, network, order, person, phone, street};

impl Finder<'_> {
    /// A number starts here.
    #[inline(never)]
    pub(super) fn number(&mut self, start: usize) {
        if start < self.covered {
            return;
        }
        let bytes = self.bytes;
        let previous = before(bytes, start, 1);
        let end = run(bytes, start, 25, |byte| byte.is_ascii_digit());
        let length = end - start;
        let next = at(bytes, end);
        if previous.is_ascii_alphabetic() || previous == b'-' && before(bytes, start, 2).is_ascii_alphabetic() {
            // Numbers with three to five letters before them are of flights, products, files.
            if !before(bytes, start, 3).is_ascii_alphabetic()
                || before(bytes, start, 6).is_ascii_alphabetic()
                || has_hash(bytes, start)
            {
                self.lettered(start);
            }
            if length < 13 || !is_card_word(bytes, start) {
                return;
            }
        } else if matches!(previous, b'-' | b'.' | b'/' | b'_' | b',') && before(bytes, start, 2).is_ascii_digit() {
            // Inside of a number that was visited at its beginning. Groups of telephones may follow a one.
            if length != 3 || !matches!(before(bytes, start, 2), b'1') || is_alnum(before(bytes, start, 3)) {
                return;
            }
        } else if previous == b'+' {
            // Behind a letter or a digit a plus is one of a mailbox or of a sum.
            if !is_alnum(before(bytes, start, 2))
                && let Some(phone) = phone::international(bytes, start)
            {
                self.telephone(phone);
            }
            return;
        }
        if length >= 13 || is_grouped(bytes, end, length) {
            self.groups(start);
        }
        if previous == b'('
            && length == 3
            && let Some(phone) = phone::in_brackets(bytes, start)
        {
            self.telephone(phone);
        }
        if length == 8 {
            self.announced(Builtin::GovId, start, person::spanish(bytes, start, end));
        }
        if length <= 4 && (next == b'.' || next == b':' || next.is_ascii_hexdigit()) {
            self.announced(Builtin::IpAddress, start, network::public_address(bytes, start));
        }
        if length <= 5 && (matches!(next, b' ' | b',' | b'-') || previous == b' ' || next.is_ascii_alphabetic()) {
            self.street(start, end);
        }
        if matches!(length, 1 | 2 | 4 | 8) && is_behind_short_cue(bytes, start) {
            self.announced(Builtin::Dob, start, date::date(bytes, start));
        }
    }

    fn telephone(&mut self, phone: phone::Phone) {
        self.covered = self.covered.max(phone.range.end);
        self.phone(phone);
    }

    #[inline(never)]
    fn street(&mut self, start: usize, end: usize) {
        if let Some(range) = street::around_number(self.bytes, start, end) {
            self.note(Builtin::Address as u16, range);
        }
    }

    #[inline(never)]
    fn lettered(&mut self, digit: usize) {
        match person::lettered(self.bytes, digit) {
            Some((Paper::Account, range)) => self.cover(Builtin::Iban, range),
            Some((Paper::Person, range)) => self.cover(Builtin::GovId, range),
            None => {}
        }
        if let Some(range) = order::signed(self.bytes, digit) {
            self.note(Builtin::OrderId as u16, range);
        }
    }

    #[inline(never)]
    fn groups(&mut self, start: usize) {
        let groups = Groups::read(self.bytes, start);
        if let Some(end) = card::card(self.bytes, &groups) {
            return self.cover(Builtin::Payment, start..end);
        }
        if let Some(end) = person::shaped(self.bytes, &groups) {
            return self.cover(Builtin::GovId, start..end);
        }
        if let Some(phone) = phone::shaped(self.bytes, start, &groups) {
            self.telephone(phone);
        }
    }
}

/// Words for birth that are too short for the lexicon, right before a date: `D.O.B.`, `né le`.
fn is_behind_short_cue(bytes: &[u8], start: usize) -> bool {
    let end = run_back(bytes, start, 4, |byte| matches!(byte, b' ' | b':' | b'.' | b'=' | b'-' | b'"'));
    let cue = match before(bytes, end, 1) | 0x20 {
        b'b' => "d.o.b",
        b'e' => "ne le",
        _ => return false,
    };
    ends_with(bytes, end, cue) && !is_alnum(before(bytes, end, cue.len() + 1))
}

/// Whether a sign for an id stands shortly before a digit.
fn has_hash(bytes: &[u8], digit: usize) -> bool {
    bytes[digit.saturating_sub(6)..digit].contains(&b'#')
}

/// Whether digits follow that make a number of a kind with the first ones: `4111 1111`, `123-45`, `06 12`.
fn is_grouped(bytes: &[u8], end: usize, length: usize) -> bool {
    if !matches!(at(bytes, end), b' ' | b'-' | b'.' | b'\n' | b'\r' | b'\t' | b'/' | b'_') {
        return false;
    }
    let next = end + 1 + usize::from(!is_alnum(at(bytes, end + 1)));
    let following = run(bytes, next, 7, |byte| byte.is_ascii_digit()) - next;
    match length {
        1 => matches!(following, 1 | 2),
        2 => following == 2,
        3 => matches!(following, 2 | 3),
        4 => matches!(following, 4..=6),
        5 => following == 6,
        8 => following == 7 && at(bytes, next + 7).is_ascii_digit(),
        _ => false,
    }
}

/// Whether a number that sticks to a word sticks to one for a card: `VISA4111…`.
fn is_card_word(bytes: &[u8], digit: usize) -> bool {
    let end = run_back(bytes, digit, 1, |byte| byte == b'-');
    let word = run_back(bytes, end, 12, |byte| byte.is_ascii_alphabetic());
    is_one_of(&bytes[word..end], &["card", "visa", "mastercard", "amex", "cc", "no", "nr", "number", "pan", "n", "kk"])
}
