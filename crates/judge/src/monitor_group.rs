//! Properties over the same history, advanced together by one engine.

use lictor_logic::{
    After, Atom, CacheLimits, ChanceRange, Fact, Facts, Monitor, MonitorId, Name, Observation, Snapshot, SnapshotError,
};
use lictor_logic::{Arena, Formula, Moment, MonitorSet, Node, Sentence, Term, Time, TraceState, Unary, Value, Verdict};

use super::prepared::PreparedPolicy;
use crate::facts::{Labels, Plan, collect_atoms};
use crate::finding::DecidedBy;
use crate::trail::Trail;

/// How many facts of an obligation are tried, whether they settle it.
const MAX_SETTLING_FACTS: usize = 16;

/// Properties over the same history.
#[derive(Clone, Debug)]
pub(crate) struct MonitorGroup {
    watch: MonitorSet,
    /// The engine's numbers of the fact names, by their number in the plan.
    names: Vec<Name>,
    /// The properties by the number of their monitor.
    properties: Vec<usize>,
    /// Those that are about data: a query may be undetermined though every fact is known.
    about_data: Vec<usize>,
    /// Whether some property has a time bound.
    is_timed: bool,
    observation: Observation,
}

/// A property that restarts, by its number, and the values for which it does.
pub(crate) type Restart = (usize, Vec<Option<Value>>);

/// A property that an event, or the time before it, violated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Violation {
    /// Its number in the policy.
    pub(crate) property: usize,
    pub(crate) by: DecidedBy,
    /// The values of its variables, in order; `None` stands for all values never seen.
    pub(crate) binding: Vec<Option<Value>>,
    /// The risk by which it counts as violated, for a property with one.
    pub(crate) risk: Option<ChanceRange>,
}

