//! Where the open part of a text starts: the part in which more text can make, extend or undo a finding.
//!
//! Every search is run as on a whole text, and notes whether it asked for a byte beyond the end. If it did not, no
//! further text can change its result. If it did, the text is open from where its finding would start. Searches that
//! more text will start may also find something that starts before it: a mailbox before its `@`, a street before its
//! number, a date before the word for birth. [`find_earliest_start`] knows how far they look back.

use std::cell::Cell;
use std::ops::Range;

use super::bytes::{Bytes, byte_before, ends_with_at, is_alnum, is_blank, run_start};
use super::cue_finder::find_loose_date_before;
use super::email::{AT_WORDS, DOT_WORDS, is_closing, is_local, is_opening};
use super::finder::Finder;
use super::loose_words::LooseWords;
use super::scan::{Glance, TextStart, visit_starts};
use super::street::{NAMED_ENDINGS, POST_OFFICES, STREET_ENDINGS};
use super::{PersonalData, Recogniser, date, email, encoded, fold, member};

/// The most bytes of a word that a search reads back over: the part before the `@` of a mailbox.
const MAX_WORD_BYTES: usize = 64;

/// The most bytes that a search reads back over: a mailbox in words.
const MAX_BACK_BYTES: usize = 400;

/// The most bytes of a date.
const MAX_DATE_BYTES: usize = 24;

impl Recogniser {
    /// Returns where the open part of a text starts, of which more may arrive. Findings before it are those of the whole
    /// text, whatever arrives. It may start earlier than needed, and is never longer than the text.
    ///
    /// ```
    /// use lictor_recognise::Recogniser;
    ///
    /// let recogniser = Recogniser::builtin();
    /// let open = |text: &'static str| &text[recogniser.open_from(text)..];
    /// assert_eq!(open("Your order has been shipped and wi"), "wi");
    /// assert_eq!(open("Please write to alice@exam"), "alice@exam");
    /// ```
    pub fn open_from(&self, text: &str) -> usize {
        let end = fold::find_open_escape(text).unwrap_or(text.len());
        let whole = &text[..end];
        let glance = Glance::scan(whole.as_bytes());
        let mut open = end;
        if glance.has_wide || glance.has_sign && fold::has_escape(whole) {
            let folded = fold::fold(whole, true);
            let visible = &folded.text[..folded.visible];
            let start = OpenSearch::new(self, visible).find(folded.has_scripts);
            if start < visible.len() {
                open = open.min(folded.origin(start..start + 1).start);
            }
            // Hidden text is read together, wherever it comes from.
            open = open.min(folded.hidden_from.unwrap_or(open));
            if let Some(words) = &self.custom.loose {
                open = words.find_begun(text).into_iter().fold(open, |open, (place, _)| open.min(place));
            }
        } else {
            open = open.min(OpenSearch::new(self, whole).find(false));
        }
        // The value of a key is found when it is complete, and so is JSON within it.
        if member::may_have_members(text)
            && let Some((start, key, parent)) = member::find_open_member(text)
            && (self.keys.meaning(&key, &parent).is_some() || text[start..].contains('\\'))
        {
            open = open.min(start);
        }
        // A policy's pattern is about the original, too.
        open.min(self.custom.open_patterns.open_from(text))
    }
}

/// The search for the open part of a text, folded if needed.
struct OpenSearch<'t> {
    recogniser: &'t Recogniser,
    text: &'t str,
    /// The earliest start of a finding that is not final.
    open: usize,
}

