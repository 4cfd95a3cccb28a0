//! `lictor log interventions`: what forecasts led to, what it cost, and which properties were at risk.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;

use anyhow::Result;
use lictor::report::escape_hidden;
use lictor_ledger::Reader;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::Listing;

/// The interventions of a ledger, summed up.
#[derive(Debug, Default, Serialize)]
struct InterventionSummary {
    /// Sessions with an intervention.
    sessions: usize,
    /// Requests that got a reminder.
    reminded: u64,
    /// Replies for which others were asked for, or for which there was no budget.
    replies: u64,
    replaced: u64,
    /// Replies that stayed because a budget was used up.
    exhausted: BTreeMap<String, u64>,
    /// The mean forecast of replaced replies, and of those that replaced them.
    before: Option<f64>,
    after: Option<f64>,
    calls: u64,
    tokens: u64,
    milliseconds: u64,
    /// Calls that waited for a reviewer, or were blocked, because of a forecast.
    asked: u64,
    stopped: u64,
    /// Forecasts that would have been a reason to intervene, in shadow mode.
    shadow: u64,
    at_risk: BTreeMap<String, PropertySummary>,
}

#[derive(Debug, Default, Serialize)]
struct PropertySummary {
    interventions: u64,
    replaced: u64,
    /// The sum until all records are read, then the mean.
    chance: f64,
}

/// Sums up a ledger, and prints it.
pub(crate) fn run(reader: &Reader, format: Listing, out: &mut dyn Write) -> Result<()> {
    let mut summary = InterventionSummary::default();
    let mut sessions = HashSet::new();
    let mut replaced = (0.0, 0.0);
    for record in reader.records(0)? {
        let Some(body) = record?.body else { continue };
        match body.get("type").and_then(Value::as_str) {
            Some("intervention") => {
                sessions.insert(body.get("session").map(Value::to_string));
                let (before, after) = summary.add_intervention(&body);
                replaced = (replaced.0 + before, replaced.1 + after);
            }
            Some("decision") if summary.add_decision(&body) => {
                sessions.insert(body.get("session").or(body.get("run")).map(Value::to_string));
            }
            _ => {}
        }
    }
    summary.sessions = sessions.len();
    if summary.replaced > 0 {
        let count = summary.replaced as f64;
        (summary.before, summary.after) = (Some(replaced.0 / count), Some(replaced.1 / count));
    }
    for property in summary.at_risk.values_mut() {
        property.chance /= property.interventions as f64;
    }
    match format {
        Listing::Jsonl => writeln!(out, "{}", serde_json::to_string(&summary)?)?,
        Listing::Text => write_text(&summary, out)?,
    }
    Ok(())
}

impl InterventionSummary {
    /// Adds an intervention. Returns the forecasts of the replaced reply and of the taken one; zeros if none was replaced.
    fn add_intervention(&mut self, body: &Map<String, Value>) -> (f64, f64) {
        let count = |key: &str| body.get(key).and_then(Value::as_u64).unwrap_or_default();
        let chance = |risk: Option<&Value>| risk.and_then(|risk| risk.get("chance")?.as_f64()).unwrap_or_default();
        let add = |sum: &mut u64, key: &str| *sum = sum.saturating_add(count(key));
        add(&mut self.calls, "calls");
        add(&mut self.tokens, "tokens");
        add(&mut self.milliseconds, "milliseconds");
        let taken = body.get("taken").and_then(Value::as_u64).and_then(|place| usize::try_from(place).ok());
        let candidate = taken.and_then(|place| body.get("candidates")?.get(place)?.get("risk"));
        match (body.get("shadow"), body.get("at").and_then(Value::as_str)) {
            (Some(Value::Bool(true)), _) => self.shadow += 1,
            (_, Some("request")) => self.reminded += 1,
            _ => self.replies += 1,
        }
        self.replaced += u64::from(taken.is_some());
        if let Some(exhausted) = body.get("exhausted").and_then(Value::as_str) {
            *self.exhausted.entry(exhausted.to_owned()).or_default() += 1;
        }
        for risk in body.get("at_risk").and_then(Value::as_array).into_iter().flatten() {
            let Some(property) = risk.get("property").and_then(Value::as_str) else { continue };
            let known = self.at_risk.entry(property.to_owned()).or_default();
            known.interventions += 1;
            known.replaced += u64::from(taken.is_some());
            known.chance += chance(Some(risk));
        }
        match taken {
            Some(_) => (chance(body.get("original")), chance(body.get("fresh").or(candidate))),
            None => (0.0, 0.0),
        }
    }

