//! Properties that nobody can tell about: facts that were unknown may or may not have broken them.

use lictor_logic::{Ending, Facts, Moment, Word, evaluate};

use super::{Entry, Trail};
use crate::judge::Parsed;

/// How many events are looked at to find out. It is done by the definition of the logic, which is slow, and only where
/// facts were unknown; beyond that, what may depend on them is taken to be unknown.
const MOST_EVENTS: usize = 500;

impl Trail {
    /// Whether it cannot be told if a property holds at the last of some further events, because of facts that were
    /// unknown then or before.
    pub(crate) fn is_doubtful(&self, parsed: &Parsed, later: &[Entry]) -> bool {
        let names = parsed.names();
        let asks = |facts: &Facts| facts.unknown.iter().any(|fact| names.contains(&fact.name));
        let is_unknown_now = later.iter().any(|(moment, _)| matches!(moment, Moment::Position(facts) if asks(facts)));
        let was_unknown = names.iter().any(|name| self.unknown.contains(name));
        if !is_unknown_now && !was_unknown {
            return false;
        }
        // What looks ahead is followed by its certain facts; only what is unknown at the event itself is held against it.
        let Some((arena, formula)) = &parsed.at_last else { return is_unknown_now };
        let moments = self.moments.iter().chain(later.iter().map(|(moment, _)| moment));
        let positions: Vec<Facts> = moments
            .filter_map(|moment| match moment {
                Moment::Position(facts) => Some(super::only(facts, |name| names.contains(name))),
                Moment::Tick(_) => None,
            })
            .collect();
        let is_whole = self.forgotten == 0 && self.begun.is_empty() && positions.len() <= MOST_EVENTS;
        let answer = || evaluate(arena, *formula, &Word { positions: &positions, ending: Ending::Stops });
        !is_whole || answer().is_none()
    }
}
