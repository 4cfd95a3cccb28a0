//! How well a model does on groups of texts that it was not learnt from.

use lictor_json::Text;

use super::model::{LabelExample, LabelModel, LabelModelError, LearnOptions};

/// A number of cases out of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The cases that count.
    pub hits: usize,
    /// All cases.
    pub of: usize,
}

impl Share {
    /// Returns the share, or nothing if there are no cases.
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.hits as f64 / self.of as f64)
    }

    /// Returns the ends of the 95 % interval of the share (Wilson).
    pub fn interval(self) -> (f64, f64) {
        let Some(share) = self.value() else { return (0.0, 1.0) };
        let (cases, z) = (self.of as f64, 1.959_963_984_540_054_f64);
        let center = share + z * z / (2.0 * cases);
        let margin = z * (share * (1.0 - share) / cases + z * z / (4.0 * cases * cases)).sqrt();
        let whole = 1.0 + z * z / cases;
        (((center - margin) / whole).max(0.0), ((center + margin) / whole).min(1.0))
    }
}

/// How well one fact is told on texts that were held out.
#[derive(Clone, Debug, PartialEq)]
pub struct FactEvaluation {
    /// The fact.
    pub fact: Text,
    /// Texts with a label.
    pub texts: usize,
    /// Those where the fact holds.
    pub positives: usize,
    /// Texts that are told right.
    pub right: Share,
    /// Texts where the fact holds and is told.
    pub recall: Share,
    /// Texts that are told to hold, and do.
    pub precision: Share,
    /// The chance that a text where it holds has a higher score than one where it does not; nothing if either is missing.
    pub auc: Option<f64>,
}

impl FactEvaluation {
    /// Returns the evaluation of probabilities, each with whether the fact held.
    pub fn from_scores(fact: Text, scores: &[(f64, bool)]) -> FactEvaluation {
        let positives = scores.iter().filter(|(_, holds)| *holds).count();
        let told = scores.iter().filter(|(score, _)| *score >= 0.5).count();
        let hits = scores.iter().filter(|(score, holds)| *score >= 0.5 && *holds).count();
        let right = scores.iter().filter(|(score, holds)| (*score >= 0.5) == *holds).count();
        FactEvaluation {
            fact,
            texts: scores.len(),
            positives,
            right: Share { hits: right, of: scores.len() },
            recall: Share { hits, of: positives },
            precision: Share { hits, of: told },
            auc: compute_auc(scores),
        }
    }

    /// Returns the F1 of the fact: twice its hits by what is told and what holds; 0 if both are none.
    pub fn f1(&self) -> f64 {
        compute_f1(self.recall.hits, self.precision.of, self.positives)
    }

    /// Returns accuracy and F1 of a labeler that always says no.
    pub fn all_false(&self) -> (f64, f64) {
        (share_of(self.texts - self.positives, self.texts), 0.0)
    }

    /// Returns accuracy and F1 of a labeler that always says yes.
    pub fn all_true(&self) -> (f64, f64) {
        (share_of(self.positives, self.texts), compute_f1(self.positives, self.texts, self.positives))
    }
}

fn share_of(hits: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { hits as f64 / of as f64 }
}

fn compute_f1(hits: usize, told: usize, positives: usize) -> f64 {
    share_of(2 * hits, told + positives)
}

/// Returns the area under the ROC curve by ranks; equal scores count half.
fn compute_auc(scores: &[(f64, bool)]) -> Option<f64> {
    let mut sorted: Vec<&(f64, bool)> = scores.iter().collect();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let positives = sorted.iter().filter(|(_, holds)| *holds).count();
    let negatives = sorted.len() - positives;
    if positives == 0 || negatives == 0 {
        return None;
    }
    let (mut area, mut below) = (0.0, 0.0);
    for equal in sorted.chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq()) {
        let hits = equal.iter().filter(|(_, holds)| *holds).count() as f64;
        let others = equal.len() as f64 - hits;
        area += hits * (below + others / 2.0);
        below += others;
    }
    Some(area / (positives as f64 * negatives as f64))
}

/// Learns from the groups that are not held out and evaluates each fact on those that are. A group is held out if the
/// hash of its name falls into the share, so that a log that grows keeps its split.
pub fn evaluate_held_out(
    examples: &[LabelExample],
    options: &LearnOptions,
    share: f64,
) -> Result<Vec<FactEvaluation>, LabelModelError> {
    let is_apart = |example: &&LabelExample| {
        let hash = blake3::hash(example.group.as_bytes());
        let [first, second, ..] = hash.as_bytes();
        f64::from(u16::from_be_bytes([*first, *second])) < share * 65_536.0
    };
    let (apart, kept): (Vec<&LabelExample>, Vec<&LabelExample>) = examples.iter().partition(is_apart);
    let kept: Vec<LabelExample> = kept.into_iter().cloned().collect();
    if apart.is_empty() || kept.is_empty() {
        let (apart, kept) = (apart.len(), kept.len());
        return Err(LabelModelError(format!(
            "of the examples, {apart} would be held out and {kept} would be left to learn from; both are needed: learn from \
             logs with more sessions, or hold out another share"
        )));
    }
    let model = LabelModel::train(&kept, options)?;
    let mut evaluations = Vec::new();
    for (fact, _, _) in model.facts() {
        let mut scores = Vec::new();
        for example in &apart {
            let label = example.labels.iter().find(|(name, _)| name == fact);
            if let (Some((_, holds)), Some(score)) = (label, model.score(fact, &example.text)) {
                scores.push((score.probability, *holds));
            }
        }
        evaluations.push(FactEvaluation::from_scores(fact.into(), &scores));
    }
    Ok(evaluations)
}
