//! Engines that run a formula over a trace many times.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::Moment;
use crate::arena::Arena;
use crate::cache::{Cache, CacheLimits};
use crate::clock::Clock;
use crate::facts::Facts;
use crate::interval::Time;
use crate::letter::read_letter;
use crate::monitor::Monitor;
use crate::monitor_set::{Conclusion, MonitorId, MonitorSet};
use crate::observation::Observation;
use crate::sentence::{Sentence, residual_formula};
use crate::state::Point;
use crate::trace_state::TraceState;
use crate::value::Value;
use crate::verdict::Verdict;

/// The limits of the engines that search for witnesses: they read positions with most facts unknown, and only want to
/// know whether the verdict follows. With few resolutions a step takes about as long as one without unknown facts.
const WITNESS_LIMITS: CacheLimits =
    CacheLimits { resolutions: 16, states: MAX_KEPT_STATES + MAX_SEARCH_STEPS, ..CacheLimits::DEFAULT };

/// The most states that the cache of an engine keeps for the next search.
const MAX_KEPT_STATES: usize = 20_000;

/// The most different steps that one search takes.
const MAX_SEARCH_STEPS: usize = 50_000;

/// The cost of a step that a search takes for the first time, in positions that are looked up. A larger state is dearer:
/// it has more parts, and each is compared with more of the others.
const FIRST_STEP_COST: u64 = 100;
const PARTS_PER_COST: u64 = 8;
const COMPARED_PARTS_PER_COST: u64 = 64;

/// The cost of a part that a step of bindings or tables looks at, in positions that are looked up.
const WORK_COST: u64 = 5;

/// The letter bits that a position sets, and those that it leaves unknown.
pub(super) type LetterBits = (u64, u64);

/// Runs one formula, for the search of a witness.
pub(super) trait WitnessEngine {
    /// The state of a trace.
    type State: Clone;

    /// A position, prepared to be read many times.
    type Input;

    /// Returns the cost of reading one position, in steps of a [budget](super::WitnessBudget).
    fn read_cost(&self) -> u64;

    /// Begins a search. Steps that earlier searches took are as dear as new ones, so that a witness does not depend on
    /// the witnesses found before.
    fn begin_search(&mut self);

    /// Returns what the steps of the engine cost, beside the reading, in steps of a [budget](super::WitnessBudget).
    fn work(&self) -> u64;

    /// Whether the search has taken as many different steps as it may.
    fn is_over(&self) -> bool;

    /// Returns how many parts the state of a trace has.
    fn state_size(&self, stand: &Self::State) -> u64;

    /// Returns the state before the first entry.
    fn start(&mut self) -> Self::State;

    /// Prepares a position, without its time.
    fn prepare(&mut self, facts: &Facts) -> Self::Input;

    /// Reads a prepared position at a time.
    fn step(&mut self, stand: &mut Self::State, reading: &mut Self::Input, time: Option<Time>);

    /// Lets time pass.
    fn tick(&mut self, stand: &mut Self::State, now: Time);

    /// Returns the letter of a position, if the next state depends on it and the state alone.
    fn letter(&self, reading: &Self::Input) -> Option<LetterBits>;

    /// Whether the residual changes from position to position.
    fn has_residuals(&self) -> bool;

    fn verdict(&mut self, stand: &mut Self::State, at_end: bool) -> Verdict;

    /// Returns what must still hold.
    fn residual(&mut self, stand: &mut Self::State) -> Option<Sentence>;

    /// Returns the number of the state, if it is fully described by one.
    fn state(&self, stand: &Self::State) -> Option<u32>;
}

/// Follows one binding, or a formula without variables: all bindings of a formula share one transition table.
#[derive(Debug)]
pub(super) struct BindingEngine {
    monitor: Monitor,
    cache: Cache,
    binding: Vec<Option<Value>>,
    start: Point,
    /// The steps that the present search has taken, as hashes of the state and the letter, and what they cost.
    taken: FxHashSet<u64>,
    cost: u64,
}

/// The state of one binding.
#[derive(Clone)]
pub(super) struct BindingState {
    point: Point,
    clock: Clock,
}

impl BindingEngine {
    /// Returns an engine; none for a formula about data, whose values meet in tables.
    pub(super) fn new(monitor: Monitor) -> Option<BindingEngine> {
        if monitor.data.is_some() {
            return None;
        }
        let mut cache = Cache::new(&monitor.compiled.skeleton, WITNESS_LIMITS);
        let start = cache.start(&monitor.compiled.skeleton, 0);
        Some(BindingEngine { monitor, cache, binding: Vec::new(), start, taken: FxHashSet::default(), cost: 0 })
    }

