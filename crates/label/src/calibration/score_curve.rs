//! The chance as a function of a labeler's score: fitted once, kept as a table, read by linear interpolation.
//!
//! Few examples give Platt's two parameters (Platt 1999, with his regularised targets), many the isotonic fit by pooling
//! adjacent violators. Reading the table takes the four basic operations only, which give the same bits on every
//! machine.

use lictor_event::AnswerValue;

use super::confusion::{add_halves, clip};
use lictor_math::{exp, ln, logistic, logit};

/// The fewest true, and the fewest false, examples for Platt's two parameters.
pub(super) const MIN_PLATT_EXAMPLES: u64 = 50;

/// The fewest true, and the fewest false, examples for an isotonic fit.
pub(super) const MIN_ISOTONIC_EXAMPLES: u64 = 500;

/// The distance of the table's rows, in log odds: it keeps interpolation within 0.0002 of the logistic function.
const ROW_DISTANCE: f64 = 0.125;

/// Scores that are probabilities are kept this far from 0 and 1 before their log odds are taken.
const MIN_PROBABILITY: f64 = 1e-6;

/// How a labeler means its scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScoreScale {
    /// Whether a score tells how sure the labeler is of what it says, not of the fact.
    pub(super) is_about_answer: bool,
    /// Whether scores are between 0 and 1.
    pub(super) is_probability: bool,
}

impl ScoreScale {
    /// Finds the scale of scores, each with what the labeler says and the truth: the reading by which Platt's fit
    /// explains the truth better. None if there are no scores.
    pub(super) fn find(scores: &[(AnswerValue, f64, bool)]) -> Option<ScoreScale> {
        let is_probability = scores.iter().all(|(_, score, _)| (0.0..=1.0).contains(score));
        let loss = |is_about_answer: bool| {
            let scale = ScoreScale { is_about_answer, is_probability };
            let evidence = |&(says, score, truth): &(AnswerValue, f64, bool)| {
                (scale.to_evidence(scale.score_of_fact(says, score)), truth)
            };
            let evidence: Vec<(f64, bool)> = scores.iter().map(evidence).collect();
            let (slope, offset) = fit_platt(&evidence);
            platt_loss(&evidence, slope, offset)
        };
        (!scores.is_empty()).then(|| ScoreScale { is_about_answer: loss(true) < loss(false), is_probability })
    }

    /// Returns the score of the fact: larger where the labeler is surer that it holds.
    pub(super) fn score_of_fact(self, says: AnswerValue, score: f64) -> f64 {
        match (self.is_about_answer && says == AnswerValue::No, self.is_probability) {
            (false, _) => score,
            (true, true) => 1.0 - score,
            (true, false) => -score,
        }
    }

    /// Returns the number that Platt's fit is linear in.
    fn to_evidence(self, score: f64) -> f64 {
        match self.is_probability {
            true => logit(score.clamp(MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)),
            false => score,
        }
    }

    fn score_at(self, evidence: f64) -> f64 {
        if self.is_probability { logistic(evidence) } else { evidence }
    }
}

/// How a table was fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FitMethod {
    /// The score is the chance.
    Identity,
    Platt,
    Isotonic,
}

impl FitMethod {
    pub(super) const ALL: [FitMethod; 3] = [FitMethod::Identity, FitMethod::Platt, FitMethod::Isotonic];

    pub(super) fn name(self) -> &'static str {
        match self {
            FitMethod::Identity => "identity",
            FitMethod::Platt => "platt",
            FitMethod::Isotonic => "isotonic",
        }
    }
}

/// Chances by scores. INVARIANT: scores rise strictly, chances are between 0 and 1, and there is at least one row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScoreCurve {
    pub(super) method: FitMethod,
    pub(super) rows: Vec<(f64, f64)>,
    /// The share of true ones among the examples, with half an example of each kind added.
    pub(super) base_rate: f64,
}

