//! What stands next to a word that announces it.

use std::ops::Range;

use super::bytes::{at, before, goes_on_with, is_alnum, is_one_of, run, run_back};
use super::cue::Cue;
use super::finder::Finder;
use super::gap::gap;
use super::groups::Groups;
use super::vocabulary::{BIRTH, CARD, DISEASE, DOCUMENT, ORDER, PHONE};
use super::{Builtin, card, date, email, order, person, phone, street};
use lictor_json::Text;

impl Finder<'_> {
    /// A word that announces something stands here.
    pub(super) fn cue(&mut self, cue: Cue, place: Range<usize>, word: &str) {
        let bytes = self.bytes;
        let after = |fillers: u16| gap(bytes, place.end, fillers, 0);
        match cue {
            Cue::Term(category) => {
                self.note(category, place);
                if self.recogniser.own.identifies(category) {
                    self.found.add_subject(Text::from(word));
                }
            }
            Cue::Acronym(category) => {
                if bytes[place.clone()].iter().all(u8::is_ascii_uppercase) {
                    self.note(category, place);
                }
            }
            Cue::Dot => {
                if let Some(mailbox) = email::around_dot(bytes, place.start) {
                    self.mailbox(mailbox);
                }
            }
            Cue::Order | Cue::Booking => {
                if let Some(range) = order::announced(bytes, &after(ORDER), cue == Cue::Booking) {
                    self.note(Builtin::OrderId as u16, range);
                }
            }
            Cue::Birth => {
                let gap = after(BIRTH);
                self.announced(Builtin::Dob, gap.end, date::date(bytes, gap.end));
                if let Some(range) = date_before(bytes, place.start) {
                    self.note(Builtin::Dob as u16, range);
                }
            }
            Cue::Born => {
                // The name of a month is a stranger, too: as few as lead to a date.
                let starts = (0..=4).map(|strangers| gap(bytes, place.end, BIRTH, strangers).end);
                let found = starts.into_iter().find_map(|start| date::date(bytes, start).map(|end| start..end));
                if let Some(range) = found {
                    self.note(Builtin::Dob as u16, range);
                }
            }
            Cue::Phone => {
                let gap = after(PHONE);
                if let Some(phone) = phone::announced(bytes, gap.end) {
                    self.phone(phone);
                }
            }
            Cue::CardCode => {
                let start = after(CARD).end;
                let end = run(bytes, start, 5, |byte| byte.is_ascii_digit());
                let fits = matches!(end - start, 3 | 4) && !is_alnum(at(bytes, end));
                self.announced(Builtin::Payment, start, fits.then_some(end));
            }
            Cue::Card => {
                let start = after(CARD).end;
                self.announced(Builtin::Payment, start, card::announced_card(&Groups::read(bytes, start)));
            }
            Cue::Account => {
                let start = after(CARD).end;
                let end = run(bytes, start, 18, |byte| byte.is_ascii_digit());
                let fits = matches!(end - start, 6..=17) && !is_alnum(at(bytes, end));
                self.announced(Builtin::Payment, start, fits.then_some(end));
            }
            Cue::CardEnd => {
                let start = after(CARD).end;
                let end = run(bytes, start, 5, |byte| byte.is_ascii_digit());
                let fits = end - start == 4 && !is_alnum(at(bytes, end)) && is_of_card(bytes, place.start, end);
                self.announced(Builtin::Payment, start, fits.then_some(end));
            }
            Cue::Iban => {
                let start = after(CARD).end;
                self.announced(Builtin::Iban, start, person::announced_account(bytes, start));
            }
            Cue::Document => {
                let start = after(DOCUMENT).end;
                self.announced(Builtin::GovId, start, person::announced(bytes, start));
            }
            Cue::NineDigits => {
                let start = after(DOCUMENT).end;
                self.announced(Builtin::GovId, start, person::announced_digits(bytes, start, &[9]));
            }
            Cue::ElevenDigits => {
                let start = after(DOCUMENT).end;
                self.announced(Builtin::GovId, start, person::announced_digits(bytes, start, &[11, 12, 13, 15]));
            }
            Cue::Number => {
                const WHOSE: &[&str] = &["id", "identity", "identification", "personal", "citizen", "tax", "national"];
                if is_one_of(word_before(bytes, place.start), WHOSE) {
                    let start = after(0).end;
                    self.announced(Builtin::GovId, start, person::checked(bytes, start));
                }
            }
            Cue::Patient => {
                let start = after(DOCUMENT).end;
                let end = run(bytes, start, 24, |byte| is_alnum(byte) || byte == b'-');
                let digits = bytes[start..end].iter().filter(|byte| byte.is_ascii_digit()).count();
                let fits = digits >= 3 && date::date(bytes, start).is_none();
                self.announced(Builtin::Health, start, fits.then_some(end));
            }
            Cue::Disease => self.disease(place.end),
            Cue::PostalCode => {
                let start = after(0).end;
                self.announced(Builtin::Address, start, postal_code(bytes, start));
            }
            Cue::Box => {
                if let Some(range) = street::post_box(bytes, place) {
                    self.note(Builtin::Address as u16, range);
                }
            }
            Cue::Street => {
                let end = street::behind_cue(bytes, place.end, &bytes[place.clone()]);
                self.announced(Builtin::Address, place.start, end);
            }
            Cue::Address => {
                const OTHERS: &[&str] = &["ip", "mac", "email", "mail", "web", "wallet"];
                let gap = after(PHONE);
                if gap.is_assigned && !is_one_of(word_before(bytes, place.start), OTHERS) {
                    self.announced(Builtin::Address, gap.end, street::labeled(bytes, gap.end));
                }
            }
        }
    }

    /// A code of a disease, behind a word like `diagnosis` or `ICD-10-CM`.
    fn disease(&mut self, end: usize) {
        let bytes = self.bytes;
        let mut start = end;
        for part in ["-10", " 10", "10", "-cm", "-9"] {
            if goes_on_with(bytes, start, part) {
                start += part.len();
            }
        }
        let start = gap(bytes, start, DISEASE, 0).end;
        let is_code = at(bytes, start).is_ascii_uppercase()
            && at(bytes, start) != b'U'
            && at(bytes, start + 1).is_ascii_digit()
            && (at(bytes, start + 2).is_ascii_digit() || matches!(at(bytes, start + 2), b'A' | b'B'));
        let mut end = start + 3;
        if at(bytes, end) == b'.' && is_alnum(at(bytes, end + 1)) {
            end = run(bytes, end + 1, 4, is_alnum);
        }
        self.announced(Builtin::Health, start, (is_code && !is_alnum(at(bytes, end))).then_some(end));
    }
}

