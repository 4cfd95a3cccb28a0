//! How often a labeler errs, and how common a fact is: what turns an answer without a score into a chance.

use lictor_math::clopper_pearson;

/// The fewest true, and the fewest false, examples that tell how often a labeler errs.
pub(super) const MIN_EXAMPLES: u64 = 10;

/// The fewest examples, true or false, that tell how common a fact is.
pub(super) const MIN_BASE_EXAMPLES: u64 = 2 * MIN_EXAMPLES;

/// The answers to one question, by what they say and what is true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ConfusionCounts {
    /// The fact holds and the labeler says yes.
    pub(super) true_yes: u64,
    /// It holds and the labeler says no.
    pub(super) false_no: u64,
    /// It does not hold and the labeler says yes.
    pub(super) false_yes: u64,
    /// It does not hold and the labeler says no.
    pub(super) true_no: u64,
}

impl ConfusionCounts {
    pub(super) fn add(&mut self, says_yes: bool, truth: bool) {
        match (truth, says_yes) {
            (true, true) => self.true_yes += 1,
            (true, false) => self.false_no += 1,
            (false, true) => self.false_yes += 1,
            (false, false) => self.true_no += 1,
        }
    }

    pub(super) fn sum_with(&self, other: &ConfusionCounts) -> ConfusionCounts {
        ConfusionCounts {
            true_yes: self.true_yes.saturating_add(other.true_yes),
            false_no: self.false_no.saturating_add(other.false_no),
            false_yes: self.false_yes.saturating_add(other.false_yes),
            true_no: self.true_no.saturating_add(other.true_no),
        }
    }

    pub(super) fn positives(&self) -> u64 {
        self.true_yes.saturating_add(self.false_no)
    }

    pub(super) fn negatives(&self) -> u64 {
        self.false_yes.saturating_add(self.true_no)
    }

    pub(super) fn total(&self) -> u64 {
        self.positives().saturating_add(self.negatives())
    }

    /// Whether there are enough examples of both kinds.
    pub(super) fn is_enough(&self) -> bool {
        self.positives() >= MIN_EXAMPLES && self.negatives() >= MIN_EXAMPLES
    }

    /// The share of events at which the fact holds, with half an example of each kind added (Beta(½, ½)).
    pub(super) fn base_rate(&self) -> f64 {
        add_halves(self.positives(), self.total())
    }

    /// The chance that the fact holds, given an answer and the base rate: the odds of the base rate times the
    /// likelihood ratio of the answer.
    pub(super) fn chance(&self, says_yes: bool, base_rate: f64) -> f64 {
        let (hits, false_hits) = match says_yes {
            true => (self.true_yes, self.false_yes),
            false => (self.false_no, self.true_no),
        };
        let if_true = add_halves(hits, self.positives());
        let if_false = add_halves(false_hits, self.negatives());
        let odds = base_rate / (1.0 - base_rate) * (if_true / if_false);
        clip(odds / (1.0 + odds), self.total())
    }

    /// The range of the share of yes answers in traffic that is like the sample, but for a base rate if one is given.
    pub(super) fn yes_rate(&self, base_rate: Option<f64>, confidence: f64) -> (f64, f64) {
        let range = |hits: u64, trials: u64| clopper_pearson(hits as f64, trials as f64, confidence);
        let Some(rate) = base_rate else {
            return range(self.true_yes.saturating_add(self.false_yes), self.total());
        };
        let (hit, false_hit) = (range(self.true_yes, self.positives()), range(self.false_yes, self.negatives()));
        (rate * hit.0 + (1.0 - rate) * false_hit.0, rate * hit.1 + (1.0 - rate) * false_hit.1)
    }
}

/// The share of hits with half a hit and half a miss added: the mean of Beta(hits + ½, misses + ½).
pub(super) fn add_halves(hits: u64, trials: u64) -> f64 {
    (hits as f64 + 0.5) / (trials as f64 + 1.0)
}

/// The chance, no nearer to 0 and 1 than that many examples can make it.
pub(super) fn clip(chance: f64, examples: u64) -> f64 {
    let least = 1.0 / (examples as f64 + 2.0);
    chance.clamp(least, 1.0 - least)
}

/// The chance that holds at another base rate: its odds are multiplied by the ratio of the odds of the base rates.
pub(super) fn rebase(chance: f64, from: f64, to: f64) -> f64 {
    let odds = chance / (1.0 - chance) * (to / (1.0 - to)) / (from / (1.0 - from));
    odds / (1.0 + odds)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: ConfusionCounts = ConfusionCounts { true_yes: 90, false_no: 10, false_yes: 30, true_no: 270 };

    #[test]
    fn chance_without_score_is_share_of_sample() {
        // With the sample's own base rate, Bayes gives back the shares of the table, but for the added halves.
        let base_rate = COUNTS.base_rate();
        assert!((COUNTS.chance(true, base_rate) - 90.0 / 120.0).abs() < 0.01);
        assert!((COUNTS.chance(false, base_rate) - 10.0 / 280.0).abs() < 0.01);
    }

    #[test]
    fn chance_follows_a_moved_base_rate() {
        let moved = COUNTS.chance(true, 0.01);
        assert!((moved - 0.01 * 0.9 / (0.01 * 0.9 + 0.99 * 0.1)).abs() < 0.01, "{moved}");
        let rebased = rebase(COUNTS.chance(true, 0.3), 0.3, 0.01);
        assert!((moved - rebased).abs() < 1e-12);
    }

    #[test]
    fn chance_is_never_surer_than_examples() {
        let perfect = ConfusionCounts { true_yes: 10, true_no: 10, ..ConfusionCounts::default() };
        assert!((perfect.chance(true, 0.999) - 21.0 / 22.0).abs() < 1e-12);
        assert!((perfect.chance(false, 0.001) - 1.0 / 22.0).abs() < 1e-12);
    }

    #[test]
    fn yes_rate_follows_a_moved_base_rate() {
        let (low, high) = COUNTS.yes_rate(None, 0.99);
        assert!(low < 0.3 && high > 0.3);
        let (low, high) = COUNTS.yes_rate(Some(0.01), 0.99);
        assert!(low < 0.108 && high > 0.108 && high < 0.2, "{low} {high}");
    }
}
