//! Categories that a policy brings along: a regular expression, words, or both.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::cue::Cue;
use super::fold::fold;
use super::lexicon::Lexicon;
use super::loose::LooseWords;
use crate::CustomCategory;

/// The categories of a policy, compiled.
#[derive(Default)]
pub(super) struct Own {
    patterns: Vec<OwnPattern>,
    /// Words that the lexicon can hold, with the number of their category.
    pub(super) words: Vec<(String, u16)>,
    /// Words that it cannot hold.
    pub(super) loose: Option<LooseWords>,
    /// The numbers of the categories whose values tell who a person is.
    identifying: Vec<u16>,
}

struct OwnPattern {
    pattern: Regex,
    category: u16,
}

/// A value that a pattern matched.
pub(super) struct OwnValue<'t> {
    /// The number of its category.
    pub(super) category: u16,
    /// Where it stands.
    pub(super) range: Range<usize>,
    /// The value: the first group of the pattern where it has one, else all that it matched.
    pub(super) value: &'t str,
}

/// The largest pattern, compiled, in bytes.
const LARGEST: usize = 1 << 20;

/// The most values that are read from one text by one pattern. Going from match to match can look at the rest of the
/// text every time; this keeps the time in proportion to the text.
const MOST_VALUES: usize = 4096;

impl Own {
    /// Compiles categories; each has the number that `number` gives it. An error has the place of the category.
    pub(super) fn new(
        categories: &[CustomCategory],
        number: impl Fn(&CustomCategory) -> u16,
    ) -> Result<Own, (usize, String)> {
        let mut own = Own::default();
        let mut loose = Vec::new();
        for (place, category) in categories.iter().enumerate() {
            let number = number(category);
            if category.identifies {
                own.identifying.push(number);
            }
            if let Some(pattern) = &category.pattern {
                let pattern = compile(pattern).map_err(|error| (place, error))?;
                own.patterns.push(OwnPattern { pattern, category: number });
            }
            for word in &category.words {
                let folded = fold(word.trim(), false).text.to_lowercase();
                if folded.is_empty() {
                    return Err((place, "an empty word would be seen everywhere; take it out".into()));
                }
                match Lexicon::can_hold(&folded) {
                    true => own.words.push((folded, number)),
                    false => loose.push((place, word.trim(), number)),
                }
            }
        }
        let first = loose.first().map_or(0, |(place, _, _)| *place);
        own.loose = LooseWords::new(loose.iter().map(|(_, word, number)| (*word, Cue::Term(*number))))
            .map_err(|error| (first, error))?;
        Ok(own)
    }

    /// Whether the values of a category tell who a person is.
    pub(super) fn identifies(&self, category: u16) -> bool {
        self.identifying.contains(&category)
    }

    /// Whether there is no pattern and no loose word, so that only words of the lexicon can be found.
    pub(super) fn is_quiet(&self) -> bool {
        self.patterns.is_empty() && self.loose.is_none()
    }

    /// What the patterns match in a text. Where nobody wants the values, the first of each is enough.
    pub(super) fn values<'t>(&'t self, text: &'t str, all: bool) -> impl Iterator<Item = OwnValue<'t>> {
        self.patterns.iter().flat_map(move |own| {
            let most = if all || self.identifies(own.category) { MOST_VALUES } else { 1 };
            own.pattern.captures_iter(text).take(most).filter_map(|captures| {
                let value = captures.get(1).or_else(|| captures.get(0))?;
                Some(OwnValue { category: own.category, range: value.range(), value: value.as_str() })
            })
        })
    }
}

fn compile(pattern: &str) -> Result<Regex, String> {
    let compiled = RegexBuilder::new(pattern)
        .size_limit(LARGEST)
        .dfa_size_limit(LARGEST)
        .build()
        .map_err(|error| format!("the pattern cannot be used: {error}"))?;
    if compiled.is_match("") {
        return Err(
            "the pattern matches the empty text, so every text would carry the category; ask for at least one \
                    character"
                .into(),
        );
    }
    Ok(compiled)
}
