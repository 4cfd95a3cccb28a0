//! A table of all cue words, in which every word of every text is looked up.
//!
//! An automaton of all words would cost several cycles for every byte. Here a word is looked up once, by its first
//! letters, in a few kilobytes of bits; only words that pass are compared.

use super::bytes::{Bytes, byte_at};
use super::cue::Cue;
use super::scan;

/// Words and phrases, each with what it announces.
pub(super) struct Lexicon {
    /// Bits of the words that matter by themselves.
    alone: Box<KeyFilter>,
    /// Bits of all words: most matter only next to a number.
    all: Box<KeyFilter>,
    /// Numbers of groups plus one, by the hash of their key; zero is empty.
    slots: Box<[u32]>,
    groups: Vec<PhraseGroup>,
    entries: Vec<LexiconEntry>,
    /// The phrases that may find something before them.
    looking_back: Vec<Box<[u8]>>,
}

/// One bit for each hash of a key.
pub(super) struct KeyFilter([u64; 1 << 10]);

/// The phrases whose first words have the same key.
struct PhraseGroup {
    key: u64,
    first: u32,
    count: u32,
}

/// A phrase and what it announces.
pub(super) struct LexiconEntry {
    phrase: Box<[u8]>,
    /// The data that it announces.
    pub(super) cue: Cue,
}

impl Lexicon {
    /// Whether a phrase can be found by its first word: three letters or more, and nothing but ASCII.
    pub(super) fn can_hold(phrase: &str) -> bool {
        phrase.is_ascii() && count_leading_letters(phrase.as_bytes()) >= 3
    }

    /// Returns a lexicon of the phrases that it [can hold](Lexicon::can_hold), in lower case; others are left out.
    pub(super) fn new<'a>(phrases: impl Iterator<Item = (&'a str, Cue)>) -> Lexicon {
        let mut keyed: Vec<(u64, LexiconEntry)> = phrases
            .filter(|(phrase, _)| Lexicon::can_hold(phrase))
            .map(|(phrase, cue)| {
                (phrase_key(phrase.as_bytes()), LexiconEntry { phrase: phrase.as_bytes().into(), cue })
            })
            .collect();
        keyed.sort_by_key(|(key, _)| *key);
        let mut lexicon = Lexicon {
            alone: KeyFilter::new(),
            all: KeyFilter::new(),
            slots: Box::default(),
            groups: Vec::new(),
            entries: Vec::with_capacity(keyed.len()),
            looking_back: Vec::new(),
        };
        for (key, entry) in keyed {
            lexicon.all.insert(key);
            if entry.cue.needs_no_digit() {
                lexicon.alone.insert(key);
            }
            if entry.cue.looks_back() {
                lexicon.looking_back.push(entry.phrase.clone());
            }
            match lexicon.groups.last_mut() {
                Some(group) if group.key == key => group.count += 1,
                _ => lexicon.groups.push(PhraseGroup { key, first: lexicon.entries.len() as u32, count: 1 }),
            }
            lexicon.entries.push(entry);
        }
        lexicon.slots = vec![0; (lexicon.groups.len() * 4).next_power_of_two()].into();
        for (number, group) in lexicon.groups.iter().enumerate() {
            let mut slot = hash32(group.key) & (lexicon.slots.len() - 1);
            while lexicon.slots[slot] != 0 {
                slot = (slot + 1) & (lexicon.slots.len() - 1);
            }
            lexicon.slots[slot] = number as u32 + 1;
        }
        lexicon
    }

    /// Returns the filter for a text: without a digit most words announce nothing.
    pub(super) fn filter(&self, has_digit: bool) -> &KeyFilter {
        if has_digit { &self.all } else { &self.alone }
    }

    /// Whether a phrase begins like this that may find something before it.
    pub(super) fn begins_looking_back(&self, beginning: &[u8]) -> bool {
        let begins =
            |phrase: &[u8]| phrase.get(..beginning.len()).is_some_and(|head| head.eq_ignore_ascii_case(beginning));
        self.looking_back.iter().any(|phrase| begins(phrase))
    }

    /// Returns the phrases whose first word has this key.
    pub(super) fn entries(&self, key: u64) -> &[LexiconEntry] {
        let mut slot = hash32(key) & (self.slots.len() - 1);
        // INVARIANT: a quarter of the slots at most is taken, so this ends.
        while let Some(number) = self.slots[slot].checked_sub(1) {
            let group = &self.groups[number as usize];
            if group.key == key {
                return &self.entries[group.first as usize..][..group.count as usize];
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        &[]
    }
}

impl KeyFilter {
    fn new() -> Box<KeyFilter> {
        Box::new(KeyFilter([0; 1 << 10]))
    }

    fn insert(&mut self, key: u64) {
        let hash = hash16(key);
        self.0[hash >> 6] |= 1 << (hash & 63);
    }

    /// Whether a word with this key may be among the words.
    #[inline]
    pub(super) fn may_have(&self, key: u64) -> bool {
        let hash = hash16(key);
        self.0[hash >> 6] >> (hash & 63) & 1 != 0
    }
}

impl LexiconEntry {
    /// Returns where the phrase ends, if it starts here as whole words in any case. A blank matches one or two word
    /// separators: `date of birth` is also `date_of_birth` and `Date-of birth`.
    pub(super) fn match_end(&self, bytes: Bytes<'_>, start: usize) -> Option<usize> {
        let mut place = start;
        for &letter in &self.phrase {
            let byte = byte_at(bytes, place);
            if letter == b' ' {
                if !is_word_separator(byte) {
                    return None;
                }
                place += 1 + usize::from(is_word_separator(byte_at(bytes, place + 1)));
            } else if byte.to_ascii_lowercase() == letter {
                place += 1;
            } else {
                return None;
            }
        }
        (!byte_at(bytes, place).is_ascii_alphabetic()).then_some(place)
    }

    /// Returns the phrase.
    pub(super) fn phrase(&self) -> &[u8] {
        &self.phrase
    }
}

fn is_word_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'-' | b'_' | b'.' | b'/' | b'\'')
}

