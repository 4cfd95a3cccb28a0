//! Properties that nobody can tell about: facts that were unknown may or may not have broken them.

use lictor_logic::{Ending, Facts, Moment, Time, Word, evaluate};

use super::Trail;
use crate::judge::Prepared;
use crate::label::Labels;

/// How many events are looked at to find out. It is done by the definition of the logic, which is slow, and only where
/// facts were unknown; beyond that, what may depend on them is taken to be unknown.
const MOST_EVENTS: usize = 500;

impl Trail {
    /// Whether some fact is unknown at an event, or was before it.
    pub(crate) fn has_unknown(&self, labels: &Labels) -> bool {
        !self.unknown.is_empty() || !labels.unknown.is_empty()
    }

    /// Whether it cannot be told if a property, by its number, holds at an event behind the trail, because of facts that
    /// are unknown there or were before.
    pub(crate) fn is_doubtful(
        &self,
        prepared: &Prepared,
        property: usize,
        labels: &Labels,
        time: Option<Time>,
    ) -> bool {
        let asked = prepared.asked(property);
        let is_asked = |name| asked.contains(&name);
        let is_unknown_now = labels.unknown.iter().any(|(name, _)| is_asked(*name));
        let was_unknown = asked.iter().any(|name| self.unknown.contains(name));
        if !is_unknown_now && !was_unknown {
            return false;
        }
        // What looks ahead is followed by its certain facts; only what is unknown at the event itself is held against it.
        let Some((arena, formula)) = &prepared.formulas[property].at_last else { return is_unknown_now };
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
        !is_whole || answer().is_none()
    }
}