impl ScoreCurve {
    /// Fits the curve of some scores of a fact, each with the truth. None if there are too few.
    pub(super) fn fit(scale: ScoreScale, examples: &[(f64, bool)]) -> Option<ScoreCurve> {
        let positives = examples.iter().filter(|(_, truth)| *truth).count() as u64;
        let fewest = positives.min(examples.len() as u64 - positives);
        let count = examples.len() as u64;
        let (method, rows, parameters) = match fewest {
            MIN_ISOTONIC_EXAMPLES.. => {
                let rows = fit_isotonic(examples);
                let blocks = rows.len() / 2;
                (FitMethod::Isotonic, rows, blocks)
            }
            MIN_PLATT_EXAMPLES.. => (FitMethod::Platt, tabulate_platt(scale, examples), 2),
            _ => return None,
        };
        let least = 1.0 / (count as f64 + 2.0);
        let same = ScoreCurve::from_rows(FitMethod::Identity, &[(least, least), (1.0 - least, 1.0 - least)], examples);
        let fitted = ScoreCurve::from_rows(method, &rows, examples);
        // Scores that are chances already are kept, unless a fit is better by more than its parameters make it
        // (Akaike's criterion): fitting noise would only make them worse.
        let is_kept = scale.is_probability && same.log_loss(examples) <= fitted.log_loss(examples) + parameters as f64;
        Some(if is_kept { same } else { fitted })
    }

    fn from_rows(method: FitMethod, rows: &[(f64, f64)], examples: &[(f64, bool)]) -> ScoreCurve {
        let (count, positives) = (examples.len() as u64, examples.iter().filter(|(_, truth)| *truth).count() as u64);
        let mut short: Vec<(f64, f64)> = Vec::with_capacity(rows.len());
        for (score, chance) in rows {
            let (score, chance) = (round_digits(*score), round_digits(clip(*chance, count)));
            if short.last().is_none_or(|(last, _)| *last < score) {
                short.push((score, chance));
            }
        }
        ScoreCurve { method, rows: short, base_rate: round_digits(add_halves(positives, count)) }
    }

    fn log_loss(&self, examples: &[(f64, bool)]) -> f64 {
        let loss = |(score, truth): &(f64, bool)| {
            let chance = self.read(*score).unwrap_or(self.base_rate);
            -ln(if *truth { chance } else { 1.0 - chance })
        };
        examples.iter().map(loss).sum()
    }

    /// Returns the chance at a score; beyond the scores of the sample that of the nearest.
    pub(super) fn read(&self, score: f64) -> Option<f64> {
        let place = self.rows.partition_point(|(row, _)| *row <= score);
        let (below, above) = (place.checked_sub(1).and_then(|place| self.rows.get(place)), self.rows.get(place));
        match (below, above) {
            (Some(below), Some(above)) => {
                let part = (score - below.0) / (above.0 - below.0);
                Some(below.1 + (above.1 - below.1) * part)
            }
            (only, None) | (None, only) => only.map(|(_, chance)| *chance),
        }
    }
}

