//! Watches whether live answers are still like those of the sample.
//!
//! A calibration holds as long as the labeler, its texts and the base rates stay what they were. The share of yes
//! answers is the sign that needs no truth. For each fact and stratum the watch bets against the share of the sample by
//! a mixture of all shares (the estimator of Krichevsky and Trofimov): if the share is still within the sampling error
//! of the sample, the gain reaches 1/α at any time with a probability of at most α (Ville's inequality), so that it may
//! be read after every answer. The count begins anew after some answers, so that a change late in a long life is found
//! as quickly as an early one.

use std::collections::BTreeMap;

use lictor_event::{Answer, AnswerValue, Kind};
use lictor_json::{Json, Text};

use super::error::CalibrationError;
use super::{Calibration, Stratum};
use lictor_math::{ln, ln_beta};

/// The probability that a calibration is suspended within one round although nothing has changed.
const MAX_FALSE_ALARM: f64 = 0.001;

/// The confidence of the range of the sample's own share of yes answers.
const SAMPLE_CONFIDENCE: f64 = 0.99;

/// The number of answers after which the count begins anew.
const ROUND: u64 = 1000;

/// The strata of one fact that are watched; none is that of all events whose own stratum has too few examples.
type Counts = BTreeMap<Option<Stratum>, YesCount>;

/// Suspends the chances of a fact when its live answers are no longer like those of the sample.
///
/// Count an answer once: answers with equal keys are one.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftWatch {
    calibration: Text,
    labeler: Text,
    facts: BTreeMap<Text, FactWatch>,
}

#[derive(Clone, Debug, PartialEq)]
struct FactWatch {
    counts: Counts,
    is_suspended: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct YesCount {
    /// The range of shares that the sample allows.
    range: (f64, f64),
    yes: u64,
    answers: u64,
}

impl DriftWatch {
    /// Returns a watch that has seen no answer.
    pub fn new(calibration: &Calibration) -> DriftWatch {
        let watch = |fact: &super::FactCalibration| {
            let count = |chances: &super::StratumChances| YesCount {
                range: chances.counts.yes_rate(chances.set_rate, SAMPLE_CONFIDENCE),
                yes: 0,
                answers: 0,
            };
            let own = fact.chances.strata.iter().filter(|(_, chances)| chances.counts.is_enough());
            let mut counts: Counts = own.map(|(stratum, chances)| (Some(stratum.clone()), count(chances))).collect();
            counts.insert(None, count(&fact.chances.pooled));
            FactWatch { counts, is_suspended: false }
        };
        let facts = calibration.facts.iter().map(|(name, fact)| (name.clone(), watch(fact))).collect();
        DriftWatch { calibration: calibration.hash.clone(), labeler: calibration.labeler.clone(), facts }
    }

    /// Counts a live answer. Answers of other labelers, and those that say neither yes nor no, do not count.
    pub fn observe(&mut self, answer: &Answer, kind: &Kind, tool: Option<&str>) {
        let is_other = answer.by.as_ref().is_some_and(|by| *by != self.labeler);
        let is_plain = matches!(answer.says, AnswerValue::Yes | AnswerValue::No);
        let Some(fact) = self.facts.get_mut(&*answer.fact.name).filter(|_| is_plain && !is_other) else { return };
        let key = Some(Stratum::new(kind, tool));
        let key = if fact.counts.contains_key(&key) { key } else { None };
        // The error is shared by all strata that may suspend the fact.
        let bound = ln(fact.counts.len() as f64 / MAX_FALSE_ALARM);
        if let Some(count) = fact.counts.get_mut(&key) {
            count.add(answer.says == AnswerValue::Yes);
            fact.is_suspended |= count.log_gain() >= bound;
            if count.answers >= ROUND {
                (count.yes, count.answers) = (0, 0);
            }
        }
    }

