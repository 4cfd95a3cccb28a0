//! Fits a calibration on one half of a sample and checks it on the other.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use lictor_event::AnswerValue;
use lictor_json::Text;

use super::confusion::ConfusionCounts;
use super::correlation::correlate_errors;
use super::error::CalibrationError;
use super::sample::{LabelledAnswer, Stratum};
use super::score_curve::{ScoreCurve, ScoreScale};
use super::shortage::ExampleShortage;
use super::{Calibration, FactCalibration, FactChances, StratumChances};

impl Calibration {
    /// Fits a calibration of a labeler on the sessions of one half of a sample, and checks it on those of the other.
    /// Which half a session is in depends on its name alone. The caller says what time it is. An error if an answer is
    /// of another labeler, or if no answer says yes or no.
    pub fn fit(labeler: &str, fitted: &str, sample: &[LabelledAnswer]) -> Result<Calibration, CalibrationError> {
        if let Some(other) = sample.iter().find_map(|it| it.answer.by.as_deref().filter(|by| *by != labeler)) {
            return Err(CalibrationError::new(format!(
                "the sample has answers of `{other}` beside those of `{labeler}`\n\
                 hint: a calibration is of one version of one labeler; fit one for each"
            )));
        }
        let mut by_fact: BTreeMap<Text, Vec<&LabelledAnswer>> = BTreeMap::new();
        for it in sample.iter().filter(|it| it.says_yes().is_some()) {
            by_fact.entry(Text::from(&*it.answer.fact.name)).or_default().push(it);
        }
        if by_fact.is_empty() {
            return Err(CalibrationError::new(
                "the sample has no answer that says yes or no and whose truth is known\n\
                 hint: it needs events with `answers`, and the truth about the same facts",
            ));
        }
        by_fact.values_mut().for_each(drop_repeated);
        let examples = by_fact.values().map(|answers| answers.len() as u64).sum();
        let (mut facts, mut too_few) = (BTreeMap::new(), BTreeMap::new());
        for (name, answers) in by_fact {
            match fit_fact(&answers) {
                Ok(fact) => _ = facts.insert(name, fact),
                Err(shortage) => _ = too_few.insert(name, shortage),
            }
        }
        let correlations = correlate_errors(sample);
        let (labeler, fitted) = (labeler.into(), fitted.into());
        let mut calibration =
            Calibration { labeler, fitted, examples, facts, too_few, correlations, hash: Text::default() };
        calibration.seal();
        Ok(calibration)
    }
}

/// Keeps one of the answers that are the same evidence: those with one key and one truth, and copies of one line. Counted
/// again they would make any labeler look certain, and a text that is in both halves would check itself.
fn drop_repeated(answers: &mut Vec<&LabelledAnswer>) {
    let mut keys: HashSet<(&str, bool)> = HashSet::new();
    let mut places: HashMap<(&str, u64), Vec<&LabelledAnswer>> = HashMap::new();
    answers.retain(|it| match &it.answer.key {
        Some(key) => keys.insert((key.as_str(), it.truth)),
        None => {
            let of_event = places.entry((it.session.as_str(), it.event)).or_default();
            let is_new = !of_event.contains(it);
            of_event.push(it);
            is_new
        }
    });
}

/// Fits and checks one fact, unless either half has too few examples.
fn fit_fact(answers: &[&LabelledAnswer]) -> Result<FactCalibration, ExampleShortage> {
    let (held_out, fitted): (Vec<&LabelledAnswer>, Vec<&LabelledAnswer>) =
        answers.iter().partition(|it| it.is_held_out());
    let sessions: BTreeSet<&str> = held_out.iter().map(|it| it.session.as_str()).collect();
    let shortage = ExampleShortage::new(&count_answers(&fitted), &count_answers(&held_out), sessions.len() as u64);
    if shortage.is_short() {
        return Err(shortage);
    }
    let score = |it: &&LabelledAnswer| Some((it.answer.says, finite_score(it)?, it.truth));
    let scores: Vec<(AnswerValue, f64, bool)> = fitted.iter().filter_map(score).collect();
    let scale = ScoreScale::find(&scores);
    let mut groups: BTreeMap<Stratum, Vec<&LabelledAnswer>> = BTreeMap::new();
    for it in &fitted {
        groups.entry(it.stratum.clone()).or_default().push(it);
    }
    // A stratum that only the other half has is listed too, as one with too few examples.
    for it in &held_out {
        groups.entry(it.stratum.clone()).or_default();
    }
    let strata = groups.into_iter().map(|(stratum, answers)| (stratum, fit_stratum(scale, &answers)));
    let chances = FactChances { scale, strata: strata.collect(), pooled: fit_stratum(scale, &fitted) };
    let check = chances.check(held_out.into_iter());
    Ok(FactCalibration { chances, check })
}

fn fit_stratum(scale: Option<ScoreScale>, answers: &[&LabelledAnswer]) -> StratumChances {
    let curve = scale.and_then(|scale| {
        let score = |it: &&LabelledAnswer| Some((scale.score_of_fact(it.answer.says, finite_score(it)?), it.truth));
        ScoreCurve::fit(scale, &answers.iter().filter_map(score).collect::<Vec<_>>())
    });
    StratumChances { counts: count_answers(answers), curve, set_rate: None }
}

fn finite_score(it: &LabelledAnswer) -> Option<f64> {
    it.answer.score.filter(|score| score.is_finite())
}

fn count_answers(answers: &[&LabelledAnswer]) -> ConfusionCounts {
    let mut counts = ConfusionCounts::default();
    for it in answers {
        if let Some(says_yes) = it.says_yes() {
            counts.add(says_yes, it.truth);
        }
    }
    counts
}
