//! Whether chances are what happens: the check of a calibration on answers that it was not fitted on.

use std::collections::BTreeMap;

use lictor_math::{ReliabilityBin, clopper_pearson, ln};

/// The fewest true, and the fewest false, examples that a check needs. Odds that are off by a factor of three are found with
/// 50 true examples in nine of ten cases, with 10 in one of four.
pub(super) const MIN_CHECKED: u64 = 50;

/// How far two numbers of a file may differ that are computed from the same others.
const SAME_NUMBER: f64 = 1e-9;

/// The number of bins of a reliability table.
const BINS: usize = 10;

/// The confidence of each bin's bars.
const BAR_CONFIDENCE: f64 = 0.95;

/// The confidence of the bars that no bin may be outside of: one bin of ten may be off by chance, but not by far.
const OUTER_CONFIDENCE: f64 = 0.999;

/// The one-sided 95 % point of the normal distribution, for the difference of two Brier scores.
const BRIER_TOLERANCE: f64 = 1.645;

/// The most standard errors that the number of facts that hold may be off from the sum of the chances.
const MAX_SHIFT: f64 = 3.0;

/// The number of errors whose part of the Brier score counts as no difference: a labeler that never errs in a sample may
/// still err that often (95 % bound), and chances are never 0 or 1.
const BRIER_SLACK_ERRORS: f64 = 3.0;

/// Raw scores are kept this far from 0 and 1 in the log loss, which would be infinite there.
const MIN_RAW_PROBABILITY: f64 = 1e-6;

/// A chance, the raw score it came from, and the truth.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedChance<'a> {
    pub(super) chance: f64,
    /// The labeler's score if it is a probability, otherwise 1 for a yes and 0 for a no.
    pub(super) raw: f64,
    pub(super) truth: bool,
    /// The session, whose answers hang together.
    pub(super) session: &'a str,
}

/// The result of checking the chances of one fact on answers that they were not fitted on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FactCheck {
    /// The number of answers.
    pub examples: u64,
    /// The reliability table: up to ten bins of equal mass. Answers with equal chances are in one bin.
    pub bins: Vec<ReliabilityBin>,
    /// The mean square of chance minus truth.
    pub brier: f64,
    /// The Brier score of the labeler's own score, or of its yes as 1 and no as 0.
    pub raw_brier: f64,
    /// The expected calibration error: the mean distance of chance and rate over the bins.
    pub ece: f64,
    /// The expected calibration error of the raw score.
    pub raw_ece: f64,
    /// The mean negative logarithm of the chance that was given to the truth.
    pub log_loss: f64,
    /// The log loss of the raw score, kept within 10⁻⁶ of 0 and 1.
    pub raw_log_loss: f64,
    /// The standard error of the mean chance minus the rate. Sessions count as independent, not answers.
    pub shift_error: f64,
    /// The standard error of the difference of the two Brier scores, over sessions too.
    pub brier_error: f64,
    /// Whether the chances may be used: there are enough true and false examples, at most one of ten bins is outside its
    /// bars (none if there are fewer than five), none is outside the 99.9 % bars, the mean chance is within three standard
    /// errors of the rate, and the Brier score is above the raw one by no more than the sampling error, or three errors in
    /// the sample. It follows from the other numbers.
    pub passed: bool,
}

impl FactCheck {
    /// Returns the mean chance of all answers.
    pub fn mean_chance(&self) -> f64 {
        self.bins.iter().map(|bin| bin.count as f64 * bin.mean_chance).sum::<f64>() / self.examples.max(1) as f64
    }

    /// Returns the share of all answers whose fact holds.
    pub fn rate(&self) -> f64 {
        self.positives() as f64 / self.examples.max(1) as f64
    }

    /// Returns the number of answers whose fact holds.
    pub fn positives(&self) -> u64 {
        self.bins.iter().fold(0, |sum, bin| sum.saturating_add(bin.positives))
    }

