//! Logistic regression with L2, by stochastic gradient descent.
//!
//! INVARIANT: the order of examples and of additions is fixed, so equal examples give equal weights.

use super::arithmetic::{shuffle, sigmoid};
use super::cue::{CUES, CueSet};

/// One window with what is true of it.
#[derive(Clone, Debug)]
pub(super) struct Sample<'a> {
    pub(super) hashes: &'a [u32],
    pub(super) cues: CueSet,
    pub(super) holds: bool,
    pub(super) weight: f64,
}

/// How the weights are fitted.
#[derive(Clone, Debug)]
pub(super) struct FitOptions {
    pub(super) bits: u32,
    pub(super) epochs: u32,
    pub(super) rate: f64,
    pub(super) cue_rate: f64,
    pub(super) l2: f64,
    pub(super) seed: u64,
}

/// Fitted weights.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    pub(super) hashed: Vec<f64>,
    pub(super) cues: [f64; CUES],
    pub(super) bias: f64,
}

impl Weights {
    /// Returns the logit of a window.
    pub(super) fn logit(&self, hashes: &[u32], cues: CueSet) -> f64 {
        let mask = self.hashed.len() as u32 - 1;
        let sum: f64 = hashes.iter().map(|hash| self.hashed[(hash & mask) as usize]).sum();
        let cues: f64 = (0..CUES).filter(|bit| cues >> bit & 1 == 1).map(|bit| self.cues[bit]).sum();
        self.bias + cues + sum / length(hashes)
    }
}

/// Returns the length of a window's vector of n-grams, as if no two were the same.
pub(super) fn length(hashes: &[u32]) -> f64 {
    (hashes.len().max(1) as f64).sqrt()
}

/// Fits weights to samples. The vector of n-grams of a sample has length one, so one rate suits short and long windows;
/// rare n-grams get small weights, since they are seldom seen.
pub(super) fn fit(samples: &[Sample<'_>], options: &FitOptions) -> Weights {
    let size = 1usize << options.bits;
    let mask = size as u32 - 1;
    let mut weights = Weights { hashed: vec![0.0; size], cues: [0.0; CUES], bias: 0.0 };
    let mut order: Vec<u32> = (0..samples.len() as u32).collect();
    let mut random = options.seed;
    for epoch in 0..options.epochs {
        shuffle(&mut order, &mut random);
        let rate = options.rate / (1.0 + f64::from(epoch) / 2.0);
        for index in &order {
            let sample = &samples[*index as usize];
            let error = sigmoid(weights.logit(sample.hashes, sample.cues)) - f64::from(u8::from(sample.holds));
            let error = error * sample.weight;
            // What is right already teaches nothing.
            if error.abs() < 1e-4 {
                continue;
            }
            let share = rate * error / length(sample.hashes);
            for hash in sample.hashes {
                weights.hashed[(hash & mask) as usize] -= share;
            }
            for bit in (0..CUES).filter(|bit| sample.cues >> bit & 1 == 1) {
                weights.cues[bit] -= rate * options.cue_rate * error;
            }
            weights.bias -= rate * options.cue_rate * error;
        }
        // The penalty on large weights, once for all samples of the epoch.
        for weight in weights.hashed.iter_mut().chain(&mut weights.cues) {
            *weight *= 1.0 - options.l2;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(hashes: &[u32], holds: bool) -> Sample<'_> {
        Sample { hashes, cues: 0, holds, weight: 1.0 }
    }

    #[test]
    fn regression_separates_what_can_be_separated() {
        let samples = [sample(&[1, 2], true), sample(&[1, 3], false), sample(&[4, 2], true), sample(&[4, 3], false)];
        let options = FitOptions { bits: 4, epochs: 30, rate: 1.0, cue_rate: 0.1, l2: 0.01, seed: 7 };
        let weights = fit(&samples, &options);
        for sample in &samples {
            assert_eq!(weights.logit(sample.hashes, 0) > 0.0, sample.holds);
        }
        assert_eq!(weights.hashed, fit(&samples, &options).hashed);
    }
}
