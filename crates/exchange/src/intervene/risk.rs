//! The risk of a reply, by the chain or by plans of the model.

use lictor_policy::{PredictSettings, Undecided};
use lictor_predict::{Score, ThresholdSide};

use super::sample::SampledRisk;

/// What is known of the risk of a reply.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplyRisk {
    /// None if nothing is known.
    pub(super) score: Option<Score>,
    /// The plans that it comes from; none if it comes from the chain, or if the reply itself violates a property.
    pub(super) sampled: Option<SampledRisk>,
    /// What the model itself states, if it was asked; no score.
    pub(super) stated: Option<f64>,
}

impl ReplyRisk {
    /// Returns the score that a candidate must stay below. Plans are random: all of the candidate's interval must be below
    /// all of the reply's.
    pub(super) fn floor(&self) -> Option<Score> {
        match self.sampled {
            Some(sampled) => self.score.map(|_| Score { most: sampled.least(), chance: sampled.least() }),
            None => self.score,
        }
    }

    /// Whether it is a reason to look for another reply.
    pub(super) fn is_risky(&self, plan: &PredictSettings) -> bool {
        match self.side(plan.risk.to_f64()) {
            ThresholdSide::Below => false,
            ThresholdSide::Above => true,
            ThresholdSide::Undecided => plan.undecided == Undecided::Intervene,
        }
    }

    /// Returns on which side of a threshold it is known to be.
    pub(super) fn side(&self, threshold: f64) -> ThresholdSide {
        match (self.score, self.sampled) {
            (Some(score), _) if score.most < threshold => ThresholdSide::Below,
            (Some(_), Some(sampled)) if sampled.least() > threshold => ThresholdSide::Above,
            (Some(score), None) if score.chance >= threshold => ThresholdSide::Above,
            _ => ThresholdSide::Undecided,
        }
    }
}
