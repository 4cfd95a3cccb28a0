//! Events that are known to be missing: what can still be told behind them.
//!
//! A missing event is a position of which nothing is known. The engine judges it by every way it could have been, so what
//! is told behind it is so whatever it was. Three sorts of properties are given up instead, and stay inconclusive unless
//! they were broken before: those with bounds in time, as nobody knows when a missing event was; those whose history goes
//! beyond the session, as nobody knows whose it was; and the few for which the engine has too many ways to try.

use lictor_logic::Time;

use super::monitor_group::Violations;
use super::{Judge, SessionState};
use lictor_json::Text;
use lictor_policy::History;

impl Judge {
    /// Makes missing events part of a session; `next` is the time of the event behind them. What they broke, they broke
    /// whatever they were.
    pub(crate) fn miss(&mut self, state: &mut SessionState, count: u64, next: Option<Time>) -> Violations {
        let mut violations = Violations::default();
        // Between two moments that are one, and in a session without times, the moment is known. A clock that nothing has
        // set stands at the beginning of time.
        let told = |time: Option<Time>| time.filter(|time| *time != Time::default());
        let is_dated = told(state.standing.clock()) == told(next);
        let mut lost: Vec<bool> = match state.lost.take() {
            Some(lost) => lost.into_vec(),
            None => vec![false; self.properties().len()],
        };
        let prepared = self.prepared();
        for (property, is_lost) in lost.iter_mut().enumerate() {
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

    /// The properties, by number, that are judged over more than a session.
    pub(crate) fn beyond_sessions(&self) -> impl Iterator<Item = usize> {
        let properties = self.properties().iter().enumerate();
        properties.filter(|(_, property)| property.history != History::Session).map(|(place, _)| place)
    }

    /// The names of the properties of which nothing can be told any more.
    pub(super) fn lost_names(&self, state: &SessionState) -> Vec<Text> {
        let properties = self.properties().iter().enumerate();
        properties.filter(|(place, _)| state.is_lost(*place)).map(|(_, property)| property.id.clone()).collect()
    }

    /// The properties of those names, but for those that have only begun.
    pub(super) fn lost_places(&self, names: &[Text], begun: &[usize]) -> Option<Box<[bool]>> {
        let properties = self.properties().iter().enumerate();
        let is_lost = |(place, property): (usize, &std::sync::Arc<lictor_policy::Property>)| {
            names.contains(&property.id) && !begun.contains(&place)
        };
        (!names.is_empty()).then(|| properties.map(is_lost).collect())
    }
}

impl SessionState {
    /// Whether nothing can be told of a property any more.
    pub(crate) fn is_lost(&self, property: usize) -> bool {
        self.lost.as_ref().is_some_and(|lost| lost[property])
    }

    /// Takes out of a ruling what nobody can tell; gives the properties that may be broken.
    pub(crate) fn spare_lost(&self, violations: &mut Violations) -> Vec<usize> {
        let mut spared = Vec::new();
        if self.lost.is_some() {
            violations.broken.retain(|broken| {
                let is_lost = self.is_lost(broken.property);
                spared.extend(is_lost.then_some(broken.property));
                !is_lost
            });
        }
        spared
    }
}
