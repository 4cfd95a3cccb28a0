//! All words that matter, in a table that is asked for every word of every text.
//!
//! An automaton of all the words would cost several cycles for every byte. Here a word is looked up once, by its first
//! letters, in a few kilobytes of bits; only what these let pass is compared.

use super::bytes::at;
use super::cue::Cue;
use super::scan;

/// Words and phrases, each with what it announces.
pub(super) struct Lexicon {
    /// Bits of the words that matter by themselves.
    alone: Box<Filter>,
    /// Bits of all words: most matter only next to a number.
    all: Box<Filter>,
    /// Numbers of groups plus one, by the hash of their key; zero is empty.
    slots: Box<[u32]>,
    groups: Vec<Group>,
    entries: Vec<Entry>,
}

/// One bit for each hash of a key.
pub(super) struct Filter([u64; 1 << 10]);

/// The phrases whose first words have the same key.
struct Group {
    key: u64,
    first: u32,
    count: u32,
}

/// A phrase and what it announces.
pub(super) struct Entry {
    phrase: Box<[u8]>,
    /// What it announces.
    pub(super) cue: Cue,
}

impl Lexicon {
    /// Whether a phrase can be found by its first word: three letters or more, and nothing but ASCII.
    pub(super) fn can_hold(phrase: &str) -> bool {
        phrase.is_ascii() && first_letters(phrase.as_bytes()) >= 3
    }

    /// A lexicon of phrases that [can be held](Lexicon::can_hold), in lower case; others are left out.
    pub(super) fn new<'a>(phrases: impl Iterator<Item = (&'a str, Cue)>) -> Lexicon {
        let mut keyed: Vec<(u64, Entry)> = phrases
            .filter(|(phrase, _)| Lexicon::can_hold(phrase))
            .map(|(phrase, cue)| (key_of(phrase.as_bytes()), Entry { phrase: phrase.as_bytes().into(), cue }))
            .collect();
        keyed.sort_by_key(|(key, _)| *key);
        let mut lexicon = Lexicon {
            alone: Filter::new(),
            all: Filter::new(),
            slots: Box::default(),
            groups: Vec::new(),
            entries: Vec::with_capacity(keyed.len()),
        };
        for (key, entry) in keyed {
            lexicon.all.insert(key);
            if entry.cue.is_enough() {
                lexicon.alone.insert(key);
            }
            match lexicon.groups.last_mut() {
                Some(group) if group.key == key => group.count += 1,
                _ => lexicon.groups.push(Group { key, first: lexicon.entries.len() as u32, count: 1 }),
            }
            lexicon.entries.push(entry);
        }
        lexicon.slots = vec![0; (lexicon.groups.len() * 4).next_power_of_two()].into();
        for (number, group) in lexicon.groups.iter().enumerate() {
            let mut slot = spread(group.key) & (lexicon.slots.len() - 1);
            while lexicon.slots[slot] != 0 {
                slot = (slot + 1) & (lexicon.slots.len() - 1);
            }
            lexicon.slots[slot] = number as u32 + 1;
        }
        lexicon
    }

    /// The words to look for in a text: without a number most have nothing to announce.
    pub(super) fn filter(&self, has_digit: bool) -> &Filter {
        if has_digit { &self.all } else { &self.alone }
    }

    /// The phrases that may stand where a word with this key starts.
    pub(super) fn entries(&self, key: u64) -> &[Entry] {
        let mut slot = spread(key) & (self.slots.len() - 1);
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

impl Filter {
    fn new() -> Box<Filter> {
        Box::new(Filter([0; 1 << 10]))
    }

    fn insert(&mut self, key: u64) {
        let hash = hash(key);
        self.0[hash >> 6] |= 1 << (hash & 63);
    }

    /// Whether a word with this key may be among the words.
    #[inline]
    pub(super) fn may_have(&self, key: u64) -> bool {
        let hash = hash(key);
        self.0[hash >> 6] >> (hash & 63) & 1 != 0
    }
}

impl Entry {
    /// Where the phrase ends that starts here, if it does stand here as whole words in any case. A blank stands for
    /// one or two characters that part words: `date of birth` is also `date_of_birth` and `Date-of birth`.
    pub(super) fn end(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let mut place = start;
        for &letter in &self.phrase {
            let byte = at(bytes, place);
            if letter == b' ' {
                if !parts_words(byte) {
                    return None;
                }
                place += 1 + usize::from(parts_words(at(bytes, place + 1)));
            } else if byte.to_ascii_lowercase() == letter {
                place += 1;
            } else {
                return None;
            }
        }
        (!at(bytes, place).is_ascii_alphabetic()).then_some(place)
    }

    /// The phrase.
    pub(super) fn phrase(&self) -> &[u8] {
        &self.phrase
    }
}

fn parts_words(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'-' | b'_' | b'.' | b'/' | b'\'')
}

fn first_letters(phrase: &[u8]) -> usize {
    phrase.iter().take_while(|byte| byte.is_ascii_alphabetic()).count()
}

fn key_of(phrase: &[u8]) -> u64 {
    let length = first_letters(phrase).min(8);
    let mut letters = [0; 8];
    letters[..length].copy_from_slice(&phrase[..length]);
    scan::key(u64::from_le_bytes(letters), length as u32)
}

/// Sixteen bits of a key.
#[inline]
fn hash(key: u64) -> usize {
    spread(key) >> 16
}

/// Thirty-two bits of a key.
#[inline]
fn spread(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(phrase: &str, text: &str) -> Option<usize> {
        let lexicon = Lexicon::new([(phrase, Cue::Order)].into_iter());
        let length = first_letters(text.as_bytes()).min(8);
        let mut letters = [0; 8];
        letters[..length].copy_from_slice(&text.as_bytes()[..length]);
        let key = scan::key(u64::from_le_bytes(letters), length as u32);
        lexicon.entries(key).iter().find_map(|entry| entry.end(text.as_bytes(), 0))
    }

    #[test]
    fn phrases_are_found_as_whole_words_in_any_case() {
        assert_eq!(ends("order", "ORDER 5"), Some(5));
        assert_eq!(ends("order", "orders 5"), None);
        assert_eq!(ends("reservation", "Reservation"), Some(11));
        assert_eq!(ends("reservation", "reservations"), None);
        assert_eq!(ends("national id", "National-ID: 5"), Some(11));
        assert_eq!(ends("national id", "national_id"), Some(11));
        assert_eq!(ends("national id", "nationalid"), None);
        assert_eq!(ends("national id", "national identity"), None);
    }

    #[test]
    fn a_filter_lets_every_word_of_its_own_pass() {
        let words = ["asthma", "diabetes", "hiv", "hypertension"];
        let lexicon = Lexicon::new(words.iter().map(|word| (*word, Cue::Term(4))));
        for word in words {
            assert!(lexicon.filter(false).may_have(key_of(word.as_bytes())), "{word}");
            assert_eq!(lexicon.entries(key_of(word.as_bytes())).len(), 1, "{word}");
        }
        assert!(lexicon.entries(key_of(b"chatter")).is_empty());
    }
}
