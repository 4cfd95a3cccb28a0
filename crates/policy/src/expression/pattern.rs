//! Regular expressions in expressions.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};

use regex::{Regex, RegexBuilder};

use super::pattern_size::is_surely_compilable;

/// The largest compiled pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// How deep groups may be nested.
const MAX_DEPTH: u32 = 64;

/// How many dynamic patterns are cached.
const MAX_CACHED_PATTERNS: usize = 64;

/// How many literal patterns are remembered.
const MAX_LITERAL_PATTERNS: usize = 1024;

/// Literal patterns that were checked before: a policy is checked when it is read, and compiled again for each judge.
static LITERAL_PATTERNS: LazyLock<RwLock<HashMap<Arc<str>, LiteralPattern>>> = LazyLock::new(RwLock::default);

/// A pattern from a literal in the policy. It is compiled at its first use, unless only compiling it can tell whether it
/// is too large.
#[derive(Clone, Debug)]
pub(crate) struct LiteralPattern {
    written: Arc<str>,
    /// INVARIANT: `new` has refused every pattern that cannot be compiled.
    compiled: Arc<OnceLock<Option<Regex>>>,
}

/// Patterns from events or tables, compiled at their first use and cached.
#[derive(Debug, Default)]
pub(super) struct DynamicPatterns(RwLock<HashMap<String, Option<Arc<Regex>>>>);

impl LiteralPattern {
    /// Checks a pattern, or says in a line what is wrong with it.
    pub(crate) fn new(pattern: &str) -> Result<LiteralPattern, String> {
        let known = LITERAL_PATTERNS.read().unwrap_or_else(PoisonError::into_inner).get(pattern).cloned();
        if let Some(pattern) = known {
            return Ok(pattern);
        }
        let compiled = match is_surely_compilable(pattern, MAX_DEPTH, MAX_COMPILED_BYTES) {
            true => OnceLock::new(),
            false => OnceLock::from(Some(build(pattern, MAX_COMPILED_BYTES).map_err(|error| describe_error(&error))?)),
        };
        let mut known = LITERAL_PATTERNS.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_LITERAL_PATTERNS {
            known.clear();
        }
        let literal = LiteralPattern { written: pattern.into(), compiled: Arc::new(compiled) };
        known.insert(Arc::clone(&literal.written), literal.clone());
        Ok(literal)
    }

    /// Whether it is found in a text.
    pub(super) fn is_found_in(&self, text: &str) -> bool {
        // No limit, since the pattern is known to be small enough.
        let compile = || build(&self.written, usize::MAX).ok();
        self.compiled.get_or_init(compile).as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Returns how it is written.
    pub(super) fn as_str(&self) -> &str {
        &self.written
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
                let regex = build(pattern, MAX_COMPILED_BYTES).ok().map(Arc::new);
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

fn build(pattern: &str, max_bytes: usize) -> Result<Regex, regex::Error> {
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(max_bytes).dfa_size_limit(MAX_COMPILED_BYTES).nest_limit(MAX_DEPTH).build()
}

/// Says in a line what is wrong with a pattern, if it is no regular expression. It is not compiled, which takes longer.
pub(super) fn check_pattern(pattern: &str) -> Result<(), String> {
    let parsed = regex_syntax::ParserBuilder::new().nest_limit(MAX_DEPTH).build().parse(pattern);
    let describe = |error: regex_syntax::Error| last_line(&error.to_string()).to_owned();
    parsed.map(drop).map_err(|error| format!("`{pattern}` is not a regular expression: {}", describe(error)))
}

/// Returns the last line of a message, which says what is wrong; those before draw the place.
fn last_line(message: &str) -> &str {
    message.lines().last().unwrap_or_default().trim_start_matches("error: ")
}

fn describe_error(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
        error => format!("the pattern is not a regular expression: {}", last_line(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_pattern_is_compiled_at_first_use() {
        let pattern = LiteralPattern::new(r"(?i)\bthe first use of a pattern\b").unwrap();
        assert!(pattern.compiled.get().is_none());
        assert!(pattern.is_found_in("at THE FIRST use of a pattern") && !pattern.is_found_in("the first user"));
        assert!(pattern.compiled.get().is_some());
    }

    #[test]
    fn literal_pattern_over_limit_is_refused_at_once() {
        for (pattern, reason) in [(r"\w{2000}", "the pattern is too large"), ("(", "not a regular expression")] {
            assert!(LiteralPattern::new(pattern).unwrap_err().contains(reason), "{pattern}");
        }
    }
}
