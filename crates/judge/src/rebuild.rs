//! Judges the past of a session anew, for the properties that a policy change added or changed.
//!
//! A property with the same formula over the same facts continues from its state. Every other one is judged over the
//! kept moments of the session. Facts that were not looked for there are unknown, and so are the moments that were
//! dropped. A property that the engine cannot follow over such a past is *blind*: it is never violated, and unknown at
//! every event that may violate it after some past.

use lictor_logic::{After, Moment, Time, TraceState};
use lictor_policy::{Mode, Property, Response};

use crate::facts::Labels;
use crate::monitor_group::{MonitorGroup, Violations};
use crate::past::{PolicyMove, PolicyScope};
use crate::trail::Trail;
use crate::{PreparedPolicy, Restart};

/// The properties of a moved history, by number.
#[derive(Debug, Default)]
pub(crate) struct Rebuilt {
    /// Those that were judged anew.
    pub(crate) properties: Vec<usize>,
    /// Those of them of which the past does not tell everything.
    pub(crate) unknown: Vec<usize>,
    /// Those of them that cannot be followed over their past.
    pub(crate) blind: Vec<usize>,
    /// When they were violated, by the number of the event from one.
    pub(crate) broken: Vec<(usize, u32)>,
}

/// What judging the kept moments anew gives.
#[derive(Debug)]
struct Replay {
    standing: TraceState,
    /// The violated properties, by number: at which event the first time, from one, and how often.
    broken: Vec<(usize, u32)>,
    /// The properties that cannot be followed over the forgotten moments.
    lost: Vec<usize>,
    /// After which moment properties restarted.
    restarts: Vec<(Restart, usize)>,
}

impl Rebuilt {
    /// Notes that the past of these properties cannot be told.
    pub(crate) fn blind_all(&mut self, properties: &[usize]) {
        (self.properties, self.unknown, self.blind) = (properties.to_vec(), properties.to_vec(), properties.to_vec());
    }

    /// Adds those of another history.
    pub(crate) fn extend(&mut self, other: Rebuilt) {
        self.properties
            .extend(other.properties.iter().filter(|it| !self.properties.contains(it)).copied().collect::<Vec<_>>());
        self.unknown.extend(other.unknown);
    }

    /// Returns the names of the properties.
    pub(crate) fn describe(&self, prepared: &PreparedPolicy) -> PolicyMove {
        let named = |property: &usize| prepared.properties[*property].id.clone();
        let (unknown, rebuilt): (Vec<usize>, Vec<usize>) =
            self.properties.iter().partition(|property| self.unknown.contains(property));
        PolicyMove { rebuilt: rebuilt.iter().map(named).collect(), unknown: unknown.iter().map(named).collect() }
    }
}

impl MonitorGroup {
    /// Judges properties anew over a trail, from the state that the other properties continue from. `begun` are the
    /// properties without a state, `from` is the policy before; none if it is not known. `is_torn` means that events are
    /// missing somewhere.
    pub(crate) fn rebuild(
        &mut self,
        standing: &mut TraceState,
        trail: &mut Trail,
        begun: Vec<usize>,
        from: Option<&PolicyScope>,
        is_torn: bool,
        prepared: &PreparedPolicy,
    ) -> Rebuilt {
        let mut properties = begun;
        if let Some(from) = from {
            properties.extend(self.properties().iter().filter(|property| !prepared.is_same_property(**property, from)));
        }
        properties.sort_unstable();
        properties.dedup();
        if properties.is_empty() || trail.len() == 0 {
            let blind = Vec::new();
            return Rebuilt { properties, blind, ..Rebuilt::default() };
        }
        let Replay { standing: mut fresh, mut broken, lost, restarts } = self.replay(trail, &properties, prepared);
        // What was due since the last moment is late.
        if let Some(clock) = standing.clock() {
            let mut late = Violations::default();
            self.tick(&mut fresh, Time(clock.0.saturating_sub(1)), prepared, &mut late);
            let step = trail.len() as u32;
            broken.extend(late.broken.iter().map(|broken| (broken.property, step)));
        }
        let (mut unknown, mut blind) = (Vec::new(), Vec::new());
        for property in properties.iter().copied() {
            let parsed = &prepared.formulas[property];
            let is_blind = !self.transfer(&fresh, standing, property, prepared)
                // The chances of answers are not kept.
                || prepared.properties[property].risk.is_some()
                || lost.contains(&property)
                || (parsed.measures_time && !trail.covers(parsed, standing.clock()))
                || (is_torn && (parsed.measures_time || parsed.counts_positions));
            blind.extend(is_blind.then_some(property));
            unknown.extend((is_blind || !trail.tells(prepared, property, standing.clock())).then_some(property));
        }
        broken.retain(|(property, _)| properties.contains(property) && !blind.contains(property));
        trail.rebuild(&properties, restarts);
        Rebuilt { properties, unknown, blind, broken }
    }

    /// Judges the moments anew for some properties of a group; the states of its others mean nothing.
    ///
    /// A property that is final or starts anew after a violation, and would have stopped the event, is judged as if the
    /// event had not happened: under it, the event would not have taken effect.
    fn replay(&mut self, trail: &Trail, properties: &[usize], prepared: &PreparedPolicy) -> Replay {
        let mut standing = self.start();
        let (mut lost, mut broken, mut restarts) = (Vec::new(), Vec::new(), Vec::new());
        if trail.forgotten() > 0 {
            // They were before the first kept moment.
            if let Some(first) = trail.first_time() {
                self.tick(&mut standing, Time(first.0.saturating_sub(1)), prepared, &mut Violations::default());
            }
            lost = self.miss(&mut standing, trail.forgotten() as u64, prepared, &mut Violations::default());
        }
        let is_spared = |property: &usize| {
            prepared.formulas[*property].after != After::Each && stops_event(&prepared.properties[*property])
        };
        // A second state that is one moment behind.
        let mut behind = properties.iter().any(is_spared).then(|| standing.clone());
        let is_asked = |name| properties.iter().any(|property| prepared.asked(*property).contains(&name));
        let mut step = 0;
        for (place, moment) in trail.kept_moments(prepared, is_asked).enumerate() {
            step += u32::from(matches!(moment, Moment::Position(_)));
            let mut violations = Violations::default();
            let late = self.read_moment(&mut standing, &moment, prepared, &mut violations);
            let mut spared: Vec<usize> = violations.broken[late..].iter().map(|broken| broken.property).collect();
            spared.retain(|property| is_spared(property) && properties.contains(property));
            if let Some(behind) = &mut behind {
                for property in &spared {
                    self.transfer(behind, &mut standing, *property, prepared);
                }
                self.read_moment(behind, &moment, prepared, &mut Violations::default());
                for property in &spared {
                    self.transfer(&standing, behind, *property, prepared);
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

impl PreparedPolicy {
    /// Returns those of the blind properties, by number, that an event may violate.
    pub(crate) fn blind_doubts(&self, blind: &[usize], labels: &Labels) -> Vec<usize> {
        let may_break = |property: &usize| self.formulas[*property].may_break_after_any_past(&self.plan, labels);
        blind.iter().copied().filter(may_break).collect()
    }
}

/// Whether an event that violates a property does not take effect, or not as it is.
fn stops_event(property: &Property) -> bool {
    property.mode == Mode::Enforce && property.respond >= Response::Redact
}