    /// Returns why the chances may not be used, by the numbers of the check alone.
    pub(super) fn find_objection(&self, fit_error: FitError) -> Option<&'static str> {
        let outside = self.bins.iter().filter(|bin| !bin.is_within()).count();
        let allowed = usize::from(self.bins.len() >= BINS / 2);
        let is_far_off = |bin: &ReliabilityBin| {
            let (least, most) = bound_rate(bin.positives, bin.count, fit_error.of_bin, OUTER_CONFIDENCE);
            bin.mean_chance < least || bin.mean_chance > most
        };
        let shift = (self.mean_chance() - self.rate()).abs();
        let slack = (BRIER_TOLERANCE * self.brier_error).max(BRIER_SLACK_ERRORS / self.examples.max(1) as f64);
        let negatives = self.examples.saturating_sub(self.positives());
        if self.positives() < MIN_CHECKED || negatives < MIN_CHECKED {
            Some("it has too few true or false examples")
        } else if outside > allowed || self.bins.iter().any(is_far_off) {
            Some("its bins are outside their bars")
        } else if shift > MAX_SHIFT * self.shift_error * (1.0 + fit_error.of_all).sqrt() {
            // It finds what bins cannot: a small shift of chances near 0 and 1.
            Some("its mean chance is not the rate")
        } else if self.brier - self.raw_brier > slack {
            Some("its Brier score is above the raw one")
        } else {
            None
        }
    }

    /// Returns a number of the check that the others contradict, or that no check can have.
    pub(super) fn find_contradiction(&self, fit_error: FitError) -> Option<&'static str> {
        let is_share = |value: f64| (0.0..=1.0).contains(&value);
        let is_same = |a: f64, b: f64| (a - b).abs() <= SAME_NUMBER;
        let count = self.bins.iter().fold(0, |sum: u64, bin| sum.saturating_add(bin.count));
        let spread = self.bins.iter().map(|bin| bin.count as f64 * (bin.mean_chance - bin.rate()).powi(2)).sum::<f64>();
        let is_wrong_bin = |bin: &ReliabilityBin| {
            let (least, most) = bound_rate(bin.positives, bin.count, fit_error.of_bin, BAR_CONFIDENCE);
            bin.positives > bin.count || !is_same(bin.least, least) || !is_same(bin.most, most)
        };
        if self.examples == 0 || count != self.examples {
            Some("the counts of `bins` do not sum to `examples`")
        } else if self.bins.len() > BINS
            || self.bins.iter().any(|bin| !(bin.mean_chance > 0.0 && bin.mean_chance < 1.0))
        {
            Some("`bins` must be at most ten, each with a chance between 0 and 1")
        } else if !self.bins.is_sorted_by(|a, b| a.mean_chance <= b.mean_chance + SAME_NUMBER) {
            Some("the chances of `bins` must rise")
        } else if self.bins.iter().any(is_wrong_bin) {
            Some("the bars of `bins` are not those of their counts")
        } else if [self.brier, self.raw_brier, self.ece, self.raw_ece].iter().any(|value| !is_share(*value)) {
            Some("`brier`, `raw_brier`, `ece` and `raw_ece` must be from 0 to 1")
        } else if !is_same(self.ece, calibration_error(&self.bins)) {
            Some("`ece` is not that of `bins`")
        } else if self.brier + SAME_NUMBER < spread / count as f64 {
            // The mean square is at least the square of the mean (Jensen).
            Some("`brier` is lower than `bins` allow")
        } else if !(self.log_loss >= 0.0 && self.raw_log_loss >= 0.0) {
            Some("`log_loss` and `raw_log_loss` must not be negative")
        } else if !is_share(self.shift_error) || !is_share(self.brier_error) {
            Some("`shift_error` and `brier_error` must be from 0 to 1")
        } else {
            None
        }
    }
}

/// The square errors that chances have themselves because they were fitted on a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FitError {
    /// As a part of that of the rate of one bin.
    pub(super) of_bin: f64,
    /// As a part of that of the rate of all answers.
    pub(super) of_all: f64,
}

