//! Named parts of regular expressions.
//!
//! Patterns for commands and paths repeat the same parts, and are hard to read without names. A part is written
//! `(?&name)`, as in PCRE, which the syntax of our patterns leaves free.

use std::borrow::Cow;
use std::ops::Range;

use lictor_json::Text;

/// How a part begins where it is used.
const OPENING: &str = "(?&";

/// The longest pattern with all of its parts, in bytes: a few parts of parts can become a very long text.
const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// The parts of one policy text.
#[derive(Debug, Default)]
pub(crate) struct PatternParts {
    /// Each name with its pattern, in which no part is left.
    parts: Vec<(Text, String)>,
}

/// Why the parts of a pattern cannot be put in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PartProblem {
    /// No part has the name in this place of the pattern.
    Unknown(Range<usize>),
    /// A `(?&` without a name and a bracket.
    Unclosed(Range<usize>),
    /// The pattern becomes too long.
    TooLong,
}

impl PatternParts {
    /// Adds a part.
    pub(crate) fn add(&mut self, name: Text, pattern: String) {
        self.parts.push((name, pattern));
    }

    /// Returns the pattern of a part.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.parts.iter().find(|(known, _)| known == name).map(|(_, pattern)| pattern.as_str())
    }

    /// Returns the names of all parts.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.parts.iter().map(|(name, _)| name.as_str())
    }

    /// Returns a pattern with the parts in the places of their names, each in brackets.
    pub(crate) fn put_in<'p>(&self, pattern: &'p str) -> Result<Cow<'p, str>, PartProblem> {
        if !pattern.contains(OPENING) {
            return Ok(Cow::Borrowed(pattern));
        }
        let mut whole = String::new();
        let mut at = 0;
        while let Some(found) = pattern[at..].find(OPENING) {
            let start = at + found;
            let name_start = start + OPENING.len();
            let length = pattern[name_start..].bytes().take_while(|byte| is_name_byte(*byte)).count();
            let end = name_start + length;
            if length == 0 || pattern.as_bytes().get(end) != Some(&b')') {
                return Err(PartProblem::Unclosed(start..end));
            }
            let Some(part) = self.get(&pattern[name_start..end]) else {
                return Err(PartProblem::Unknown(name_start..end));
            };
            whole.push_str(&pattern[at..start]);
            whole.push_str("(?:");
            whole.push_str(part);
            whole.push(')');
            if whole.len() > MAX_PATTERN_BYTES {
                return Err(PartProblem::TooLong);
            }
            at = end + 1;
        }
        whole.push_str(&pattern[at..]);
        Ok(Cow::Owned(whole))
    }
}

/// Whether a name of a part may have this byte.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> PatternParts {
        let mut parts = PatternParts::default();
        parts.add("word".into(), "[a-z]+|_".into());
        let path = parts.put_in("(?&word)(/(?&word))*").unwrap().into_owned();
        parts.add("path".into(), path);
        parts
    }

    #[test]
    fn parts_stand_in_brackets_where_named() {
        let path = "(?:(?:[a-z]+|_)(/(?:[a-z]+|_))*)";
        assert_eq!(parts().put_in("^rm (?&path)$").unwrap(), format!("^rm {path}$"));
        assert_eq!(parts().put_in("^rm x$").unwrap(), "^rm x$");
        assert_eq!(parts().put_in("(?:a)(?<name>b)").unwrap(), "(?:a)(?<name>b)");
    }

    #[test]
    fn unknown_and_unclosed_parts_are_placed() {
        assert_eq!(parts().put_in("a(?&wrd)"), Err(PartProblem::Unknown(4..7)));
        for (pattern, span) in [("(?&word", 0..7), ("x(?&)", 1..4), ("(?&a-b)", 0..4)] {
            assert_eq!(parts().put_in(pattern), Err(PartProblem::Unclosed(span)), "{pattern}");
        }
    }

    #[test]
    fn parts_of_parts_are_bounded() {
        let mut parts = parts();
        let mut last = "path".to_owned();
        for number in 0..40 {
            match parts.put_in(&format!("(?&{last})(?&{last})")) {
                Ok(pattern) => {
                    let pattern = pattern.into_owned();
                    last = format!("p{number}");
                    parts.add(last.as_str().into(), pattern);
                }
                Err(problem) => return assert_eq!(problem, PartProblem::TooLong),
            }
        }
        panic!("forty doublings are not too long");
    }
}
