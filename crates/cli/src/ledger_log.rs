//! A ledger as a log: the events of its decisions, for audits.
//!
//! Each event is on the line of its record, so that a witness names the record. It is the event that took effect: the
//! rewritten one where content was redacted. Events that were stopped did not happen: they are counted and left out.
//! Those that were erased, kept only as commitments, or whose records are missing leave a gap in the numbers of their
//! session, so that no verdict depends on them.

pub(crate) mod continuity;
mod decided_event;

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, bail};
use lictor::audit::GuardedLog;
use lictor::input::{self, Input, InputLimits};
use lictor_ledger::{Reader, Record, RevealedPayload};
use serde_json::{Map, Value};

use crate::complaint;
use continuity::Continuity;
use decided_event::{DecidedEvent, WaitingEvents};

/// The logs of a command, and what guards did with the events of those that are ledgers.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FoundLogs {
    /// The logs.
    pub inputs: Vec<Input>,
    /// What guards did, for [`AuditOptions::guarded`](lictor::audit::AuditOptions::guarded).
    pub guarded: Vec<GuardedLog>,
}

/// Finds logs like [`input::find`]; the folder of a ledger is one log. Notes about them go to standard error.
pub fn find_logs(names: &[String], limits: &InputLimits) -> anyhow::Result<FoundLogs> {
    let (ledgers, others): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| is_ledger(Path::new(name)));
    let others: Vec<String> = others.into_iter().cloned().collect();
    let mut found = FoundLogs::default();
    if !others.is_empty() {
        let files = input::find_with_skipped(&others, limits)?;
        if let Some(notice) = files.describe_skipped() {
            complaint::note(&notice);
        }
        found.inputs = files.inputs;
    }
    for name in ledgers {
        let events = read_ledger(name).with_context(|| format!("cannot read the ledger {name}"))?;
        events.refuse_without_content(name)?;
        events.warn_of_unreadable(name);
        found.inputs.push(Input::from_bytes(name.as_str(), events.text.into_bytes()));
        found.guarded.push(events.guarded);
    }
    Ok(found)
}

/// Finds logs like [`find_logs`], for commands that report no violations.
pub(crate) fn find_inputs(names: &[String], limits: &InputLimits) -> anyhow::Result<Vec<Input>> {
    Ok(find_logs(names, limits)?.inputs)
}

/// Whether a folder is a ledger.
pub(crate) fn is_ledger(path: &Path) -> bool {
    path.join("records").is_dir()
}

/// The events of a ledger.
struct LedgerEvents {
    /// The events that took effect, one on the line of each record.
    text: String,
    guarded: GuardedLog,
    /// How many events are readable, were erased, or were kept only as commitments.
    readable: u64,
    erased: u64,
    committed: u64,
}

fn read_ledger(name: &str) -> anyhow::Result<LedgerEvents> {
    let reader = Reader::open(Path::new(name));
    let mut events =
        LedgerEvents { text: String::new(), guarded: GuardedLog::new(name), readable: 0, erased: 0, committed: 0 };
    let mut line = 0;
    let mut numbers: HashMap<String, u64> = HashMap::new();
    let mut continuity = Continuity::default();
    let mut waiting = WaitingEvents::default();
    for record in reader.records(0)? {
        let record = record?;
        if let Some((first, last)) = continuity.note(record.index)?.filter(|(first, _)| *first > 0) {
            complaint::warn(&format!("{name}: records {first} to {last} are missing"));
        }
        while line < record.index {
            events.text.push('\n');
            line += 1;
        }
        let Some(body) = record.body.as_ref().filter(|body| is_decision(body)) else { continue };
        let run = body.get("run").and_then(Value::as_str).unwrap_or_default();
        let decided = body.get("number").and_then(Value::as_u64).unwrap_or_default();
        let number = numbers.entry(run.to_owned()).or_default();
        // Each missing decision may have been on an event that took effect.
        *number += continuity.count_missing(run, decided).unwrap_or(0);
        let event = DecidedEvent::new(body);
        let objectors = waiting.note(run, event);
        if let Some(by) = event.stopped_by() {
            events.guarded.add_stopped(by, objectors);
        }
        if event.has_happened() {
            *number += 1;
            events.add(&reader, &record, event, *number)?;
        }
    }
    events.text.push('\n');
    waiting.count_into(&mut events.guarded);
    Ok(events)
}

impl LedgerEvents {
    /// Adds an event that took effect, with its number among those of its session.
    fn add(&mut self, reader: &Reader, record: &Record, event: DecidedEvent<'_>, number: u64) -> anyhow::Result<()> {
        let payload = match reader.reveal(record.index)? {
            RevealedPayload::Content(payload) => payload,
            RevealedPayload::Erased => {
                self.erased += 1;
                return Ok(());
            }
            _ => {
                self.committed += 1;
                return Ok(());
            }
        };
        self.readable += 1;
        let mut payload: Value = serde_json::from_slice(&payload)?;
        self.guarded.redacted += u64::from(event.is_rewritten(&payload));
        let line = u32::try_from(record.index + 1).unwrap_or(u32::MAX);
        for (property, waiver) in event.waivers(&payload, record) {
            self.guarded.add_waiver(line, property, waiver);
        }
        self.text.push_str(&event.write_line(&mut payload, number)?);
        Ok(())
    }

    /// Refuses a ledger without a single event to judge, with the reason.
    fn refuse_without_content(&self, name: &str) -> anyhow::Result<()> {
        if self.readable > 0 {
            return Ok(());
        }
        match (self.committed, self.erased, self.guarded.stopped_events) {
            (0, 0, 0) => bail!("{name}: the ledger holds no decisions on events yet, so there is nothing to judge"),
            (0, 0, stopped) => bail!(
                "{name}: no event took effect, so there is nothing to judge: all {stopped} were stopped\n\
                 hint: `lictor log decisions {name}` sums them up"
            ),
            (committed, erased, _) => bail!(
                "{name}: the ledger keeps no content, so its events cannot be judged again: {committed} are kept only as \
                 commitments, {erased} were erased\n\
                 hint: `lictor log decisions {name}` sums up what was decided, `lictor log show {name}` lists it; to audit \
                 later, keep events sealed in the ledger with `--keep-content`"
            ),
        }
    }

    fn warn_of_unreadable(&self, name: &str) {
        let unknown = self.erased + self.committed;
        if unknown > 0 {
            complaint::warn(&format!(
                "{name}: {unknown} events were erased or kept only as commitments; they are missing from their sessions"
            ));
        }
    }
}

/// Whether it is the record of a decision.
pub(crate) fn is_decision(body: &Map<String, Value>) -> bool {
    body.get("type").and_then(Value::as_str) == Some("decision") && !body.contains_key("refused")
}
