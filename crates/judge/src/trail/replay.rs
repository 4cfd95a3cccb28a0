//! Judges the kept moments of a trail anew, for properties that a policy change added or changed.

use lictor_logic::{After, Moment, Span, Time, TraceState};
use lictor_policy::{Mode, Property, Response};

use super::Trail;
use crate::facts::ToldFact;
use crate::monitor_group::{MonitorGroup, Violations};
use crate::past::{PastPolicies, PolicyScope};
use crate::prepared::PropertyFormula;
use crate::{PreparedPolicy, Restart};

/// What judging the kept moments anew gives.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) standing: TraceState,
    /// The violated properties, by number: at which event the first time, from one, and how often.
    pub(crate) broken: Vec<(usize, u32)>,
    /// The properties that cannot be followed over the forgotten moments.
    pub(crate) lost: Vec<usize>,
    /// After which moment properties restarted.
    pub(crate) restarts: Vec<(Restart, usize)>,
}

impl Trail {
    /// Whether the kept moments tell every fact that a property asks for, and no moment was dropped that still counts.
    pub(crate) fn tells(&self, prepared: &PreparedPolicy, property: usize, clock: Option<Time>) -> bool {
        let is_told = |name: &u32| self.past.as_ref().is_none_or(|past| past.tells(*name));
        self.covers(&prepared.formulas[property], clock) && prepared.asked(property).iter().all(is_told)
    }

    /// Whether the dropped moments are too long ago to count for a formula.
    pub(crate) fn covers(&self, parsed: &PropertyFormula, clock: Option<Time>) -> bool {
        let first = (0..self.moments.len()).find_map(|place| self.moments.time(place));
        let is_before = |reach: Span| clock.zip(first).is_some_and(|(clock, first)| clock.since(first).0 > reach.0);
        self.forgotten == 0 || parsed.reach().is_some_and(is_before)
    }

    /// Whether the moments tell every fact that a property of the next policy asks for. `now` is what the present policy
    /// looks for.
    pub(crate) fn foretells(
        &self,
        next: &PreparedPolicy,
        property: usize,
        now: &PolicyScope,
        past: &PastPolicies,
        clock: Option<Time>,
    ) -> bool {
        let eras = self.past.as_ref().map(|past| past.eras()).unwrap_or_default();
        let is_told = |name: &u32| {
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
                    let tells = |summary| next.plan.tell_fact(*name, summary) != ToldFact::Unknown;
                    is_found || self.moments.summary(place).is_none_or(|summary| !is_old && tells(summary))
                })
        };
        self.covers(&next.formulas[property], clock) && next.asked(property).iter().all(is_told)
    }

    /// Lets properties be judged over the whole trail, with these restarts.
    pub(crate) fn rebuild(&mut self, properties: &[usize], restarts: Vec<(Restart, usize)>) {
        self.begun.retain(|property, _| !properties.contains(property));
        self.resets.retain(|(property, _), _| !properties.contains(property));
        let restarts = restarts.into_iter().filter(|((property, _), _)| properties.contains(property));
        self.resets.extend(restarts);
    }

    /// Judges the moments anew for some properties of a group; the states of its others mean nothing.
    ///
    /// A property that is final or starts anew after a violation, and would have stopped the event, is judged as if the
    /// event had not happened: under it, the event would not have taken effect.
    pub(crate) fn replay(&self, group: &mut MonitorGroup, properties: &[usize], prepared: &PreparedPolicy) -> Replay {
        let mut standing = group.start();
        let (mut lost, mut broken, mut restarts) = (Vec::new(), Vec::new(), Vec::new());
        if self.forgotten > 0 {
            // They were before the first kept moment.
            if let Some(first) = (0..self.moments.len()).find_map(|place| self.moments.time(place)) {
                group.tick(&mut standing, Time(first.0.saturating_sub(1)), prepared, &mut Violations::default());
            }
            lost = group.miss(&mut standing, self.forgotten as u64, prepared, &mut Violations::default());
        }
        let is_spared = |property: &usize| {
            prepared.formulas[*property].after != After::Each && stops_event(&prepared.properties[*property])
        };
        // A second state that is one moment behind.
        let mut behind = properties.iter().any(is_spared).then(|| standing.clone());
        let is_asked = |name| properties.iter().any(|property| prepared.asked(*property).contains(&name));
        let mut step = 0;
        for (place, moment) in self.moments.some(0..self.moments.len(), &prepared.plan.names, is_asked).enumerate() {
            step += u32::from(matches!(moment, Moment::Position(_)));
            let mut violations = Violations::default();
            let late = group.read_moment(&mut standing, &moment, prepared, &mut violations);
            let mut spared: Vec<usize> = violations.broken[late..].iter().map(|broken| broken.property).collect();
            spared.retain(|property| is_spared(property) && properties.contains(property));
            if let Some(behind) = &mut behind {
                for property in &spared {
                    group.transfer(behind, &mut standing, *property, prepared);
                }
                group.read_moment(behind, &moment, prepared, &mut Violations::default());
                for property in &spared {
                    group.transfer(&standing, behind, *property, prepared);
                }
            }
            let mut counted: Vec<usize> = violations.broken.iter().map(|broken| broken.property).collect();
            counted.dedup();
            broken.extend(counted.into_iter().map(|property| (property, step)));
            violations.restarts.retain(|(property, _)| !spared.contains(property));
            restarts.extend(violations.restarts.into_iter().map(|restart| (restart, place + 1)));
        }
        Replay { standing, broken, lost, restarts }
    }
}

/// Whether an event that violates a property does not take effect, or not as it is.
fn stops_event(property: &Property) -> bool {
    property.mode == Mode::Enforce && property.respond >= Response::Redact
}
