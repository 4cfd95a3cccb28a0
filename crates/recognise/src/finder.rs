//! Goes through one text, folded if need be, and notes what it carries.

use std::ops::Range;

use super::bytes::before;
use super::lexicon::Filter;
use super::phone::Phone;
use super::scan::{Glance, Masks, STEP, Window};
use super::{Builtin, Recognised, Recogniser, email, encoded};
use lictor_json::Text;

/// One text, and what was found in it.
pub(super) struct Finder<'a> {
    pub(super) recogniser: &'a Recogniser,
    text: &'a str,
    /// The bytes of the text.
    pub(super) bytes: &'a [u8],
    pub(super) found: &'a mut Recognised,
    /// Where things stand, with the number of their category, if somebody wants to know.
    places: Option<&'a mut Vec<(Range<usize>, u16)>>,
    /// Up to where digits belong to something that was found.
    pub(super) covered: usize,
    /// Up to where long words were decoded; none is, if the text is itself the inside of one.
    decoded: Option<usize>,
    /// The categories that were noted, one bit each; those beyond are looked up again.
    noted: u64,
}

impl<'a> Finder<'a> {
    /// A finder for one text.
    pub(super) fn new(
        recogniser: &'a Recogniser,
        text: &'a str,
        found: &'a mut Recognised,
        places: Option<&'a mut Vec<(Range<usize>, u16)>>,
    ) -> Finder<'a> {
        Finder { recogniser, text, bytes: text.as_bytes(), found, places, covered: 0, decoded: None, noted: 0 }
    }

    /// Looks for everything; for words of other scripts and inside long words only if asked to.
    pub(super) fn find(&mut self, glance: Glance, has_scripts: bool, decode: bool) {
        self.decoded = decode.then_some(0);
        if glance.has_sign {
            self.signs();
        }
        self.words_and_numbers(glance.has_digit);
        if has_scripts && let Some(words) = &self.recogniser.wide {
            for (range, cue, word) in words.find(self.text) {
                self.cue(cue, range, word);
            }
        }
        if !self.recogniser.own.is_quiet() {
            self.own();
        }
    }

    /// Looks around every `@` and every `[at]`.
    #[inline(never)]
    fn signs(&mut self) {
        for sign in memchr::memchr_iter(b'@', self.bytes) {
            if let Some(mailbox) = email::around_at(self.bytes, sign) {
                self.mailbox(mailbox);
            }
        }
        for word in email::bracketed(self.bytes) {
            if let Some(mailbox) = email::around_word(self.bytes, word, false) {
                self.mailbox(mailbox);
            }
        }
    }

    /// What a policy's own patterns match, and its words that are not in the lexicon.
    pub(super) fn own(&mut self) {
        let own = &self.recogniser.own;
        for value in own.values(self.text, self.places.is_some()) {
            self.note(value.category, value.range);
            if own.identifies(value.category) {
                self.found.add_subject(Text::from(value.value));
            }
        }
        if let Some(words) = &own.loose {
            for (range, cue, word) in words.find(self.text) {
                self.cue(cue, range, word);
            }
        }
    }

    /// Visits every word of the lexicon, every number and every long row of letters and digits.
    fn words_and_numbers(&mut self, has_digit: bool) {
        let recogniser = self.recogniser;
        let filter = recogniser.lexicon.filter(has_digit);
        let bytes = self.bytes;
        let mut goes_on = (false, false);
        let mut from = 0;
        while let window @ Window::Full(_) = Window::of(bytes, from) {
            let masks = window.masks(has_digit);
            self.window(&window, masks, filter, from, goes_on);
            goes_on = masks.goes_on();
            from += STEP;
        }
        let window = Window::Last(bytes, from);
        self.window(&window, window.masks(has_digit), filter, from, goes_on);
    }

    /// Visits the words and the numbers of one window.
    #[inline(always)]
    fn window(&mut self, window: &Window<'_>, masks: Masks, filter: &Filter, from: usize, goes_on: (bool, bool)) {
        let mut words = window.words(masks, goes_on.0);
        while words != 0 {
            let place = words.trailing_zeros() as usize;
            words &= words - 1;
            let key = window.key(masks, place);
            if filter.may_have(key) {
                self.word(key, from + place);
            }
        }
        let mut numbers = window.numbers(masks, goes_on.1);
        while numbers != 0 {
            let place = numbers.trailing_zeros() as usize;
            numbers &= numbers - 1;
            self.number(from + place);
        }
        let long_rows = masks.long_rows();
        if long_rows != 0 {
            self.encoded(from + long_rows.trailing_zeros() as usize, from + (63 - long_rows.leading_zeros()) as usize);
        }
    }

    #[inline(never)]
    fn word(&mut self, key: u64, start: usize) {
        let recogniser = self.recogniser;
        // Letters behind a digit are a part of an id: `xF9mRN4C`.
        if before(self.bytes, start, 1).is_ascii_digit() {
            return;
        }
        for entry in recogniser.lexicon.entries(key) {
            if let Some(end) = entry.end(self.bytes, start) {
                self.cue(entry.cue, start..end, std::str::from_utf8(entry.phrase()).unwrap_or(""));
            }
        }
    }

    /// What the long words from one place to another are inside. All of such a word stands for what was found in it.
    #[inline(never)]
    fn encoded(&mut self, from: usize, to: usize) {
        let recogniser = self.recogniser;
        let Some(decoded) = self.decoded else { return };
        let mut place = from.max(decoded);
        while place <= to {
            let (word, end) = encoded::readable_word(self.bytes, place);
            place = end + 1;
            self.decoded = Some(place);
            let Some((range, text)) = word else { continue };
            let mut inside = Recognised::default();
            recogniser.search(&text, &mut inside, None, false);
            for name in &inside.categories {
                if let Some(category) = recogniser.number(name) {
                    self.note(category, range.clone());
                }
            }
            for subject in inside.subjects {
                self.found.add_subject(subject);
            }
        }
    }

    /// Notes a mailbox, and whose it is.
    pub(super) fn mailbox(&mut self, mailbox: email::Mailbox) {
        self.note(Builtin::Email as u16, mailbox.range);
        self.found.add_subject(mailbox.name);
    }

    /// Notes a telephone, and whose it is.
    pub(super) fn phone(&mut self, phone: Phone) {
        self.note(Builtin::Phone as u16, phone.range);
        self.found.add_subject(phone.name);
    }

    /// Notes something whose digits are nothing else.
    pub(super) fn cover(&mut self, category: Builtin, range: Range<usize>) {
        self.covered = self.covered.max(range.end);
        self.note(category as u16, range);
    }

    /// Notes what starts here, if it ends anywhere.
    pub(super) fn announced(&mut self, category: Builtin, start: usize, end: Option<usize>) {
        if let Some(end) = end {
            self.note(category as u16, start..end);
        }
    }

    /// Notes something.
    pub(super) fn note(&mut self, category: u16, range: Range<usize>) {
        if let Some(places) = &mut self.places {
            places.push((range, category));
        }
        let bit = 1u64.checked_shl(u32::from(category)).unwrap_or(0);
        if self.noted & bit == 0 {
            self.noted |= bit;
            if let Some(name) = self.recogniser.names.get(usize::from(category)) {
                self.found.add_category(name);
            }
        }
    }
}
