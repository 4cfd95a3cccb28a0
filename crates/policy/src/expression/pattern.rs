//! Regular expressions in expressions.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use regex::{Regex, RegexBuilder};

/// The largest compiled pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// The deepest nesting of groups in a pattern.
const MAX_NESTED_GROUPS: u32 = 64;

/// How many dynamic patterns are cached.
const MAX_CACHED_PATTERNS: usize = 64;

/// How many literal patterns are remembered.
const MAX_LITERAL_PATTERNS: usize = 1024;

/// Literal patterns that were compiled before: a policy is checked when it is read, and compiled again for each judge.
static LITERAL_PATTERNS: LazyLock<RwLock<HashMap<String, Regex>>> = LazyLock::new(RwLock::default);

/// A pattern from a literal in the policy.
#[derive(Clone, Debug)]
pub(super) struct LiteralPattern(Regex);

/// Patterns from events or tables, compiled at their first use and cached.
#[derive(Debug, Default)]
pub(super) struct DynamicPatterns(RwLock<HashMap<String, Option<Arc<Regex>>>>);

impl LiteralPattern {
    /// Compiles a pattern, or says in a line what is wrong with it.
    pub(super) fn new(pattern: &str) -> Result<LiteralPattern, String> {
        let known = LITERAL_PATTERNS.read().unwrap_or_else(PoisonError::into_inner).get(pattern).cloned();
        if let Some(regex) = known {
            return Ok(LiteralPattern(regex));
        }
        let regex = build(pattern).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
            error => format!("the pattern is not a regular expression: {}", describe(&error.to_string())),
        })?;
        let mut known = LITERAL_PATTERNS.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_LITERAL_PATTERNS {
            known.clear();
        }
        known.insert(pattern.to_owned(), regex.clone());
        Ok(LiteralPattern(regex))
    }

    /// Whether it is found in a text.
    pub(super) fn is_found_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// Returns how it is written.
    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl DynamicPatterns {
    /// Whether a pattern is found in a text; none if it is not a pattern. `spend` is asked before one is compiled.
    pub(super) fn is_found_in<E>(
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
                if kept.len() >= MAX_CACHED_PATTERNS {
                    kept.clear();
                }
                kept.insert(pattern.to_owned(), regex.clone());
                regex
            }
        };
        Ok(regex.map(|regex| regex.is_match(text)))
    }
}

/// Says in a line what is wrong with a pattern, if it is no regular expression. It is not compiled, which takes longer.
pub(super) fn check_pattern(pattern: &str) -> Result<(), String> {
    let parsed = regex_syntax::ParserBuilder::new().nest_limit(MAX_NESTED_GROUPS).build().parse(pattern);
    parsed
        .map(drop)
        .map_err(|error| format!("`{pattern}` is not a regular expression: {}", describe(&error.to_string())))
}

/// Returns the last line of a message, which says what is wrong; those before draw the place.
fn describe(message: &str) -> &str {
    message.lines().last().unwrap_or_default().trim_start_matches("error: ")
}

fn build(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .nest_limit(MAX_NESTED_GROUPS)
        .build()
}
