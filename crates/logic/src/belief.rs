//! The distribution over the states of one formula, where facts hold only with a chance.
//!
//! A fact with a chance makes a trace one of several worlds. The monitor would be in one state in each; the belief is
//! the sum of the worlds' weights for each state, so that its size is that of the automaton and not of the worlds.
//! Weights are whole numbers: products are rounded down and what is lost by it is kept apart, so that every probability
//! is a range that is certain to hold, and the same on every machine.
//!
//! An unknown fact has no chance. It stays a set of possibilities within each state, and makes ranges wider.

mod bindings;
mod combine;
mod distribution;
mod end;
mod groups;
mod influence;
mod letters;
mod relevance;
mod snapshot;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::after::After;
use crate::cache::{Cache, CacheLimits};
use crate::chance::{Chance, ChanceRange, Choice};
use crate::clock::Clock;
use crate::facts::Facts;
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::state::Point;
use crate::value::Value;
use crate::verdict::Verdict;
use bindings::BindingBeliefs;
use combine::{MemberChance, chance_of_all, chance_of_some, growth, risk_of_some};
use distribution::{Broken, Distribution, PointStepper, WeightedPoint};
pub use influence::FactInfluence;
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
///
/// A quantified formula has one distribution for each binding of values. It is violated if it is for some binding, or
/// with `exists` for all. That bindings exclude each other, so that no continuation satisfies all of them, is not seen
/// before one of them is violated.
#[derive(Clone, Debug)]
pub struct BeliefMonitor {
    monitor: Monitor,
    cache: Cache,
    start: Point,
    /// The state before the first position.
    initial: BeliefState,
    /// The names of the facts that it asks for.
    names: BTreeSet<Arc<str>>,
}

/// The distribution over the states of one formula in one trace, for each binding of values.
#[derive(Clone, Debug)]
pub struct Belief {
    state: BeliefState,
    /// Whether the formula is followed by its negation.
    is_negated: bool,
    clock: Clock,
}

/// A binding of values that may be violated, with the risk of it alone. No value stands for every value that was never
/// seen.
pub type BindingRisk = (Vec<Option<Value>>, ChanceRange);

#[derive(Clone, Debug)]
enum BeliefState {
    Single(Distribution),
    Bindings(BindingBeliefs),
}

impl Belief {
    fn distributions(&self) -> Vec<&Distribution> {
        match &self.state {
            BeliefState::Single(distribution) => vec![distribution],
            BeliefState::Bindings(bindings) => {
                let groups = bindings.populations.iter().flat_map(|population| population.groups.occupied());
                groups.map(|(_, _, distribution)| distribution).collect()
            }
        }
    }

    /// Returns the probability of what is not followed any more, for the binding with the greatest. It is part of every
    /// range.
    pub fn lost(&self) -> Chance {
        Chance::from_weight(self.distributions().iter().map(|it| it.lost).max().unwrap_or(0))
    }

    /// Returns how many states have a weight, for all distinct distributions of bindings together.
    pub fn len(&self) -> usize {
        self.distributions().iter().map(|it| it.points.len()).sum()
    }

    /// Whether nothing is followed any more: every probability is between 0 and 1.
    pub fn is_empty(&self) -> bool {
        self.distributions().iter().all(|it| it.points.is_empty())
    }

    /// Whether bindings may depend on each other by a doubt that they share. The probability that some binding is
    /// violated is then only known to be at least that of one of them and at most their sum.
    pub fn has_shared_doubt(&self) -> bool {
        matches!(&self.state, BeliefState::Bindings(bindings) if bindings.is_shared)
    }

    /// Returns the probability that the formula was violated so far.
    pub fn violated(&self) -> ChanceRange {
        match &self.state {
            BeliefState::Single(distribution) => distribution.violated(),
            BeliefState::Bindings(bindings) => {
                self.combine(bindings.chances(Distribution::violated), bindings.is_shared)
            }
        }
    }

    fn combine(&self, chances: Vec<MemberChance>, is_shared: bool) -> ChanceRange {
        match self.is_negated {
            true => chance_of_all(chances, is_shared),
            false => chance_of_some(chances, is_shared),
        }
    }
}