/// Checks chances. The bars and the other tolerances are widened by the error of the fit.
pub(super) fn check_chances(checked: &[CheckedChance<'_>], fit_error: FitError) -> FactCheck {
    let pairs = |of: fn(&CheckedChance<'_>) -> f64| -> Vec<(f64, bool)> {
        checked.iter().map(|it| (of(it), it.truth)).collect()
    };
    let (chances, raw) = (pairs(|it| it.chance), pairs(|it| it.raw));
    let bins = cut_bins(&chances, fit_error.of_bin);
    let bounded: Vec<(f64, bool)> =
        raw.iter().map(|(p, truth)| (p.clamp(MIN_RAW_PROBABILITY, 1.0 - MIN_RAW_PROBABILITY), *truth)).collect();
    let mut check = FactCheck {
        examples: checked.len() as u64,
        brier: mean(&chances, square_error),
        raw_brier: mean(&raw, square_error),
        ece: calibration_error(&bins),
        raw_ece: calibration_error(&cut_bins(&raw, 0.0)),
        log_loss: mean(&chances, log_error),
        raw_log_loss: mean(&bounded, log_error),
        shift_error: measure_shift_error(checked),
        brier_error: spread_by_session(checked, |it| {
            square_error(it.chance, it.truth) - square_error(it.raw, it.truth)
        }),
        passed: false,
        bins,
    };
    check.passed = check.find_objection(fit_error).is_none();
    check
}

fn square_error(p: f64, truth: bool) -> f64 {
    let error = p - f64::from(u8::from(truth));
    error * error
}

fn log_error(p: f64, truth: bool) -> f64 {
    -ln(if truth { p } else { 1.0 - p })
}

fn mean(pairs: &[(f64, bool)], error: fn(f64, bool) -> f64) -> f64 {
    pairs.iter().map(|(p, truth)| error(*p, *truth)).sum::<f64>() / pairs.len().max(1) as f64
}

/// Returns the standard error of the mean of a number over answers. Sessions are the units that are independent, so it is
/// that of the sums over sessions.
fn spread_by_session(checked: &[CheckedChance<'_>], number: impl Fn(&CheckedChance<'_>) -> f64) -> f64 {
    let count = checked.len().max(1) as f64;
    let mean = checked.iter().map(&number).sum::<f64>() / count;
    let mut sessions: BTreeMap<&str, f64> = BTreeMap::new();
    for it in checked {
        *sessions.entry(it.session).or_default() += number(it) - mean;
    }
    sessions.values().map(|sum| sum * sum).sum::<f64>().sqrt() / count
}

/// Returns the standard error of the mean chance minus the rate: that of the sessions, or that of true chances if it is
/// larger.
fn measure_shift_error(checked: &[CheckedChance<'_>]) -> f64 {
    let error = spread_by_session(checked, |it| it.chance - f64::from(u8::from(it.truth)));
    let expected = checked.iter().map(|it| it.chance * (1.0 - it.chance)).sum::<f64>().sqrt();
    error.max(expected / checked.len().max(1) as f64)
}

/// Cuts pairs into bins of equal mass by their probability. Equal probabilities stay together.
fn cut_bins(pairs: &[(f64, bool)], fit_share: f64) -> Vec<ReliabilityBin> {
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut groups: [Vec<(f64, bool)>; BINS] = Default::default();
    let mut rank = 0;
    for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
        // The middle of the group decides, so that a large group does not always drag its bin down.
        let middle = rank + equal.len() / 2;
        let place = (middle * BINS / sorted.len()).min(BINS - 1);
        groups[place].extend_from_slice(equal);
        rank += equal.len();
    }
    groups.iter().filter(|group| !group.is_empty()).map(|group| summarize_bin(group, fit_share)).collect()
}

fn summarize_bin(group: &[(f64, bool)], fit_share: f64) -> ReliabilityBin {
    let (count, positives) = (group.len() as u64, group.iter().filter(|(_, truth)| *truth).count() as u64);
    let (least, most) = bound_rate(positives, count, fit_share, BAR_CONFIDENCE);
    let mean_chance = group.iter().map(|(p, _)| p).sum::<f64>() / count as f64;
    ReliabilityBin { count, positives, mean_chance, least, most }
}

/// The bars of a bin's rate.
fn bound_rate(positives: u64, count: u64, fit_share: f64, confidence: f64) -> (f64, f64) {
    let weight = 1.0 / (1.0 + fit_share);
    clopper_pearson(positives as f64 * weight, count as f64 * weight, confidence)
}

fn calibration_error(bins: &[ReliabilityBin]) -> f64 {
    let total: u64 = bins.iter().map(|bin| bin.count).sum();
    let distance = |bin: &ReliabilityBin| bin.count as f64 * (bin.mean_chance - bin.rate()).abs();
    bins.iter().map(distance).sum::<f64>() / total.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers whose facts hold exactly as often as `rate` of their chance says.
    fn draw(count: u64, rate: impl Fn(f64) -> f64) -> Vec<CheckedChance<'static>> {
        let mut made = Vec::new();
        for k in 0..count {
            let chance = (k as f64 + 0.5) / count as f64;
            // A sequence that fills the unit interval evenly, so that no luck is in it.
            let even = (k as f64 * 0.618_033_988_749_895).fract();
            made.push(CheckedChance { chance, raw: chance, truth: even < rate(chance), session: "s" });
        }
        made
    }

    #[test]
    fn check_passes_true_chances() {
        let check = check_chances(&draw(2000, |chance| chance), FitError::default());
        assert!(check.passed && check.bins.len() == 10, "{check:?}");
        assert!((check.brier - 1.0 / 6.0).abs() < 0.01 && check.ece < 0.02, "{check:?}");
        assert!((check.log_loss - 0.5).abs() < 0.02, "{check:?}");
        assert!(check.bins.iter().all(|bin| bin.count == 200));
    }

    #[test]
    fn check_finds_odds_three_times_too_high() {
        let check = check_chances(&draw(2000, |chance| chance / (chance + 3.0 * (1.0 - chance))), FitError::default());
        assert!(!check.passed && check.ece > 0.1, "{check:?}");
    }

    #[test]
    fn check_finds_brier_above_raw() {
        let mut checked = draw(2000, |chance| chance);
        for (k, it) in checked.iter_mut().enumerate() {
            // The base rate is calibrated, and tells nothing of what the raw score knows.
            it.chance = 0.5;
            it.session = ["a", "b", "c", "d", "e"][k % 5];
        }
        let check = check_chances(&checked, FitError::default());
        assert!(check.bins.iter().all(ReliabilityBin::is_within), "{check:?}");
        assert!(!check.passed && check.brier > check.raw_brier, "{check:?}");
    }

    #[test]
    fn check_finds_one_bin_far_off() {
        let mut checked = draw(2000, |chance| chance);
        checked.iter_mut().filter(|it| (0.2..0.3).contains(&it.chance)).for_each(|it| it.truth = false);
        let check = check_chances(&checked, FitError::default());
        assert_eq!(check.bins.iter().filter(|bin| !bin.is_within()).count(), 1, "{check:?}");
        assert!(!check.passed);
    }

    #[test]
    fn check_finds_shift_that_bins_hide() {
        // Of 10,000 answers with a chance of 1 in 500, twice as many hold; ten bins of their kind would show nothing.
        let shifted = |k: u32| k.is_multiple_of(250);
        let answer = |k: u32, is_true: bool| CheckedChance {
            chance: 0.002 + f64::from(k) * 1e-9,
            raw: 0.002,
            truth: is_true,
            session: "s",
        };
        let checked: Vec<CheckedChance<'_>> = (0..10_000).map(|k| answer(k, shifted(k))).collect();
        let check = check_chances(&checked, FitError::default());
        assert!(check.bins.iter().all(ReliabilityBin::is_within), "{check:?}");
        assert!(!check.passed && (check.rate() - 0.004).abs() < 1e-9 && check.mean_chance() < 0.0021, "{check:?}");
    }

    #[test]
    fn bins_keep_equal_chances_together() {
        let pairs: Vec<(f64, bool)> = (0..100).map(|k| (if k < 7 { 0.9 } else { 0.1 }, k % 2 == 0)).collect();
        let bins = cut_bins(&pairs, 0.0);
        assert_eq!(bins.iter().map(|bin| bin.count).collect::<Vec<_>>(), [93, 7]);
    }
}
