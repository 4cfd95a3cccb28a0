//! Finds the data that a cue word announces.

use std::ops::Range;

use super::bytes::{Bytes, byte_at, byte_before, is_alnum, is_one_of, run_end, run_start, starts_with_at};
use super::cue::Cue;
use super::finder::{Finder, Hit};
use super::gap::skip_gap;
use super::groups::Groups;
use super::vocabulary::{BIRTH, CARD, DISEASE, DOCUMENT, ORDER, PHONE};
use super::{BUILTIN_CATEGORIES, Builtin, Confidence, card, date, email, government_id, order, phone, street};
use lictor_json::Text;

impl Finder<'_> {
    /// Adds what the cue at this place announces.
    pub(super) fn match_cue(&mut self, cue: Cue, place: Range<usize>, word: &str) {
        let bytes = self.bytes;
        let after = |fillers: u16| skip_gap(bytes, place.end, fillers, 0);
        match cue {
            Cue::Term(category) => {
                if category == Builtin::Health as u16 && is_figurative(bytes, place.end) {
                    return;
                }
                // A word of the policy is what the policy says; of our own, some have other meanings.
                let is_own = usize::from(category) >= BUILTIN_CATEGORIES.len();
                let confidence = if is_own { Confidence::High } else { Confidence::Medium };
                let subject = self.recogniser.custom.identifies(category).then(|| Text::from(word));
                self.add_hit(Hit { range: place, category, confidence, subject });
            }
            Cue::Acronym(category) => {
                if bytes[place.clone()].iter().all(u8::is_ascii_uppercase) {
                    self.add(category, place, Confidence::Low);
                }
            }
            Cue::Dot => {
                if let Some(mailbox) = email::find_around_dot(bytes, place.start) {
                    self.add_mailbox(mailbox);
                }
            }
            Cue::Order | Cue::Booking => {
                if let Some(range) = order::find_announced(bytes, &after(ORDER), cue == Cue::Booking) {
                    self.add(Builtin::OrderId as u16, range, Confidence::Medium);
                }
            }
            Cue::Birth => {
                let gap = after(BIRTH);
                self.add_if_ended(Builtin::Dob, gap.end, date::find_date(bytes, gap.end), Confidence::Medium);
                if let Some(range) = find_date_before(bytes, place.start) {
                    self.add(Builtin::Dob as u16, range, Confidence::Medium);
                }
            }
            Cue::Born => {
                if let Some(range) = find_born_before(bytes, place.start) {
                    self.add(Builtin::Dob as u16, range, Confidence::Medium);
                }
                // The name of a month counts as unknown, too: as few words as lead to a date.
                let starts = (0..=4).map(|strangers| skip_gap(bytes, place.end, BIRTH, strangers).end);
                let found = starts.into_iter().find_map(|start| date::find_date(bytes, start).map(|end| start..end));
                if let Some(range) = found {
                    self.add(Builtin::Dob as u16, range, Confidence::Medium);
                }
            }
            Cue::Phone => {
                let gap = after(PHONE);
                if let Some(phone) = phone::find_announced(bytes, gap.end) {
                    self.add_phone(phone);
                }
            }
            Cue::Call => {
                let gap = after(PHONE);
                // An id of a call is none: `call_id: 0123456789`.
                if let Some(phone) = phone::find_weakly_announced(bytes, gap.end).filter(|_| !gap.is_marked) {
                    self.add_phone(phone);
                }
            }
            Cue::CardCode => {
                let start = after(CARD).end;
                let end = run_end(bytes, start, 5, |byte| byte.is_ascii_digit());
                let fits = matches!(end - start, 3 | 4) && !is_alnum(byte_at(bytes, end));
                self.add_if_ended(Builtin::Payment, start, fits.then_some(end), Confidence::Medium);
            }
            Cue::Card => {
                let start = after(CARD).end;
                self.add_if_ended(
                    Builtin::Payment,
                    start,
                    card::find_announced(&Groups::read(bytes, start)),
                    Confidence::Medium,
                );
            }
            Cue::CardWord => {
                let start = after(CARD).end;
                let end = card::find_weakly_announced(bytes, &Groups::read(bytes, start));
                self.add_if_ended(Builtin::Payment, start, end, Confidence::Medium);
            }
            Cue::Account => {
                let start = after(CARD).end;
                let end = run_end(bytes, start, 18, |byte| byte.is_ascii_digit());
                let fits = matches!(end - start, 6..=17) && !is_alnum(byte_at(bytes, end));
                self.add_if_ended(Builtin::Payment, start, fits.then_some(end), Confidence::Medium);
            }
            Cue::CardEnd => {
                let start = after(CARD).end;
                let end = run_end(bytes, start, 5, |byte| byte.is_ascii_digit());
                let fits =
                    end - start == 4 && !is_alnum(byte_at(bytes, end)) && names_card_nearby(bytes, place.start, end);
                self.add_if_ended(Builtin::Payment, start, fits.then_some(end), Confidence::Medium);
            }
            Cue::Iban => {
                let start = after(CARD).end;
                self.add_if_ended(
                    Builtin::Iban,
                    start,
                    government_id::find_announced_account(bytes, start),
                    Confidence::Medium,
                );
            }
            Cue::Document => {
                let start = after(DOCUMENT).end;
                self.add_if_ended(
                    Builtin::GovId,
                    start,
                    government_id::find_announced(bytes, start),
                    Confidence::Medium,
                );
            }
            Cue::NineDigits => {
                let start = after(DOCUMENT).end;
                if let Some(end) = government_id::find_announced_digits(bytes, start, &[9]) {
                    // Its groups may look like those of a phone number.
                    self.add_covering(Builtin::GovId, start..end, Confidence::Medium);
                }
            }
            Cue::ElevenDigits => {
                let start = after(DOCUMENT).end;
                self.add_if_ended(
                    Builtin::GovId,
                    start,
                    government_id::find_announced_digits(bytes, start, &[11, 12, 13, 15]),
                    Confidence::Medium,
                );
            }
            Cue::Number => {
                const WHOSE: &[&str] = &["id", "identity", "identification", "personal", "citizen", "tax", "national"];
                const MINE: &[&str] = &[
                    "my", "our", "his", "her", "your", "new", "meine", "neue", "unsere", "mon", "nouveau", "votre",
                    "mi", "nuevo", "su", "mio", "nuovo", "mijn", "nieuwe", "meu", "novo",
                ];
                let word = word_before(bytes, place.start);
                if is_one_of(word, MINE)
                    && let Some(phone) = phone::find_weakly_announced(bytes, after(PHONE).end)
                {
                    self.add_phone(phone);
                }
                if is_one_of(word, WHOSE) {
                    let start = after(0).end;
                    self.add_if_ended(
                        Builtin::GovId,
                        start,
                        government_id::find_checked(bytes, start),
                        Confidence::High,
                    );
                }
            }
            Cue::Patient => {
                let start = after(DOCUMENT).end;
                let end = run_end(bytes, start, 24, |byte| is_alnum(byte) || byte == b'-');
                let digits = bytes[start..end].iter().filter(|byte| byte.is_ascii_digit()).count();
                let fits = digits >= 3 && date::find_date(bytes, start).is_none();
                self.add_if_ended(Builtin::Health, start, fits.then_some(end), Confidence::Medium);
            }
            Cue::Disease => self.match_disease(place.end),
            Cue::PostalCode => {
                let start = after(0).end;
                self.add_if_ended(Builtin::Address, start, find_postal_code(bytes, start), Confidence::Medium);
            }
            Cue::Box => {
                if let Some(range) = street::find_post_box(bytes, place) {
                    self.add(Builtin::Address as u16, range, Confidence::Medium);
                }
            }
            Cue::Street => {
                let end = street::find_after_cue(bytes, place.end, &bytes[place.clone()]);
                self.add_if_ended(Builtin::Address, place.start, end, Confidence::Medium);
            }
            Cue::Address => {
                const OTHERS: &[&str] = &["ip", "mac", "email", "mail", "web", "wallet"];
                let gap = after(PHONE);
                if gap.is_assigned && !is_one_of(word_before(bytes, place.start), OTHERS) {
                    self.add_if_ended(
                        Builtin::Address,
                        gap.end,
                        street::find_labeled(bytes, gap.end),
                        Confidence::Medium,
                    );
                }
            }
        }
    }

    /// Adds a disease code after a word like `diagnosis` or `ICD-10-CM`.
    fn match_disease(&mut self, end: usize) {
        let bytes = self.bytes;
        let mut start = end;
        for part in ["-10", " 10", "10", "-cm", "-9"] {
            if starts_with_at(bytes, start, part) {
                start += part.len();
            }
        }
        let start = skip_gap(bytes, start, DISEASE, 0).end;
        let is_code = byte_at(bytes, start).is_ascii_uppercase()
            && byte_at(bytes, start) != b'U'
            && byte_at(bytes, start + 1).is_ascii_digit()
            && (byte_at(bytes, start + 2).is_ascii_digit() || matches!(byte_at(bytes, start + 2), b'A' | b'B'));
        let mut end = start + 3;
        if byte_at(bytes, end) == b'.' && is_alnum(byte_at(bytes, end + 1)) {
            end = run_end(bytes, end + 1, 4, is_alnum);
        }
        self.add_if_ended(
            Builtin::Health,
            start,
            (is_code && !is_alnum(byte_at(bytes, end))).then_some(end),
            Confidence::Medium,
        );
    }
}

