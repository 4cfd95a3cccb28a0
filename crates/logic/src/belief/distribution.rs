//! The weights of the states of one formula, or of one binding of it, and how a position moves them.
//!
//! A formula with `exists` is followed by its negation, for each binding. It is violated once the negation is satisfied
//! for all of them, so a point counts as broken there if the negation is satisfied.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::letters::WeightedLetter;
use crate::after::After;
use crate::cache::Cache;
use crate::chance::{Chance, ChanceRange, ONE, multiply};
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::state::Point;
use crate::verdict::Verdict;

/// The most states that a distribution keeps; the lightest beyond it are lost.
pub(super) const MAX_POINTS: usize = 64;

/// States with their weights. Together with what is lost, the weights are one.
#[derive(Clone, Debug)]
pub(super) struct Distribution {
    pub(super) points: Vec<WeightedPoint>,
    pub(super) lost: u64,
}

#[derive(Clone, Debug)]
pub(super) struct WeightedPoint {
    pub(super) point: Point,
    /// Whether the formula was violated on the way here.
    pub(super) broken: Broken,
    pub(super) weight: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Broken {
    No,
    /// It depends on unknown facts.
    Maybe,
    Yes,
}

/// How much of a distribution a position breaks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BrokenMass {
    pub(super) least: u64,
    pub(super) most: u64,
    /// The weight that could break here.
    pub(super) whole: u64,
}

impl BrokenMass {
    /// Returns the probability that the position breaks what could break here.
    pub(super) fn risk(self, lost: u64) -> ChanceRange {
        if self.whole == 0 && lost == 0 {
            // All of it broke before, and nothing is left to break.
            return ChanceRange { least: Chance::NEVER, most: Chance::NEVER };
        }
        ChanceRange::share(self.least, self.most, self.whole, lost)
    }
}

impl Distribution {
    pub(super) fn single(point: Point) -> Distribution {
        Distribution { points: vec![WeightedPoint { point, broken: Broken::No, weight: ONE }], lost: 0 }
    }

    /// Returns the range of the points for which something holds, by the two ends of each.
    pub(super) fn range(&self, mut holds: impl FnMut(&WeightedPoint) -> (bool, bool)) -> ChanceRange {
        let (mut least, mut most) = (0u64, self.lost);
        for point in &self.points {
            let (surely, maybe) = holds(point);
            least += u64::from(surely) * point.weight;
            most = most.saturating_add(u64::from(maybe) * point.weight);
        }
        ChanceRange::from_weights(least, most)
    }

    /// Returns the probability that the formula was violated so far.
    pub(super) fn violated(&self) -> ChanceRange {
        self.range(|point| (point.broken == Broken::Yes, point.broken != Broken::No))
    }

    /// Whether it is more than one state.
    pub(super) fn is_doubtful(&self) -> bool {
        self.points.len() != 1 || self.lost > 0
    }

    /// Whether two distributions have the same points with the same weights, in any order.
    pub(super) fn is_same(&self, other: &Distribution) -> bool {
        let has = |point: &WeightedPoint| {
            other.points.iter().any(|known| known.weight == point.weight && known.is_same(point))
        };
        self.lost == other.lost && self.points.len() == other.points.len() && self.points.iter().all(has)
    }

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

/// Steps the points of a formula, with the start state of its valuation.
pub(super) struct PointStepper<'a> {
    pub(super) monitor: &'a Monitor,
    pub(super) cache: &'a mut Cache,
    pub(super) start: &'a Point,
    pub(super) time: Time,
}

