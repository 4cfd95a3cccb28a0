//! How many samples are enough: an interval for a probability that holds at all times at once.
//!
//! Looking at an ordinary interval after each sample, and stopping when it suits, makes it wrong. This one is a mixture
//! of all alternatives (the beta distribution with both parameters one half as weight): a probability is excluded once
//! the samples are so much likelier under the mixture that this happens to the true one at most once in `1 / error`.

use lictor_math::{ln, ln_beta};

/// Samples that hit or miss, and the range of the probability that they leave.
///
/// ```
/// use lictor_predict::SampleSequence;
/// let mut sequence = SampleSequence::new(0.05);
/// (0..14).for_each(|_| sequence.add(0.0));
/// assert!(sequence.interval().1 < 0.3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SampleSequence {
    hits: f64,
    samples: u32,
    error: f64,
}

impl SampleSequence {
    /// Returns a sequence without samples. The interval misses the truth at some time with at most this probability.
    pub fn new(error: f64) -> SampleSequence {
        SampleSequence { hits: 0.0, samples: 0, error: error.clamp(1e-12, 0.5) }
    }

    /// Adds a sample: 1 for a hit, 0 for a miss, or its risk, between. A number outside counts as a hit.
    pub fn add(&mut self, risk: f64) {
        self.hits += if (0.0..=1.0).contains(&risk) { risk } else { 1.0 };
        self.samples += 1;
    }

    /// The number of samples.
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// The share of hits; one half without samples.
    pub fn mean(&self) -> f64 {
        if self.samples == 0 { 0.5 } else { self.hits / f64::from(self.samples) }
    }

    /// Returns the range of the probability.
    pub fn interval(&self) -> (f64, f64) {
        if self.samples == 0 {
            return (0.0, 1.0);
        }
        let misses = f64::from(self.samples) - self.hits;
        let mixture = ln_beta(self.hits + 0.5, misses + 0.5) - ln_beta(0.5, 0.5);
        let is_excluded = |risk: f64| {
            let term = |count: f64, share: f64| if count == 0.0 { 0.0 } else { count * ln(share) };
            mixture - term(self.hits, risk) - term(misses, 1.0 - risk) >= -ln(self.error)
        };
        let end = |outside: f64| {
            if !is_excluded(outside) {
                return outside;
            }
            // The likelihood has one peak, at the mean.
            let (mut outside, mut inside) = (outside, self.mean());
            for _ in 0..60 {
                let middle = 0.5 * (outside + inside);
                if is_excluded(middle) { outside = middle } else { inside = middle }
            }
            outside
        };
        (end(0.0), end(1.0))
    }
}
