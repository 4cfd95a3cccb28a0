//! Intervals for paired differences: the same seeds with and without a change.
//!
//! The bootstrap draws the pairs again, with replacement, and takes the middle 95 % of the differences. It assumes
//! neither a normal distribution nor equal variances, and its random numbers come from a seed.

use lictor::predict::SeededRandom;

/// How often the pairs are drawn again.
const RESAMPLES: usize = 10_000;

/// The share of resamples below the interval, and above it.
const TAIL: f64 = 0.025;

/// The seed of the draws; a fixed one, so that a report can be repeated.
const SEED: u64 = 40;

/// A difference between two ways of doing the same runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedDifference {
    /// The difference in these runs.
    pub mean: f64,
    /// The lower end of its 95 % interval.
    pub least: f64,
    /// The upper end.
    pub most: f64,
}

impl PairedDifference {
    /// Returns the difference that a statistic has between pairs of runs, with its interval. The statistic is computed
    /// from the numbers of pairs, which may repeat: first with the change, then without.
    pub fn bootstrap(pairs: usize, statistic: impl Fn(&[usize]) -> (f64, f64)) -> PairedDifference {
        let difference = |places: &[usize]| {
            let (changed, unchanged) = statistic(places);
            changed - unchanged
        };
        let all: Vec<usize> = (0..pairs).collect();
        let mean = difference(&all);
        if pairs == 0 {
            return PairedDifference { mean, least: mean, most: mean };
        }
        let mut random = SeededRandom::new(SEED);
        let mut drawn = vec![0; pairs];
        let mut differences: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                drawn.iter_mut().for_each(|place| *place = (random.next_share() * pairs as f64) as usize);
                difference(&drawn)
            })
            .collect();
        differences.sort_unstable_by(f64::total_cmp);
        let tail = (TAIL * RESAMPLES as f64) as usize;
        PairedDifference { mean, least: differences[tail], most: differences[RESAMPLES - 1 - tail] }
    }

    /// Whether the whole interval is below zero.
    pub fn is_below(&self) -> bool {
        self.most < 0.0
    }

    /// Whether the whole interval is above zero.
    pub fn is_above(&self) -> bool {
        self.least > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(changed: &[f64], unchanged: &[f64]) -> PairedDifference {
        PairedDifference::bootstrap(changed.len(), |places| {
            let mean = |values: &[f64]| places.iter().map(|place| values[*place]).sum::<f64>() / places.len() as f64;
            (mean(changed), mean(unchanged))
        })
    }

    #[test]
    fn paired_interval_ignores_what_pairs_share() {
        let unchanged: Vec<f64> = (0..40).map(f64::from).collect();
        let changed: Vec<f64> = unchanged.iter().map(|value| value - 1.0 - 0.1 * (value % 2.0)).collect();
        let difference = compare(&changed, &unchanged);
        assert!(difference.is_below() && difference.least > -1.11 && difference.most < -1.0, "{difference:?}");
        let none = compare(&unchanged, &unchanged);
        assert_eq!((none.mean, none.least, none.most), (0.0, 0.0, 0.0));
        assert!(!none.is_below() && !none.is_above());
    }

    /// The interval of 40 normal-like numbers with mean 0 holds 0 in about 95 of 100 cases.
    #[test]
    fn paired_interval_covers_the_truth() {
        let mut random = SeededRandom::new(1);
        let covered = (0..100).filter(|_| {
            let noise: Vec<f64> = (0..40).map(|_| (0..6).map(|_| random.next_share() - 0.5).sum()).collect();
            let difference = compare(&noise, &[0.0; 40]);
            !difference.is_below() && !difference.is_above()
        });
        let covered = covered.count();
        assert!((88..=99).contains(&covered), "{covered}");
    }

    #[test]
    fn paired_interval_of_no_pairs_is_defined() {
        let difference = PairedDifference::bootstrap(0, |_| (0.0, 0.0));
        assert_eq!((difference.least, difference.most), (0.0, 0.0));
    }
}
