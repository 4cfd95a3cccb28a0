//! The distribution over the states of one formula, where facts hold only with a chance.
//!
//! A fact with a chance makes a trace one of several worlds. The monitor would be in one state in each; the belief is
//! the sum of the worlds' weights for each state, so that its size is that of the automaton and not of the worlds.
//! Weights are whole numbers: products are rounded down and what is lost by it is kept apart, so that every probability
//! is a range that is certain to hold, and the same on every machine.
//!
//! An unknown fact has no chance. It stays a set of possibilities within each state, and makes ranges wider.

mod distribution;
mod end;
mod letters;
mod snapshot;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::cache::{Cache, CacheLimits};
use crate::chance::{Chance, ChanceRange, Choice};
use crate::facts::Facts;
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::state::Point;
use crate::verdict::Verdict;
use distribution::{Broken, Distribution, PointStepper};
use letters::weigh_letters;
pub use snapshot::BeliefSnapshot;

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
    distribution: Distribution,
    clock: Option<Time>,
}

impl Belief {
    /// Returns the probability of what is not followed any more. It is part of every range.
    pub fn lost(&self) -> Chance {
        Chance::from_weight(self.distribution.lost)
    }

    /// Returns how many states have a weight.
    pub fn len(&self) -> usize {
        self.distribution.points.len()
    }

    /// Whether nothing is followed any more: every probability is between 0 and 1.
    pub fn is_empty(&self) -> bool {
        self.distribution.points.is_empty()
    }

    /// Returns the probability that the formula was violated so far.
    pub fn violated(&self) -> ChanceRange {
        self.distribution.violated()
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
        Belief { distribution: Distribution::single(self.start.clone()), clock: None }
    }

    fn stepper(&mut self, time: Time) -> PointStepper<'_> {
        PointStepper { monitor: &self.monitor, cache: &mut self.cache, start: &self.start, time }
    }

    /// Reads a position whose facts are those given, and of each choice at most one more. Returns the risk: the
    /// probability that this position violates the formula, given that it was not violated before, unless each
    /// violation counts.
    pub fn step(&mut self, belief: &mut Belief, facts: &Facts, choices: &[Choice]) -> ChanceRange {
        let time = facts.time.max(belief.clock).unwrap_or_default();
        belief.clock = Some(time);
        let matters = |choice: &&Choice| choice.alternatives().iter().any(|(fact, _)| self.names.contains(&fact.name));
        let choices: Vec<&Choice> = choices.iter().filter(matters).collect();
        let letters = weigh_letters(&self.monitor, facts, &choices, &[]);
        let mut stepper = self.stepper(time);
        stepper.expire(&mut belief.distribution);
        let broken = stepper.step(&mut belief.distribution, &letters);
        broken.risk(belief.distribution.lost)
    }

    /// Lets time pass: every later position is after this moment. Returns the probability that a deadline up to it
    /// violates the formula.
    pub fn tick(&mut self, belief: &mut Belief, now: Time) -> ChanceRange {
        let after = Time(now.0.saturating_add(1));
        let before = belief.violated();
        if belief.clock.is_none_or(|clock| clock < after) {
            belief.clock = Some(after);
            self.stepper(after).expire(&mut belief.distribution);
        }
        let behind = belief.violated();
        let (least, most) = (behind.least.weight(), behind.most.weight());
        let grown = |end: u64, other: Chance| end.saturating_sub(other.weight());
        ChanceRange::from_weights(grown(least, before.most), grown(most, before.least))
    }

    /// Returns the probability that the formula is violated if the trace ends now.
    pub fn violated_at_end(&self, belief: &Belief) -> ChanceRange {
        let skeleton = &self.monitor.compiled.skeleton;
        belief.distribution.range(|weighted| {
            match (weighted.broken, self.cache.end_verdict(skeleton, &weighted.point)) {
                (Broken::Yes, _) | (_, Verdict::Violated) => (true, true),
                (Broken::Maybe, _) | (_, Verdict::Inconclusive) => (false, true),
                (Broken::No, Verdict::Satisfied) => (false, false),
            }
        })
    }
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
