//! Properties that nobody can tell about: facts that were unknown may or may not have broken them.

use lictor_logic::{Ending, Facts, Moment, Time, Word, evaluate};

use super::Trail;
use crate::Prepared;
use crate::label::Labels;

/// How many events are looked at to find out. It is done by the definition of the logic, which is slow, and only where
/// facts were unknown; beyond that, what may depend on them is taken to be unknown.
const MOST_EVENTS: usize = 500;

/// Whether it can be told if a property holds at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It can.
    None,
    /// It cannot.
    Some,
    /// It looks ahead, so that what was unknown before lives on in what is still open: the engine knows in which ways.
    Ahead,
}

impl Trail {
    /// Whether some fact is unknown at an event, or was before it.
    pub(crate) fn has_unknown(&self, labels: &Labels) -> bool {
        !self.unknown.is_empty() || !labels.unknown.is_empty()
    }

    /// Whether it can be told if a property, by its number, holds at an event behind the trail, in spite of facts that are
    /// unknown there or were before.
    pub(crate) fn doubt(&self, prepared: &Prepared, property: usize, labels: &Labels, time: Option<Time>) -> Doubt {
        let asked = prepared.asked(property);
        let is_asked = |name| asked.contains(&name);
        let is_unknown_now = labels.unknown.iter().any(|(name, _)| is_asked(*name));
        let was_unknown = asked.iter().any(|name| self.unknown.contains(name));
        if !is_unknown_now && !was_unknown {
            return Doubt::None;
        }
        let Some((arena, formula)) = &prepared.formulas[property].at_last else {
            return if is_unknown_now { Doubt::Some } else { Doubt::Ahead };
        };
        let names = &prepared.plan.names;
        let moments = self.moments.some(0..self.moments.len(), names, &is_asked);
        let now = labels.only(is_asked).facts(time, names);
        let positions = moments.filter_map(|moment| match moment {
            Moment::Position(facts) => Some(facts),
            Moment::Tick(_) => None,
        });
        let positions: Vec<Facts> = positions.chain([now]).collect();
        let is_whole = self.forgotten == 0 && self.begun.is_empty() && positions.len() <= MOST_EVENTS;
        let answer = || evaluate(arena, *formula, &Word { positions: &positions, ending: Ending::Stops });
        if !is_whole || answer().is_none() { Doubt::Some } else { Doubt::None }
    }
}
