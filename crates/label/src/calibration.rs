//! Turns the answers of a labeler into chances.
//!
//! A labeler's answer is evidence. How much evidence is found out on a labelled sample: how often the labeler errs, how
//! common the fact is, and how its scores go with the truth. A calibration is fitted on one half of the sample and
//! checked on the other; a fact that fails the check has no chance, and so has one with too few examples. Nothing is
//! invented in their place.
//!
//! A calibration belongs to one version of one labeler. It is kept in a file with a hash of its own, and gives the same
//! bits on every machine: fitting and reading take the basic operations of IEEE 754 only.

mod confusion;
mod correlation;
mod drift;
mod error;
mod file;
mod fit;
mod plot;
mod reliability;
mod sample;
mod score_curve;
mod shortage;
#[cfg(test)]
mod simulation;

use std::collections::BTreeMap;

use lictor_event::{Answer, AnswerValue, Kind};
use lictor_json::Text;
use lictor_logic::Chance;

pub use correlation::ErrorCorrelation;
pub use drift::DriftWatch;
pub use error::CalibrationError;
pub use reliability::FactCheck;
pub use sample::{LabelledAnswer, Stratum};
pub use shortage::ExampleShortage;

use confusion::{ConfusionCounts, MIN_BASE_EXAMPLES, clip, rebase};
use reliability::{CheckedChance, FitError, check_chances};
use score_curve::{FitMethod, ScoreCurve, ScoreScale};

/// The chances of one labeler's answers.
///
/// ```
/// use lictor_event::{Answer, AnswerValue, Kind};
/// use lictor_label::{Calibration, LabelledAnswer, Stratum};
/// use lictor_logic::Fact;
///
/// // A labeler that misses one threat in five, and sees one in ten where there is none.
/// let sample: Vec<LabelledAnswer> = (0..1000u64)
///     .map(|k| {
///         let truth = k % 4 == 0;
///         let says_yes = if truth { k % 5 != 0 } else { k % 10 == 1 };
///         let says = if says_yes { AnswerValue::Yes } else { AnswerValue::No };
///         LabelledAnswer {
///             session: format!("s{}", k / 20).into(),
///             event: k % 20,
///             stratum: Stratum::new(&Kind::UserMessage, None),
///             answer: Answer::new(Fact::new("threatens", []), says).by("small@7f3a"),
///             truth,
///         }
///     })
///     .collect();
/// let calibration = Calibration::fit("small@7f3a", "2026-11-17T12:00:00Z", &sample)?;
/// let yes = Answer::new(Fact::new("threatens", []), AnswerValue::Yes).by("small@7f3a");
/// let chance = calibration.chance(&yes, &Kind::UserMessage, None);
/// assert!(chance.is_some_and(|chance| (0.6..0.75).contains(&chance.to_f64())));
/// # Ok::<(), lictor_label::CalibrationError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    labeler: Text,
    fitted: Text,
    /// The number of answers in the sample that say yes or no.
    examples: u64,
    facts: BTreeMap<Text, FactCalibration>,
    /// The facts with too few examples.
    too_few: BTreeMap<Text, ExampleShortage>,
    correlations: Vec<ErrorCorrelation>,
    hash: Text,
}

#[derive(Clone, Debug, PartialEq)]
struct FactCalibration {
    chances: FactChances,
    check: FactCheck,
}

/// What is known of the answers about one fact.
#[derive(Clone, Debug, PartialEq)]
struct FactChances {
    /// How the labeler means its scores, if it gives any.
    scale: Option<ScoreScale>,
    /// All strata together.
    pooled: StratumChances,
    strata: BTreeMap<Stratum, StratumChances>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct StratumChances {
    counts: ConfusionCounts,
    curve: Option<ScoreCurve>,
    /// The base rate that a person set, instead of that of the sample.
    set_rate: Option<f64>,
}

/// Which part of the sample a chance comes from.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChanceBasis {
    /// Examples of the event's own kind and tool.
    Stratum,
    /// Examples of all kinds and tools, because its own are too few to say how often the labeler errs. The base rate
    /// is still its own, if there are enough for that.
    Pooled,
}

impl StratumChances {
    fn base_rate(&self) -> f64 {
        self.set_rate.unwrap_or_else(|| self.counts.base_rate())
    }

