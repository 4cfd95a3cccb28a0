//! Many patterns looked for in one text.
//!
//! Most texts hold none of them, and most patterns begin with one of a few words. So the text is searched once for all
//! those words together, and only a pattern whose word is there is tried.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex_syntax::hir::literal::{ExtractKind, Extractor};

use super::pattern::LiteralPattern;

/// The number of patterns from which a prefix search pays off.
const MIN_PATTERNS_FOR_PREFIXES: usize = 3;

/// The shortest prefix, in bytes; shorter ones occur everywhere.
const MIN_PREFIX_BYTES: usize = 2;

/// Patterns of which one must be found.
#[derive(Debug)]
pub(super) struct PatternSet {
    list: Vec<LiteralPattern>,
    /// The prefixes, extracted at the first search: most policies are read far more often than all of their patterns.
    beginnings: OnceLock<Option<PatternPrefixes>>,
}

/// The prefixes of patterns.
#[derive(Debug)]
struct PatternPrefixes {
    words: AhoCorasick,
    /// For each word, its pattern.
    of_pattern: Vec<usize>,
    /// The patterns that may begin with anything.
    open: Vec<usize>,
}

impl PatternSet {
    pub(super) fn new(list: Vec<LiteralPattern>) -> PatternSet {
        PatternSet { list, beginnings: OnceLock::new() }
    }

    fn beginnings(&self) -> Option<&PatternPrefixes> {
        let extract = || {
            let written: Vec<&str> = self.written().collect();
            if written.len() >= MIN_PATTERNS_FOR_PREFIXES { PatternPrefixes::new(&written) } else { None }
        };
        self.beginnings.get_or_init(extract).as_ref()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns how they are written.
    pub(super) fn written(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(LiteralPattern::as_str)
    }

    /// Whether one of them is found in a text.
    pub(super) fn is_any_found(&self, text: &str) -> bool {
        let Some(beginnings) = self.beginnings() else {
            return self.list.iter().any(|pattern| pattern.is_found_in(text));
        };
        let mut tried = Vec::new();
        let is_found = |place: usize| {
            // Most texts hold no word at all, and then there is nothing to remember.
            tried.resize(self.list.len(), false);
            !std::mem::replace(&mut tried[place], true) && self.list[place].is_found_in(text)
        };
        let found = beginnings.words.find_overlapping_iter(text).map(|word| beginnings.of_pattern[word.pattern()]);
        beginnings.open.iter().copied().chain(found).any(is_found)
    }
}

impl PatternPrefixes {
    /// Extracts the prefixes; none if a pattern cannot be parsed or there are too many prefixes.
    fn new(patterns: &[&str]) -> Option<PatternPrefixes> {
        let mut words: Vec<Vec<u8>> = Vec::new();
        let mut of_pattern = Vec::new();
        let mut open = Vec::new();
        for (place, pattern) in patterns.iter().enumerate() {
            let hir = regex_syntax::parse(pattern).ok()?;
            let found = Extractor::new().kind(ExtractKind::Prefix).extract(&hir);
            let literals = found.literals().filter(|list| list.iter().all(|word| word.len() >= MIN_PREFIX_BYTES));
            let Some(literals) = literals else {
                open.push(place);
                continue;
            };
            for literal in literals {
                let word = literal.as_bytes().to_ascii_lowercase();
                if !words.iter().zip(&of_pattern).any(|(other, of)| *other == word && *of == place) {
                    words.push(word);
                    of_pattern.push(place);
                }
            }
        }
        // The words begin with so many letters that looking for those first finds one everywhere.
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).prefilter(false);
        let words = builder.build(&words).ok()?;
        Some(PatternPrefixes { words, of_pattern, open })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prefix search is only an optimization.
    #[test]
    fn pattern_set_agrees_with_single_patterns() {
        let written = [
            r"(?i)\b(ignore|disregard)\s+your\b",
            r"(?i)<\s*/?\s*system\s*>",
            r"(?i)\bnew (instructions?|prompt) ?:",
            r"[0-9]{3}-x",
            r"(?i)straße|kelvin",
            r"^$",
        ];
        let texts = [
            "",
            "please IGNORE  your manners",
            "ignore my manners",
            "a < / SYSTEM > b",
            "New prompt: go",
            "newer prompts",
            "call 555-x now",
            "call 555 now",
            "STRASSE, STRAßE",
            "\u{212a}elvin",
            "Kelvin and a new instruction: no",
            "di\u{17f}regard your",
            "ignoring, overlapping: disregar, disregard your",
        ];
        let fixed = |written: &str| LiteralPattern::new(written).unwrap();
        let patterns = PatternSet::new(written.iter().map(|written| fixed(written)).collect());
        assert!(patterns.beginnings().is_some());
        for text in texts {
            let one_by_one = written.iter().any(|written| fixed(written).is_found_in(text));
            assert_eq!(patterns.is_any_found(text), one_by_one, "{text:?}");
        }
        // And with each pattern among others that are never found.
        for pattern in written {
            let among = [pattern, "zzzzzz", "yyyyyy"];
            let patterns = PatternSet::new(among.iter().map(|written| fixed(written)).collect());
            for text in texts {
                assert_eq!(patterns.is_any_found(text), fixed(pattern).is_found_in(text), "{pattern} in {text:?}");
            }
        }
    }
}
