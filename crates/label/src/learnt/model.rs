//! Learnt models: one row of weights for each fact, over the features of a text.

use std::fmt;

use lictor_json::Text;

use super::arithmetic::sigmoid;
use super::cue::CUES;
use super::features::{Passage, TextFeatures, windows};
use super::regression::{FitOptions, Sample, Weights, fit, length};

/// The fact of a row that answers every question, whatever the policy calls the fact.
pub const ANY_FACT: &str = "*";

/// How many examples of each value a fact needs.
pub const MIN_EXAMPLES: usize = 10;

/// How long the name of a model or of a fact may be.
pub(super) const MAX_NAME_BYTES: usize = 256;

/// Into how many parts the examples are split to find the threshold of a rate of false positives.
const THRESHOLD_FOLDS: usize = 4;

/// How many windows of a text the first round learns from, where the fact holds and where it does not.
const POSITIVE_WINDOWS: usize = 6;
const NEGATIVE_WINDOWS: usize = 24;

/// From which logit on a window where the fact does not hold is learnt from again.
const NEAR_MISTAKE_LOGIT: f64 = -3.0;

/// The rate of learning of a cue, in rates of a window's n-grams together.
const CUE_RATE: f64 = 0.3;

/// In how many units a logit is stored.
const LOGIT_UNITS: f64 = 1000.0;

/// In how many units the scale of a row's weights is stored.
const SCALE_UNITS: f64 = 1e6;

/// A text with what is true of it, to learn from.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelExample {
    /// The text.
    pub text: String,
    /// Where it comes from: a session, a document, a family of attacks. Groups are never split.
    pub group: String,
    /// How much it counts; 1 if all count the same.
    pub weight: f64,
    /// Facts with whether they hold. A fact that is missing here is not learnt from this text.
    pub labels: Vec<(Text, bool)>,
}

/// How a model is fitted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LearnOptions {
    /// The model's name.
    pub name: Text,
    /// What it is learnt from, for people.
    pub sources: Vec<Text>,
    /// The logarithm of the number of hashed weights, from 8 to 20.
    pub bits: u32,
    /// The sizes of the windows that are judged alone, in words; 0 is the whole text. The highest score counts.
    pub windows: Vec<usize>,
    /// How often all examples are read.
    pub epochs: u32,
    /// The rate of learning.
    pub rate: f64,
    /// By which share all weights shrink after each reading.
    pub l2: f64,
    /// The seed of the order in which examples are read.
    pub seed: u64,
    /// The share of texts for which a fact is false and may be found: it sets the threshold. Without it the threshold is
    /// where yes and no are equally likely among the examples.
    pub max_false_positive_rate: Option<f64>,
}

impl LearnOptions {
    /// Returns the options of a model with a name, for short texts.
    pub fn new(name: impl Into<Text>) -> LearnOptions {
        LearnOptions {
            name: name.into(),
            sources: Vec::new(),
            bits: 16,
            windows: vec![0],
            epochs: 6,
            rate: 1.0,
            l2: 0.1,
            seed: 1,
            max_false_positive_rate: None,
        }
    }
}

/// The reason why a model could not be learnt or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelModelError(pub(super) String);

impl fmt::Display for LabelModelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for LabelModelError {}

/// A learnt model: for each of its facts, how likely a text makes it hold.
///
/// ```
/// use lictor_label::learnt::{LabelExample, LabelModel, LearnOptions};
///
/// let example = |index: usize, text: &str, holds| LabelExample {
///     text: format!("{text} {index}"),
///     group: index.to_string(),
///     weight: 1.0,
///     labels: vec![("angry".into(), holds)],
/// };
/// let angry = (0..20).map(|index| example(index, "this is an outrage", true));
/// let calm = (20..40).map(|index| example(index, "thank you very much", false));
/// let examples: Vec<_> = angry.chain(calm).collect();
/// let model = LabelModel::train(&examples, &LearnOptions::new("mood"))?;
/// assert!(model.score("angry", "What an outrage!").is_some_and(|score| score.probability > 0.5));
/// assert!(model.score("angry", "Thank you!").is_some_and(|score| score.probability < 0.5));
/// # Ok::<(), lictor_label::learnt::LabelModelError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LabelModel {
    pub(super) name: Text,
    pub(super) sources: Vec<Text>,
    pub(super) bits: u32,
    pub(super) windows: Vec<usize>,
    pub(super) rows: Vec<LabelRow>,
    /// The hash of the model's file.
    pub(super) hash: String,
}

