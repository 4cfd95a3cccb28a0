//! Words that the lexicon cannot hold: other scripts, and words that start with a digit or have fewer than three
//! letters.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::cue::{Cue, NON_LATIN_PHRASES};
use super::fold::fold;

/// Words, each with what it announces.
pub(super) struct LooseWords {
    words: AhoCorasick,
    spellings: Vec<String>,
    cues: Vec<(Cue, String)>,
}

impl LooseWords {
    /// Returns the built-in words in other scripts. Their automaton is built for the first text that has letters of one:
    /// it would take most of the time to make a recogniser.
    pub(super) fn non_latin() -> Option<&'static LooseWords> {
        static WORDS: LazyLock<Option<LooseWords>> = LazyLock::new(|| {
            let words = NON_LATIN_PHRASES.iter().flat_map(|(cue, words)| words.split(", ").map(|word| (word, *cue)));
            LooseWords::new(words).unwrap_or_default()
        });
        WORDS.as_ref()
    }

    /// Returns an automaton of these words; none if there are none. A word is found in lower case, in capitals, and
    /// with one capital.
    pub(super) fn new<'a>(words: impl Iterator<Item = (&'a str, Cue)>) -> Result<Option<LooseWords>, String> {
        let mut spellings = Vec::new();
        let mut cues = Vec::new();
        for (word, cue) in words {
            let lower = word.to_lowercase();
            let mut letters = lower.chars();
            let title = letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>());
            for spelling in [Some(lower.clone()), title, Some(lower.to_uppercase())].into_iter().flatten() {
                let spelling = fold(&spelling, false).text;
                if !spelling.is_empty() && !spellings.contains(&spelling) {
                    spellings.push(spelling);
                    cues.push((cue, lower.clone()));
                }
            }
        }
        if spellings.is_empty() {
            return Ok(None);
        }
        let words = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&spellings)
            .map_err(|error| format!("too many words: {error}"))?;
        Ok(Some(LooseWords { words, spellings, cues }))
    }

    /// Returns the places from which a text ends with the beginning of one of the words, with its cue.
    pub(super) fn find_begun(&self, text: &str) -> Vec<(usize, Cue)> {
        let longest = self.spellings.iter().map(String::len).max().unwrap_or(0);
        let from = text.len().saturating_sub(longest);
        let places = (from..text.len()).filter(|place| text.is_char_boundary(*place));
        let begun = |place: usize| {
            let rest = &text[place..];
            let words = self.spellings.iter().zip(&self.cues);
            words
                .filter(move |(spelling, _)| spelling.len() > rest.len() && spelling.starts_with(rest))
                .map(move |(_, (cue, _))| (place, *cue))
        };
        places.flat_map(begun).collect()
    }

    /// Returns every place where one of the words occurs as a whole, with its cue and the word.
    pub(super) fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (std::ops::Range<usize>, Cue, &'t str)> {
        self.words.find_overlapping_iter(text).filter_map(move |place| {
            let (cue, word) = &self.cues[place.pattern().as_usize()];
            let before = text[..place.start()].chars().next_back();
            let after = text[place.end()..].chars().next();
            let inside = &text[place.start()..place.end()];
            let stands_alone =
                is_word_boundary(before, inside.chars().next()) && is_word_boundary(inside.chars().next_back(), after);
            stands_alone.then_some((place.start()..place.end(), *cue, word.as_str()))
        })
    }
}

/// Whether a word may end between these characters.
fn is_word_boundary(left: Option<char>, right: Option<char>) -> bool {
    let is_of_word = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let needs_blank = |character: Option<char>| !character.is_some_and(|character| is_dense_script(character as u32));
    !(is_of_word(left) && is_of_word(right) && needs_blank(left) && needs_blank(right))
}

/// Whether a character is of a script without blanks between words.
fn is_dense_script(code: u32) -> bool {
    matches!(code, 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x2E80..=0xA4CF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loose_words_match_whole_words_by_script() {
        let words = LooseWords::new([("7b", Cue::Order), ("диабет", Cue::Order), ("糖尿病", Cue::Order)].into_iter());
        let words = words.unwrap().unwrap();
        let found = |text: &str| words.find(&fold(text, false).text).count();
        assert_eq!((found("form 7B, please"), found("form 17b"), found("7bits")), (1, 0, 0));
        assert_eq!((found("Диабет!"), found("ДИАБЕТ"), found("диабетический")), (1, 1, 0));
        assert_eq!(found("我有糖尿病三年"), 1);
    }
}
