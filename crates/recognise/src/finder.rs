//! Searches one text, folded if needed, for personal data.

use std::ops::Range;

use super::bytes::{Bytes, byte_before};
use super::fold::FoldedText;
use super::identifier::{is_identifying, normalize_value};
use super::loose_words::LooseWords;
use super::phone::Phone;
use super::scan::{Glance, TextStart, visit_starts};
use super::{Builtin, Confidence, PersonalData, Recogniser, email, encoded, mailbox_name};
use lictor_json::Text;

/// A finding in a text.
pub(super) struct Hit {
    /// Its bytes.
    pub(super) range: Range<usize>,
    /// The number of its category.
    pub(super) category: u16,
    /// How sure it is.
    pub(super) confidence: Confidence,
    /// The person that it identifies.
    pub(super) subject: Option<Text>,
}

/// The search of one text, with what was found so far.
pub(super) struct Finder<'a> {
    pub(super) recogniser: &'a Recogniser,
    text: &'a str,
    /// The bytes of the text.
    pub(super) bytes: Bytes<'a>,
    pub(super) found: &'a mut PersonalData,
    /// The places of the findings, if the caller wants them.
    places: Option<&'a mut Vec<Hit>>,
    /// The end of the last digits that belong to a finding.
    pub(super) covered: usize,
    /// The end of the last long word that was decoded; none if the text itself was decoded.
    decoded: Option<usize>,
    /// The text before it was folded.
    origin: Option<(&'a str, &'a FoldedText)>,
    /// The categories that were added, one bit each; those beyond 64 are looked up again.
    noted: u64,
}

