//! How much each doubtful fact of a finished trace changes the probability of a violation.
//!
//! One pass forward collects the states that have a weight before each position, one backward the probability of a
//! violation from each of them. The influence of a fact is the difference that it makes, summed over the states before
//! its position and over the other choices of the position.

use super::distribution::{Broken, Distribution, PointStepper, WeightedPoint};
use super::letters::{WeightedLetter, weigh_letters};
use super::{BeliefMonitor, BeliefState};
use crate::chance::{Choice, ONE, multiply};
use crate::clock::Clock;
use crate::facts::{Fact, Facts};
use crate::interval::Time;

/// The most states before one position.
const MAX_INFLUENCE_POINTS: usize = 512;

/// How much a fact that holds with a chance changes the probability of a violation.
#[derive(Clone, Debug, PartialEq)]
pub struct FactInfluence {
    /// Its position in the trace, from 0.
    pub position: usize,
    /// The place of its choice among those of the position.
    pub choice: usize,
    /// The fact.
    pub fact: Fact,
    /// The probability of a violation if it holds, less that if no fact of its choice holds.
    pub influence: f64,
}

/// The states before a position, the weights they have, and what the rest of the trace makes of them.
#[derive(Default)]
struct Level {
    points: Vec<WeightedPoint>,
    /// The probability of a violation from each of them.
    chances: Vec<u64>,
}

impl Level {
    /// Adds weight to a state and returns its place; none if there are too many.
    fn add(&mut self, new: WeightedPoint) -> Option<usize> {
        let place = self.points.iter().position(|known| known.is_same(&new));
        match place {
            Some(place) => self.points[place].weight += new.weight,
            None if self.points.len() >= MAX_INFLUENCE_POINTS => return None,
            None => self.points.push(new),
        }
        Some(place.unwrap_or(self.points.len() - 1))
    }
}

/// A position: its letters, and those with one fact of a choice or with none.
struct ReadPosition {
    time: Time,
    letters: Vec<WeightedLetter>,
    forced: Vec<ForcedLetters>,
}

struct ForcedLetters {
    choice: usize,
    fact: Fact,
    with: Vec<WeightedLetter>,
    without: Vec<WeightedLetter>,
}

