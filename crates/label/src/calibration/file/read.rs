//! Reads the members of a calibration's file, and checks that they fit together.

use std::collections::BTreeMap;

use lictor_json::{Json, Text};
use lictor_math::ReliabilityBin;

use super::super::confusion::{ConfusionCounts, MIN_EXAMPLES};
use super::super::correlation::ErrorCorrelation;
use super::super::reliability::FactCheck;
use super::super::sample::Stratum;
use super::super::score_curve::{FitMethod, ScoreCurve, ScoreScale};
use super::super::shortage::ExampleShortage;
use super::super::{Calibration, FactCalibration, FactChances, StratumChances};

pub(super) fn read_calibration(json: &Json) -> Result<Calibration, String> {
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
        let shortage = read_shortage(count).filter(ExampleShortage::is_short);
        let wrong = || {
            format!(
                "`too_few`: `{name}` must have its `fitted` and `checked` examples and its `sessions`, too few of them"
            )
        };
        if facts.contains_key(name) {
            return Err(format!("`{name}` is among `facts` and among `too_few`"));
        }
        too_few.insert(name.clone(), shortage.ok_or_else(wrong)?);
    }
    let correlations = list(json, "correlations")?.iter().map(read_correlation).collect::<Result<_, _>>()?;
    let (labeler, fitted, examples) = (text("labeler")?, text("fitted")?, whole(json, "examples")?);
    let of_facts = facts.values().map(|it| it.chances.pooled.counts.total().saturating_add(it.check.examples));
    let of_others = too_few.values().map(ExampleShortage::examples);
    if of_facts.chain(of_others).fold(0, u64::saturating_add) != examples {
        return Err("the examples of the facts do not sum to `examples`".to_owned());
    }
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
    let sum = strata.values().fold(ConfusionCounts::default(), |sum, it| sum.sum_with(&it.counts));
    if sum != pooled.counts {
        return Err("the strata do not sum to `pooled`".to_owned());
    }
    if !pooled.counts.is_enough() {
        return Err(format!("`pooled` needs {MIN_EXAMPLES} true and {MIN_EXAMPLES} false examples"));
    }
    let check = read_check(json.get("check").ok_or("`check` is missing")?)?;
    let chances = FactChances { scale, pooled, strata };
    let fit_error = chances.fit_error(check.examples);
    if let Some(contradiction) = check.find_contradiction(fit_error) {
        return Err(format!("`check`: {contradiction}"));
    }
    match (check.passed, check.find_objection(fit_error)) {
        (true, Some(objection)) => Err(format!("`check` says that it passed, but {objection}")),
        (false, None) => Err("`check` says that it did not pass, but its numbers do".to_owned()),
        _ => Ok(FactCalibration { chances, check }),
    }
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
    // Higher scores are better evidence, or worse evidence, but not now one and now the other.
    if !rows.is_sorted_by(|a, b| a.1 <= b.1) && !rows.is_sorted_by(|a, b| a.1 >= b.1) {
        return Err("the chances of `rows` must rise with the scores, or fall".to_owned());
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
        shift_error: number(json, "shift_error")?,
        brier_error: number(json, "brier_error")?,
        passed: truth(json, "passed")?,
    })
}

fn read_correlation(json: &Json) -> Result<ErrorCorrelation, String> {
    let text =
        |key: &str| json.text(key).map(Text::from).ok_or_else(|| format!("`correlations`: `{key}` must be a string"));
    let (first, second, phi) = (text("first")?, text("second")?, number(json, "phi")?);
    if !(-1.0..=1.0).contains(&phi) {
        return Err("`correlations`: `phi` must be from -1 to 1".to_owned());
    }
    Ok(ErrorCorrelation { first, second, events: whole(json, "events")?, phi })
}

fn read_shortage(json: &Json) -> Option<ExampleShortage> {
    let pair = |key: &str| match json.get(key)?.as_array()? {
        [positives, negatives] => as_whole(positives).zip(as_whole(negatives)),
        _ => None,
    };
    let sessions = as_whole(json.get("sessions")?)?;
    Some(ExampleShortage { fitted: pair("fitted")?, checked: pair("checked")?, sessions })
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