impl PointStepper<'_> {
    /// Reads a position that has one of several letters. Returns what it breaks.
    pub(super) fn step(&mut self, distribution: &mut Distribution, letters: &[WeightedLetter]) -> BrokenMass {
        // Without doubt there is one state and one letter, and nothing to merge.
        if let ([only], [letter]) = (&mut distribution.points[..], letters)
            && letter.weight == ONE
        {
            let whole = u64::from(self.is_counted(only)) * only.weight;
            let (point, surely, maybe) = self.advance(only, letter);
            only.broken = only.broken.max(broken_by(surely, maybe));
            only.point = point;
            return BrokenMass { least: u64::from(surely) * whole, most: u64::from(maybe) * whole, whole };
        }
        let mut mass = BrokenMass::default();
        let mut merged = PointTable::default();
        for from in std::mem::take(&mut distribution.points) {
            mass.whole += u64::from(self.is_counted(&from)) * from.weight;
            let mut rest = from.weight;
            for letter in letters {
                let weight = multiply(from.weight, letter.weight);
                rest -= weight;
                let (point, surely, maybe) = self.advance(&from, letter);
                mass.least += u64::from(surely) * weight;
                mass.most += u64::from(maybe) * weight;
                merged.add(WeightedPoint { point, broken: from.broken.max(broken_by(surely, maybe)), weight });
            }
            distribution.lost += rest;
        }
        distribution.points = merged.points;
        distribution.bound();
        mass
    }

    /// Whether a letter leaves a distribution as it is, at any time, and violates nothing.
    pub(super) fn rests(&mut self, distribution: &Distribution, letter: &WeightedLetter) -> bool {
        distribution.points.iter().all(|from| {
            let (target, _, maybe) = self.advance(from, letter);
            from.point.times.is_empty() && !maybe && target.is_same(&from.point)
        })
    }

    /// Returns what a letter breaks that leaves a distribution as it is.
    pub(super) fn rest(&self, distribution: &Distribution) -> BrokenMass {
        let counted = distribution.points.iter().filter(|from| self.is_counted(from));
        BrokenMass { whole: counted.map(|from| from.weight).sum(), ..BrokenMass::default() }
    }

    /// Whether a deadline of a distribution may be over.
    pub(super) fn expires(&mut self, distribution: &Distribution) -> bool {
        let skeleton = &self.monitor.compiled.skeleton;
        let mut is_over = |from: &WeightedPoint| {
            !from.point.times.is_empty() && self.cache.expire(skeleton, &from.point, self.time).is_some()
        };
        distribution.lost > 0 || distribution.points.iter().any(&mut is_over)
    }

    /// Whether a position can break a point: a violation that latches breaks once.
    fn is_counted(&self, from: &WeightedPoint) -> bool {
        self.monitor.after != After::Latch || from.broken != Broken::Yes
    }

    /// Steps one state. Returns the next, and whether the position surely, or maybe, violates the formula.
    fn advance(&mut self, from: &WeightedPoint, letter: &WeightedLetter) -> (Point, bool, bool) {
        let WeightedPoint { point: from, broken, .. } = from;
        let WeightedLetter { bits, unknown, .. } = *letter;
        let (skeleton, cache) = (&self.monitor.compiled.skeleton, &mut *self.cache);
        let verdict = cache.verdict(skeleton, from);
        let is_negated = self.monitor.compiled.negated;
        // A satisfied binding continues to its own end.
        let rests = verdict == Verdict::Violated || verdict == Verdict::Satisfied && !skeleton.quantified;
        if rests && self.monitor.after == After::Latch {
            // A formula that nothing satisfies is violated by the first position.
            let is_new = verdict == Verdict::Violated && *broken != Broken::Yes && !is_negated;
            return (from.clone(), is_new, is_new);
        }
        let target = cache.step(skeleton, from, bits, unknown, self.time);
        if is_negated {
            let (surely, maybe) = self.break_of(&target);
            return (target, surely, maybe);
        }
        let verdict = cache.verdict(skeleton, &target);
        let surely = verdict == Verdict::Violated;
        // A state that may have been violated before stays so, unless it restarted; only what is new counts.
        let is_possible = match self.monitor.restarts_possible_states() {
            true => unknown != 0 || cache.is_uncertain(from),
            false => cache.may_be_violated(skeleton, &target),
        };
        let maybe = !surely && is_possible && cache.may_break(skeleton, from, bits, unknown, self.time);
        let target = match self.monitor.after {
            After::Each if surely || maybe => {
                cache.step_excused(skeleton, from, (bits | self.monitor.excuse, unknown), self.time, !surely)
            }
            After::Reset if verdict.is_definite() => self.start.clone(),
            After::Latch | After::Reset | After::Each => target,
        };
        (target, surely, surely || maybe)
    }

    /// Whether a point is surely, or maybe, broken.
    fn break_of(&self, point: &Point) -> (bool, bool) {
        let skeleton = &self.monitor.compiled.skeleton;
        let verdict = self.cache.verdict(skeleton, point);
        match self.monitor.compiled.negated {
            false => (verdict == Verdict::Violated, self.cache.may_be_violated(skeleton, point)),
            true => (verdict == Verdict::Satisfied, self.cache.may_be_satisfied(skeleton, point)),
        }
    }

    /// Expires the deadlines before the time. Returns what that breaks.
    pub(super) fn expire(&mut self, distribution: &mut Distribution) -> BrokenMass {
        let counted = |weighted: &WeightedPoint| u64::from(self.is_counted(weighted)) * weighted.weight;
        let mut mass = BrokenMass { whole: distribution.points.iter().map(counted).sum(), ..BrokenMass::default() };
        if distribution.points.iter().all(|weighted| weighted.point.times.is_empty()) {
            return mass;
        }
        let skeleton = &self.monitor.compiled.skeleton;
        let mut merged = PointTable::default();
        for mut weighted in std::mem::take(&mut distribution.points) {
            if let Some(point) = self.cache.expire(skeleton, &weighted.point, self.time) {
                let (surely, mut maybe) = self.break_of(&point);
                if self.monitor.restarts_possible_states() && self.cache.is_uncertain(&weighted.point) {
                    maybe |= self.cache.may_break_by_time(skeleton, &weighted.point, self.time);
                }
                let weight = u64::from(self.is_counted(&weighted)) * weighted.weight;
                mass.least += u64::from(surely) * weight;
                mass.most += u64::from(surely || maybe) * weight;
                weighted.broken = weighted.broken.max(broken_by(surely, maybe));
                let restarts = self.monitor.after == After::Reset && self.cache.verdict(skeleton, &point).is_definite();
                weighted.point = if restarts { self.start.clone() } else { point };
            }
            merged.add(weighted);
        }
        distribution.points = merged.points;
        mass
    }
}

