//! The distribution over the states of one formula, where facts hold only with a chance.
//!
//! A fact with a chance makes a trace one of several worlds. The monitor would be in one state in each; the belief is
//! the sum of the worlds' weights for each state, so that its size is that of the automaton and not of the worlds.
//! Weights are whole numbers: products are rounded down and what is lost by it is kept apart, so that every probability
//! is a range that is certain to hold, and the same on every machine.
//!
//! An unknown fact has no chance. It stays a set of possibilities within each state, and makes ranges wider.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::after::After;
use crate::cache::{Cache, CacheLimits};
use crate::chance::{Chance, ChanceRange, Choice, ONE, multiply};
use crate::facts::{Fact, Facts};
use crate::interval::Time;
use crate::letter::read_letter;
use crate::monitor::Monitor;
use crate::state::{Handle, Point};
use crate::term::{Atom, Term};
use crate::verdict::Verdict;

/// The most states that a belief keeps; the lightest beyond it are lost.
const MAX_POINTS: usize = 64;

/// The most combinations of choices that one position may have; the facts of further choices are unknown.
const MAX_COMBINATIONS: usize = 4096;

/// Follows one formula over facts that hold with a chance.
///
/// ```
/// use lictor_logic::{BeliefMonitor, Chance, Choice, Fact, Facts, Monitor};
/// let mut monitor = BeliefMonitor::new(Monitor::parse("G(pay -> O approved)")?)?;
/// let mut belief = monitor.start();
/// let approved = Choice::new(Fact::new("approved", []), Chance::new(0.75)?);
/// monitor.step(&mut belief, &Facts::default(), &[approved]);
/// let risk = monitor.step(&mut belief, &Facts::from_names(["pay"])?, &[]);
/// assert_eq!((risk.least.to_f64(), risk.most.to_f64()), (0.25, 0.25));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BeliefMonitor {
    monitor: Monitor,
    cache: Cache,
    start: Point,
    /// The names of the facts that it asks for.
    names: BTreeSet<Arc<str>>,
}

/// The distribution over the states of one formula in one trace.
#[derive(Clone, Debug)]
pub struct Belief {
    points: Vec<WeightedPoint>,
    lost: u64,
    clock: Option<Time>,
}

#[derive(Clone, Debug)]
struct WeightedPoint {
    point: Point,
    /// Whether the formula was violated on the way here.
    broken: Broken,
    weight: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Broken {
    No,
    /// It depends on unknown facts.
    Maybe,
    Yes,
}

impl Belief {
    /// Returns the probability of what is not followed any more. It is part of every range.
    pub fn lost(&self) -> Chance {
        Chance::from_weight(self.lost)
    }

    /// Returns how many states have a weight.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether nothing is followed any more: every probability is between 0 and 1.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Returns the range of the points for which something holds, by the two ends of each.
    fn range(&self, holds: impl Fn(&WeightedPoint) -> (bool, bool)) -> ChanceRange {
        let (mut least, mut most) = (0u64, self.lost);
        for point in &self.points {
            let (surely, maybe) = holds(point);
            least += u64::from(surely) * point.weight;
            most = most.saturating_add(u64::from(maybe) * point.weight);
        }
        ChanceRange::from_weights(least, most)
    }

    /// Returns the probability that the formula was violated so far.
    pub fn violated(&self) -> ChanceRange {
        self.range(|point| (point.broken == Broken::Yes, point.broken != Broken::No))
    }
}

impl BeliefMonitor {
    /// Returns a monitor for beliefs. An error for formulas with quantifiers over traces and formulas about data.
    pub fn new(monitor: Monitor) -> Result<BeliefMonitor, BeliefError> {
        if monitor.shape.quantified || monitor.data.is_some() {
            return Err(BeliefError { formula: monitor.text().to_owned() });
        }
        let compiled = &monitor.compiled;
        let names = monitor.fact_names();
        let mut cache = Cache::new(&compiled.skeleton, CacheLimits::DEFAULT);
        let start = cache.start(&compiled.skeleton, 0);
        Ok(BeliefMonitor { monitor, cache, start, names })
    }

    /// Returns the belief before the first position.
    pub fn start(&self) -> Belief {
        let start = WeightedPoint { point: self.start.clone(), broken: Broken::No, weight: ONE };
        Belief { points: vec![start], lost: 0, clock: None }
    }