    /// Whether the chances of a fact are suspended. They stay so until a new calibration is fitted.
    pub fn is_suspended(&self, fact: &str) -> bool {
        self.facts.get(fact).is_some_and(|fact| fact.is_suspended)
    }

    /// Returns the facts that are watched, and whether the chances of each are suspended.
    pub fn facts(&self) -> impl Iterator<Item = (&str, bool)> {
        self.facts.iter().map(|(name, fact)| (name.as_str(), fact.is_suspended))
    }

    /// Suspends the facts that counts of the same calibration, kept by another process, suspend.
    pub fn adopt_suspensions(&mut self, calibration: &Calibration, counts: &Json) {
        let Ok(other) = DriftWatch::restore(calibration, counts) else { return };
        for (name, fact) in &mut self.facts {
            fact.is_suspended |= other.is_suspended(name);
        }
    }

    /// Returns its counts, to be kept between runs.
    pub fn to_json(&self) -> Json {
        let facts = self.facts.iter().map(|(name, fact)| {
            let counts = fact.counts.values().map(|count| Json::from(vec![whole(count.yes), whole(count.answers)]));
            let members =
                [("counts", Json::from(counts.collect::<Vec<_>>())), ("suspended", Json::from(fact.is_suspended))];
            (name.clone(), Json::from(members))
        });
        let facts: lictor_json::Object = facts.collect();
        Json::from([("calibration", Json::from(self.calibration.clone())), ("facts", Json::from(facts))])
    }

    /// Returns the watch of a calibration with counts that were kept. An error if they belong to another calibration,
    /// or are none.
    pub fn restore(calibration: &Calibration, counts: &Json) -> Result<DriftWatch, CalibrationError> {
        let mut watch = DriftWatch::new(calibration);
        let of = counts.text("calibration").unwrap_or_default();
        if of != calibration.hash() {
            return Err(CalibrationError::new(format!(
                "the counts are of the calibration `{of}`, not of `{}`\nhint: start without counts",
                calibration.hash()
            )));
        }
        for (name, fact) in &mut watch.facts {
            let invalid =
                || CalibrationError::new(format!("the counts of `{name}` are damaged\nhint: start without them"));
            let saved = counts.get("facts").and_then(|facts| facts.get(name)).ok_or_else(invalid)?;
            fact.is_suspended = saved.get("suspended").and_then(Json::as_bool).ok_or_else(invalid)?;
            let pairs = saved.get("counts").and_then(Json::as_array).ok_or_else(invalid)?;
            if pairs.len() != fact.counts.len() {
                return Err(invalid());
            }
            for (count, pair) in fact.counts.values_mut().zip(pairs) {
                let number = |place: usize| u64::try_from(pair.as_array()?.get(place)?.as_i64()?).ok();
                (count.yes, count.answers) = number(0).zip(number(1)).ok_or_else(invalid)?;
                if count.yes > count.answers || count.answers >= ROUND {
                    return Err(invalid());
                }
            }
        }
        Ok(watch)
    }
}

impl YesCount {
    fn add(&mut self, says_yes: bool) {
        self.yes += u64::from(says_yes);
        self.answers += 1;
    }

    /// The logarithm of the gain of betting against every share within the range.
    fn log_gain(&self) -> f64 {
        let (yes, no) = (self.yes as f64, (self.answers - self.yes) as f64);
        let share = yes / (yes + no).max(1.0);
        if self.range.0 <= share && share <= self.range.1 {
            // A mixture of shares never beats the best one, which is within the range.
            return 0.0;
        }
        let share = share.clamp(self.range.0, self.range.1);
        let term = |count: f64, probability: f64| if count > 0.0 { count * ln(probability) } else { 0.0 };
        ln_beta(yes + 0.5, no + 0.5) - ln_beta(0.5, 0.5) - term(yes, share) - term(no, 1.0 - share)
    }
}

fn whole(count: u64) -> Json {
    Json::from(i64::try_from(count).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