fn count_leading_letters(phrase: &[u8]) -> usize {
    phrase.iter().take_while(|byte| byte.is_ascii_alphabetic()).count()
}

fn phrase_key(phrase: &[u8]) -> u64 {
    let length = count_leading_letters(phrase).min(8);
    let mut letters = [0; 8];
    letters[..length].copy_from_slice(&phrase[..length]);
    scan::word_key(u64::from_le_bytes(letters), length as u32)
}

/// Returns sixteen bits of a key's hash.
#[inline]
fn hash16(key: u64) -> usize {
    hash32(key) >> 16
}

/// Returns thirty-two bits of a key's hash.
#[inline]
fn hash32(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_end(phrase: &str, text: &str) -> Option<usize> {
        let lexicon = Lexicon::new([(phrase, Cue::Order)].into_iter());
        let length = count_leading_letters(text.as_bytes()).min(8);
        let mut letters = [0; 8];
        letters[..length].copy_from_slice(&text.as_bytes()[..length]);
        let key = scan::word_key(u64::from_le_bytes(letters), length as u32);
        lexicon.entries(key).iter().find_map(|entry| entry.match_end(text.into(), 0))
    }

    #[test]
    fn lexicon_finds_whole_words_in_any_case() {
        assert_eq!(find_end("order", "ORDER 5"), Some(5));
        assert_eq!(find_end("order", "orders 5"), None);
        assert_eq!(find_end("reservation", "Reservation"), Some(11));
        assert_eq!(find_end("reservation", "reservations"), None);
        assert_eq!(find_end("national id", "National-ID: 5"), Some(11));
        assert_eq!(find_end("national id", "national_id"), Some(11));
        assert_eq!(find_end("national id", "nationalid"), None);
        assert_eq!(find_end("national id", "national identity"), None);
    }

    #[test]
    fn lexicon_filter_passes_its_words() {
        let words = ["asthma", "diabetes", "hiv", "hypertension"];
        let lexicon = Lexicon::new(words.iter().map(|word| (*word, Cue::Term(4))));
        for word in words {
            assert!(lexicon.filter(false).may_have(phrase_key(word.as_bytes())), "{word}");
            assert_eq!(lexicon.entries(phrase_key(word.as_bytes())).len(), 1, "{word}");
        }
        assert!(lexicon.entries(phrase_key(b"chatter")).is_empty());
    }
}
