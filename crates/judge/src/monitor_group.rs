//! Properties that look at the same events: one engine moves them together.

use lictor_logic::{After, CacheLimits, Monitor, MonitorId, Name, Observation, Snapshot, SnapshotError};
use lictor_logic::{MonitorSet, Time, TraceState, Value, Verdict};

use super::prepare::Prepared;
use crate::finding::DecidedBy;
use crate::label::{Labels, Plan};
use crate::trail::{Doubt, Trail};

/// Properties that look at the same events.
#[derive(Clone, Debug)]
pub(crate) struct MonitorGroup {
    watch: MonitorSet,
    /// The numbers of the facts' names in the watch, by their number in the plan.
    names: Vec<Name>,
    /// The properties by the number of their monitor.
    properties: Vec<usize>,
    /// Some property has a bound in time.
    is_timed: bool,
    observation: Observation,
}

/// A property that starts anew, by its number, and for which values.
pub(crate) type Restart = (usize, Vec<Option<Value>>);

/// A property that an event, or the time before it, broke.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Violation {
    /// Its number in the policy.
    pub(crate) property: usize,
    pub(crate) by: DecidedBy,
    /// For the values of its variables, in their order; none for all values never seen.
    pub(crate) binding: Vec<Option<Value>>,
}

/// What an event decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Violations {
    pub(crate) broken: Vec<Violation>,
    pub(crate) restarts: Vec<Restart>,
}

impl MonitorGroup {
    pub(super) fn new(limits: CacheLimits) -> MonitorGroup {
        MonitorGroup {
            watch: MonitorSet::with_limits(limits),
            names: Vec::new(),
            properties: Vec::new(),
            is_timed: false,
            observation: Observation::new(),
        }
    }

    /// Adds the property of that number.
    pub(super) fn add(&mut self, property: usize, monitor: Monitor, after: After) -> MonitorId {
        self.is_timed |= monitor.is_timed();
        self.properties.push(property);
        self.watch.add(monitor, after)
    }

    /// Learns the names of the facts that are looked for.
    pub(super) fn learn(&mut self, plan: &Plan) {
        self.names = plan.names.iter().map(|name| self.watch.name(name)).collect();
    }

    /// The properties, by number.
    pub(super) fn properties(&self) -> &[usize] {
        &self.properties
    }

    pub(crate) fn start(&mut self) -> TraceState {
        self.watch.start()
    }

    /// What was due before an event is late by itself, not by the event.
    pub(crate) fn expire(
        &mut self,
        standing: &mut TraceState,
        time: Option<Time>,
        prepared: &Prepared,
        violations: &mut Violations,
    ) {
        let Some(time) = time else { return };
        if self.deadline(standing).is_some_and(|due| due < time) {
            self.tick(standing, Time(time.0.saturating_sub(1)), prepared, violations);
        }
    }

    /// Lets time pass.
    pub(crate) fn tick(
        &mut self,
        standing: &mut TraceState,
        now: Time,
        prepared: &Prepared,
        violations: &mut Violations,
    ) {
        let decided = self.watch.tick(standing, now);
        violations.take(decided, DecidedBy::Deadline, &self.properties, prepared);
    }

    /// Makes an event that was labeled ready to be read, once or several times.
    pub(crate) fn make_ready(&self, labels: &Labels, time: Option<Time>, observation: &mut Observation) {
        labels.fill(observation, time, &self.names);
    }

    /// Reads an event that was made ready.
    pub(crate) fn observe(
        &mut self,
        standing: &mut TraceState,
        labels: &Labels,
        observation: &Observation,
        prepared: &Prepared,
        violations: &mut Violations,
    ) {
        let decided = match labels.unknown.is_empty() {
            true => self.watch.observe(standing, observation),
            false => self.watch.step(standing, &labels.facts(observation.time, &prepared.plan.names)),
        };
        violations.take(decided, DecidedBy::Event, &self.properties, prepared);
    }

    /// Makes an event ready and reads it.
    pub(crate) fn observe_labels(
        &mut self,
        standing: &mut TraceState,
        labels: &Labels,
        time: Option<Time>,
        prepared: &Prepared,
        violations: &mut Violations,
    ) {
        let mut observation = std::mem::take(&mut self.observation);
        self.make_ready(labels, time, &mut observation);
        self.observe(standing, labels, &observation, prepared, violations);
        self.observation = observation;
    }