/// The weights of one fact, all whole numbers, so that sums do not depend on their order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LabelRow {
    pub(super) fact: Text,
    /// How many examples it was learnt from: those where the fact holds, and the others.
    pub(super) positives: u32,
    pub(super) negatives: u32,
    /// Thousandths of a logit.
    pub(super) bias: i32,
    /// Thousandths of a logit, by cue.
    pub(super) cues: [i32; CUES],
    /// The logit of one unit of a hashed weight, in millionths.
    pub(super) scale: u32,
    pub(super) weights: Vec<i8>,
}

/// How likely a model takes a fact to hold.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LabelScore {
    /// From 0 to 1. It is raw: only a calibration turns it into a chance.
    pub probability: f64,
    /// The logit of the probability.
    pub logit: f64,
    /// Whether the text was too long to be read to its end.
    pub is_cut: bool,
}

impl LabelModel {
    /// Learns a model. Equal examples and options give a model with equal bytes.
    pub fn train(examples: &[LabelExample], options: &LearnOptions) -> Result<LabelModel, LabelModelError> {
        check(options)?;
        let features: Vec<TextFeatures> = examples.iter().map(|example| TextFeatures::read(&example.text)).collect();
        let mut facts: Vec<&Text> = examples.iter().flat_map(|example| example.labels.iter().map(|it| &it.0)).collect();
        facts.sort_unstable();
        facts.dedup();
        if facts.is_empty() {
            return Err(LabelModelError("no example has a label; label some texts first".into()));
        }
        let learner = Learner { examples, features: &features, options };
        let rows = facts.into_iter().map(|fact| learner.learn_row(fact)).collect::<Result<_, _>>()?;
        let (name, sources) = (options.name.clone(), options.sources.clone());
        let mut model = LabelModel {
            name,
            sources,
            bits: options.bits,
            windows: options.windows.clone(),
            rows,
            hash: String::new(),
        };
        model.hash = model.compute_hash();
        Ok(model)
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the hash of its file, in hexadecimal digits.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the facts it was learnt for, each with its number of examples where it holds and where it does not.
    pub fn facts(&self) -> impl Iterator<Item = (&str, u32, u32)> {
        self.rows.iter().map(|row| (row.fact.as_str(), row.positives, row.negatives))
    }

    /// Returns the texts that say what it was learnt from.
    pub fn sources(&self) -> &[Text] {
        &self.sources
    }

    /// Returns the score of a fact for a text, or nothing if the model does not know the fact.
    pub fn score(&self, fact: &str, text: &str) -> Option<LabelScore> {
        self.find_row(fact).map(|row| self.score_row(row, &TextFeatures::read_all(text)))
    }

    pub(super) fn find_row(&self, fact: &str) -> Option<&LabelRow> {
        self.rows.iter().find(|row| row.fact == fact || row.fact == ANY_FACT)
    }

    /// Returns the highest score of a window.
    pub(super) fn score_row(&self, row: &LabelRow, features: &TextFeatures) -> LabelScore {
        let logits = features.passages.iter().map(|passage| row.max_logit(passage, &self.windows));
        let logit = logits.fold(f64::NEG_INFINITY, f64::max);
        LabelScore { probability: sigmoid(logit), logit, is_cut: features.is_cut }
    }
}

impl LabelRow {
    /// Returns the highest logit of a passage's windows. The sum of a window is the difference of two running sums.
    fn max_logit(&self, passage: &Passage, sizes: &[usize]) -> f64 {
        let mask = self.weights.len() as u32 - 1;
        let mut sums = Vec::with_capacity(passage.len() + 1);
        let (mut sum, mut start) = (0_i64, 0);
        sums.push(sum);
        for end in &passage.ends {
            let end = *end as usize;
            for hash in passage.hashes.get(start..end).unwrap_or_default() {
                sum += i64::from(self.weights[(hash & mask) as usize]);
            }
            sums.push(sum);
            start = end;
        }
        let mut highest = f64::NEG_INFINITY;
        for window in windows(passage.len(), sizes) {
            let sum = sums[window.end] - sums[window.start];
            let mut cues = passage.cues_of(&window);
            let mut whole = i64::from(self.bias);
            while cues != 0 {
                let bit = cues.trailing_zeros() as usize;
                whole += i64::from(self.cues.get(bit).copied().unwrap_or_default());
                cues &= cues - 1;
            }
            let scale = f64::from(self.scale) / SCALE_UNITS;
            let logit = whole as f64 / LOGIT_UNITS + sum as f64 * scale / length(passage.slice(&window));
            highest = highest.max(logit);
        }
        highest
    }