/// Nine digits are more than any sample gives, and keep the file short.
fn round_digits(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// Platt's targets: a true example counts as a little less than 1, a false one as a little more than 0.
fn platt_targets(positives: f64, negatives: f64) -> impl Fn(bool) -> f64 {
    move |truth| if truth { (positives + 1.0) / (positives + 2.0) } else { 1.0 / (negatives + 2.0) }
}

/// The log loss of Platt's parameters, written so that it never takes the logarithm of 0.
fn platt_loss(evidence: &[(f64, bool)], slope: f64, offset: f64) -> f64 {
    let positives = evidence.iter().filter(|(_, truth)| *truth).count() as f64;
    let target = platt_targets(positives, evidence.len() as f64 - positives);
    let one = |&(x, truth): &(f64, bool)| {
        let z = slope * x + offset;
        let tail = ln(1.0 + exp(-z.abs()));
        if z >= 0.0 { (1.0 - target(truth)) * z + tail } else { -target(truth) * z + tail }
    };
    evidence.iter().map(one).sum()
}

/// Fits Platt's parameters by Newton's method with a search along each step (Lin, Lin and Weng 2007): the chance is the
/// logistic function of `slope · evidence + offset`.
fn fit_platt(evidence: &[(f64, bool)]) -> (f64, f64) {
    let positives = evidence.iter().filter(|(_, truth)| *truth).count() as f64;
    let negatives = evidence.len() as f64 - positives;
    let target = platt_targets(positives, negatives);
    let loss = |slope: f64, offset: f64| platt_loss(evidence, slope, offset);
    let (mut slope, mut offset) = (0.0, ln((positives + 1.0) / (negatives + 1.0)));
    let mut now = loss(slope, offset);
    for _ in 0..100 {
        let (mut g1, mut g2, mut h11, mut h12, mut h22) = (0.0, 0.0, 1e-12, 0.0, 1e-12);
        for &(x, truth) in evidence {
            let p = logistic(slope * x + offset);
            let (error, weight) = (p - target(truth), p * (1.0 - p));
            g1 += error * x;
            g2 += error;
            h11 += weight * x * x;
            h12 += weight * x;
            h22 += weight;
        }
        if g1.abs() < 1e-7 && g2.abs() < 1e-7 {
            break;
        }
        let determinant: f64 = h11 * h22 - h12 * h12;
        let (step1, step2) = (-(h22 * g1 - h12 * g2) / determinant, -(h11 * g2 - h12 * g1) / determinant);
        let mut part = 1.0;
        while part > 1e-10 {
            let next = loss(slope + part * step1, offset + part * step2);
            if next < now + 1e-4 * part * (g1 * step1 + g2 * step2) {
                break;
            }
            part *= 0.5;
        }
        if part <= 1e-10 {
            break;
        }
        (slope, offset) = (slope + part * step1, offset + part * step2);
        now = loss(slope, offset);
    }
    (slope, offset)
}

/// Rows at even distances of log odds, between the smallest and the largest score.
fn tabulate_platt(scale: ScoreScale, examples: &[(f64, bool)]) -> Vec<(f64, f64)> {
    let evidence: Vec<(f64, bool)> =
        examples.iter().map(|(score, truth)| (scale.to_evidence(*score), *truth)).collect();
    let ends =
        evidence.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
    let (slope, offset) = fit_platt(&evidence);
    // No chance is surer than the examples are many, so that rows beyond that would all be equal.
    let bound = ln(examples.len() as f64 + 1.0) + ROW_DISTANCE;
    let span = (slope * (ends.1 - ends.0)).abs().min(2.0 * bound);
    let count = ((span / ROW_DISTANCE).ceil() as usize).max(1);
    let (mut from, mut to) = ends;
    if slope != 0.0 {
        let (a, b) = ((-bound - offset) / slope, (bound - offset) / slope);
        (from, to) = (from.max(a.min(b)).min(ends.1), to.min(a.max(b)).max(ends.0));
    }
    (0..=count)
        .map(|row| {
            let x = from + (to - from) * (row as f64 / count as f64);
            (scale.score_at(x), logistic(slope * x + offset))
        })
        .collect()
}

/// A run of examples that share one chance.
#[derive(Clone, Copy)]
struct Block {
    first: f64,
    last: f64,
    count: f64,
    chance: f64,
}

/// Pools neighbors until chances rise. Two blocks that are out of order become one with their mean.
fn pool_violators(blocks: impl IntoIterator<Item = Block>) -> Vec<Block> {
    let mut pooled: Vec<Block> = Vec::new();
    for mut block in blocks {
        while let Some(last) = pooled.pop_if(|last| last.chance >= block.chance) {
            let count = last.count + block.count;
            let chance = (last.chance * last.count + block.chance * block.count) / count;
            block = Block { first: last.first, last: block.last, count, chance };
        }
        pooled.push(block);
    }
    pooled
}

/// Rows at both ends of each block. A block of few examples is no surer than these few allow.
fn fit_isotonic(examples: &[(f64, bool)]) -> Vec<(f64, f64)> {
    let mut sorted = examples.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Equal scores have one chance, whatever their order in the sample.
    let equal = sorted.chunk_by(|a, b| a.0 == b.0).map(|group| {
        let hits = group.iter().filter(|(_, truth)| *truth).count();
        let (first, last) = (group[0].0, group[group.len() - 1].0);
        Block { first, last, count: group.len() as f64, chance: hits as f64 / group.len() as f64 }
    });
    let pooled = pool_violators(equal);
    let bounded = pooled.into_iter().map(|block| Block { chance: clip(block.chance, block.count as u64), ..block });
    let ends = |block: &Block| [(block.first, block.chance), (block.last, block.chance)];
    pool_violators(bounded).iter().flat_map(ends).collect()
}

#[cfg(test)]
mod tests;