impl BeliefMonitor {
    /// Returns a monitor for beliefs. An error for formulas about data, for several variables that are compared, and
    /// for an `exists` that is reset or reported at each position.
    pub fn new(monitor: Monitor) -> Result<BeliefMonitor, BeliefError> {
        let compiled = &monitor.compiled;
        let refuse = |reason| Err(BeliefError { formula: monitor.text().to_owned(), reason });
        if monitor.data.is_some() {
            return refuse("is about data: it counts, or its values meet across positions");
        }
        if compiled.prefix.len() > 1 && !compiled.rigid.is_trivial() {
            return refuse("compares several quantified values");
        }
        if compiled.negated && monitor.after != After::Latch {
            return refuse("is an `exists` that does not latch");
        }
        let names = monitor.fact_names();
        let mut cache = Cache::new(&compiled.skeleton, CacheLimits::DEFAULT);
        let start = cache.start(&compiled.skeleton, 0);
        if monitor.restarts_possible_states() {
            cache.restart_at(&start);
        }
        let initial = match monitor.shape.quantified {
            false => BeliefState::Single(Distribution::single(start.clone())),
            true => BeliefState::Bindings(BindingBeliefs::new(&monitor, &mut cache)),
        };
        Ok(BeliefMonitor { monitor, cache, start, initial, names })
    }

    /// Returns the belief before the first position.
    pub fn start(&self) -> Belief {
        Belief { state: self.initial.clone(), is_negated: self.monitor.compiled.negated, clock: Clock::default() }
    }

    /// Expires the deadlines before a time. Returns the risk that this violates the formula, and for which bindings.
    fn expire(&mut self, state: &mut BeliefState, time: Time) -> (ChanceRange, Vec<BindingRisk>) {
        let (monitor, cache) = (&self.monitor, &mut self.cache);
        match state {
            BeliefState::Single(distribution) => {
                let mut stepper = PointStepper { monitor, cache, start: &self.start, time };
                (stepper.expire(distribution).risk(distribution.lost), Vec::new())
            }
            BeliefState::Bindings(bindings) if monitor.is_timed() => {
                let risks = bindings.expire(monitor, cache, time);
                let latches = monitor.after == After::Latch;
                (risk_of_some(&risks.members, bindings.is_shared, latches), risks.bindings)
            }
            BeliefState::Bindings(_) => (ChanceRange { least: Chance::NEVER, most: Chance::NEVER }, Vec::new()),
        }
    }

    /// Reads a position whose facts are those given, and of each choice at most one more. Returns the risk: the
    /// probability that this position violates the formula, given that it was not violated before, unless each
    /// violation counts.
    pub fn step(&mut self, belief: &mut Belief, facts: &Facts, choices: &[Choice]) -> ChanceRange {
        self.step_by_binding(belief, facts, choices).0
    }

