//! The file of a calibration: JSON with a hash of its content.
//!
//! Numbers are decimal texts that stand for exactly one floating-point number, so that a file gives the same chances
//! on every machine. The hash detects damage, and names the calibration in records; it does not protect from forgery.
//! What can be computed from other numbers of the file is computed again when it is read, `passed` above all, so that a
//! file with numbers made up by hand is refused unless all of them fit together.

mod read;

use lictor_json::{Json, Number, Object, Text};

use super::confusion::ConfusionCounts;
use super::correlation::ErrorCorrelation;
use super::error::CalibrationError;
use super::reliability::FactCheck;
use super::shortage::ExampleShortage;
use super::{Calibration, FactCalibration, FactChances, StratumChances};
use crate::file_kind::{CALIBRATION_FORMAT, FileKind};

use read::read_calibration;

/// The version of the format.
const VERSION: i64 = 2;

/// The number of hexadecimal digits of a hash.
const HASH_DIGITS: usize = 32;

impl Calibration {
    /// Returns it as the text of a file.
    pub fn to_file(&self) -> String {
        let mut object = self.content();
        object.insert("hash", self.hash.clone());
        format!("{}\n", Json::Object(object))
    }

    /// Reads the text of a file. An error if any part of it is damaged, if its numbers contradict each other, or if its
    /// version is not known.
    pub fn parse(text: &str) -> Result<Calibration, CalibrationError> {
        if let Some(other) = FileKind::find(text.as_bytes()).filter(|kind| *kind != FileKind::Calibration) {
            return Err(CalibrationError::new(format!(
                "it is {other}, not a calibration\nhint: `lictor learn calibration SAMPLE -o FILE` writes a calibration"
            )));
        }
        let invalid = |message: String| CalibrationError::new(format!("{message}\nhint: fit the calibration again"));
        let json = lictor_json::parse_str(text).map_err(|error| invalid(format!("no JSON: {}", error.message)))?;
        let Json::Object(mut object) = json else {
            return Err(invalid("a calibration is a JSON object".to_owned()));
        };
        let version = object.get("version").and_then(Json::as_i64);
        if version != Some(VERSION) {
            let found = version.map_or("no version".to_owned(), |version| format!("version {version}"));
            return Err(invalid(format!("the file has {found}, but this Lictor reads version {VERSION}")));
        }
        let hash = object.remove("hash").and_then(|hash| hash.as_str().map(Text::from)).unwrap_or_default();
        if hash != hash_content(&object) {
            // The right hash is not named: it would only help to pass off what was changed by hand.
            return Err(invalid(
                "the file was changed or is damaged: its `hash` is not that of its content".to_owned(),
            ));
        }
        let mut calibration = read_calibration(&Json::Object(object.clone())).map_err(invalid)?;
        if calibration.content() != object {
            return Err(invalid("the file has members that do not belong into a calibration".to_owned()));
        }
        calibration.hash = hash;
        Ok(calibration)
    }

    /// Returns the calibration if it is of a labeler's version; otherwise an error that names both.
    pub fn for_labeler(self, version: &str) -> Result<Calibration, CalibrationError> {
        match self.labeler == version {
            true => Ok(self),
            false => Err(CalibrationError::new(format!(
                "the calibration is of the labeler `{}`, but the labeler is `{version}`\n\
                 hint: fit a calibration on answers of `{version}`: `lictor learn calibration`",
                self.labeler
            ))),
        }
    }

    /// Computes the hash of its content.
    pub(super) fn seal(&mut self) {
        self.hash = hash_content(&self.content());
    }

    /// All but the hash.
    fn content(&self) -> Object {
        let facts: Object = self.facts.iter().map(|(name, fact)| (name.clone(), write_fact(fact))).collect();
        let too_few: Object = self.too_few.iter().map(|(name, it)| (name.clone(), write_shortage(it))).collect();
        let correlations: Vec<Json> = self.correlations.iter().map(write_correlation).collect();
        Object::from([
            ("format", Json::from(CALIBRATION_FORMAT)),
            ("version", Json::from(VERSION)),
            ("labeler", self.labeler.clone().into()),
            ("fitted", self.fitted.clone().into()),
            ("examples", write_whole(self.examples)),
            ("facts", facts.into()),
            ("too_few", too_few.into()),
            ("correlations", correlations.into()),
        ])
    }
}