    /// Returns a row of whole numbers that is near to fitted weights.
    fn quantise(fact: &Text, weights: &Weights, positives: usize, negatives: usize) -> LabelRow {
        let largest = weights.hashed.iter().fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
        let scale = (largest / 127.0 * SCALE_UNITS).ceil().clamp(1.0, f64::from(u32::MAX));
        let whole = |logit: f64| (logit * LOGIT_UNITS).round().clamp(-1e6, 1e6) as i32;
        LabelRow {
            fact: fact.clone(),
            positives: positives as u32,
            negatives: negatives as u32,
            bias: whole(weights.bias),
            cues: weights.cues.map(whole),
            scale: scale as u32,
            weights: weights.hashed.iter().map(|weight| (weight / (scale / SCALE_UNITS)).round() as i8).collect(),
        }
    }
}

fn check(options: &LearnOptions) -> Result<(), LabelModelError> {
    let is_share = |share: f64| share > 0.0 && share < 1.0;
    let mistake = if options.name.is_empty() || options.name.len() > MAX_NAME_BYTES {
        "a model needs a name of at most 256 bytes"
    } else if !(8..=20).contains(&options.bits) {
        "`bits` must be from 8 to 20"
    } else if options.windows.is_empty() || options.windows.len() > 4 || options.windows.iter().any(|size| *size > 4096)
    {
        "a model has 1 to 4 sizes of windows, each of at most 4096 words"
    } else if options.epochs == 0 || options.epochs > 1000 {
        "`epochs` must be from 1 to 1000"
    } else if !(options.rate > 0.0 && options.rate <= 10.0 && options.l2 >= 0.0 && options.l2 < 1.0) {
        "`rate` must be from 0 to 10 and `l2` from 0 to below 1"
    } else if options.max_false_positive_rate.is_some_and(|rate| !is_share(rate)) {
        "the rate of false positives must be between 0 and 1"
    } else {
        return Ok(());
    };
    Err(LabelModelError(mistake.into()))
}

/// The examples of a training.
struct Learner<'a> {
    examples: &'a [LabelExample],
    features: &'a [TextFeatures],
    options: &'a LearnOptions,
}

/// A text that has a label for the fact that is learnt.
struct LabelledText<'a> {
    features: &'a TextFeatures,
    group: &'a str,
    weight: f64,
    holds: bool,
}

