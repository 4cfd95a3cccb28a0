//! The file of a calibration: JSON with a hash of its content.
//!
//! Numbers are decimal texts that stand for exactly one floating-point number, so that a file gives the same chances
//! on every machine. The hash detects damage, and names the calibration in records; it does not protect from forgery.

use std::collections::BTreeMap;

use lictor_json::{Json, Number, Object, Text};

use super::confusion::ConfusionCounts;
use super::correlation::ErrorCorrelation;
use super::error::CalibrationError;
use super::reliability::{FactCheck, ReliabilityBin};
use super::sample::Stratum;
use super::score_curve::{FitMethod, ScoreCurve, ScoreScale};
use super::{Calibration, FactCalibration, FactChances, StratumChances};

/// The version of the format.
const VERSION: i64 = 1;

/// The number of hexadecimal digits of a hash.
const HASH_DIGITS: usize = 32;

impl Calibration {
    /// Returns it as the text of a file.
    pub fn to_file(&self) -> String {
        let mut object = self.content();
        object.insert("hash", self.hash.clone());
        format!("{}\n", Json::Object(object))
    }

    /// Reads the text of a file. An error if any part of it is damaged, or if its version is not known.
    pub fn parse(text: &str) -> Result<Calibration, CalibrationError> {
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
        let actual = hash_content(&object);
        if hash != actual {
            return Err(invalid(format!("the file was changed: its content has the hash {actual}, not `{hash}`")));
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
        let too_few: Object = self.too_few.iter().map(|(name, count)| (name.clone(), write_whole(*count))).collect();
        let correlations: Vec<Json> = self.correlations.iter().map(write_correlation).collect();
        Object::from([
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
        ("bins", bins.collect::<Vec<_>>().into()),
    ])
}

fn write_correlation(it: &ErrorCorrelation) -> Json {
    Json::from([
        ("first", it.first.clone().into()),
        ("second", it.second.clone().into()),
        ("events", write_whole(it.events)),
        ("phi", write_number(it.phi)),
    ])
}

fn read_calibration(json: &Json) -> Result<Calibration, String> {
    let text = |key: &str| json.text(key).map(Text::from).ok_or_else(|| format!("`{key}` must be a string"));
    let members =
        |key: &str| json.get(key).and_then(Json::as_object).ok_or_else(|| format!("`{key}` must be an object"));
    let mut facts = BTreeMap::new();
    for (name, fact) in members("facts")?.iter() {
        let fact = read_fact(fact).map_err(|message| format!("fact `{name}`: {message}"))?;
        facts.insert(name.clone(), fact);
    }
    let mut too_few = BTreeMap::new();
    for (name, count) in members("too_few")?.iter() {
        too_few.insert(name.clone(), as_whole(count).ok_or_else(|| format!("`too_few`: `{name}` must be a count"))?);
    }
    let correlations = list(json, "correlations")?.iter().map(read_correlation).collect::<Result<_, _>>()?;
    let (labeler, fitted, examples) = (text("labeler")?, text("fitted")?, whole(json, "examples")?);
    Ok(Calibration { labeler, fitted, examples, facts, too_few, correlations, hash: Text::default() })
}

fn read_fact(json: &Json) -> Result<FactCalibration, String> {
    let scale = match json.get("scores") {
        None => None,
        Some(scale) => {
            let is_about_answer = match scale.text("about") {
                Some("answer") => true,
                Some("fact") => false,
                _ => return Err("`scores.about` must be \"answer\" or \"fact\"".to_owned()),
            };
            let is_probability = truth(scale, "probability")?;
            Some(ScoreScale { is_about_answer, is_probability })
        }
    };
    let pooled = read_chances(json.get("pooled").ok_or("`pooled` is missing")?)?;
    let mut strata = BTreeMap::new();
    for entry in list(json, "strata")? {
        let kind = lictor_event::Kind::named(entry.text("kind").ok_or("a stratum has no `kind`")?);
        let stratum = Stratum::new(&kind, entry.text("tool"));
        let chances = read_chances(entry).map_err(|message| format!("{stratum}: {message}"))?;
        if strata.contains_key(&stratum) {
            return Err(format!("{stratum} has two entries"));
        }
        strata.insert(stratum, chances);
    }
    let sum = |of: fn(&ConfusionCounts) -> u64| strata.values().map(|it| of(&it.counts)).fold(0, u64::saturating_add);
    if sum(ConfusionCounts::positives) != pooled.counts.positives()
        || sum(ConfusionCounts::total) != pooled.counts.total()
    {
        return Err("the strata do not sum to `pooled`".to_owned());
    }
    let check = read_check(json.get("check").ok_or("`check` is missing")?)?;
    Ok(FactCalibration { chances: FactChances { scale, pooled, strata }, check })
}

fn read_chances(json: &Json) -> Result<StratumChances, String> {
    let counts = ConfusionCounts {
        true_yes: whole(json, "true_yes")?,
        false_no: whole(json, "false_no")?,
        false_yes: whole(json, "false_yes")?,
        true_no: whole(json, "true_no")?,
    };
    let set_rate = json.get("set_base_rate").map(|_| inner_probability(json, "set_base_rate")).transpose()?;
    let curve = json.get("curve").map(read_curve).transpose()?;
    Ok(StratumChances { counts, curve, set_rate })
}

fn read_curve(json: &Json) -> Result<ScoreCurve, String> {
    let name = json.text("method").unwrap_or_default();
    let method = FitMethod::ALL.into_iter().find(|method| method.name() == name);
    let method = method.ok_or("`method` must be identity, platt or isotonic")?;
    let row = |row: &Json| match row.as_array() {
        Some([score, chance]) => {
            as_number(score).zip(as_number(chance).filter(|chance| *chance > 0.0 && *chance < 1.0))
        }
        _ => None,
    };
    let rows: Option<Vec<(f64, f64)>> = list(json, "rows")?.iter().map(row).collect();
    let rows = rows.ok_or("each of `rows` must be a score and a chance between 0 and 1")?;
    if rows.is_empty() || !rows.is_sorted_by(|a, b| a.0 < b.0) {
        return Err("the scores of `rows` must rise".to_owned());
    }
    Ok(ScoreCurve { method, rows, base_rate: inner_probability(json, "base_rate")? })
}

fn read_check(json: &Json) -> Result<FactCheck, String> {
    let mut bins = Vec::new();
    for bin in list(json, "bins")? {
        let numbers: Option<Vec<f64>> = bin.as_array().unwrap_or_default().iter().map(as_number).collect();
        let read = || match (bin.as_array()?, numbers?.as_slice()) {
            ([count, positives, ..], &[_, _, mean_chance, least, most]) => {
                let (count, positives) = (as_whole(count)?, as_whole(positives)?);
                Some(ReliabilityBin { count, positives, mean_chance, least, most })
            }
            _ => None,
        };
        let bin = read().filter(|bin| bin.positives <= bin.count && bin.count > 0);
        bins.push(bin.ok_or("each of `bins` must be count, positives, chance, least and most")?);
    }
    Ok(FactCheck {
        examples: whole(json, "examples")?,
        bins,
        brier: number(json, "brier")?,
        raw_brier: number(json, "raw_brier")?,
        ece: number(json, "ece")?,
        raw_ece: number(json, "raw_ece")?,
        log_loss: number(json, "log_loss")?,
        raw_log_loss: number(json, "raw_log_loss")?,
        passed: truth(json, "passed")?,
    })
}

fn read_correlation(json: &Json) -> Result<ErrorCorrelation, String> {
    let text =
        |key: &str| json.text(key).map(Text::from).ok_or_else(|| format!("`correlations`: `{key}` must be a string"));
    let (first, second, phi) = (text("first")?, text("second")?, number(json, "phi")?);
    Ok(ErrorCorrelation { first, second, events: whole(json, "events")?, phi })
}

fn list<'a>(json: &'a Json, key: &str) -> Result<&'a [Json], String> {
    json.get(key).and_then(Json::as_array).ok_or_else(|| format!("`{key}` must be a list"))
}

fn truth(json: &Json, key: &str) -> Result<bool, String> {
    json.get(key).and_then(Json::as_bool).ok_or_else(|| format!("`{key}` must be true or false"))
}

fn as_whole(json: &Json) -> Option<u64> {
    json.as_i64().and_then(|value| u64::try_from(value).ok())
}

fn whole(json: &Json, key: &str) -> Result<u64, String> {
    json.get(key).and_then(as_whole).ok_or_else(|| format!("`{key}` must be a count"))
}

fn as_number(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => Some(number.as_f64()).filter(|value| value.is_finite()),
        _ => None,
    }
}

fn number(json: &Json, key: &str) -> Result<f64, String> {
    json.get(key).and_then(as_number).ok_or_else(|| format!("`{key}` must be a number"))
}

fn inner_probability(json: &Json, key: &str) -> Result<f64, String> {
    let value = number(json, key)?;
    match value > 0.0 && value < 1.0 {
        true => Ok(value),
        false => Err(format!("`{key}` must be between 0 and 1")),
    }
}

#[cfg(test)]
mod tests;