    /// Reads events that are missing. Gives the properties, by number, of which nothing can be told behind them.
    pub(crate) fn miss(
        &mut self,
        standing: &mut TraceState,
        count: u64,
        prepared: &Prepared,
        violations: &mut Violations,
    ) -> Vec<usize> {
        let missed = self.watch.miss(standing, count);
        // They come between two events, as time does.
        violations.take(&missed.decided, DecidedBy::Deadline, &self.properties, prepared);
        missed.lost.iter().map(|monitor| self.properties[monitor.index()]).collect()
    }

    /// The properties, by number, of which nobody can tell whether an event behind a trail breaks them.
    ///
    /// They stood at `before`, and at `behind` once the event was read.
    pub(crate) fn doubts(
        &mut self,
        (before, behind): (&TraceState, &TraceState),
        trail: &Trail,
        (labels, time): (&Labels, Option<Time>),
        violations: &Violations,
        prepared: &Prepared,
    ) -> Vec<usize> {
        let is_open = |property: &usize| !violations.broken.iter().any(|broken| broken.property == *property);
        let (mut doubts, mut ahead) = (Vec::new(), Vec::new());
        let has_unknown = trail.has_unknown(labels);
        for property in self.properties.iter().copied().filter(is_open) {
            let monitor = prepared.monitors[property];
            let doubt = match has_unknown {
                true => trail.doubt(prepared, property, labels, time),
                false => Doubt::None,
            };
            match doubt {
                _ if self.watch.is_full(behind, monitor) || self.watch.is_undetermined(behind, monitor) => {
                    doubts.push(property);
                }
                Doubt::Some => doubts.push(property),
                Doubt::Ahead => ahead.push(property),
                Doubt::None => {}
            }
        }
        if !ahead.is_empty() {
            let (mut before, facts) = (before.clone(), labels.facts(time, &prepared.plan.names));
            self.expire(&mut before, time, prepared, &mut Violations::default());
            doubts.extend(
                ahead
                    .into_iter()
                    .filter(|property| self.watch.may_break(&before, prepared.monitors[*property], &facts)),
            );
        }
        doubts
    }

    pub(super) fn verdict(&mut self, standing: &mut TraceState, id: MonitorId) -> Verdict {
        self.watch.verdict(standing, id)
    }

    pub(super) fn end(&mut self, standing: &mut TraceState, id: MonitorId) -> Verdict {
        self.watch.end(standing, id)
    }

    /// What must still hold, as a formula and in words.
    pub(super) fn residual(&mut self, standing: &mut TraceState, id: MonitorId) -> Option<(String, String)> {
        let residual = self.watch.residual(standing, id)?;
        Some((residual.to_string(), residual.english()))
    }

    pub(crate) fn save(&self, standing: &TraceState) -> Snapshot {
        self.watch.snapshot(standing)
    }

    pub(crate) fn restore(&mut self, saved: &Snapshot) -> Result<TraceState, SnapshotError> {
        self.watch.restore(saved)
    }

    /// The same of another policy: the properties whose formulas are not in it begin here; beside it, by number, which.
    pub(crate) fn migrate(&mut self, saved: &Snapshot) -> Result<(TraceState, Vec<usize>), SnapshotError> {
        let (standing, begun) = self.watch.migrate(saved)?;
        Ok((standing, begun.iter().map(|monitor| self.properties[monitor.index()]).collect()))
    }

    /// The next moment at which something is due.
    pub(crate) fn deadline(&self, standing: &TraceState) -> Option<Time> {
        if self.is_timed { self.watch.deadline(standing) } else { None }
    }
}

impl Violations {
    fn take(&mut self, decided: &[lictor_logic::Conclusion], by: DecidedBy, properties: &[usize], prepared: &Prepared) {
        for decided in decided {
            let property = properties[decided.monitor.index()];
            let binding = decided.binding.clone().unwrap_or_default();
            if prepared.formulas[property].after == After::Reset {
                self.restarts.push((property, binding.clone()));
            }
            if decided.verdict == Verdict::Violated {
                self.broken.push(Violation { property, by, binding });
            }
        }
    }
}