/// The result of an event.
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
            about_data: Vec::new(),
            is_timed: false,
            observation: Observation::new(),
        }
    }

    /// Adds a property by its number.
    pub(super) fn add(&mut self, property: usize, monitor: Monitor) -> MonitorId {
        self.is_timed |= monitor.is_timed();
        self.properties.push(property);
        if monitor.is_about_data() {
            self.about_data.push(property);
        }
        self.watch.add(monitor)
    }

    /// Registers the fact names of a plan.
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

    /// Reports deadlines before an event: time missed them, not the event.
    pub(crate) fn expire(
        &mut self,
        standing: &mut TraceState,
        time: Option<Time>,
        prepared: &PreparedPolicy,
        violations: &mut Violations,
    ) {
        let Some(time) = time else { return };
        if self.deadline(standing).is_some_and(|due| due < time) {
            self.tick(standing, Time(time.0.saturating_sub(1)), prepared, violations);
        }
    }

    /// Advances the clock.
    pub(crate) fn tick(
        &mut self,
        standing: &mut TraceState,
        now: Time,
        prepared: &PreparedPolicy,
        violations: &mut Violations,
    ) {
        let decided = self.watch.tick(standing, now);
        violations.take(decided, DecidedBy::Deadline, &self.properties, prepared);
    }

    /// Converts a labeled event for the engine, to be read once or several times.
    pub(crate) fn make_ready(&self, labels: &Labels, time: Option<Time>, observation: &mut Observation) {
        labels.fill(observation, time, &self.names);
    }

    /// Reads a converted event.
    pub(crate) fn observe(
        &mut self,
        standing: &mut TraceState,
        labels: &Labels,
        observation: &Observation,
        prepared: &PreparedPolicy,
        violations: &mut Violations,
    ) {
        let decided = match labels.unknown.is_empty() {
            true => self.watch.observe(standing, observation),
            false => self.watch.step(standing, &labels.facts(observation.time, &prepared.plan.names)),
        };
        violations.take(decided, DecidedBy::Event, &self.properties, prepared);
    }

    /// Reads a converted event like [`observe`](MonitorGroup::observe), for a state that is one event behind another.
    pub(crate) fn catch_up(
        &mut self,
        behind: &mut TraceState,
        ahead: &TraceState,
        labels: &Labels,
        observation: &Observation,
        prepared: &PreparedPolicy,
    ) {
        match labels.unknown.is_empty() {
            true => self.watch.catch_up(behind, ahead, observation),
            false => {
                self.watch.step(behind, &labels.facts(observation.time, &prepared.plan.names));
            }
        }
    }

    /// Converts an event and reads it.
    pub(crate) fn observe_labels(
        &mut self,
        standing: &mut TraceState,
        labels: &Labels,
        time: Option<Time>,
        prepared: &PreparedPolicy,
        violations: &mut Violations,
    ) {
        let mut observation = std::mem::take(&mut self.observation);
        self.make_ready(labels, time, &mut observation);
        self.observe(standing, labels, &observation, prepared, violations);
        self.observation = observation;
    }

    /// Reads missing events. Returns the properties, by number, that are lost by them.
    pub(crate) fn miss(
        &mut self,
        standing: &mut TraceState,
        count: u64,
        prepared: &PreparedPolicy,
        violations: &mut Violations,
    ) -> Vec<usize> {
        let missed = self.watch.miss(standing, count);
        // Missing events come between two events, as passing time does.
        violations.take(&missed.decided, DecidedBy::Deadline, &self.properties, prepared);
        missed.lost.iter().map(|monitor| self.properties[monitor.index()]).collect()
    }

    /// Returns the properties, by number, for which it is unknown whether an event after the trail violates them.
    ///
    /// `before` is the state before the event, `behind` the state after it.
    pub(crate) fn doubts(
        &mut self,
        (before, behind): (&TraceState, &TraceState),
        trail: &Trail,
        (labels, time): (&Labels, Option<Time>),
        violations: &Violations,
        prepared: &PreparedPolicy,
    ) -> Vec<usize> {
        let is_open = |property: &usize| !violations.broken.iter().any(|broken| broken.property == *property);
        let (mut doubts, mut dependent) = (Vec::new(), Vec::new());
        // Where nothing is unknown, only queries can be undetermined: they add up what is no number, or are too many. And
        // those that exceeded a limit.
        let properties = if trail.has_unknown(labels) || self.watch.has_stopped(behind) {
            &self.properties
        } else {
            &self.about_data
        };
        for property in properties.iter().copied().filter(is_open) {
            let monitor = prepared.monitors[property];
            if self.watch.is_full(behind, monitor) || self.watch.is_undetermined(behind, monitor) {
                doubts.push(property);
            } else if trail.depends_on_unknown(prepared, property, labels) {
                dependent.push(property);
            }
        }
        if !dependent.is_empty() {
            let (mut before, facts) = (before.clone(), labels.facts(time, &prepared.plan.names));
            self.expire(&mut before, time, prepared, &mut Violations::default());
            dependent.retain(|property| self.watch.may_break(&before, prepared.monitors[*property], &facts));
            doubts.append(&mut dependent);
        }
        doubts
    }

    /// Like [`MonitorGroup::doubts`], without a trail that says which properties cannot depend on anything unknown.
    pub(crate) fn possible_doubts(
        &mut self,
        (before, behind): (&TraceState, &TraceState),
        (labels, time): (&Labels, Option<Time>),
        violations: &Violations,
        prepared: &PreparedPolicy,
    ) -> Vec<usize> {
        let (mut before, facts) = (before.clone(), labels.facts(time, &prepared.plan.names));
        self.expire(&mut before, time, prepared, &mut Violations::default());
        let is_broken = |property: usize| violations.broken.iter().any(|broken| broken.property == property);
        let MonitorGroup { properties, watch, .. } = self;
        let is_doubtful = |property: &usize| {
            let monitor = prepared.monitors[*property];
            watch.is_full(behind, monitor)
                || watch.is_undetermined(behind, monitor)
                || watch.may_break(&before, monitor, &facts)
        };
        properties.iter().copied().filter(|property| !is_broken(*property)).filter(is_doubtful).collect()
    }

    /// Whether each open fact of the next position can change what becomes of a monitor.
    pub(super) fn find_relevant(
        &mut self,
        standing: &TraceState,
        id: MonitorId,
        facts: &Facts,
        open: &[Fact],
    ) -> Vec<bool> {
        self.watch.find_relevant(standing, id, facts, open)
    }

    pub(super) fn verdict(&mut self, standing: &mut TraceState, id: MonitorId) -> Verdict {
        self.watch.verdict(standing, id)
    }

    pub(super) fn end(&mut self, standing: &mut TraceState, id: MonitorId) -> Verdict {
        self.watch.end(standing, id)
    }

    /// Returns what must still hold, as a formula and in words.
    pub(super) fn residual(&mut self, standing: &mut TraceState, id: MonitorId) -> Option<(String, String)> {
        let residual = self.watch.residual(standing, id)?;
        Some((residual.to_string(), residual.english()))
    }

    /// Returns what must still hold in words, and the facts of it that would settle it: each alone at the next event, or all
    /// of them one after the other.
    pub(super) fn describe_obligation(
        &mut self,
        standing: &mut TraceState,
        id: MonitorId,
    ) -> Option<(String, Vec<Fact>, bool)> {
        let mut residual = self.watch.residual(standing, id)?;
        let mut atoms = Vec::new();
        collect_atoms(&residual.arena, residual.formula, true, &mut atoms);
        let ground = |atom: Atom| {
            let value = |term: &Term| match term {
                Term::Value(value) => Some(value.clone()),
                Term::Any | Term::Var(_) => None,
            };
            let values: Option<Vec<Value>> = atom.terms.iter().map(value).collect();
            Some(Fact { name: atom.name, values: values?.into() })
        };
        let wanted = atoms.into_iter().filter(|(_, may_break)| !may_break);
        let mut facts: Vec<Fact> = wanted.filter_map(|(atom, _)| ground(atom)).collect();
        facts.sort_unstable();
        facts.dedup();
        facts.truncate(MAX_SETTLING_FACTS);
        let mut settles = |facts: &[Fact]| {
            let mut next = standing.clone();
            for fact in facts {
                self.watch.step(&mut next, &Facts { known: vec![fact.clone()], ..Facts::default() });
            }
            self.watch.end(&mut next, id) == Verdict::Satisfied
        };
        let alone: Vec<Fact> = facts.iter().filter(|fact| settles(std::slice::from_ref(fact))).cloned().collect();
        let takes_all = alone.is_empty() && settles(&facts);
        if takes_all {
            // Without those that it does not take.
            for place in (0..facts.len()).rev() {
                let fact = facts.remove(place);
                if !settles(&facts) {
                    facts.insert(place, fact);
                }
            }
        }
        let facts = if takes_all { facts } else { alone };
        Some((describe_owed(&mut residual), facts, takes_all))
    }

    pub(crate) fn save(&self, standing: &TraceState) -> Snapshot {
        self.watch.snapshot(standing)
    }

    pub(crate) fn restore(&mut self, saved: &Snapshot) -> Result<TraceState, SnapshotError> {
        self.watch.restore(saved)
    }

    /// Restores a snapshot of another policy. Properties whose formulas are new start here; returns their numbers too.
    pub(crate) fn migrate(&mut self, saved: &Snapshot) -> Result<(TraceState, Vec<usize>), SnapshotError> {
        let (standing, begun) = self.watch.migrate(saved)?;
        Ok((standing, begun.iter().map(|monitor| self.properties[monitor.index()]).collect()))
    }

    /// Advances a state by a moment of a trail. Returns how many of the violations time brought.
    pub(crate) fn read_moment(
        &mut self,
        standing: &mut TraceState,
        moment: &Moment,
        prepared: &PreparedPolicy,
        violations: &mut Violations,
    ) -> usize {
        match moment {
            Moment::Tick(now) => {
                self.tick(standing, *now, prepared, violations);
                violations.broken.len()
            }
            Moment::Position(facts) => {
                self.expire(standing, facts.time, prepared, violations);
                let late = violations.broken.len();
                let decided = self.watch.step(standing, facts);
                violations.take(decided, DecidedBy::Event, &self.properties, prepared);
                late
            }
        }
    }

    /// Puts the state of a property in one trace in place of its state in another. `false` if it counts time otherwise.
    pub(crate) fn transfer(
        &mut self,
        from: &TraceState,
        to: &mut TraceState,
        property: usize,
        prepared: &PreparedPolicy,
    ) -> bool {
        self.watch.transfer(from, to, prepared.monitors[property])
    }

    /// Returns the next deadline of one property.
    pub(crate) fn deadline_of(&self, standing: &TraceState, id: MonitorId) -> Option<Time> {
        if self.is_timed { self.watch.deadline_of(standing, id) } else { None }
    }

    /// Returns the next deadline.
    pub(crate) fn deadline(&self, standing: &TraceState) -> Option<Time> {
        if self.is_timed { self.watch.deadline(standing) } else { None }
    }
}