    /// Sets the values of the variables; none if one is missing, or if no single binding can decide.
    pub(super) fn bind(&mut self, binding: &[(Arc<str>, Value)]) -> Option<()> {
        let compiled = &self.monitor.compiled;
        if compiled.negated && !compiled.prefix.is_empty() {
            return None;
        }
        let value = |variable: &Arc<str>| binding.iter().find(|(name, _)| name == variable).map(|(_, value)| value);
        let values: Option<Vec<Option<Value>>> =
            compiled.prefix.iter().map(|variable| value(variable).map(|value| Some(value.clone()))).collect();
        self.binding = values?;
        if self.cache.usage_states() > MAX_KEPT_STATES {
            self.cache = Cache::new(&compiled.skeleton, WITNESS_LIMITS);
        }
        let valuation = match self.binding[..] {
            [] => 0,
            _ => *compiled.rigid.compatible_valuations(&self.binding).first()?,
        };
        self.start = self.cache.start(&compiled.skeleton, valuation);
        Some(())
    }

    /// Returns the first definite verdict on a trace and how many entries it took. One binding can violate the formula
    /// for all, but not satisfy it for all.
    pub(super) fn decide(&mut self, trace: &[Moment], at_end: bool) -> Option<(Verdict, usize)> {
        let is_one_of_many = !self.binding.is_empty();
        let decides = |verdict: Verdict| match is_one_of_many {
            true => verdict == Verdict::Violated,
            false => verdict.is_definite(),
        };
        let mut place = self.start();
        for (index, moment) in trace.iter().enumerate() {
            match moment {
                Moment::Position(facts) => {
                    let mut letter = self.prepare(facts);
                    self.step(&mut place, &mut letter, facts.time);
                }
                Moment::Tick(now) => self.tick(&mut place, *now),
            }
            let verdict = self.verdict(&mut place, false);
            if decides(verdict) {
                return Some((verdict, index + 1));
            }
        }
        let verdict = self.verdict(&mut place, at_end);
        decides(verdict).then_some((verdict, trace.len()))
    }

    /// Adds what a step costs that this search has not taken before.
    fn charge_step(&mut self, point: &Point, unknown: u64) {
        let parts = self.cache.estimate_work(point, unknown);
        let compared = (1 + parts / PARTS_PER_COST).saturating_mul(1 + parts / COMPARED_PARTS_PER_COST);
        self.cost = self.cost.saturating_add(FIRST_STEP_COST.saturating_mul(compared));
    }

    /// Expires the deadlines before the current moment.
    fn expire(&mut self, place: &mut BindingState) {
        if let Some(point) = self.cache.expire(&self.monitor.compiled.skeleton, &place.point, place.clock.now()) {
            self.charge_step(&place.point, 0);
            place.point = point;
        }
    }
}

impl WitnessEngine for BindingEngine {
    type State = BindingState;
    type Input = LetterBits;

    fn read_cost(&self) -> u64 {
        // With time bounds no letter can be skipped, and every step moves times.
        if self.monitor.is_timed() { 10 } else { 1 }
    }

    fn begin_search(&mut self) {
        self.taken.clear();
    }

    fn work(&self) -> u64 {
        self.cost
    }

    fn is_over(&self) -> bool {
        self.taken.len() >= MAX_SEARCH_STEPS
    }

    fn state_size(&self, place: &BindingState) -> u64 {
        self.cache.estimate_work(&place.point, 0)
    }

    fn start(&mut self) -> BindingState {
        BindingState { point: self.start.clone(), clock: Clock::default() }
    }

    fn prepare(&mut self, facts: &Facts) -> Self::Input {
        read_letter(&self.monitor, facts, &self.binding)
    }

    fn step(&mut self, place: &mut BindingState, (bits, unknown): &mut LetterBits, time: Option<Time>) {
        if place.clock.read(time) {
            self.expire(place);
        }
        let (now, skeleton) = (place.clock.now(), &self.monitor.compiled.skeleton);
        let is_new = match self.cache.hash_step(skeleton, &place.point, (*bits, *unknown), now) {
            Some(step) => self.taken.insert(step),
            None => true,
        };
        if is_new {
            self.charge_step(&place.point, *unknown);
        }
        let skeleton = &self.monitor.compiled.skeleton;
        place.point = self.cache.step(skeleton, &place.point, *bits, *unknown, now);
    }

    fn tick(&mut self, place: &mut BindingState, now: Time) {
        let after = Time(now.0.saturating_add(1));
        if place.clock.tick(after) {
            self.expire(place);
        }
    }

    fn letter(&self, letter: &LetterBits) -> Option<LetterBits> {
        (!self.monitor.is_timed()).then_some(*letter)
    }

    fn has_residuals(&self) -> bool {
        true
    }