    /// Reads a position whose facts are those given, and of each choice at most one more. Returns the risk: the
    /// probability that this position violates the formula, given that it was not violated before, unless each
    /// violation counts.
    pub fn step(&mut self, belief: &mut Belief, facts: &Facts, choices: &[Choice]) -> ChanceRange {
        let time = facts.time.max(belief.clock).unwrap_or_default();
        self.expire(belief, time);
        belief.clock = Some(time);
        let letters = self.letters(facts, choices);
        let (mut least, mut most, mut whole) = (0u64, 0u64, 0u64);
        let mut merged = PointTable::default();
        for from in std::mem::take(&mut belief.points) {
            let is_counted = self.monitor.after != After::Latch || from.broken != Broken::Yes;
            whole += u64::from(is_counted) * from.weight;
            let mut rest = from.weight;
            for ((bits, unknown), share) in &letters {
                let weight = multiply(from.weight, *share);
                rest -= weight;
                let (point, surely, maybe) = self.advance(&from, *bits, *unknown, time);
                least += u64::from(surely) * weight;
                most += u64::from(maybe) * weight;
                let now = if surely {
                    Broken::Yes
                } else if maybe {
                    Broken::Maybe
                } else {
                    Broken::No
                };
                merged.add(WeightedPoint { point, broken: from.broken.max(now), weight });
            }
            belief.lost += rest;
        }
        belief.points = merged.points;
        belief.bound();
        ChanceRange::share(least, most, whole, belief.lost)
    }

    /// Lets time pass: every later position is after this moment. Returns the probability that a deadline up to it
    /// violates the formula.
    pub fn tick(&mut self, belief: &mut Belief, now: Time) -> ChanceRange {
        let after = Time(now.0.saturating_add(1));
        let before = belief.violated();
        if belief.clock.is_none_or(|clock| clock < after) {
            belief.clock = Some(after);
            self.expire(belief, after);
        }
        let behind = belief.violated();
        let (least, most) = (behind.least.weight(), behind.most.weight());
        let grown = |end: u64, other: Chance| end.saturating_sub(other.weight());
        ChanceRange::from_weights(grown(least, before.most), grown(most, before.least))
    }

    /// Returns the probability that the formula is violated if the trace ends now.
    pub fn violated_at_end(&self, belief: &Belief) -> ChanceRange {
        let skeleton = &self.monitor.compiled.skeleton;
        belief.range(|weighted| match (weighted.broken, self.cache.end_verdict(skeleton, &weighted.point)) {
            (Broken::Yes, _) | (_, Verdict::Violated) => (true, true),
            (Broken::Maybe, _) | (_, Verdict::Inconclusive) => (false, true),
            (Broken::No, Verdict::Satisfied) => (false, false),
        })
    }

    /// Returns the letters that a position may have, with their weights. What is missing to one is lost.
    fn letters(&self, facts: &Facts, choices: &[Choice]) -> Vec<((u64, u64), u64)> {
        let matters = |choice: &&Choice| choice.alternatives().iter().any(|(fact, _)| self.names.contains(&fact.name));
        let mut worlds: Vec<(Facts, u64)> = vec![(facts.clone(), ONE)];
        for choice in choices.iter().filter(matters) {
            let alternatives = choice.alternatives();
            if worlds.len() * (alternatives.len() + 1) > MAX_COMBINATIONS {
                let unknown: Vec<Atom> = alternatives.iter().map(|(fact, _)| as_atom(fact)).collect();
                worlds.iter_mut().for_each(|(facts, _)| facts.unknown.extend(unknown.iter().cloned()));
                continue;
            }
            let mut next = Vec::with_capacity(worlds.len() * (alternatives.len() + 1));
            for (facts, weight) in worlds {
                for (fact, chance) in alternatives.iter().filter(|(_, chance)| *chance != Chance::NEVER) {
                    let mut facts = facts.clone();
                    facts.known.push(fact.clone());
                    next.push((facts, multiply(weight, chance.weight())));
                }
                if choice.none() > 0 {
                    next.push((facts, multiply(weight, choice.none())));
                }
            }
            worlds = next;
        }
        let mut places: FxHashMap<(u64, u64), usize> = FxHashMap::default();
        let mut letters: Vec<((u64, u64), u64)> = Vec::new();
        for (facts, weight) in worlds {
            let letter = read_letter(&self.monitor, &facts, &[]);
            let place = *places.entry(letter).or_insert(letters.len());
            match letters.get_mut(place) {
                Some((_, sum)) => *sum += weight,
                None => letters.push((letter, weight)),
            }
        }
        letters
    }

