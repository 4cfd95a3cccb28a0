//! Runs a formula over a trace, again and again.

use std::sync::Arc;

use super::Moment;
use crate::cache::{Cache, CacheLimits};
use crate::facts::Facts;
use crate::formula::Arena;
use crate::interval::Time;
use crate::letter::read;
use crate::monitor::Monitor;
use crate::monitor_set::{After, Conclusion, MonitorId, MonitorSet};
use crate::observation::Observation;
use crate::sentence::{Sentence, residual_of};
use crate::state::Point;
use crate::term::Value;
use crate::trace_state::TraceState;
use crate::verdict::Verdict;

/// The bits that a position sets, and those that it leaves unknown.
pub(super) type Letter = (u64, u64);

/// What runs a formula.
pub(super) trait Engine {
    /// Where a trace stands.
    type Stand: Clone;

    /// What there is to read at a position, made ready to be read again and again.
    type Reading;

    /// Before the first entry.
    fn start(&mut self) -> Self::Stand;

    fn ready(&mut self, facts: &Facts) -> Self::Reading;

    fn step(&mut self, stand: &mut Self::Stand, reading: &Self::Reading);

    /// Lets time pass.
    fn pass(&mut self, stand: &mut Self::Stand, now: Time);

    /// The letter that is read, if it is all that is and the next state depends on it and the state alone.
    fn letter(&self, reading: &Self::Reading) -> Option<Letter>;

    /// Whether what must still hold tells one position from another.
    fn has_residuals(&self) -> bool;

    fn verdict(&mut self, stand: &mut Self::Stand, at_end: bool) -> Verdict;

    /// What must still hold.
    fn residual(&mut self, stand: &mut Self::Stand) -> Option<Sentence>;

    /// The number of the state where a trace stands, if that is all there is to it.
    fn state(&self, stand: &Self::Stand) -> Option<u32>;
}

/// One binding by itself: all bindings of a formula move by the same table, and so does a formula that has none.
#[derive(Debug)]
pub(super) struct Alone {
    monitor: Monitor,
    cache: Cache,
    binding: Vec<Option<Value>>,
    start: Point,
}

/// Where one binding stands.
#[derive(Clone)]
pub(super) struct Place {
    point: Point,
    clock: Option<Time>,
}

impl Alone {
    /// None for a formula about data, whose values meet in tables.
    pub(super) fn new(monitor: Monitor) -> Option<Alone> {
        if monitor.data.is_some() {
            return None;
        }
        let mut cache = Cache::new(&monitor.compiled.skeleton, CacheLimits::DEFAULT);
        let start = cache.start(&monitor.compiled.skeleton, 0);
        Some(Alone { monitor, cache, binding: Vec::new(), start })
    }

    /// Takes the values of the variables; none if one has none, or if no single binding can decide.
    pub(super) fn bind(&mut self, binding: &[(Arc<str>, Value)]) -> Option<()> {
        let compiled = &self.monitor.compiled;
        if compiled.negated && !compiled.prefix.is_empty() {
            return None;
        }
        let value = |variable: &Arc<str>| binding.iter().find(|(name, _)| name == variable).map(|(_, value)| value);
        let values: Option<Vec<Option<Value>>> =
            compiled.prefix.iter().map(|variable| value(variable).map(|value| Some(value.clone()))).collect();
        self.binding = values?;
        let valuation = match self.binding[..] {
            [] => 0,
            _ => *compiled.rigid.compatible(&self.binding).first()?,
        };
        self.start = self.cache.start(&compiled.skeleton, valuation);
        Some(())
    }

    /// The first definite verdict on a trace and how many entries it took. One binding can break the formula for all
    /// of them, but not keep it.
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
                    let reading = self.ready(facts);
                    self.step(&mut place, &reading);
                }
                Moment::Tick(now) => self.pass(&mut place, *now),
            }
            let verdict = self.verdict(&mut place, false);
            if decides(verdict) {
                return Some((verdict, index + 1));
            }
        }
        let verdict = self.verdict(&mut place, at_end);
        decides(verdict).then_some((verdict, trace.len()))
    }

    /// Lets time pass up to a moment.
    fn advance(&mut self, place: &mut Place, now: Time) {
        if place.clock != Some(now) {
            place.clock = Some(now);
            if let Some(point) = self.cache.expire(&self.monitor.compiled.skeleton, &place.point, now) {
                place.point = point;
            }
        }
    }
}

impl Engine for Alone {
    type Stand = Place;
    type Reading = (Letter, Option<Time>);

    fn start(&mut self) -> Place {
        Place { point: self.start.clone(), clock: None }
    }

    fn ready(&mut self, facts: &Facts) -> Self::Reading {
        (read(&self.monitor, facts, &self.binding), facts.time)
    }

