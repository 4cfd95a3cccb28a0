//! A labeler with known errors, for tests.

use lictor_event::{Answer, AnswerValue, Kind};
use lictor_logic::Fact;

use super::{LabelledAnswer, Stratum};

/// SplitMix64 (Steele, Lea and Flood 2014).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A labeler that sees a normal variable whose mean depends on the truth, and a fact with a base rate.
#[derive(Clone, Copy)]
pub(super) struct Simulation {
    pub(super) seed: u64,
    pub(super) answers: u64,
    pub(super) base_rate: f64,
    /// The distance of the two means; the accuracy of plain answers is Φ(distance / 2).
    pub(super) distance: f64,
    /// Whether it gives scores, and how far their odds are off.
    pub(super) odds_factor: Option<f64>,
}

impl Simulation {
    pub(super) fn draw(self, fact: &str, tool: Option<&str>) -> Vec<LabelledAnswer> {
        let mut random = Random(self.seed);
        let mut draw = |k: u64| {
            let truth = random.uniform() < self.base_rate;
            let seen = random.normal() + if truth { 0.5 } else { -0.5 } * self.distance;
            let says = if seen > 0.0 { AnswerValue::Yes } else { AnswerValue::No };
            let mut answer = Answer::new(Fact::new(fact, []), says).by("scripted@1");
            answer.score = self.odds_factor.map(|factor| {
                let odds = factor * 0.25 * (self.distance * seen).exp();
                odds / (1.0 + odds)
            });
            let stratum = Stratum::new(&Kind::ToolResult, tool);
            LabelledAnswer {
                session: format!("{}-{}", self.seed, k / 10).into(),
                event: k % 10,
                stratum,
                answer,
                truth,
            }
        };
        (0..self.answers).map(&mut draw).collect()
    }
}