    /// The base rate of this stratum alone, if it was set or has enough examples.
    fn own_rate(&self) -> Option<f64> {
        (self.set_rate.is_some() || self.counts.total() >= MIN_BASE_EXAMPLES).then(|| self.base_rate())
    }
}

impl FactChances {
    /// The chance of an answer, and what it rests on.
    fn chance(&self, answer: &Answer, stratum: &Stratum) -> Option<(f64, ChanceBasis)> {
        let says_yes = match answer.says {
            AnswerValue::Yes => true,
            AnswerValue::No => false,
            AnswerValue::Unclear | AnswerValue::Failed => return None,
        };
        let own = self.strata.get(stratum);
        let enough = own.filter(|own| own.counts.is_enough());
        // How common a fact is takes fewer examples than how often the labeler errs about it: a stratum where the fact
        // is rare has its own base rate, with the errors of all strata together.
        let base_rate = own.and_then(StratumChances::own_rate).unwrap_or_else(|| self.pooled.base_rate());
        if let Some(scale) = self.scale.filter(|_| self.pooled.curve.is_some()) {
            // What the sample does not have, the check has not tested: answers without a score, and scores that cannot be
            // of the same scale.
            let score = answer.score.filter(|score| score.is_finite())?;
            if scale.is_probability && !(0.0..=1.0).contains(&score) {
                return None;
            }
            let curves = [(enough, ChanceBasis::Stratum), (Some(&self.pooled), ChanceBasis::Pooled)];
            for (source, basis) in curves {
                if let Some((source, curve)) = source.and_then(|source| Some((source, source.curve.as_ref()?))) {
                    let chance = curve.read(scale.score_of_fact(answer.says, score))?;
                    let moves = basis == ChanceBasis::Pooled || source.set_rate.is_some();
                    let chance = if moves { rebase(chance, curve.base_rate, base_rate) } else { chance };
                    return Some((clip(chance, source.counts.total()), basis));
                }
            }
        }
        let (source, basis) = match enough {
            Some(own) => (own, ChanceBasis::Stratum),
            None => (&self.pooled, ChanceBasis::Pooled),
        };
        source.counts.is_enough().then(|| (source.counts.chance(says_yes, base_rate), basis))
    }

    /// The raw score of an answer as a probability: the labeler's own if it is one, otherwise 1 for yes and 0 for no.
    fn raw_probability(&self, answer: &Answer) -> f64 {
        match (self.scale, answer.score) {
            (Some(scale), Some(score)) if scale.is_probability && score.is_finite() => {
                scale.score_of_fact(answer.says, score).clamp(0.0, 1.0)
            }
            _ => f64::from(u8::from(answer.says == AnswerValue::Yes)),
        }
    }

    /// Checks the chances on answers about this fact.
    fn check<'a>(&self, sample: impl Iterator<Item = &'a LabelledAnswer>) -> FactCheck {
        let checked: Vec<CheckedChance<'_>> = sample
            .filter_map(|it| {
                let (chance, _) = self.chance(&it.answer, &it.stratum)?;
                let raw = self.raw_probability(&it.answer);
                Some(CheckedChance { chance, raw, truth: it.truth, session: &it.session })
            })
            .collect();
        check_chances(&checked, self.fit_error(checked.len() as u64))
    }

    /// The error that the chances have themselves, for a check on so many answers: it is as large as that of a bin if
    /// they are shares of the sample. Two parameters for ten bins have a fifth of it.
    fn fit_error(&self, checked: u64) -> FitError {
        let ratio = checked as f64 / self.pooled.counts.total().max(1) as f64;
        match self.pooled.curve.as_ref().map(|curve| curve.method) {
            Some(FitMethod::Identity) => FitError::default(),
            Some(FitMethod::Platt) => FitError { of_bin: 0.2 * ratio, of_all: ratio },
            Some(FitMethod::Isotonic) | None => FitError { of_bin: ratio, of_all: ratio },
        }
    }
}

impl Calibration {
    /// Returns the labeler and its version.
    pub fn labeler(&self) -> &str {
        &self.labeler
    }

    /// Returns when it was fitted, as the caller said.
    pub fn fitted(&self) -> &str {
        &self.fitted
    }