    fn verdict(&mut self, place: &mut BindingState, at_end: bool) -> Verdict {
        let skeleton = &self.monitor.compiled.skeleton;
        let live = self.cache.verdict(skeleton, &place.point);
        let verdict = if at_end { self.cache.end_verdict(skeleton, &place.point) } else { live };
        self.monitor.apply_polarity(verdict)
    }

    fn residual(&mut self, place: &mut BindingState) -> Option<Sentence> {
        let mut arena = Arena::new();
        let now = place.clock.now();
        let compiled = &self.monitor.compiled;
        let formula = residual_formula(compiled, &mut self.cache, &mut arena, &place.point, &self.binding, now);
        Some(Sentence { arena, formula })
    }

    fn state(&self, place: &BindingState) -> Option<u32> {
        place.point.id()
    }
}

/// Follows all bindings, if several decide together or the deciding one is not known.
#[derive(Debug)]
pub(super) struct SetEngine {
    monitors: MonitorSet,
    id: MonitorId,
}

impl SetEngine {
    pub(super) fn new(sentence: &Sentence) -> Option<SetEngine> {
        let mut monitors = MonitorSet::with_limits(WITNESS_LIMITS);
        let id = monitors.add(Monitor::new(&sentence.arena, sentence.formula).ok()?);
        Some(SetEngine { monitors, id })
    }

    pub(super) fn variables(&self) -> Vec<Arc<str>> {
        self.monitors.monitor(self.id).map_or_else(Vec::new, |monitor| monitor.variables().to_vec())
    }

    /// Returns the first definite verdict on a trace with its binding, and how many entries it took.
    pub(super) fn decide(&mut self, trace: &[Moment], at_end: bool) -> Option<(Conclusion, usize)> {
        let mut trace_state = self.start();
        for (index, moment) in trace.iter().enumerate() {
            let decided = match moment {
                Moment::Position(facts) => self.monitors.step(&mut trace_state, facts),
                Moment::Tick(now) => self.monitors.tick(&mut trace_state, *now),
            };
            if let Some(decided) = decided.first() {
                return Some((decided.clone(), index + 1));
            }
        }
        let verdict = self.verdict(&mut trace_state, at_end);
        let decided = Conclusion {
            monitor: self.id,
            verdict,
            binding: self.monitors.find_failing_binding(&trace_state, self.id),
        };
        verdict.is_definite().then_some((decided, trace.len()))
    }
}

/// A position in the form that a monitor set reads fastest.
#[derive(Debug)]
pub(super) enum PreparedFacts {
    Certain(Observation),
    /// Some facts are unknown.
    Doubtful(Facts),
}

impl WitnessEngine for SetEngine {
    type State = TraceState;
    type Input = PreparedFacts;

    fn read_cost(&self) -> u64 {
        // Every binding reads the position.
        20
    }

    fn begin_search(&mut self) {}

    fn work(&self) -> u64 {
        WORK_COST * self.monitors.spent()
    }

    fn is_over(&self) -> bool {
        false
    }

    fn state_size(&self, trace_state: &TraceState) -> u64 {
        1 + self.monitors.bindings(trace_state, self.id) as u64
    }

    fn start(&mut self) -> TraceState {
        self.monitors.start()
    }

    fn prepare(&mut self, facts: &Facts) -> PreparedFacts {
        if !facts.unknown.is_empty() {
            return PreparedFacts::Doubtful(facts.clone());
        }
        let mut observation = Observation::new();
        for fact in &facts.known {
            observation.push(self.monitors.name(&fact.name), &fact.values);
        }
        PreparedFacts::Certain(observation)
    }

    fn step(&mut self, trace_state: &mut TraceState, reading: &mut PreparedFacts, time: Option<Time>) {
        match reading {
            PreparedFacts::Certain(observation) => {
                observation.time = time;
                self.monitors.observe(trace_state, observation)
            }
            PreparedFacts::Doubtful(facts) => {
                facts.time = time;
                self.monitors.step(trace_state, facts)
            }
        };
    }

    fn tick(&mut self, trace_state: &mut TraceState, now: Time) {
        self.monitors.tick(trace_state, now);
    }

    fn letter(&self, _: &PreparedFacts) -> Option<LetterBits> {
        None
    }

    /// A formula about data looks back only, so its residual never changes.
    fn has_residuals(&self) -> bool {
        self.monitors.monitor(self.id).is_none_or(|monitor| monitor.data.is_none())
    }

    fn verdict(&mut self, trace_state: &mut TraceState, at_end: bool) -> Verdict {
        match at_end {
            true => self.monitors.end(trace_state, self.id),
            false => self.monitors.verdict(trace_state, self.id),
        }
    }

    fn residual(&mut self, trace_state: &mut TraceState) -> Option<Sentence> {
        self.monitors.residual(trace_state, self.id)
    }

    fn state(&self, trace_state: &TraceState) -> Option<u32> {
        self.monitors.state(trace_state, self.id)
    }
}
