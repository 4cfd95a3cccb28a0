//! How large a regular expression can become when it is compiled.
//!
//! Compiling takes ten times as long as parsing, and most patterns of a policy are never tried: the word they
//! begin with does not occur. So a pattern is only parsed when its policy is read, if its parts show that it stays below
//! the limit. Sizes are those of the Thompson automaton that the regex crate builds, in either direction.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind};
use regex_syntax::utf8::Utf8Sequences;

/// The most bytes that one state of the automaton takes, with a transition.
const STATE_BYTES: usize = 48;

/// The most states of one byte of a literal, which may be in a trie.
const STATES_PER_BYTE: usize = 2;

/// The most states that an operator adds to those of its parts.
const STATES_PER_OPERATOR: usize = 4;

/// Whether a pattern is certain to compile within a limit. If not, only compiling it can tell.
pub(crate) fn is_surely_compilable(pattern: &str, max_depth: u32, max_bytes: usize) -> bool {
    let parsed = ParserBuilder::new().nest_limit(max_depth).build().parse(pattern);
    parsed.is_ok_and(|hir| bound_size(&hir) <= max_bytes)
}

/// Returns a size that the compiled pattern does not exceed.
fn bound_size(hir: &Hir) -> usize {
    // Any text may come before a match, and a match is the first capture.
    count_states(hir).saturating_add(2 * STATES_PER_OPERATOR).saturating_mul(STATE_BYTES)
}

/// Returns a number of states that the compiled pattern does not exceed.
fn count_states(hir: &Hir) -> usize {
    let add = |states: usize, part: &Hir| states.saturating_add(count_states(part)).saturating_add(1);
    let parts = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len().saturating_mul(STATES_PER_BYTE),
        HirKind::Class(class) => count_class_states(class),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1) as usize;
            count_states(&repetition.sub).saturating_add(1).saturating_mul(times)
        }
        HirKind::Capture(capture) => count_states(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().fold(0, add),
    };
    parts.saturating_add(STATES_PER_OPERATOR)
}

/// Returns a number of states for a class: one for each byte of each UTF-8 sequence, and one more.
fn count_class_states(class: &Class) -> usize {
    match class {
        Class::Bytes(class) => class.ranges().len(),
        Class::Unicode(class) => class.iter().map(count_range_states).sum(),
    }
}

fn count_range_states(range: &ClassUnicodeRange) -> usize {
    match range.end().is_ascii() {
        true => 2,
        false => Utf8Sequences::new(range.start(), range.end()).map(|sequence| sequence.len() + 1).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex::RegexBuilder;

    /// Patterns of all operators, with classes and repetitions that become large.
    fn pattern() -> impl Strategy<Value = String> {
        let literal = "[a-zäß日]{1,9}";
        let class = prop::sample::select(vec![
            r"\w",
            r"\s",
            r"\d",
            r"\S",
            ".",
            "(?s:.)",
            "[a-z0-9]",
            "[^a-z]",
            "[а-я]",
            "(?-u:\\b)",
            r"\b",
            "^",
            "$",
            r"\p{Greek}",
            "(?-u:[a-c])",
            "[k-s]",
            "",
        ]);
        let leaf = prop_oneof![literal.prop_map(String::from), class.prop_map(str::to_owned)];
        leaf.prop_recursive(5, 40, 4, |inner| {
            let parts = prop::collection::vec(inner.clone(), 1..5);
            prop_oneof![
                parts.clone().prop_map(|parts| parts.concat()),
                parts.clone().prop_map(|parts| format!("({})", parts.join("|"))),
                parts.prop_map(|parts| format!("(?i:{})", parts.join("|"))),
                (inner.clone(), 0u32..12, 0u32..12).prop_map(|(inner, a, b)| format!("(?:{inner}){{{a},{}}}", a + b)),
                (inner, prop::sample::select(vec!["*", "+", "?", "*?", "{3}", "{2,}"]))
                    .prop_map(|(inner, times)| format!("({inner}){times}")),
            ]
        })
    }

    proptest! {
        #[test]
        fn pattern_size_bound_holds_for_compiled_patterns(pattern in pattern()) {
            let Ok(hir) = regex_syntax::parse(&pattern) else { return Ok(()) };
            let compiled = RegexBuilder::new(&pattern).size_limit(bound_size(&hir)).build();
            prop_assert!(compiled.is_ok(), "{pattern}: {compiled:?}");
        }
    }

    #[test]
    fn pattern_size_bound_is_close_enough() {
        for pattern in [r"(?is)\b(ignore|forget)\s+.{0,40}\s+(rules?|orders)\s*$", r"\d{16}", r"[a-z0-9]+@[a-z.]+"] {
            assert!(is_surely_compilable(pattern, 64, 1 << 18), "{pattern}");
        }
        for pattern in [r"(a{1000}){1000}", r"(", r"\w{2000}", "((((a))))"] {
            assert!(!is_surely_compilable(pattern, 3, 1 << 20), "{pattern}");
        }
    }
}
