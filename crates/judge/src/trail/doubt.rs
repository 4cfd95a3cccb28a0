//! Properties whose verdict is unknown because of unknown facts.

use lictor_logic::{Ending, Facts, Moment, Time, Word, evaluate};

use super::Trail;
use crate::PreparedPolicy;
use crate::label::Labels;

/// How many events are examined. This uses the definition of the logic, which is slow, and only after unknown facts. In
/// longer trails, everything that may depend on unknown facts is unknown.
const MAX_EXAMINED_EVENTS: usize = 500;

/// Whether it is unknown if a property holds at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It is known.
    None,
    /// It is unknown.
    Some,
    /// The property looks ahead, so that earlier unknown facts affect what is still open: ask the engine.
    Ahead,
}

impl Trail {
    /// Whether some fact is unknown at an event, or was before it.
    pub(crate) fn has_unknown(&self, labels: &Labels) -> bool {
        !self.unknown.is_empty() || !labels.unknown.is_empty()
    }

    /// Returns whether unknown facts, now or before, leave it unknown if a property holds at an event after the trail.
    pub(crate) fn doubt(
        &self,
        prepared: &PreparedPolicy,
        property: usize,
        labels: &Labels,
        time: Option<Time>,
    ) -> Doubt {
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
        let is_whole = self.forgotten == 0 && self.begun.is_empty() && positions.len() <= MAX_EXAMINED_EVENTS;
        let answer = || evaluate(arena, *formula, &Word { positions: &positions, ending: Ending::Stops });
        if !is_whole || answer().is_none() { Doubt::Some } else { Doubt::None }
    }
}
