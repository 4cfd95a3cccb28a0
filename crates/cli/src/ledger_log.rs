//! A ledger as a log: the events of its decisions, for audits.
//!
//! Each event is on the line of its record, so that a witness names the record. Events that were stopped did not happen
//! and are left out. Those that were erased, kept only as commitments, or whose records are missing leave a gap in the
//! numbers of their session, so that no verdict depends on them.

pub(crate) mod continuity;

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context;
use lictor::input::{self, Input, InputLimits};
use lictor_ledger::{Reader, RevealedPayload};
use serde_json::{Map, Value};

use crate::complaint;
use continuity::Continuity;

/// Finds inputs like [`input::find`]; the folder of a ledger is one log.
pub(crate) fn find_inputs(names: &[String], limits: &InputLimits) -> anyhow::Result<Vec<Input>> {
    let (ledgers, others): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| is_ledger(Path::new(name)));
    let others: Vec<String> = others.into_iter().cloned().collect();
    let mut inputs = Vec::new();
    if !others.is_empty() {
        let found = input::find_with_skipped(&others, limits)?;
        if let Some(notice) = found.describe_skipped() {
            complaint::note(&notice);
        }
        inputs = found.inputs;
    }
    for name in ledgers {
        let text = read_ledger(Path::new(name)).with_context(|| format!("cannot read the ledger {name}"))?;
        inputs.push(Input::from_bytes(name.as_str(), text.into_bytes()));
    }
    Ok(inputs)
}

/// Whether a folder is a ledger.
pub(crate) fn is_ledger(path: &Path) -> bool {
    path.join("records").is_dir()
}

/// Returns the events of a ledger, one on the line of each record.
fn read_ledger(folder: &Path) -> anyhow::Result<String> {
    let reader = Reader::open(folder);
    let (mut text, mut line) = (String::new(), 0);
    let mut numbers: HashMap<String, u64> = HashMap::new();
    let mut continuity = Continuity::default();
    let mut unknown = 0;
    for record in reader.records(0)? {
        let record = record?;
        if let Some((first, last)) = continuity.note(record.index)?.filter(|(first, _)| *first > 0) {
            complaint::warn(&format!("{}: records {first} to {last} are missing", folder.display()));
        }
        while line < record.index {
            text.push('\n');
            line += 1;
        }
        let Some(body) = record.body.as_ref().filter(|body| is_decision(body)) else { continue };
        let run = body.get("run").and_then(Value::as_str).unwrap_or_default();
        let decided = body.get("number").and_then(Value::as_u64).unwrap_or_default();
        let number = numbers.entry(run.to_owned()).or_default();
        // Each missing decision may have been on an event that took effect.
        *number += continuity.count_missing(run, decided).unwrap_or(0);
        if !has_happened(body) {
            continue;
        }
        *number += 1;
        match reader.reveal(record.index)? {
            RevealedPayload::Content(payload) => text.push_str(&write_event(&payload, *number)?),
            _ => unknown += 1,
        }
    }
    text.push('\n');
    if unknown > 0 {
        complaint::warn(&format!(
            "{}: {unknown} events were erased or kept only as commitments; they are missing from their sessions",
            folder.display()
        ));
    }
    Ok(text)
}

/// Whether it is the record of a decision.
pub(crate) fn is_decision(body: &Map<String, Value>) -> bool {
    body.get("type").and_then(Value::as_str) == Some("decision") && !body.contains_key("refused")
}

/// Whether the event of a decision took effect.
fn has_happened(body: &Map<String, Value>) -> bool {
    let is = |key: &str, value: &str| body.get(key).and_then(Value::as_str) == Some(value);
    let is_shadow = body.get("shadow") == Some(&Value::Bool(true));
    is_shadow || !is("action", "ask") && !is("action", "block")
}

/// Returns the line of an event, numbered within the run of its session.
fn write_event(payload: &[u8], number: u64) -> anyhow::Result<String> {
    let mut payload: Value = serde_json::from_slice(payload)?;
    let event = payload.get_mut("event").and_then(Value::as_object_mut).context("a payload without `event`")?;
    event.insert("seq".to_owned(), Value::from(number));
    Ok(Value::Object(std::mem::take(event)).to_string())
}