/// Whether a word for a condition is a figure of speech: `migraine-inducing`, `schizophrenic API`.
fn is_figurative(bytes: Bytes<'_>, end: usize) -> bool {
    const THINGS: &[&str] = &["api", "apis", "code", "codebase", "software", "design", "config", "zodiac"];
    if ["-inducing", "-like"].iter().any(|part| starts_with_at(bytes, end, part)) {
        return true;
    }
    let next = run_end(bytes, end, 1, |byte| byte == b' ');
    let following = run_end(bytes, next, 12, |byte| byte.is_ascii_alphabetic());
    next > end && is_one_of(&bytes[next..following], THINGS)
}

/// Returns the word before a position.
fn word_before<'t>(bytes: Bytes<'t>, place: usize) -> &'t [u8] {
    let end = run_start(bytes, place, 2, |byte| matches!(byte, b' ' | b'_' | b'-'));
    &bytes.all()[run_start(bytes, end, 16, |byte| byte.is_ascii_alphabetic())..end]
}

/// Returns the date before a word for birth: `1990-04-05 is my date of birth`, `5 April 1990 (DOB)`.
fn find_date_before(bytes: Bytes<'_>, cue: usize) -> Option<Range<usize>> {
    find_loose_date_before(bytes, cue).filter(|(_, is_linked)| *is_linked).map(|(date, _)| date)
}

