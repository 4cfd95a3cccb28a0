//! A labeler with known errors: it sees a normal variable whose mean depends on the truth.

use lictor_event::{Answer, AnswerValue, Kind};
use lictor_label::{Calibration, CalibrationError, LabelledAnswer, Stratum};
use lictor_logic::Fact;

/// The labeler's version.
pub(crate) const VERSION: &str = "simulated@1";

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a number from 0 to 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether something of a probability happens.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A labeler of one accuracy, with scores whose odds may be off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedLabeler {
    /// The distance of the means of the variable that it sees.
    distance: f64,
    /// The base rate that it assumes for its scores.
    assumed_rate: f64,
    /// How far the odds of its scores are off.
    odds_factor: f64,
}

impl SimulatedLabeler {
    /// Returns a labeler whose plain yes and no are right with a probability, for true and false facts alike.
    pub(crate) fn with_accuracy(accuracy: f64, assumed_rate: f64, odds_factor: f64) -> SimulatedLabeler {
        SimulatedLabeler { distance: 2.0 * normal_quantile(accuracy), assumed_rate, odds_factor }
    }

    /// Answers whether a fact holds.
    pub(crate) fn answer(&self, random: &mut Random, fact: &str, truth: bool) -> Answer {
        let seen = random.normal() + if truth { 0.5 } else { -0.5 } * self.distance;
        let says = if seen > 0.0 { AnswerValue::Yes } else { AnswerValue::No };
        let odds = self.odds_factor * self.assumed_rate / (1.0 - self.assumed_rate) * (self.distance * seen).exp();
        Answer { score: Some(odds / (1.0 + odds)), ..Answer::new(Fact::new(fact, []), says).by(VERSION) }
    }

    /// Draws a labelled sample, ten events a session.
    pub(crate) fn sample(&self, random: &mut Random, fact: &str, base_rate: f64, events: u64) -> Vec<LabelledAnswer> {
        let name = random.0;
        let draw = |k: u64| {
            let truth = random.happens(base_rate);
            LabelledAnswer {
                session: format!("{name}-{}", k / 10).into(),
                event: k % 10,
                stratum: Stratum::new(&Kind::Facts, None),
                answer: self.answer(random, fact, truth),
                truth,
            }
        };
        (0..events).map(draw).collect()
    }
}

/// Fits a calibration of the simulated labeler.
pub(crate) fn fit(sample: &[LabelledAnswer]) -> Result<Calibration, CalibrationError> {
    Calibration::fit(VERSION, "", sample)
}

/// Returns the calibration with the odds of one fact's chances multiplied.
pub(crate) fn plant_odds(
    calibration: &Calibration,
    fact: &str,
    base_rate: f64,
    factor: f64,
) -> Result<Calibration, CalibrationError> {
    let odds = factor * base_rate / (1.0 - base_rate);
    calibration.clone().with_base_rate(fact, Some(&Stratum::new(&Kind::Facts, None)), odds / (1.0 + odds))
}

/// The quantile of the normal distribution, by bisection over its integral; at most 6.
fn normal_quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 6.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        let steps = 2000;
        let width = middle / f64::from(steps);
        let density = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let integral: f64 = (0..steps).map(|k| width * density((f64::from(k) + 0.5) * width)).sum();
        if 0.5 + integral < probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}