    /// Reads a position like [`step`](BeliefMonitor::step), and returns besides the bindings that it may violate, each
    /// with its own risk, sorted. One that only what rounding lost could violate is not among them. For a formula with
    /// `exists` and for one without quantifiers there are none.
    ///
    /// ```
    /// use lictor_logic::{BeliefMonitor, Chance, Choice, Fact, Facts, Monitor, Value};
    /// let mut monitor = BeliefMonitor::new(Monitor::parse("forall s. G !discloses(s)")?)?;
    /// let mut belief = monitor.start();
    /// let discloses = |name: &str| Fact::new("discloses", [Value::text(name)]);
    /// let ann = Choice::new(discloses("ann"), Chance::new(0.5)?);
    /// let bob = Choice::new(discloses("bob"), Chance::new(0.25)?);
    /// let choices = [ann, bob];
    /// let (_, bindings) = monitor.step_by_binding(&mut belief, &Facts::default(), &choices);
    /// let risks: Vec<f64> = bindings.iter().map(|(_, risk)| risk.least.to_f64()).collect();
    /// assert_eq!(bindings[0].0, [Some(Value::text("ann"))]);
    /// assert_eq!(risks, [0.5, 0.25]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn step_by_binding(
        &mut self,
        belief: &mut Belief,
        facts: &Facts,
        choices: &[Choice],
    ) -> (ChanceRange, Vec<BindingRisk>) {
        belief.clock.read(facts.time);
        let time = belief.clock.now();
        self.expire(&mut belief.state, time);
        let matters = |choice: &&Choice| choice.alternatives().iter().any(|(fact, _)| self.names.contains(&fact.name));
        let choices: Vec<&Choice> = choices.iter().filter(matters).collect();
        let before = if belief.is_negated { Some(belief.violated()) } else { None };
        let (monitor, cache) = (&self.monitor, &mut self.cache);
        match (&mut belief.state, before) {
            (BeliefState::Single(distribution), _) => {
                let letters = weigh_letters(monitor, facts, &choices, &[]);
                let mut stepper = PointStepper { monitor, cache, start: &self.start, time };
                (stepper.step(distribution, &letters).risk(distribution.lost), Vec::new())
            }
            (BeliefState::Bindings(bindings), None) => {
                let mut risks = bindings.step(monitor, cache, time, (facts, &choices));
                risks.bindings.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
                let risk = risk_of_some(&risks.members, bindings.is_shared, monitor.after == After::Latch);
                (risk, risks.bindings)
            }
            (BeliefState::Bindings(bindings), Some(before)) => {
                bindings.step(monitor, cache, time, (facts, &choices));
                (growth(before, belief.violated()), Vec::new())
            }
        }
    }

    /// Lets time pass: every later position is after this moment. Returns the risk: the probability that a deadline up
    /// to it violates the formula, given that it was not violated before, unless each violation counts.
    pub fn tick(&mut self, belief: &mut Belief, now: Time) -> ChanceRange {
        self.tick_by_binding(belief, now).0
    }

    /// Lets time pass like [`tick`](BeliefMonitor::tick), and returns besides the bindings that a deadline may violate,
    /// as [`step_by_binding`](BeliefMonitor::step_by_binding) does for positions.
    pub fn tick_by_binding(&mut self, belief: &mut Belief, now: Time) -> (ChanceRange, Vec<BindingRisk>) {
        let after = Time(now.0.saturating_add(1));
        if !belief.clock.tick(after) {
            return (ChanceRange { least: Chance::NEVER, most: Chance::NEVER }, Vec::new());
        }
        let before = if belief.is_negated { Some(belief.violated()) } else { None };
        let (risk, mut bindings) = self.expire(&mut belief.state, belief.clock.now());
        match before {
            Some(before) => (growth(before, belief.violated()), Vec::new()),
            None => {
                bindings.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
                (risk, bindings)
            }
        }
    }

    /// Returns the probability that the formula is violated if the trace ends now.
    pub fn violated_at_end(&self, belief: &Belief) -> ChanceRange {
        match &belief.state {
            BeliefState::Single(distribution) => distribution.range(|point| self.fails_at_end(point)),
            BeliefState::Bindings(bindings) if !belief.is_negated => {
                let chances = bindings.chances(|it| it.range(|point| self.fails_at_end(point)));
                chance_of_some(chances, bindings.is_shared)
            }
            BeliefState::Bindings(bindings) => {
                let chances = bindings.chances(|it| it.range(|point| self.holds_at_end(point)));
                let (now, at_end) = (belief.violated(), chance_of_all(chances, bindings.is_shared));
                ChanceRange { least: at_end.least.max(now.least), most: at_end.most.max(now.most) }
            }
        }
    }

    /// Whether the formula is surely, or maybe, violated at a point if the trace ends there.
    fn fails_at_end(&self, weighted: &WeightedPoint) -> (bool, bool) {
        let skeleton = &self.monitor.compiled.skeleton;
        match (weighted.broken, self.cache.end_verdict(skeleton, &weighted.point)) {
            (Broken::Yes, _) => (true, true),
            // If every continuation of every binding satisfies the formula, that is the verdict, even at the end.
            (_, Verdict::Violated) => (self.cache.verdict(skeleton, &weighted.point) != Verdict::Satisfied, true),
            (Broken::Maybe, _) | (_, Verdict::Inconclusive) => (false, true),
            (Broken::No, Verdict::Satisfied) => (false, false),
        }
    }

    /// Whether the negation of the formula surely, or maybe, holds at a point if the trace ends there.
    fn holds_at_end(&self, weighted: &WeightedPoint) -> (bool, bool) {
        let at_end = self.cache.end_verdict(&self.monitor.compiled.skeleton, &weighted.point);
        (at_end == Verdict::Satisfied, at_end != Verdict::Violated || weighted.broken != Broken::No)
    }
}

/// Why a formula has no beliefs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeliefError {
    formula: String,
    reason: &'static str,
}

impl fmt::Display for BeliefError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no belief can follow `{}`: it {}", self.formula, self.reason)?;
        f.write_str("hint: treat its doubtful facts as unknown and follow it with a monitor set")
    }
}

impl std::error::Error for BeliefError {}