/// Returns the date right before a word for birth, as German has it: `am 5. April 1990 geboren`.
fn find_born_before(bytes: Bytes<'_>, cue: usize) -> Option<Range<usize>> {
    let is_next = |date: &Range<usize>| run_start(bytes, cue, 2, |byte| byte == b' ') == date.end;
    find_loose_date_before(bytes, cue).map(|(date, _)| date).filter(is_next)
}

/// Returns the date before a place with nothing but small words in between, and whether they link the two.
pub(super) fn find_loose_date_before(bytes: Bytes<'_>, cue: usize) -> Option<(Range<usize>, bool)> {
    let mut end = cue;
    let mut is_linked = false;
    loop {
        let word_end = run_start(bytes, end, 2, |byte| matches!(byte, b' ' | b'(' | b'\''));
        is_linked |= bytes[word_end..end].contains(&b'(');
        let word = run_start(bytes, word_end, 12, |byte| byte.is_ascii_alphabetic());
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
    if !byte_before(bytes, end, 1).is_ascii_digit() {
        return None;
    }
    let starts = end.saturating_sub(20)..end.saturating_sub(5);
    starts
        .into_iter()
        .find(|start| !is_alnum(byte_before(bytes, *start, 1)) && date::find_date(bytes, *start) == Some(end))
        .map(|start| (start..end, is_linked))
}

/// Whether a card is named shortly before or right after these digits.
fn names_card_nearby(bytes: Bytes<'_>, start: usize, end: usize) -> bool {
    let until = run_end(bytes, end, 12, |_| true);
    let mut around = bytes[start.saturating_sub(40)..until].to_vec();
    around.make_ascii_lowercase();
    ["card", "visa", "amex", "karte", "carte", "tarjeta", "carta"]
        .iter()
        .any(|name| memchr::memmem::find(&around, name.as_bytes()).is_some())
}

/// Returns the end of a postal code: digits, or the letters and digits of Britain, Canada, the Netherlands.
fn find_postal_code(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    let digits = run_end(bytes, start, 7, |byte| byte.is_ascii_digit());
    if matches!(digits - start, 4..=6) && !is_alnum(byte_at(bytes, digits)) {
        return Some(digits);
    }
    let first = run_end(bytes, start, 8, is_alnum);
    let second = run_end(bytes, first, 1, |byte| byte == b' ');
    let end = if second > first { run_end(bytes, second, 4, is_alnum) } else { first };
    let code = &bytes[start..end];
    let has_both = code.iter().any(u8::is_ascii_digit) && code.iter().any(u8::is_ascii_uppercase);
    (has_both && matches!(code.len(), 5..=8) && !code.iter().any(u8::is_ascii_lowercase)).then_some(end)
}