/// The word before a place.
fn word_before(bytes: &[u8], place: usize) -> &[u8] {
    let end = run_back(bytes, place, 2, |byte| matches!(byte, b' ' | b'_' | b'-'));
    &bytes[run_back(bytes, end, 16, |byte| byte.is_ascii_alphabetic())..end]
}

/// The date before a word for birth: `1990-04-05 is my date of birth`, `5 April 1990 (DOB)`.
fn date_before(bytes: &[u8], cue: usize) -> Option<Range<usize>> {
    let mut end = cue;
    let mut is_linked = false;
    loop {
        let word_end = run_back(bytes, end, 2, |byte| matches!(byte, b' ' | b'(' | b'\''));
        is_linked |= bytes[word_end..end].contains(&b'(');
        let word = run_back(bytes, word_end, 12, |byte| byte.is_ascii_alphabetic());
        end = word_end;
        if word == word_end || cue - word > 40 {
            break;
        }
        let text = &bytes[word..word_end];
        is_linked |= is_one_of(text, &["is", "as"]);
        if !is_one_of(
            text,
            &["is", "as", "my", "the", "his", "her", "their", "date", "of", "s", "customer", "patient", "user"],
        ) {
            break;
        }
        end = word;
    }
    if !is_linked || !before(bytes, end, 1).is_ascii_digit() {
        return None;
    }
    let starts = end.saturating_sub(20)..end.saturating_sub(5);
    starts
        .into_iter()
        .find(|start| !is_alnum(before(bytes, *start, 1)) && date::date(bytes, *start) == Some(end))
        .map(|start| start..end)
}

/// Whether last digits are of a card: a card is named shortly before or right behind them.
fn is_of_card(bytes: &[u8], start: usize, end: usize) -> bool {
    let mut around = bytes[start.saturating_sub(40)..(end + 12).min(bytes.len())].to_vec();
    around.make_ascii_lowercase();
    ["card", "visa", "amex", "karte", "carte", "tarjeta", "carta"]
        .iter()
        .any(|name| memchr::memmem::find(&around, name.as_bytes()).is_some())
}

/// Where a postal code ends: digits, or the letters and digits of Britain, Canada, the Netherlands.
fn postal_code(bytes: &[u8], start: usize) -> Option<usize> {
    let digits = run(bytes, start, 7, |byte| byte.is_ascii_digit());
    if matches!(digits - start, 4..=6) && !is_alnum(at(bytes, digits)) {
        return Some(digits);
    }
    let first = run(bytes, start, 8, is_alnum);
    let second = run(bytes, first, 1, |byte| byte == b' ');
    let end = if second > first { run(bytes, second, 4, is_alnum) } else { first };
    let code = &bytes[start..end];
    let has_both = code.iter().any(u8::is_ascii_digit) && code.iter().any(u8::is_ascii_uppercase);
    (has_both && matches!(code.len(), 5..=8) && !code.iter().any(u8::is_ascii_lowercase)).then_some(end)
}