impl<'a> Finder<'a> {
    /// Returns a finder for one text.
    pub(super) fn new(
        recogniser: &'a Recogniser,
        text: &'a str,
        found: &'a mut PersonalData,
        places: Option<&'a mut Vec<Hit>>,
    ) -> Finder<'a> {
        Finder {
            recogniser,
            text,
            bytes: text.into(),
            found,
            places,
            covered: 0,
            decoded: None,
            origin: None,
            noted: 0,
        }
    }

    /// Returns a finder for one text of which more may arrive, as `bytes` knows.
    pub(super) fn open(
        recogniser: &'a Recogniser,
        text: &'a str,
        bytes: Bytes<'a>,
        found: &'a mut PersonalData,
    ) -> Finder<'a> {
        Finder { bytes, ..Finder::new(recogniser, text, found, None) }
    }

    /// Returns the finder of a folded text with the text before it was folded, for the names of persons.
    pub(super) fn with_origin(self, text: &'a str, folded: &'a FoldedText) -> Finder<'a> {
        Finder { origin: Some((text, folded)), ..self }
    }

    /// Searches for everything; for words of other scripts and inside long words only if asked to.
    pub(super) fn find_all(&mut self, glance: Glance, has_scripts: bool, decode: bool) {
        self.decoded = decode.then_some(0);
        if glance.has_sign {
            self.find_mailboxes();
        }
        self.find_words_and_numbers(glance.has_digit);
        if has_scripts && let Some(words) = LooseWords::non_latin() {
            for (range, cue, word) in words.find(self.text) {
                self.match_cue(cue, range, word);
            }
        }
        if !self.recogniser.custom.has_only_words() {
            self.find_custom();
        }
    }

    /// Finds mailboxes around every `@` and every `[at]`.
    #[inline(never)]
    fn find_mailboxes(&mut self) {
        for sign in memchr::memchr_iter(b'@', self.bytes.all()) {
            if let Some(mailbox) = email::find_around_sign(self.bytes, sign) {
                self.add_mailbox(mailbox);
            }
        }
        for word in email::find_bracketed_at(self.bytes) {
            if let Some(mailbox) = email::find_around_word(self.bytes, word, false) {
                self.add_mailbox(mailbox);
            }
        }
    }

    /// Finds the matches of a policy's patterns, and its words that are not in the lexicon.
    pub(super) fn find_custom(&mut self) {
        let custom = &self.recogniser.custom;
        for value in custom.find_values(self.text, self.places.is_some()) {
            let subject = custom.identifies(value.category).then(|| normalize_value(value.category, value.value));
            self.add_hit(Hit { range: value.range, category: value.category, confidence: Confidence::High, subject });
        }
        if let Some(words) = &custom.loose {
            for (range, cue, word) in words.find(self.text) {
                self.match_cue(cue, range, word);
            }
        }
    }

    /// Finds every word of the lexicon, every number and every long row of letters and digits.
    fn find_words_and_numbers(&mut self, has_digit: bool) {
        let filter = self.recogniser.lexicon.filter(has_digit);
        let bytes = self.bytes.all();
        let visit = |start| match start {
            TextStart::Word(key, place) => self.match_word(key, place),
            TextStart::Number(place) => self.match_number(place),
            TextStart::LongRows(first, last) => self.decode_words(first, last),
        };
        visit_starts(bytes, has_digit, |key| filter.may_have(key), visit);
    }

    #[inline(never)]
    pub(super) fn match_word(&mut self, key: u64, start: usize) {
        let recogniser = self.recogniser;
        // Letters after a digit are part of an id: `xF9mRN4C`.
        if byte_before(self.bytes, start, 1).is_ascii_digit() {
            return;
        }
        for entry in recogniser.lexicon.entries(key) {
            if let Some(end) = entry.match_end(self.bytes, start) {
                self.match_cue(entry.cue, start..end, std::str::from_utf8(entry.phrase()).unwrap_or(""));
            }
        }
    }

    /// Searches the decoded long words between two positions. A finding inside covers the whole word.
    #[inline(never)]
    fn decode_words(&mut self, from: usize, to: usize) {
        let recogniser = self.recogniser;
        let Some(decoded) = self.decoded else { return };
        let mut place = from.max(decoded);
        while place <= to {
            let (word, end) = encoded::decode_word_around(self.bytes.all(), place);
            place = end + 1;
            self.decoded = Some(place);
            let Some((range, text)) = word else { continue };
            let mut inside = Vec::new();
            recogniser.search_text(&text, &mut PersonalData::default(), Some(&mut inside), false);
            for hit in inside {
                self.add_hit(Hit { range: range.clone(), ..hit });
            }
        }
    }

    /// Adds a mailbox, and its owner.
    pub(super) fn add_mailbox(&mut self, mailbox: email::Mailbox) {
        let email::Mailbox { range, name, confidence } = mailbox;
        let original = self.origin.and_then(|(text, folded)| text.get(folded.origin(range.clone())));
        let name = original.and_then(|original| mailbox_name::respell(original, &name)).unwrap_or(name);
        self.add_hit(Hit { range, category: Builtin::Email as u16, confidence, subject: Some(name) });
    }

    /// Adds a phone number, and its owner.
    pub(super) fn add_phone(&mut self, phone: Phone) {
        let Phone { range, name, confidence } = phone;
        self.add_hit(Hit { range, category: Builtin::Phone as u16, confidence, subject: Some(name) });
    }

    /// Adds a finding whose digits can be nothing else.
    pub(super) fn add_covering(&mut self, category: Builtin, range: Range<usize>, confidence: Confidence) {
        self.covered = self.covered.max(range.end);
        self.add(category as u16, range, confidence);
    }

    /// Adds what starts here, if it has an end.
    pub(super) fn add_if_ended(&mut self, category: Builtin, start: usize, end: Option<usize>, confidence: Confidence) {
        if let Some(end) = end {
            self.add(category as u16, start..end, confidence);
        }
    }

    /// Adds a finding. It identifies a person only if the policy says so of its category.
    pub(super) fn add(&mut self, category: u16, range: Range<usize>, confidence: Confidence) {
        let identifies = self.recogniser.custom.identifies(category);
        let value = if identifies { self.text.get(range.clone()) } else { None };
        let subject = value.filter(|value| is_identifying(value)).map(|value| normalize_value(category, value));
        self.add_hit(Hit { range, category, confidence, subject });
    }

    /// Adds a finding with the person that it identifies.
    pub(super) fn add_hit(&mut self, hit: Hit) {
        let category = hit.category;
        match &mut self.places {
            Some(places) => {
                hit.subject.iter().for_each(|subject| self.found.add_subject(subject.clone()));
                places.push(hit);
            }
            None => hit.subject.into_iter().for_each(|subject| self.found.add_subject(subject)),
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
