//! The properties of a policy and a pattern over their verdicts, advanced together.
//!
//! A pattern is a formula about what becomes of properties: `violated("id")` holds at an event that newly violates the
//! property, `satisfied("id")` at one that settles it for good. So "within three steps", "twice" and "settled and not
//! violated" are formulas of the same language, decided by the same engine.

use std::sync::Arc;

use lictor_logic::{
    Atom, Fact, Facts, FormulaError, Monitor, MonitorId, MonitorSet, Snapshot, SnapshotError, Term, Time, TraceState,
    Value, Verdict,
};

/// The pattern that some property is newly violated.
pub const SOME_VIOLATION: &str = "eventually violated";

/// Properties and a pattern over their verdicts.
#[derive(Debug)]
pub(crate) struct Machine {
    monitors: MonitorSet,
    properties: Vec<FollowedProperty>,
    pattern: MonitorSet,
    pattern_id: MonitorId,
    /// Whether its states can be compared, so that equal ones are computed once.
    is_finite: bool,
}

#[derive(Debug)]
struct FollowedProperty {
    id: MonitorId,
    violated: Fact,
    satisfied: Fact,
    is_timed: bool,
}

/// The states of the properties and of the pattern.
#[derive(Clone, Debug)]
pub(crate) struct MachineState {
    trace: TraceState,
    pattern: TraceState,
}

/// Whether a pattern has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has.
    Hit,
    /// It has not and cannot any more.
    Missed,
    /// It has not yet.
    Open,
    /// It depends on unknown facts.
    Unknown,
}

impl Machine {
    pub(crate) fn new(properties: &[(&str, Monitor)], pattern: &str) -> Result<Machine, FormulaError> {
        let mut monitors = MonitorSet::new();
        let mut is_finite = true;
        let mut followed = Vec::with_capacity(properties.len());
        for (name, monitor) in properties {
            is_finite &= monitor.variables().is_empty() && !monitor.is_about_data() && !monitor.is_timed();
            let fact = |kind: &str| Fact::new(kind, [Value::Text(Arc::from(*name))]);
            let (violated, satisfied) = (fact("violated"), fact("satisfied"));
            let is_timed = monitor.is_timed();
            followed.push(FollowedProperty { id: monitors.add(monitor.clone()), violated, satisfied, is_timed });
        }
        let mut patterns = MonitorSet::new();
        let pattern = Monitor::parse(pattern)?;
        is_finite &= pattern.variables().is_empty() && !pattern.is_about_data() && !pattern.is_timed();
        let pattern_id = patterns.add(pattern);
        Ok(Machine { monitors, properties: followed, pattern: patterns, pattern_id, is_finite })
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.is_finite
    }

    /// Returns the state of a session, and before it the verdicts of its last event if these count.
    pub(crate) fn resume(
        &mut self,
        session: &Snapshot,
        present: &[(&str, Verdict)],
    ) -> Result<MachineState, SnapshotError> {
        let (trace, _) = self.monitors.migrate(session)?;
        let mut pattern = self.pattern.start();
        if !present.is_empty() {
            let fact = |(name, verdict): &(&str, Verdict)| {
                let kind = if *verdict == Verdict::Violated { "violated" } else { "satisfied" };
                Fact::new(kind, [Value::Text(Arc::from(*name))])
            };
            let facts = Facts { known: present.iter().map(fact).collect(), ..Facts::default() };
            self.pattern.step(&mut pattern, &facts);
        }
        Ok(MachineState { trace, pattern })
    }

    /// Returns the clock of a state.
    pub(crate) fn clock(&self, state: &MachineState) -> Option<Time> {
        state.trace.clock()
    }

    /// Returns numbers that equal states have in common; none if states cannot be compared.
    pub(crate) fn key(&self, state: &MachineState) -> Option<Box<[u32]>> {
        let own = self.properties.iter().map(|property| self.monitors.state(&state.trace, property.id));
        own.chain([self.pattern.state(&state.pattern, self.pattern_id)]).collect()
    }

    /// Reads the facts of an event.
    pub(crate) fn step(&mut self, state: &mut MachineState, facts: &Facts) {
        let before = (!facts.unknown.is_empty()).then(|| state.trace.clone());
        let mut verdicts = Facts::default();
        for conclusion in self.monitors.step(&mut state.trace, facts) {
            let Some(property) = self.properties.iter().find(|it| it.id == conclusion.monitor) else { continue };
            match conclusion.verdict {
                Verdict::Violated => verdicts.known.push(property.violated.clone()),
                Verdict::Satisfied => verdicts.known.push(property.satisfied.clone()),
                Verdict::Inconclusive => {}
            }
        }
        if let Some(before) = before {
            for property in &self.properties {
                if !verdicts.known.contains(&property.violated) && self.monitors.may_break(&before, property.id, facts)
                {
                    let terms: Vec<Term> = property.violated.values.iter().cloned().map(Term::Value).collect();
                    verdicts.unknown.push(Atom::new(Arc::clone(&property.violated.name), terms));
                }
            }
        }
        self.pattern.step(&mut state.pattern, &verdicts);
    }

    /// Whether the pattern has happened.
    pub(crate) fn outcome(&mut self, state: &mut MachineState) -> Outcome {
        match self.pattern.verdict(&mut state.pattern, self.pattern_id) {
            Verdict::Satisfied => Outcome::Hit,
            Verdict::Violated => Outcome::Missed,
            Verdict::Inconclusive => Outcome::Open,
        }
    }

    /// Whether the pattern has happened if nothing more counts.
    pub(crate) fn outcome_at_horizon(&mut self, state: &mut MachineState) -> Outcome {
        match self.pattern.end(&mut state.pattern, self.pattern_id) {
            Verdict::Satisfied => Outcome::Hit,
            Verdict::Violated => Outcome::Missed,
            Verdict::Inconclusive => Outcome::Unknown,
        }
    }

    /// Whether the pattern has happened if the session ends: what properties still ask for is then violated.
    pub(crate) fn outcome_at_end(&mut self, state: &mut MachineState) -> Outcome {
        let mut verdicts = Facts::default();
        for property in &self.properties {
            let is_open = self.monitors.verdict(&mut state.trace, property.id) == Verdict::Inconclusive;
            match self.monitors.end(&mut state.trace, property.id) {
                // A deadline may still be met after the log ends.
                Verdict::Violated if is_open && !property.is_timed => verdicts.known.push(property.violated.clone()),
                Verdict::Satisfied if is_open => verdicts.known.push(property.satisfied.clone()),
                _ => {}
            }
        }
        self.pattern.step(&mut state.pattern, &verdicts);
        self.outcome_at_horizon(state)
    }
}
