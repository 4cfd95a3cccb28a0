//! Regular expressions in expressions.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use regex::{Regex, RegexBuilder};

/// How large a compiled pattern may be, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// How many patterns that are no literals are kept compiled.
const MOST_KEPT: usize = 64;

/// A pattern that was written as a literal.
#[derive(Clone, Debug)]
pub(super) struct Fixed(Regex);

/// Patterns that only an event or a table tells, compiled when they are met.
#[derive(Debug, Default)]
pub(super) struct Dynamic(RwLock<HashMap<String, Option<Arc<Regex>>>>);

impl Fixed {
    /// Compiles a pattern, or says in a line what is wrong with it.
    pub(super) fn new(pattern: &str) -> Result<Fixed, String> {
        build(pattern).map(Fixed).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
            error => {
                // The last line says what is wrong, those before draw the place.
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                format!("the pattern is not a regular expression: {}", last.trim_start_matches("error: "))
            }
        })
    }

    /// Whether it is found in a text.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl Dynamic {
    /// Whether a pattern is found in a text; none if it is not a pattern. `spend` is asked before one is compiled.
    pub(super) fn is_in<E>(
        &self,
        pattern: &str,
        text: &str,
        spend: impl FnOnce() -> Result<(), E>,
    ) -> Result<Option<bool>, E> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner).get(pattern).cloned();
        let regex = match kept {
            Some(kept) => kept,
            None => {
                spend()?;
                let regex = build(pattern).ok().map(Arc::new);
                let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
                if kept.len() >= MOST_KEPT {
                    kept.clear();
                }
                kept.insert(pattern.to_owned(), regex.clone());
                regex
            }
        };
        Ok(regex.map(|regex| regex.is_match(text)))
    }
}

fn build(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(MOST_BYTES).dfa_size_limit(MOST_BYTES).nest_limit(64).build()
}
