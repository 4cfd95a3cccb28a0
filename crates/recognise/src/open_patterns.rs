//! Where a match of a regular expression may be in the middle at the end of a text.

use std::sync::{Mutex, PoisonError};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Compiler, Config as NfaConfig};
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Capture, Hir, HirKind, Repetition};

/// The largest compiled set of patterns, in bytes.
const MAX_COMPILED_BYTES: usize = 4 << 20;

/// Regular expressions, for the question where a match could start that more text would complete.
#[derive(Debug, Default)]
pub struct OpenPatterns {
    automaton: Automaton,
    /// The states that were computed so far. Another thread computes its own.
    cache: Mutex<Option<Cache>>,
}

#[derive(Debug, Default)]
enum Automaton {
    /// There are no patterns.
    #[default]
    None,
    /// One automaton for all patterns.
    All(Box<DFA>),
    /// The patterns are too large: a match may start anywhere.
    TooLarge,
}

impl OpenPatterns {
    /// Compiles patterns. If they are too large or cannot be parsed, every text is open from its start.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> OpenPatterns {
        let parse = |pattern| regex_syntax::parse(pattern).ok().map(|hir| drop_looks(&hir));
        let parsed: Option<Vec<Hir>> = patterns.into_iter().map(parse).collect();
        let automaton = match parsed {
            Some(patterns) if patterns.is_empty() => Automaton::None,
            Some(patterns) => build(&patterns).map_or(Automaton::TooLarge, |dfa| Automaton::All(Box::new(dfa))),
            None => Automaton::TooLarge,
        };
        OpenPatterns { automaton, cache: Mutex::default() }
    }

    /// Returns where the earliest match could start that more text would complete, extend or undo; the length of the
    /// text if there is none.
    pub fn open_from(&self, text: &str) -> usize {
        let dfa = match &self.automaton {
            Automaton::None => return text.len(),
            Automaton::TooLarge => return 0,
            Automaton::All(dfa) => dfa,
        };
        let taken = self.cache.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut cache = taken.unwrap_or_else(|| dfa.create_cache());
        let starts = text.char_indices().map(|(place, _)| place);
        let open = starts.into_iter().find(|start| is_alive(dfa, &mut cache, text, *start)).unwrap_or(text.len());
        *self.cache.lock().unwrap_or_else(PoisonError::into_inner) = Some(cache);
        open
    }
}

/// Whether a match that starts here may go on beyond the end of the text.
fn is_alive(dfa: &DFA, cache: &mut Cache, text: &str, start: usize) -> bool {
    let input = Input::new(text).range(start..).anchored(Anchored::Yes);
    let Ok(mut state) = dfa.start_state_forward(cache, &input) else { return true };
    for &byte in &text.as_bytes()[start..] {
        state = match dfa.next_state(cache, state, byte) {
            Ok(state) => state,
            Err(_) => return true,
        };
        if state.is_dead() {
            return false;
        }
        if state.is_quit() {
            return true;
        }
    }
    true
}

/// Builds an automaton that follows all matches, not only the first. A match ends one byte after its last, so what
/// follows it, as `\b` asks, has arrived.
fn build(patterns: &[Hir]) -> Option<DFA> {
    let nfa = Compiler::new()
        .configure(NfaConfig::new().nfa_size_limit(Some(MAX_COMPILED_BYTES)))
        .build_many_from_hir(patterns)
        .ok()?;
    let config = DFA::config().match_kind(MatchKind::All).skip_cache_capacity_check(true);
    DFA::builder().configure(config).build_from_nfa(nfa).ok()
}

/// Returns a pattern without its conditions on neighbors: it matches more, and none of its states depends on them.
fn drop_looks(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Look(_) => Hir::empty(),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => hir.clone(),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(drop_looks(&repetition.sub));
            Hir::repetition(Repetition { sub, ..repetition.clone() })
        }
        HirKind::Capture(capture) => {
            let sub = Box::new(drop_looks(&capture.sub));
            Hir::capture(Capture { sub, ..capture.clone() })
        }
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(drop_looks).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(drop_looks).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open<'t>(patterns: &[&str], text: &'t str) -> &'t str {
        &text[OpenPatterns::new(patterns.iter().copied()).open_from(text)..]
    }

    #[test]
    fn open_patterns_find_begun_match() {
        let loyalty = &[r"\bLC-\d{6}\b"][..];
        assert_eq!(open(loyalty, "Your number is LC-12"), "LC-12");
        assert_eq!(open(loyalty, "Your number is L"), "L");
        assert_eq!(open(loyalty, "Your number is LC-123456"), "LC-123456");
        assert_eq!(open(loyalty, "Your number is LC-123456, as"), "");
        assert_eq!(open(loyalty, "Your number is late"), "");
        assert_eq!(open(loyalty, "für Köln, L"), "L");
    }

    #[test]
    fn open_patterns_keep_lower_priority_match() {
        assert_eq!(open(&["a", "ab+c"], "x abb"), "abb");
        assert_eq!(open(&["a|ab+c"], "x abb"), "abb");
    }

    #[test]
    fn open_patterns_without_bound_are_open() {
        assert_eq!(open(&["secret.*word"], "a secret that goes on"), "secret that goes on");
        assert_eq!(open(&["("], "anything"), "anything");
        assert_eq!(open(&[], "anything"), "");
    }
}