    /// Returns the number of answers in the sample that say yes or no.
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// Returns the hash of its content: 32 hexadecimal digits. Records name it.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the facts that were fitted, with the results of their checks.
    pub fn facts(&self) -> impl Iterator<Item = (&str, &FactCheck)> {
        self.facts.iter().map(|(name, fact)| (name.as_str(), &fact.check))
    }

    /// Returns the facts that have no chance because the sample has too few true or false examples, with what is missing.
    pub fn too_few(&self) -> impl Iterator<Item = (&str, ExampleShortage)> {
        self.too_few.iter().map(|(name, shortage)| (name.as_str(), *shortage))
    }

    /// Returns the strata of a fact with their numbers of examples, and whether these are enough for chances of their
    /// own.
    pub fn strata(&self, fact: &str) -> impl Iterator<Item = (&Stratum, u64, bool)> {
        let strata = self.facts.get(fact).into_iter().flat_map(|fact| &fact.chances.strata);
        strata.map(|(stratum, chances)| (stratum, chances.counts.total(), chances.counts.is_enough()))
    }

    /// Returns how the labeler's errors about two facts of one event go together.
    pub fn correlations(&self) -> &[ErrorCorrelation] {
        &self.correlations
    }

    /// Whether the chances of a fact passed their check.
    pub fn has_passed(&self, fact: &str) -> bool {
        self.facts.get(fact).is_some_and(|fact| fact.check.passed)
    }

    /// Returns the chance that the fact of an answer holds, given the kind and tool of its event. None if the answer
    /// is neither yes nor no, is of another labeler, or if its fact has too few examples or did not pass its check.
    pub fn chance(&self, answer: &Answer, kind: &Kind, tool: Option<&str>) -> Option<Chance> {
        self.chance_with_basis(answer, kind, tool).map(|(chance, _)| chance)
    }

    /// Returns the [chance](Calibration::chance) of an answer, and which part of the sample it comes from.
    pub fn chance_with_basis(&self, answer: &Answer, kind: &Kind, tool: Option<&str>) -> Option<(Chance, ChanceBasis)> {
        if answer.by.as_ref().is_some_and(|by| *by != self.labeler) {
            return None;
        }
        let fact = self.facts.get(&*answer.fact.name).filter(|fact| fact.check.passed)?;
        let (chance, basis) = fact.chances.chance(answer, &Stratum::new(kind, tool))?;
        Some((Chance::new(chance).ok()?, basis))
    }

    /// Returns the calibration with another base rate of a fact, in a stratum or, without one, wherever a stratum has
    /// too few examples for a base rate of its own. How often the labeler errs stays as the sample says.
    pub fn with_base_rate(
        mut self,
        fact: &str,
        stratum: Option<&Stratum>,
        base_rate: f64,
    ) -> Result<Calibration, CalibrationError> {
        if !(base_rate > 0.0 && base_rate < 1.0) {
            return Err(CalibrationError::new(format!("base rate {base_rate} is not between 0 and 1")));
        }
        let Some(known) = self.facts.get_mut(fact) else {
            let names: Vec<&str> = self.facts.keys().map(Text::as_str).collect();
            let hint = if names.is_empty() { "it has none".to_owned() } else { names.join(", ") };
            return Err(CalibrationError::new(format!("the calibration has no fact `{fact}`\nhint: {hint}")));
        };
        let chances = match stratum {
            Some(stratum) => known.chances.strata.entry(stratum.clone()).or_default(),
            None => &mut known.chances.pooled,
        };
        chances.set_rate = Some(base_rate);
        self.seal();
        Ok(self)
    }

    /// Checks the chances on a labelled sample that they were not fitted on: the results by fact. Facts without
    /// examples are left out.
    pub fn check(&self, sample: &[LabelledAnswer]) -> BTreeMap<Text, FactCheck> {
        let of_fact =
            |name: &str| -> Vec<&LabelledAnswer> { sample.iter().filter(|it| &*it.answer.fact.name == name).collect() };
        let checks = self.facts.iter().map(|(name, fact)| {
            let check = fact.chances.check(of_fact(name).into_iter());
            (name.clone(), check)
        });
        checks.filter(|(_, check)| check.examples > 0).collect()
    }
}

#[cfg(test)]
mod tests;