    fn step(&mut self, place: &mut Place, ((bits, unknown), time): &Self::Reading) {
        let now = time.iter().copied().chain(place.clock).max().unwrap_or_default();
        self.advance(place, now);
        place.point = self.cache.step(&self.monitor.compiled.skeleton, &place.point, *bits, *unknown, now);
    }

    fn pass(&mut self, place: &mut Place, now: Time) {
        let after = Time(now.0.saturating_add(1));
        if place.clock.is_none_or(|clock| clock < after) {
            self.advance(place, after);
        }
    }

    fn letter(&self, (letter, _): &Self::Reading) -> Option<Letter> {
        (!self.monitor.is_timed()).then_some(*letter)
    }

    fn has_residuals(&self) -> bool {
        true
    }

    fn verdict(&mut self, place: &mut Place, at_end: bool) -> Verdict {
        let skeleton = &self.monitor.compiled.skeleton;
        let live = self.cache.verdict(skeleton, &place.point);
        let verdict = if at_end { self.cache.at_end(skeleton, &place.point) } else { live };
        self.monitor.outward(verdict)
    }

    fn residual(&mut self, place: &mut Place) -> Option<Sentence> {
        let mut arena = Arena::new();
        let now = place.clock.unwrap_or_default();
        let compiled = &self.monitor.compiled;
        let formula = residual_of(compiled, &mut self.cache, &mut arena, &place.point, &self.binding, now);
        Some(Sentence { arena, formula })
    }

    fn state(&self, place: &Place) -> Option<u32> {
        place.point.id()
    }
}

/// All bindings, where it takes several of them to decide or nobody knows which one does.
#[derive(Debug)]
pub(super) struct Together {
    watch: MonitorSet,
    id: MonitorId,
}

impl Together {
    pub(super) fn new(sentence: &Sentence) -> Option<Together> {
        let mut watch = MonitorSet::new();
        let id = watch.add(Monitor::new(&sentence.arena, sentence.formula).ok()?, After::Latch);
        Some(Together { watch, id })
    }

    pub(super) fn variables(&self) -> Vec<Arc<str>> {
        self.watch.monitor(self.id).map_or_else(Vec::new, |monitor| monitor.variables().to_vec())
    }

    /// The first definite verdict on a trace and the binding that brought it, and how many entries it took.
    pub(super) fn decide(&mut self, trace: &[Moment], at_end: bool) -> Option<(Conclusion, usize)> {
        let mut standing = self.start();
        for (index, moment) in trace.iter().enumerate() {
            let decided = match moment {
                Moment::Position(facts) => self.watch.step(&mut standing, facts),
                Moment::Tick(now) => self.watch.tick(&mut standing, *now),
            };
            if let Some(decided) = decided.first() {
                return Some((decided.clone(), index + 1));
            }
        }
        let verdict = self.verdict(&mut standing, at_end);
        let decided = Conclusion { monitor: self.id, verdict, binding: self.watch.failing(&standing, self.id) };
        verdict.is_definite().then_some((decided, trace.len()))
    }
}

/// A position as a watch reads it fastest.
#[derive(Debug)]
pub(super) enum Ready {
    Certain(Observation),
    /// Something is unknown.
    Doubtful(Facts),
}

impl Engine for Together {
    type Stand = TraceState;
    type Reading = Ready;

    fn start(&mut self) -> TraceState {
        self.watch.start()
    }

    fn ready(&mut self, facts: &Facts) -> Ready {
        if !facts.unknown.is_empty() {
            return Ready::Doubtful(facts.clone());
        }
        let mut observation = Observation::new();
        observation.time = facts.time;
        for fact in &facts.known {
            observation.push(self.watch.name(&fact.name), &fact.values);
        }
        Ready::Certain(observation)
    }

    fn step(&mut self, standing: &mut TraceState, reading: &Ready) {
        match reading {
            Ready::Certain(observation) => self.watch.observe(standing, observation),
            Ready::Doubtful(facts) => self.watch.step(standing, facts),
        };
    }

    fn pass(&mut self, standing: &mut TraceState, now: Time) {
        self.watch.tick(standing, now);
    }

    fn letter(&self, _: &Ready) -> Option<Letter> {
        None
    }

    /// A formula about data looks back only: what must still hold is what had to hold.
    fn has_residuals(&self) -> bool {
        self.watch.monitor(self.id).is_none_or(|monitor| monitor.data.is_none())
    }

    fn verdict(&mut self, standing: &mut TraceState, at_end: bool) -> Verdict {
        match at_end {
            true => self.watch.end(standing, self.id),
            false => self.watch.verdict(standing, self.id),
        }
    }

    fn residual(&mut self, standing: &mut TraceState) -> Option<Sentence> {
        self.watch.residual(standing, self.id)
    }

    fn state(&self, standing: &TraceState) -> Option<u32> {
        self.watch.state(standing, self.id)
    }
}