fn broken_by(surely: bool, maybe: bool) -> Broken {
    match (surely, maybe) {
        (true, _) => Broken::Yes,
        (false, true) => Broken::Maybe,
        (false, false) => Broken::No,
    }
}

/// Points without duplicates, in the order in which they were found.
#[derive(Default)]
pub(super) struct PointTable {
    pub(super) points: Vec<WeightedPoint>,
    /// The places of cached states without times, by state and whether they are broken, once there are many.
    places: FxHashMap<(u32, u8), usize>,
}

/// Up to how many points are searched one by one.
const FEW_POINTS: usize = 8;

impl PointTable {
    pub(super) fn add(&mut self, new: WeightedPoint) {
        let count = self.points.len();
        let place = match new.point.id() {
            Some(id) if count > FEW_POINTS => {
                if self.places.is_empty() {
                    self.index_points();
                }
                *self.places.entry((id, new.broken as u8)).or_insert(count)
            }
            _ => self.points.iter().position(|known| known.is_same(&new)).unwrap_or(count),
        };
        match self.points.get_mut(place) {
            Some(known) => known.weight += new.weight,
            None => self.points.push(new),
        }
    }

    fn index_points(&mut self) {
        let places = self.points.iter().enumerate();
        self.places.extend(places.filter_map(|(place, it)| Some(((it.point.id()?, it.broken as u8), place))));
    }
}

impl WeightedPoint {
    pub(super) fn is_same(&self, other: &WeightedPoint) -> bool {
        self.broken == other.broken && self.point.is_same(&other.point)
    }
}
