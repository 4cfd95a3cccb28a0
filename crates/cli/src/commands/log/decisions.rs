//! `lictor log decisions`: what was decided in a time span, by action, property and reviewer.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;

use anyhow::Result;
use lictor::report::escape_hidden;
use lictor_ledger::Reader;
use serde::Serialize;
use serde_json::{Map, Value};

use super::record_filter::RecordFilter;
use crate::args::Listing;

/// The actions, in the order of the table.
const ACTIONS: [&str; 5] = ["forward", "steer", "redact", "ask", "block"];

/// The decisions of a ledger, summed up.
#[derive(Debug, Default, Serialize)]
struct DecisionSummary {
    /// The times of the first and the last record.
    first: Option<String>,
    last: Option<String>,
    decisions: u64,
    /// Runs of sessions.
    sessions: usize,
    /// Decisions that were not enforced.
    shadow: u64,
    /// Input that is no event.
    refused: u64,
    actions: BTreeMap<String, u64>,
    /// Decisions to which a property objected, by property and action.
    properties: BTreeMap<String, PropertyDecisions>,
    approvals: ApprovalSummary,
}

#[derive(Debug, Default, Serialize)]
struct PropertyDecisions {
    actions: BTreeMap<String, u64>,
    /// Objections that a person waived.
    waived: u64,
    /// Deadlines that passed, and duties that were not met.
    late: u64,
}

/// What became of the events that waited for an approval.
#[derive(Debug, Default, Serialize)]
struct ApprovalSummary {
    approved: u64,
    denied: u64,
    /// Refused for another reason: by the reason.
    refused: BTreeMap<String, u64>,
    /// Answers by reviewer.
    by: BTreeMap<String, u64>,
}

/// Sums up the records that fit, and prints them.
pub(super) fn run(reader: &Reader, filter: &RecordFilter, format: Listing, out: &mut dyn Write) -> Result<()> {
    let (mut summary, mut runs) = (DecisionSummary::default(), HashSet::new());
    for record in reader.records(0)? {
        let record = record?;
        let Some(body) = record.body.as_ref().filter(|_| filter.fits(&record)) else { continue };
        if summary.add(body) {
            summary.first.get_or_insert_with(|| record.time.clone());
            summary.last = Some(record.time);
            runs.extend(body.get("run").and_then(Value::as_str).map(str::to_owned));
        }
    }
    summary.sessions = runs.len();
    match format {
        Listing::Jsonl => writeln!(out, "{}", serde_json::to_string(&summary)?)?,
        Listing::Text => write_text(&summary, out)?,
    }
    Ok(())
}

impl DecisionSummary {
    /// Adds a record. Returns whether it is part of the summary.
    fn add(&mut self, body: &Map<String, Value>) -> bool {
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        match text("type") {
            Some("decision") => self.add_decision(body),
            Some("late") => {
                let property = text("property").unwrap_or_default().to_owned();
                self.properties.entry(property).or_default().late += 1;
            }
            _ => return false,
        }
        true
    }

    fn add_decision(&mut self, body: &Map<String, Value>) {
        let action = body.get("action").and_then(Value::as_str).unwrap_or_default();
        self.decisions += 1;
        self.refused += u64::from(body.contains_key("refused"));
        self.shadow += u64::from(body.get("shadow") == Some(&Value::Bool(true)));
        *self.actions.entry(action.to_owned()).or_default() += 1;
        // A property may object several times to one event, for several values.
        let mut seen = HashSet::new();
        for objection in body.get("objections").and_then(Value::as_array).into_iter().flatten() {
            let Some(property) = objection.get("property").and_then(Value::as_str) else { continue };
            let known = self.properties.entry(property.to_owned()).or_default();
            if seen.insert(property) {
                *known.actions.entry(action.to_owned()).or_default() += 1;
                known.waived += u64::from(objection.get("waived") == Some(&Value::Bool(true)));
            }
        }
        if body.get("settles") == Some(&Value::Bool(true)) {
            self.approvals.add(body);
        }
    }
}

impl ApprovalSummary {
    /// Adds the decision on an event that had waited.
    fn add(&mut self, body: &Map<String, Value>) {
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        match text("refusal") {
            None => self.approved += 1,
            Some("denied") => self.denied += 1,
            Some(reason) => *self.refused.entry(reason.to_owned()).or_default() += 1,
        }
        if let Some(by) = text("by") {
            *self.by.entry(by.to_owned()).or_default() += 1;
        }
    }

    /// Describes the outcomes: "2 approved, 1 denied, 1 late; answered by ann 2, ben 1".
    fn describe(&self) -> Option<String> {
        let refused = self.refused.iter().map(|(reason, count)| (reason.as_str(), *count));
        let outcomes = [("approved", self.approved), ("denied", self.denied)].into_iter().chain(refused);
        let outcomes: Vec<String> =
            outcomes.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count} {name}")).collect();
        let by: Vec<String> = self.by.iter().map(|(by, count)| format!("{} {count}", escape_hidden(by))).collect();
        let by = if by.is_empty() { String::new() } else { format!("; answered by {}", by.join(", ")) };
        (!outcomes.is_empty()).then(|| outcomes.join(", ") + &by)
    }
}

fn write_text(summary: &DecisionSummary, out: &mut dyn Write) -> Result<()> {
    let (Some(first), Some(last)) = (&summary.first, &summary.last) else {
        writeln!(out, "no decisions")?;
        return Ok(());
    };
    let count = |counts: &BTreeMap<String, u64>, action: &str| counts.get(action).copied().unwrap_or_default();
    let actions: Vec<String> = ACTIONS
        .iter()
        .map(|action| (action, count(&summary.actions, action)))
        .filter(|(_, count)| *count > 0)
        .map(|(action, count)| format!("{count} {action}"))
        .collect();
    writeln!(out, "from        {first}")?;
    writeln!(out, "to          {last}")?;
    writeln!(out, "sessions    {}", summary.sessions)?;
    match actions.is_empty() {
        true => writeln!(out, "decisions   {}", summary.decisions)?,
        false => writeln!(out, "decisions   {} ({})", summary.decisions, actions.join(", "))?,
    }
    for (name, count) in [("no event", summary.refused), ("in shadow", summary.shadow)] {
        if count > 0 {
            writeln!(out, "{name:<12}{count}")?;
        }
    }
    if let Some(approvals) = summary.approvals.describe() {
        writeln!(out, "approvals   {approvals}")?;
    }
    write_properties(summary, out)
}

/// Writes a table of the properties that objected.
fn write_properties(summary: &DecisionSummary, out: &mut dyn Write) -> Result<()> {
    if summary.properties.is_empty() {
        return Ok(());
    }
    let name = |id: &String| escape_hidden(id).into_owned();
    let width = summary.properties.keys().map(|id| name(id).chars().count()).max().unwrap_or_default();
    let width = width.max("objections by".len());
    let heads: String = ACTIONS.iter().chain(&["waived", "late"]).map(|head| format!("  {head:>7}")).collect();
    writeln!(out, "\n{:width$}{heads}", "objections by")?;
    for (id, property) in &summary.properties {
        let counts = ACTIONS.iter().map(|action| property.actions.get(*action).copied().unwrap_or_default());
        let cells: String =
            counts.chain([property.waived, property.late]).map(|count| format!("  {count:>7}")).collect();
        writeln!(out, "{:width$}{cells}", name(id))?;
    }
    Ok(())
}
