//! What the kept moments of a trail tell about the properties of a later policy.

use lictor_logic::{Moment, Span, Time};

use super::{EventSummary, Trail};
use crate::facts::{ImpliedFact, NameId};
use crate::past::{PastPolicies, PolicyScope};
use crate::prepared::PropertyFormula;
use crate::{PreparedPolicy, Restart};

impl Trail {
    /// Whether the kept moments tell every fact that a property asks for, and no moment was dropped that still counts.
    pub(crate) fn tells(&self, prepared: &PreparedPolicy, property: usize, clock: Option<Time>) -> bool {
        let is_kept = |name: &u32| self.past.as_ref().is_none_or(|past| past.tells(*name));
        self.covers(&prepared.formulas[property], clock) && prepared.asked(property).iter().all(is_kept)
    }

    /// Whether the dropped moments are too long ago to count for a formula.
    pub(crate) fn covers(&self, parsed: &PropertyFormula, clock: Option<Time>) -> bool {
        let is_before =
            |reach: Span| clock.zip(self.first_time()).is_some_and(|(clock, first)| clock.since(first).0 > reach.0);
        self.forgotten == 0 || parsed.reach().is_some_and(is_before)
    }

    /// Whether the moments tell every fact that a property of the next policy asks for. `now` is what the present policy
    /// looks for.
    pub(crate) fn will_tell(
        &self,
        next: &PreparedPolicy,
        property: usize,
        now: &PolicyScope,
        past: &PastPolicies,
        clock: Option<Time>,
    ) -> bool {
        let eras = self.past.as_ref().map(|past| past.eras()).unwrap_or_default();
        let is_kept = |name: &u32| {
            let text = &next.plan.names[*name as usize];
            // Until which moment which policy judged, and whether it looked for the fact.
            let has = |scope: Option<&PolicyScope>| scope.is_some_and(|scope| scope.has_same_fact(next.scope(), text));
            let found: Vec<(usize, bool, bool)> = eras
                .iter()
                .map(|era| (era.until, has(past.scope(&era.policy).map(AsRef::as_ref)), era.is_old))
                .chain([(usize::MAX, has(Some(now)), false)])
                .collect();
            found.iter().all(|(_, is_found, _)| *is_found)
                || (0..self.moments.len()).all(|place| {
                    let era = found.iter().find(|(until, ..)| self.forgotten + place < *until);
                    let (is_found, is_old) = era.map_or((false, true), |(_, is_found, is_old)| (*is_found, *is_old));
                    let tells =
                        |summary: &EventSummary| next.plan.find_implied(*name, summary.kind()) != ImpliedFact::Unknown;
                    is_found || self.moments.summary(place).is_none_or(|summary| !is_old && tells(summary))
                })
        };
        self.covers(&next.formulas[property], clock) && next.asked(property).iter().all(is_kept)
    }

    /// Lets properties be judged over the whole trail, with these restarts.
    pub(crate) fn rebuild(&mut self, properties: &[usize], restarts: Vec<(Restart, usize)>) {
        self.begun.retain(|property, _| !properties.contains(property));
        self.resets.retain(|(property, _), _| !properties.contains(property));
        let restarts = restarts.into_iter().filter(|((property, _), _)| properties.contains(property));
        self.resets.extend(restarts);
    }

    /// Returns the moments in order with the facts of some names.
    pub(crate) fn kept_moments<'a>(
        &'a self,
        prepared: &'a PreparedPolicy,
        is_asked: impl Fn(NameId) -> bool + Copy + 'a,
    ) -> impl Iterator<Item = Moment> + 'a {
        self.moments.some(0..self.moments.len(), &prepared.plan.names, is_asked)
    }

    /// How many moments were dropped.
    pub(crate) fn forgotten(&self) -> usize {
        self.forgotten
    }

    /// Returns the first time that is known of the kept moments.
    pub(crate) fn first_time(&self) -> Option<Time> {
        (0..self.moments.len()).find_map(|place| self.moments.time(place))
    }
}