fn hash_content(object: &Object) -> Text {
    let hash = blake3::hash(Json::Object(object.clone()).to_string().as_bytes());
    Text::from(&hash.to_hex()[..HASH_DIGITS])
}

fn write_whole(count: u64) -> Json {
    Json::from(i64::try_from(count).unwrap_or(i64::MAX))
}

fn write_number(value: f64) -> Json {
    Json::Number(Number::Float(value))
}

fn write_fact(fact: &FactCalibration) -> Json {
    let FactChances { scale, pooled, strata } = &fact.chances;
    let mut object = Object::new();
    if let Some(scale) = scale {
        let about = if scale.is_about_answer { "answer" } else { "fact" };
        object.insert("scores", Json::from([("about", about.into()), ("probability", scale.is_probability.into())]));
    }
    object.insert("pooled", write_chances(Object::new(), pooled));
    let strata = strata.iter().map(|(stratum, chances)| {
        let mut object = Object::from([("kind", stratum.kind().into())]);
        stratum.tool().into_iter().for_each(|tool| object.insert("tool", tool));
        write_chances(object, chances)
    });
    object.insert("strata", strata.collect::<Vec<Json>>());
    object.insert("check", write_check(&fact.check));
    object.into()
}

fn write_chances(mut object: Object, chances: &StratumChances) -> Json {
    let ConfusionCounts { true_yes, false_no, false_yes, true_no } = chances.counts;
    for (key, count) in [("true_yes", true_yes), ("false_no", false_no), ("false_yes", false_yes), ("true_no", true_no)]
    {
        object.insert(key, write_whole(count));
    }
    if let Some(base_rate) = chances.set_rate {
        object.insert("set_base_rate", write_number(base_rate));
    }
    if let Some(curve) = &chances.curve {
        let rows =
            curve.rows.iter().map(|(score, chance)| Json::from(vec![write_number(*score), write_number(*chance)]));
        let members = [
            ("method", Json::from(curve.method.name())),
            ("base_rate", write_number(curve.base_rate)),
            ("rows", rows.collect::<Vec<_>>().into()),
        ];
        object.insert("curve", Json::from(members));
    }
    object.into()
}

fn write_check(check: &FactCheck) -> Json {
    let bins = check.bins.iter().map(|bin| {
        let numbers = [bin.mean_chance, bin.least, bin.most].map(write_number);
        Json::from([vec![write_whole(bin.count), write_whole(bin.positives)], numbers.to_vec()].concat())
    });
    Json::from([
        ("passed", Json::from(check.passed)),
        ("examples", write_whole(check.examples)),
        ("brier", write_number(check.brier)),
        ("raw_brier", write_number(check.raw_brier)),
        ("ece", write_number(check.ece)),
        ("raw_ece", write_number(check.raw_ece)),
        ("log_loss", write_number(check.log_loss)),
        ("raw_log_loss", write_number(check.raw_log_loss)),
        ("shift_error", write_number(check.shift_error)),
        ("brier_error", write_number(check.brier_error)),
        ("bins", bins.collect::<Vec<_>>().into()),
    ])
}

fn write_shortage(it: &ExampleShortage) -> Json {
    let pair = |(positives, negatives)| Json::from(vec![write_whole(positives), write_whole(negatives)]);
    let sessions = write_whole(it.sessions);
    Json::from([("fitted", pair(it.fitted)), ("checked", pair(it.checked)), ("sessions", sessions)])
}

fn write_correlation(it: &ErrorCorrelation) -> Json {
    Json::from([
        ("first", it.first.clone().into()),
        ("second", it.second.clone().into()),
        ("events", write_whole(it.events)),
        ("phi", write_number(it.phi)),
    ])
}

#[cfg(test)]
mod tests;