impl BeliefMonitor {
    /// Returns the influence of each fact of each choice on the probability that a finished trace violates the formula,
    /// at a position or at the end. Unknown facts count as no violation. None for a formula with bindings, and if there
    /// are too many states.
    ///
    /// ```
    /// use lictor_logic::{BeliefMonitor, Chance, Choice, Fact, Facts, Monitor};
    /// let mut monitor = BeliefMonitor::new(Monitor::parse("G(pay -> O approved)")?)?;
    /// let approved = Choice::new(Fact::new("approved", []), Chance::new(0.75)?);
    /// let pay = Choice::new(Fact::new("pay", []), Chance::new(0.5)?);
    /// let trace = [(Facts::default(), vec![approved]), (Facts::default(), vec![pay])];
    /// let influences = monitor.find_influences(&trace).unwrap();
    /// assert_eq!(influences[0].influence, -0.5);
    /// assert_eq!(influences[1].influence, 0.25);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find_influences(&mut self, trace: &[(Facts, Vec<Choice>)]) -> Option<Vec<FactInfluence>> {
        let BeliefState::Single(start) = &self.initial else { return None };
        let mut levels = vec![Level { points: start.points.clone(), chances: Vec::new() }];
        let positions = self.read_positions(trace);
        for position in &positions {
            let mut next = Level::default();
            let level = levels.last()?;
            for from in &level.points {
                self.expand(from, position.time, &position.letters, &mut next)?;
                // A fact that never or always holds leads to states without weight.
                for forced in &position.forced {
                    let weightless = WeightedPoint { weight: 0, ..from.clone() };
                    self.expand(&weightless, position.time, &forced.with, &mut next)?;
                    self.expand(&weightless, position.time, &forced.without, &mut next)?;
                }
            }
            levels.push(next);
        }
        let last = levels.last_mut()?;
        let ends = last.points.iter().map(|point| if self.fails_at_end(point).0 { ONE } else { 0 });
        last.chances = ends.collect();
        let mut influences = Vec::new();
        for (place, position) in positions.iter().enumerate().rev() {
            let (before, behind) = levels.split_at_mut(place + 1);
            let (level, next) = (before.last_mut()?, behind.first_mut()?);
            let mut sums: Vec<i128> = vec![0; position.forced.len()];
            for from in &level.points {
                let chance = self.expect(from, position.time, &position.letters, next)?;
                level.chances.push(chance);
                for (forced, sum) in position.forced.iter().zip(&mut sums).filter(|_| from.weight > 0) {
                    let with = self.expect(from, position.time, &forced.with, next)?;
                    let without = self.expect(from, position.time, &forced.without, next)?;
                    *sum += (i128::from(with) - i128::from(without)) * i128::from(from.weight);
                }
            }
            for (forced, sum) in position.forced.iter().zip(sums).rev() {
                // Both factors are in units of 2⁻⁶³.
                let influence = (sum >> 63) as f64 / ONE as f64;
                let (choice, fact) = (forced.choice, forced.fact.clone());
                influences.push(FactInfluence { position: place, choice, fact, influence });
            }
        }
        influences.reverse();
        Some(influences)
    }

    fn read_positions(&self, trace: &[(Facts, Vec<Choice>)]) -> Vec<ReadPosition> {
        let mut clock = Clock::default();
        let mut positions = Vec::with_capacity(trace.len());
        for (facts, choices) in trace {
            clock.read(facts.time);
            let all: Vec<&Choice> = choices.iter().collect();
            let mut forced = Vec::new();
            for (choice, doubtful) in choices.iter().enumerate() {
                let others: Vec<&Choice> =
                    choices.iter().enumerate().filter(|(place, _)| *place != choice).map(|(_, it)| it).collect();
                let without = weigh_letters(&self.monitor, facts, &others, &[]);
                for (fact, _) in doubtful.alternatives() {
                    let mut held = facts.clone();
                    held.known.push(fact.clone());
                    let with = weigh_letters(&self.monitor, &held, &others, &[]);
                    forced.push(ForcedLetters { choice, fact: fact.clone(), with, without: without.clone() });
                }
            }
            let letters = weigh_letters(&self.monitor, facts, &all, &[]);
            positions.push(ReadPosition { time: clock.now(), letters, forced });
        }
        positions
    }

    /// Steps a state by each letter.
    fn step_letters(&mut self, from: &WeightedPoint, time: Time, letters: &[WeightedLetter]) -> Vec<WeightedPoint> {
        let mut stepper = PointStepper { monitor: &self.monitor, cache: &mut self.cache, start: &self.start, time };
        let mut targets = Vec::with_capacity(letters.len());
        for letter in letters {
            // What is broken stays so, whatever comes.
            if from.broken == Broken::Yes {
                targets.push(WeightedPoint { weight: letter.weight, ..from.clone() });
                continue;
            }
            let mut single = Distribution { points: vec![WeightedPoint { weight: ONE, ..from.clone() }], lost: 0 };
            stepper.expire(&mut single);
            stepper.step(&mut single, &[WeightedLetter { weight: ONE, ..*letter }]);
            targets.extend(single.points.into_iter().map(|point| WeightedPoint { weight: letter.weight, ..point }));
        }
        targets
    }

    /// Adds the successors of a state to the next level; none if there are too many.
    fn expand(&mut self, from: &WeightedPoint, time: Time, letters: &[WeightedLetter], next: &mut Level) -> Option<()> {
        for target in self.step_letters(from, time, letters) {
            let weight = multiply(from.weight, target.weight);
            next.add(WeightedPoint { weight, ..target })?;
        }
        Some(())
    }

    /// Returns the probability of a violation from a state that reads one of several letters.
    fn expect(&mut self, from: &WeightedPoint, time: Time, letters: &[WeightedLetter], next: &Level) -> Option<u64> {
        let mut sum = 0u64;
        for target in self.step_letters(from, time, letters) {
            let place = next.points.iter().position(|known| known.is_same(&target))?;
            sum = sum.saturating_add(multiply(*next.chances.get(place)?, target.weight));
        }
        Some(sum)
    }
}
