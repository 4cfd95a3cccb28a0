//! Many patterns looked for in one text.
//!
//! Most texts hold none of them, and most patterns begin with one of a few words. So the text is searched once for all
//! those words together, in any case, and only a pattern whose word is there is tried.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Capture, Class, Hir, HirKind, Repetition};

use super::pattern::LiteralPattern;

/// The number of patterns from which a prefix search pays off.
const MIN_PATTERNS_FOR_PREFIXES: usize = 3;

/// The shortest prefix of letters, in bytes; shorter ones occur everywhere. A sign such as `<` is rare.
const MIN_PREFIX_BYTES: usize = 2;

/// The longest prefix, in bytes: long enough to be rare, short enough for a small automaton.
const MAX_PREFIX_BYTES: usize = 6;

/// The letters beyond ASCII that equal `s` and `k` where case does not count.
const FOLDED_LETTERS: [char; 2] = ['\u{17f}', '\u{212a}'];

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
        let is_plain = text.is_ascii() || !text.contains(FOLDED_LETTERS);
        let Some(beginnings) = self.beginnings().filter(|_| is_plain) else {
            return self.list.iter().any(|pattern| pattern.is_found_in(text));
        };
        // Most texts hold no word at all, which is found out twice as fast as all words are listed.
        if beginnings.open.is_empty() && !beginnings.words.is_match(text) {
            return false;
        }
        let mut tried = Vec::new();
        let is_found = |place: usize| {
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
        let mut extractor = Extractor::new();
        extractor.kind(ExtractKind::Prefix).limit_literal_len(MAX_PREFIX_BYTES);
        for (place, pattern) in patterns.iter().enumerate() {
            let hir = regex_syntax::parse(pattern).ok()?;
            let found = extractor.extract(&fold_letters(&hir));
            let literals = found.literals().filter(|list| list.iter().all(|word| is_rare(word.as_bytes())));
            let Some(literals) = literals else {
                open.push(place);
                continue;
            };
            let first = words.len();
            for literal in literals {
                let word = literal.as_bytes().to_ascii_lowercase();
                if !words[first..].contains(&word) {
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

/// Whether a prefix is so rare that looking for it pays off.
fn is_rare(word: &[u8]) -> bool {
    word.len() >= MIN_PREFIX_BYTES || word.first().is_some_and(|byte| byte.is_ascii_punctuation())
}

/// Returns the beginning of a pattern, with one letter for each class that is a letter of ASCII in any case. A word of six
/// such classes has hundreds of spellings, of which few would be extracted, and only their beginnings.
fn fold_letters(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Class(class) => fold_class(class).map_or_else(|| hir.clone(), |letter| Hir::literal([letter])),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Look(_) => hir.clone(),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(fold_letters(&repetition.sub));
            Hir::repetition(Repetition { sub, ..repetition.clone() })
        }
        HirKind::Capture(capture) => {
            Hir::capture(Capture { sub: Box::new(fold_letters(&capture.sub)), ..capture.clone() })
        }
        HirKind::Concat(parts) => Hir::concat(parts.iter().take(MAX_PREFIX_BYTES).map(fold_letters).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(fold_letters).collect()),
    }
}

/// Returns the letter that a class is in any case; none if it is something else.
fn fold_class(class: &Class) -> Option<u8> {
    let single = |start: char, end: char| (start == end).then_some(start);
    let letters: Option<Vec<char>> = match class {
        Class::Unicode(class) => class.iter().map(|range| single(range.start(), range.end())).collect(),
        Class::Bytes(class) => class.iter().map(|range| single(range.start().into(), range.end().into())).collect(),
    };
    let mut letters = letters?;
    letters.retain(|letter| !FOLDED_LETTERS.contains(letter));
    match letters[..] {
        [upper, lower] if upper.is_ascii_uppercase() && lower == upper.to_ascii_lowercase() => Some(lower as u8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WRITTEN: [&str; 6] = [
        r"(?i)\b(ignore|disregard)\s+your\b",
        r"(?i)<\s*/?\s*system\s*>",
        r"(?i)\bnew (instructions?|prompt) ?:",
        r"[0-9]{3}-x",
        r"(?i)straße|kelvin",
        r"^$",
    ];

    fn fixed(written: &str) -> LiteralPattern {
        LiteralPattern::new(written).unwrap()
    }

    proptest! {
        /// The prefix search is only an optimization.
        #[test]
        fn pattern_set_agrees_on_random_texts(
            pieces in prop::collection::vec(prop::sample::select(PIECES), 0..7),
            size in 1..=WRITTEN.len(),
        ) {
            let (text, written) = (pieces.concat(), &WRITTEN[..size]);
            let patterns = PatternSet::new(written.iter().map(|written| fixed(written)).collect());
            let one_by_one = written.iter().any(|written| fixed(written).is_found_in(&text));
            prop_assert_eq!(patterns.is_any_found(&text), one_by_one);
        }
    }

    const PIECES: &[&str] = &[
        "ignore",
        "IGNORE ",
        "iGNOR",
        "e ",
        "your",
        "YOUR",
        "di\u{17f}regard",
        "disregard\t",
        " ",
        "<",
        "/",
        "system",
        "SyStem",
        ">",
        "new ",
        "NEW",
        "prompt",
        "instruction",
        ":",
        "5",
        "55",
        "-x",
        "stra",
        "STRA",
        "ß",
        "ẞ",
        "e",
        "\u{212a}elvin",
        "kelvin",
        "é",
    ];

    #[test]
    fn pattern_set_agrees_with_single_patterns() {
        let written = WRITTEN;
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