impl Learner<'_> {
    fn learn_row(&self, fact: &Text) -> Result<LabelRow, LabelModelError> {
        let mut texts = Vec::new();
        for (example, features) in self.examples.iter().zip(self.features) {
            if let Some((_, holds)) = example.labels.iter().find(|(name, _)| name == fact) {
                let (group, weight, holds) = (example.group.as_str(), example.weight, *holds);
                texts.push(LabelledText { features, group, weight, holds });
            }
        }
        let positives = texts.iter().filter(|text| text.holds).count();
        let negatives = texts.len() - positives;
        if positives < MIN_EXAMPLES || negatives < MIN_EXAMPLES {
            return Err(LabelModelError(format!(
                "`{fact}` has {positives} examples where it holds and {negatives} where it does not; at least \
                 {MIN_EXAMPLES} of each are needed"
            )));
        }
        let texts: Vec<&LabelledText<'_>> = texts.iter().collect();
        let mut row = LabelRow::quantise(fact, &self.fit_texts(&texts), positives, negatives);
        if let Some(rate) = self.options.max_false_positive_rate {
            let threshold = self.find_threshold(fact, &texts, rate);
            row.bias = (f64::from(row.bias) - (threshold * LOGIT_UNITS).round()).clamp(-1e6, 1e6) as i32;
        }
        Ok(row)
    }

    /// Fits weights in two rounds. The first learns from some windows of each text. The second takes, of a text where the
    /// fact holds, only the window that the first finds most likely, since the rest may say nothing about the fact; and
    /// of the other texts also the windows that the first nearly mistook.
    fn fit_texts(&self, texts: &[&LabelledText<'_>]) -> Weights {
        let fit_options = FitOptions {
            bits: self.options.bits,
            epochs: self.options.epochs,
            rate: self.options.rate,
            cue_rate: CUE_RATE,
            l2: self.options.l2,
            seed: self.options.seed,
        };
        let mut samples = Vec::new();
        let mut is_whole = true;
        for text in texts {
            let all = self.collect_windows(text);
            is_whole &= all.len() <= 1;
            let taken = all.len().min(if text.holds { POSITIVE_WINDOWS } else { NEGATIVE_WINDOWS });
            let share = if text.holds { text.weight / taken.max(1) as f64 } else { text.weight };
            let spread = (0..taken).filter_map(|index| all.get(index * all.len() / taken));
            samples.extend(spread.map(|sample| Sample { weight: share, ..sample.clone() }));
        }
        let first = fit(&samples, &fit_options);
        if is_whole {
            return first;
        }
        samples.retain(|sample| !sample.holds);
        for text in texts {
            let windows = self.collect_windows(text).into_iter();
            let mut scored: Vec<_> = windows.map(|sample| (first.logit(sample.hashes, sample.cues), sample)).collect();
            scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
            let taken = if text.holds { 1 } else { NEGATIVE_WINDOWS };
            let near = scored.into_iter().take(taken).filter(|(logit, _)| text.holds || *logit > NEAR_MISTAKE_LOGIT);
            samples.extend(near.map(|(_, sample)| sample));
        }
        fit(&samples, &fit_options)
    }

    fn collect_windows<'a>(&self, text: &LabelledText<'a>) -> Vec<Sample<'a>> {
        let passages = text.features.passages.iter();
        let samples = passages.flat_map(|passage| {
            windows(passage.len(), &self.options.windows).into_iter().map(|window| Sample {
                hashes: passage.slice(&window),
                cues: passage.cues_of(&window),
                holds: text.holds,
                weight: text.weight,
            })
        });
        samples.collect()
    }

    /// Returns the logit that at most a share of the texts where the fact does not hold reaches, each judged by weights
    /// that were learnt without its group.
    fn find_threshold(&self, fact: &Text, texts: &[&LabelledText<'_>], rate: f64) -> f64 {
        let mut groups: Vec<&str> = texts.iter().map(|text| text.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let fold_of = |text: &LabelledText<'_>| groups.binary_search(&text.group).unwrap_or_default() % THRESHOLD_FOLDS;
        let mut logits = Vec::new();
        for fold in 0..THRESHOLD_FOLDS {
            // Where the fact holds all texts are kept: the threshold is about the others.
            let kept: Vec<_> = texts.iter().copied().filter(|text| text.holds || fold_of(text) != fold).collect();
            let row = LabelRow::quantise(fact, &self.fit_texts(&kept), 0, 0);
            let apart = texts.iter().filter(|text| !text.holds && fold_of(text) == fold);
            logits.extend(apart.map(|text| {
                let passages = text.features.passages.iter();
                passages.map(|passage| row.max_logit(passage, &self.options.windows)).fold(f64::NEG_INFINITY, f64::max)
            }));
        }
        logits.sort_unstable_by(|one, other| other.total_cmp(one));
        let allowed = (logits.len() as f64 * rate).floor() as usize;
        // Just above the first text that is one too many.
        logits.get(allowed).copied().unwrap_or_default() + 0.001
    }
}