impl<'t> OpenSearch<'t> {
    fn new(recogniser: &'t Recogniser, text: &'t str) -> OpenSearch<'t> {
        OpenSearch { recogniser, text, open: text.len() }
    }

    fn find(mut self, has_scripts: bool) -> usize {
        let (text, bytes) = (self.text, Bytes::from(self.text));
        self.add_search(text.len(), true);
        // The `@` may come after markup, or after a tag that is not complete.
        let markup = email::find_markup_start(bytes, email::find_tag_start(bytes, text.len()));
        self.add_search(markup, true);
        let last_word = run_start(bytes, text.len(), text.len(), |byte| byte.is_ascii_alphabetic());
        self.add_search(last_word, self.recogniser.lexicon.begins_looking_back(&bytes[last_word..]));
        // The last word may be one of those between a date and a word for birth.
        self.open = self.open.min(find_date_start(bytes, last_word)).min(encoded::find_open_word(&bytes));
        self.find_dates();
        self.find_searches(has_scripts);
        self.open.min(self.recogniser.custom.open_patterns.open_from(text))
    }

    /// Adds a search at a place that is not final, or that more text will start there.
    fn add_search(&mut self, place: usize, looks_back: bool) {
        let start = if looks_back { find_earliest_start(self.text.into(), place) } else { place };
        self.open = self.open.min(start);
    }

    /// Adds dates that are not complete: a word for birth may follow.
    fn find_dates(&mut self) {
        let beyond = Cell::new(false);
        let bytes = Bytes::open(self.text, &beyond);
        let from = self.text.len().saturating_sub(MAX_DATE_BYTES);
        let is_open = |start: &usize| {
            if is_alnum(byte_before(bytes, *start, 1)) {
                return false;
            }
            beyond.set(false);
            date::find_date(bytes, *start);
            beyond.get()
        };
        if let Some(start) = (from..self.text.len()).find(is_open) {
            self.open = self.open.min(start);
        }
    }

    /// Adds mailboxes that are not complete, around every `@` and every `[at]`.
    fn find_mailboxes(&mut self) {
        let beyond = Cell::new(false);
        let bytes = Bytes::open(self.text, &beyond);
        for place in memchr::memchr_iter(b'@', bytes.all()) {
            beyond.set(false);
            email::find_around_sign(bytes, place);
            if beyond.get() {
                self.add_search(email::find_markup_start(bytes, place), true);
            }
        }
        for place in memchr::memchr3_iter(b'(', b'[', b'{', bytes.all()) {
            beyond.set(false);
            if let Some(word) = email::read_bracketed_at(bytes, place) {
                email::find_around_word(bytes, word, false);
            }
            if beyond.get() {
                self.add_search(place, true);
            }
        }
    }

    /// Runs every search, and adds those that are not final.
    fn find_searches(&mut self, has_scripts: bool) {
        let (recogniser, text) = (self.recogniser, self.text);
        let beyond = Cell::new(false);
        let bytes = Bytes::open(text, &beyond);
        let mut found = PersonalData::default();
        let mut finder = Finder::open(recogniser, text, bytes, &mut found);
        // Digits may still arrive.
        let filter = recogniser.lexicon.filter(true);
        let visit = |start| {
            beyond.set(false);
            let (place, looks_back) = match start {
                TextStart::Word(key, place) => {
                    finder.match_word(key, place);
                    (place, recogniser.lexicon.entries(key).iter().any(|entry| entry.cue.looks_back()))
                }
                TextStart::Number(place) => {
                    finder.match_number(place);
                    (place, true)
                }
                TextStart::LongRows(..) => return,
            };
            if beyond.get() {
                self.add_search(place, looks_back);
            }
        };
        visit_starts(bytes.all(), true, |key| filter.may_have(key), visit);
        self.find_mailboxes();
        let scripts = has_scripts.then(LooseWords::non_latin).flatten();
        for words in scripts.into_iter().chain(&recogniser.custom.loose) {
            for (range, cue, word) in words.find(text) {
                beyond.set(range.end == text.len());
                finder.match_cue(cue, range.clone(), word);
                if beyond.get() {
                    self.add_search(range.start, cue.looks_back());
                }
            }
            words.find_begun(text).into_iter().for_each(|(place, cue)| self.add_search(place, cue.looks_back()));
        }
    }
}

/// Returns where the earliest finding can start of a search that starts at a place, or later if the text ends there.
fn find_earliest_start(bytes: Bytes<'_>, place: usize) -> usize {
    let is_end = place == bytes.len();
    let mut start = place;
    // The word before: the mailbox of an `@`, the street of a number, the letters and signs of an id.
    let mut word = read_word_before(bytes, place);
    let mut is_first = true;
    while place - word.start <= MAX_BACK_BYTES {
        start = start.min(word.start);
        let before = read_word_before(bytes, word.start);
        let (text, earlier) = (&bytes[word.clone()], &bytes[before.clone()]);
        if text.is_empty() || earlier.is_empty() {
            break;
        }
        let may_continue = is_end && is_first && word.end == place;
        // `alice dot smith at example`, `a l i c e`, `Berliner Allee`.
        let is_in_words = is_mail_word(text, may_continue) || is_mail_word(earlier, false);
        let is_spelled = text.len() == 1 && earlier.len() == 1;
        let is_street = is_first && is_street_type(text, may_continue);
        if !(is_in_words || is_spelled || is_street) {
            break;
        }
        word = before;
        is_first = false;
    }
    for office in POST_OFFICES.iter().filter(|office| office.contains(' ')) {
        let end = run_start(bytes, place, 2, |byte| byte == b' ');
        if ends_with_at(bytes, end, office) {
            start = start.min(end - office.len());
        }
        let begun = (1..office.len()).filter(|length| is_end && ends_with_at(bytes, place, &office[..*length]));
        start = begun.map(|length| place - length).fold(start, usize::min);
    }
    start.min(find_date_start(bytes, place))
}

/// Returns where the date starts that a word for birth at a place would be about; the place if there is none.
fn find_date_start(bytes: Bytes<'_>, place: usize) -> usize {
    find_loose_date_before(bytes, place).map_or(place, |(date, _)| date.start)
}

/// Returns the word that ends at a place, or before the few separators before it; an empty one if there is none.
fn read_word_before(bytes: Bytes<'_>, place: usize) -> Range<usize> {
    let is_of_word = |byte: u8| is_local(byte) || byte == b'#' || byte >= 0x80;
    let is_separator = |byte: u8| is_blank(byte) || is_opening(byte) || is_closing(byte) || byte == b',';
    let end = run_start(bytes, place, 3, is_separator);
    run_start(bytes, end, MAX_WORD_BYTES, is_of_word)..end
}

/// Whether a word stands for the `@` or a point of a mailbox; with `may_continue` also the beginning of one.
fn is_mail_word(word: &[u8], may_continue: bool) -> bool {
    AT_WORDS.iter().chain(&DOT_WORDS).any(|known| is_word(word, known, may_continue))
}

/// Whether a word is the type of a street that has its name in a word before; with `may_continue` also the beginning.
fn is_street_type(word: &[u8], may_continue: bool) -> bool {
    word[0].is_ascii_uppercase()
        && STREET_ENDINGS.iter().chain(NAMED_ENDINGS).any(|known| is_word(word, known, may_continue))
}

fn is_word(word: &[u8], known: &str, may_continue: bool) -> bool {
    let length = if may_continue { word.len().min(known.len()) } else { known.len() };
    word.eq_ignore_ascii_case(&known.as_bytes()[..length])
}