/// Returns what a residual still asks for, in words. What must hold at every step, however long the trace is, is no
/// obligation of it.
fn describe_owed(residual: &mut Sentence) -> String {
    fn is_standing(arena: &Arena, formula: Formula) -> bool {
        match &arena[formula] {
            Node::Unary(Unary::Always, ..) => true,
            Node::Quantified(_, _, body) => is_standing(arena, *body),
            _ => false,
        }
    }
    let Sentence { arena, formula } = residual;
    let owed: Vec<Formula> = match &arena[*formula] {
        Node::And(parts) => parts.iter().copied().filter(|part| !is_standing(arena, *part)).collect(),
        _ => Vec::new(),
    };
    let formula = if owed.is_empty() { *formula } else { arena.and(owed) };
    // The bounds are what is left of them, to the nanosecond. Rounded, they do not change with each event.
    arena.rounded_english(formula)
}

impl Violations {
    fn take(
        &mut self,
        decided: &[lictor_logic::Conclusion],
        by: DecidedBy,
        properties: &[usize],
        prepared: &PreparedPolicy,
    ) {
        for decided in decided {
            let property = properties[decided.monitor.index()];
            let binding = decided.binding.clone().unwrap_or_default();
            if prepared.formulas[property].after == After::Reset {
                self.restarts.push((property, binding.clone()));
            }
            if decided.verdict == Verdict::Violated {
                self.broken.push(Violation { property, by, binding, risk: None });
            }
        }
    }
}