    /// Adds a decision. Returns whether a forecast objected to it.
    fn add_decision(&mut self, body: &Map<String, Value>) -> bool {
        let Some(forecast) = body.get("forecast") else { return false };
        match (body.get("shadow"), forecast.get("response").and_then(Value::as_str)) {
            (Some(Value::Bool(true)), _) => self.shadow += 1,
            (_, Some("ask")) => self.asked += 1,
            _ => self.stopped += 1,
        }
        let chance = forecast.get("risk").and_then(|risk| risk.get("chance")?.as_f64()).unwrap_or_default();
        for property in
            forecast.get("at_risk").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            let known = self.at_risk.entry(property.to_owned()).or_default();
            known.interventions += 1;
            known.chance += chance;
        }
        true
    }
}

fn write_text(summary: &InterventionSummary, out: &mut dyn Write) -> Result<()> {
    let InterventionSummary { sessions, reminded, replies, replaced, calls, tokens, asked, stopped, shadow, .. } =
        summary;
    let total = reminded + replies + shadow + asked + stopped;
    if total == 0 {
        writeln!(out, "no interventions")?;
        return Ok(());
    }
    writeln!(out, "requests with a reminder    {reminded}")?;
    writeln!(out, "replies held to replace     {replies}, of which {replaced} were replaced")?;
    if let (Some(before), Some(after)) = (summary.before, summary.after) {
        writeln!(out, "mean forecast               {before:.2} of the replaced, {after:.2} of what was taken")?;
    }
    for (limit, count) in &summary.exhausted {
        writeln!(out, "budget of {limit} used up{}{count}", " ".repeat(10_usize.saturating_sub(limit.len())))?;
    }
    writeln!(out, "calls asked of a reviewer   {asked}")?;
    writeln!(out, "calls stopped               {stopped}")?;
    writeln!(out, "only reported, in shadow    {shadow}")?;
    let seconds = summary.milliseconds as f64 / 1000.0;
    writeln!(out, "cost                        {calls} calls, {tokens} tokens, {seconds:.1} s of waiting")?;
    writeln!(out, "sessions                    {sessions}")?;
    if summary.at_risk.is_empty() {
        return Ok(());
    }
    let width = summary.at_risk.keys().map(String::len).max().unwrap_or_default().max("at risk".len());
    writeln!(out, "\n{:width$}  interventions  replaced  mean forecast", "at risk")?;
    for (property, PropertySummary { interventions, replaced, chance }) in &summary.at_risk {
        let property = escape_hidden(property);
        writeln!(out, "{property:width$}  {interventions:>13}  {replaced:>8}  {chance:>13.2}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interventions_are_summed_up() {
        let mut summary = InterventionSummary::default();
        let mut add = |body: Value| summary.add_intervention(body.as_object().expect("a record is an object"));
        let at_risk = serde_json::json!([{"property": "no-drop", "chance": 0.8}]);
        let replaced = add(serde_json::json!({
            "at": "reply", "original": {"chance": 0.8}, "at_risk": at_risk, "taken": 1, "calls": 2, "tokens": 30,
            "candidates": [{"by": "resample", "risk": null}, {"by": "resample", "risk": {"chance": 0.1}}],
        }));
        assert_eq!(replaced, (0.8, 0.1));
        let stayed =
            serde_json::json!({"at": "reply", "at_risk": at_risk, "taken": null, "calls": 1, "exhausted": "calls"});
        assert_eq!(add(stayed), (0.0, 0.0));
        add(serde_json::json!({"at": "request", "by": "inject"}));
        add(serde_json::json!({"at": "reply", "shadow": true}));
        summary.add_decision(serde_json::json!({"forecast": {"response": "block"}}).as_object().expect("an object"));
        let InterventionSummary { replies, replaced, reminded, shadow, stopped, calls, .. } = summary;
        assert_eq!((replies, replaced, reminded, shadow, stopped, calls), (2, 1, 1, 1, 1, 3));
        assert_eq!(summary.exhausted.get("calls"), Some(&1));
        assert_eq!(summary.at_risk["no-drop"].interventions, 2);
    }
}
