//! Custom categories of a policy: a regular expression, words, or both.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::cue::Cue;
use super::fold::fold;
use super::lexicon::Lexicon;
use super::loose_words::LooseWords;
use crate::CustomCategory;
use crate::open_patterns::OpenPatterns;

/// The categories of a policy, compiled.
#[derive(Default)]
pub(super) struct CustomCategories {
    patterns: Vec<CustomPattern>,
    /// The same patterns, for texts of which more may arrive.
    pub(super) open_patterns: OpenPatterns,
    /// Words that the lexicon can hold, with the number of their category.
    pub(super) words: Vec<(String, u16)>,
    /// Words that it cannot hold.
    pub(super) loose: Option<LooseWords>,
    /// The numbers of the categories whose values identify a person.
    identifying: Vec<u16>,
}

/// A compiled pattern of a category.
struct CustomPattern {
    pattern: Regex,
    category: u16,
}

/// A value that a pattern matched.
pub(super) struct CustomValue<'t> {
    /// The number of its category.
    pub(super) category: u16,
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    /// The value: the first group of the pattern where it has one, else all that it matched.
    pub(super) value: &'t str,
}

/// The largest compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// How many values of one text a pattern may have. Each match can scan the rest of the text; this keeps the time in
/// proportion to the text.
const MAX_VALUES_PER_PATTERN: usize = 4096;

impl CustomCategories {
    /// Compiles categories, each with the number that `number` returns. An error has the index of the category.
    pub(super) fn new(
        categories: &[CustomCategory],
        number: impl Fn(&CustomCategory) -> u16,
    ) -> Result<CustomCategories, (usize, String)> {
        let mut custom = CustomCategories::default();
        let mut loose = Vec::new();
        for (place, category) in categories.iter().enumerate() {
            let number = number(category);
            if category.identifies {
                custom.identifying.push(number);
            }
            if let Some(pattern) = &category.pattern {
                let pattern = compile_pattern(pattern).map_err(|error| (place, error))?;
                custom.patterns.push(CustomPattern { pattern, category: number });
            }
            for word in &category.words {
                let folded = fold(word.trim(), false).text.to_lowercase();
                if folded.is_empty() {
                    return Err((place, "an empty word would match every text; remove it".into()));
                }
                match Lexicon::can_hold(&folded) {
                    true => custom.words.push((folded, number)),
                    false => loose.push((place, word.trim(), number)),
                }
            }
        }
        let first = loose.first().map_or(0, |(place, _, _)| *place);
        custom.loose = LooseWords::new(loose.iter().map(|(_, word, number)| (*word, Cue::Term(*number))))
            .map_err(|error| (first, error))?;
        custom.open_patterns = OpenPatterns::new(custom.patterns.iter().map(|custom| custom.pattern.as_str()));
        Ok(custom)
    }

    /// Whether the values of a category identify a person.
    pub(super) fn identifies(&self, category: u16) -> bool {
        self.identifying.contains(&category)
    }

    /// Whether there is no pattern and no loose word, so that only words of the lexicon can be found.
    pub(super) fn has_only_words(&self) -> bool {
        self.patterns.is_empty() && self.loose.is_none()
    }

    /// Returns the matches of the patterns in a text: all of them, or the first of each if the values are not needed.
    pub(super) fn find_values<'t>(&'t self, text: &'t str, all: bool) -> impl Iterator<Item = CustomValue<'t>> {
        self.patterns.iter().flat_map(move |custom| {
            let most = if all || self.identifies(custom.category) { MAX_VALUES_PER_PATTERN } else { 1 };
            custom.pattern.captures_iter(text).take(most).filter_map(|captures| {
                let value = captures.get(1).or_else(|| captures.get(0))?;
                Some(CustomValue { category: custom.category, range: value.range(), value: value.as_str() })
            })
        })
    }
}

fn compile_pattern(pattern: &str) -> Result<Regex, String> {
    let compiled = RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| format!("the pattern cannot be used: {error}"))?;
    if compiled.is_match("") {
        return Err(
            "the pattern matches the empty text, so it would match every text; require at least one character".into()
        );
    }
    Ok(compiled)
}