    /// Steps one state. Returns the next, and whether the position surely, or maybe, violates the formula.
    fn advance(&mut self, from: &WeightedPoint, bits: u64, unknown: u64, time: Time) -> (Point, bool, bool) {
        let WeightedPoint { point: from, broken, .. } = from;
        let (skeleton, cache) = (&self.monitor.compiled.skeleton, &mut self.cache);
        let verdict = cache.verdict(skeleton, from);
        if verdict.is_definite() && self.monitor.after == After::Latch {
            // A formula that nothing satisfies is violated by the first position.
            let is_new = verdict == Verdict::Violated && *broken != Broken::Yes;
            return (from.clone(), is_new, is_new);
        }
        let target = cache.step(skeleton, from, bits, unknown, time);
        let verdict = cache.verdict(skeleton, &target);
        let surely = verdict == Verdict::Violated;
        // A state that may have been violated before stays so; only what is new counts.
        let maybe = cache.may_be_violated(skeleton, &target) && cache.may_break(skeleton, from, bits, unknown, time);
        let target = match self.monitor.after {
            After::Each if surely || maybe => {
                cache.step_excused(skeleton, from, (bits | self.monitor.excuse, unknown), time, !surely)
            }
            After::Reset if verdict.is_definite() => self.start.clone(),
            After::Latch | After::Reset | After::Each => target,
        };
        (target, surely, surely || maybe)
    }

    /// Expires the deadlines before a moment.
    fn expire(&mut self, belief: &mut Belief, time: Time) {
        let skeleton = &self.monitor.compiled.skeleton;
        let mut merged = PointTable::default();
        for mut weighted in std::mem::take(&mut belief.points) {
            if let Some(point) = self.cache.expire(skeleton, &weighted.point, time) {
                let verdict = self.cache.verdict(skeleton, &point);
                let now = match verdict {
                    Verdict::Violated => Broken::Yes,
                    _ if self.cache.may_be_violated(skeleton, &point) => Broken::Maybe,
                    _ => Broken::No,
                };
                weighted.broken = weighted.broken.max(now);
                let restarts = self.monitor.after == After::Reset && verdict.is_definite();
                weighted.point = if restarts { self.start.clone() } else { point };
            }
            merged.add(weighted);
        }
        belief.points = merged.points;
    }
}

impl Belief {
    /// Drops the lightest points if there are too many. Points of one weight go together, because their order depends
    /// on the order in which states were learnt.
    fn bound(&mut self) {
        self.points.retain(|point| point.weight > 0);
        if self.points.len() <= MAX_POINTS {
            return;
        }
        let mut weights: Vec<u64> = self.points.iter().map(|point| point.weight).collect();
        weights.sort_unstable_by(|a, b| b.cmp(a));
        let heaviest_dropped = weights[MAX_POINTS];
        let lost: u64 = weights.iter().filter(|weight| **weight <= heaviest_dropped).sum();
        self.points.retain(|point| point.weight > heaviest_dropped);
        self.lost += lost;
    }
}

/// Points without duplicates, in the order in which they were found.
#[derive(Default)]
struct PointTable {
    points: Vec<WeightedPoint>,
    /// The places of cached states without times, by state and whether they are broken.
    places: FxHashMap<(u32, u8), usize>,
}

impl PointTable {
    fn add(&mut self, new: WeightedPoint) {
        let place = match new.point.id() {
            Some(id) => *self.places.entry((id, new.broken as u8)).or_insert(self.points.len()),
            None => self.points.iter().position(|known| known.is_same(&new)).unwrap_or(self.points.len()),
        };
        match self.points.get_mut(place) {
            Some(known) => known.weight += new.weight,
            None => self.points.push(new),
        }
    }
}

impl WeightedPoint {
    fn is_same(&self, other: &WeightedPoint) -> bool {
        let same_state = match (&self.point.handle, &other.point.handle) {
            (Handle::Cached(a), Handle::Cached(b)) => a == b,
            (Handle::Loose(a), Handle::Loose(b)) => a == b,
            _ => false,
        };
        same_state && self.broken == other.broken && self.point.times[..] == other.point.times[..]
    }
}

fn as_atom(fact: &Fact) -> Atom {
    Atom { name: Arc::clone(&fact.name), terms: fact.values.iter().cloned().map(Term::Value).collect() }
}

/// Why a formula has no beliefs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeliefError {
    formula: String,
}

impl fmt::Display for BeliefError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` quantifies over values or is about data; beliefs follow formulas without either", self.formula)
    }
}

impl std::error::Error for BeliefError {}
