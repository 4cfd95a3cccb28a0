//! Missing events, and what can still be decided after them.
//!
//! All facts are unknown at a missing event. The engine tries every possibility, so a verdict after it holds in all of
//! them. Three sorts of properties are lost instead, and stay inconclusive unless they were violated before: properties
//! with time bounds, because the time of a missing event is unknown; properties judged over more than the session,
//! because its owner is unknown; and the few for which the engine has too many possibilities to try.

use lictor_logic::Time;

use super::monitor_group::Violations;
use super::{Judge, SessionState};
use lictor_json::Text;
use lictor_policy::History;

impl Judge {
    /// Adds missing events to a session; `next` is the time of the event after them. Returns what they violate in every
    /// case.
    pub(crate) fn miss(&mut self, state: &mut SessionState, count: u64, next: Option<Time>) -> Violations {
        let mut violations = Violations::default();
        // The time is known if it is the same before and after, or if the session has no times.
        let is_dated = state.standing.clock() == next;
        let mut lost: Vec<bool> = match state.lost.take() {
            Some(lost) => lost.into_vec(),
            None => vec![false; self.properties().len()],
        };
        let prepared = self.prepared();
        for (property, is_lost) in lost.iter_mut().enumerate() {
            // A missing event has no chances.
            *is_lost |= prepared.properties[property].risk.is_some();
            *is_lost |= prepared.properties[property].history != History::Session;
            *is_lost |= prepared.formulas[property].measures_time && !is_dated;
        }
        let prepared = std::sync::Arc::clone(prepared);
        for property in self.group.miss(&mut state.standing, count, &prepared, &mut violations) {
            lost[property] = true;
        }
        state.lost = Some(lost.into());
        state.context.miss();
        state.spare_lost(&mut violations);
        state.count(&violations);
        violations
    }

    /// Returns the properties, by number, that are judged over more than a session.
    pub(crate) fn beyond_sessions(&self) -> impl Iterator<Item = usize> {
        let properties = self.properties().iter().enumerate();
        properties.filter(|(_, property)| property.history != History::Session).map(|(place, _)| place)
    }

    /// Returns the names of the lost properties.
    pub(super) fn lost_names(&self, state: &SessionState) -> Vec<Text> {
        let properties = self.properties().iter().enumerate();
        properties
            .filter(|(place, _)| state.is_lost(*place) && !state.is_blind(*place))
            .map(|(_, property)| property.id.clone())
            .collect()
    }

    /// Marks the properties with those names as lost, except those that have only begun.
    pub(super) fn lost_places(&self, names: &[Text], begun: &[usize]) -> Option<Box<[bool]>> {
        let properties = self.properties().iter().enumerate();
        let is_lost = |(place, property): (usize, &std::sync::Arc<lictor_policy::Property>)| {
            names.contains(&property.id) && !begun.contains(&place)
        };
        (!names.is_empty()).then(|| properties.map(is_lost).collect())
    }
}

impl SessionState {
    /// Whether missing events, or a past that cannot be told, made a property undecidable.
    pub(crate) fn is_lost(&self, property: usize) -> bool {
        self.lost.as_ref().is_some_and(|lost| lost[property]) || self.is_blind(property)
    }

    /// Whether the past of a property cannot be told.
    pub(crate) fn is_blind(&self, property: usize) -> bool {
        self.blind.as_ref().is_some_and(|blind| blind.contains(&property))
    }

    /// Removes the violations of lost properties, and returns those properties: they may be violated.
    pub(crate) fn spare_lost(&self, violations: &mut Violations) -> Vec<usize> {
        let mut spared = Vec::new();
        if self.lost.is_some() || self.blind.is_some() {
            violations.broken.retain(|broken| {
                let is_lost = self.is_lost(broken.property);
                spared.extend(is_lost.then_some(broken.property));
                !is_lost
            });
        }
        spared
    }
}
