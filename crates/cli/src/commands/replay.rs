//! `lictor replay`: what another policy would have decided about the events of a ledger.
//!
//! Where records are missing, it goes on behind them and says so. Which sessions had events among them is told by the steps
//! of their later records; what depends on those events is unknown to the policy, and a decision that comes out otherwise
//! there is no difference but a doubt.

mod continuity;

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use lictor::decode::Record as LogRecord;
use lictor::event::{Event, parse_time};
use lictor::guard::{Guard, Options};
use lictor::json::{self, Json};
use lictor::judge::Judge;
use lictor_ledger::{Reader, Revealed};
use serde_json::{Map, Value, json};

use crate::args::{Document, ReplayArgs};
use crate::complaint;
use crate::exit::Outcome;
use crate::policies;
use continuity::Continuity;

/// What became of the records.
#[derive(Debug, Default)]
struct Counts {
    same: u64,
    different: u64,
    /// A person in it was erased.
    erased: u64,
    /// Only a commitment was kept.
    committed: u64,
    /// It comes out otherwise, but events of its session are missing.
    unsure: u64,
    /// How often records are missing.
    gaps: u64,
}

/// Decides on the events once more, and tells where that comes out otherwise.
pub(crate) fn run(args: &ReplayArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let policy = policies::load(Some(&args.policy), &[])?;
    let judge = Judge::new(&policy).map_err(|problems| anyhow::anyhow!("{}", policies::render(&problems)))?;
    let mut guard = Guard::new(judge, Options::default());
    let reader = Reader::open(&args.log);
    let mut counts = Counts::default();
    let mut continuity = Continuity::default();
    for record in reader.records(0)? {
        let record = record?;
        if let Some((first, last)) = continuity.note(record.index)? {
            tell_gap(args, first, last, out)?;
            counts.gaps += u64::from(first > 0);
        }
        let Some(body) = record.body.as_ref().filter(|body| is_decision(body)) else { continue };
        let payload = match reader.reveal(record.index)? {
            Revealed::Content(payload) => payload,
            Revealed::Erased => {
                counts.erased += 1;
                continue;
            }
            _ => {
                counts.committed += 1;
                continue;
            }
        };
        let event = event(&payload).with_context(|| format!("record {}: its payload is no event", record.index))?;
        let session = event.session.clone().unwrap_or_default();
        let step = body.get("step").and_then(Value::as_u64);
        if let Some(missing) = continuity.missing(&session, step) {
            guard.miss(&session, missing, event.time);
        }
        if !is_event(body) {
            continue;
        }
        let seen = body.get("seen").and_then(Value::as_str).and_then(parse_time);
        let decision = guard.decide(&event, seen);
        let before = body.get("action").and_then(Value::as_str).unwrap_or_default();
        let now = decision.action.name();
        if before == now {
            counts.same += 1;
            continue;
        }
        let is_unsure = continuity.is_torn(&session);
        *if is_unsure { &mut counts.unsure } else { &mut counts.different } += 1;
        let because: Vec<&str> = decision.objections.iter().map(|objection| objection.property.id.as_str()).collect();
        match args.format {
            Document::Text => {
                let because = if because.is_empty() { String::new() } else { format!(" ({})", because.join(", ")) };
                let unsure = if is_unsure { "; events of its session are missing" } else { "" };
                writeln!(out, "record {}: {before}, now {now}{because}{unsure}", record.index)?;
            }
            Document::Json => {
                let mut line = json!({"record": record.index, "before": before, "now": now, "objections": because});
                if is_unsure {
                    line["unsure"] = json!(true);
                }
                writeln!(out, "{line}")?;
            }
        }
    }
    finish(args, &counts, out)
}

/// Says which records are missing.
fn tell_gap(args: &ReplayArgs, first: u64, last: u64, out: &mut dyn Write) -> anyhow::Result<()> {
    match args.format {
        Document::Text => writeln!(out, "gap: records {first} to {last} are missing")?,
        Document::Json => writeln!(out, "{}", json!({"type": "gap", "first": first, "last": last}))?,
    }
    Ok(())
}

fn finish(args: &ReplayArgs, counts: &Counts, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let Counts { same, different, erased, committed, unsure, gaps } = counts;
    anyhow::ensure!(
        same + different + unsure > 0,
        "there is not a single event to decide on in {}: {committed} records hold only commitments and {erased} were \
         erased\nhint: `lictor guard --keep-content` keeps events sealed in the ledger",
        args.log.display()
    );
    if *committed > 0 {
        complaint::warn(&format!("{committed} records hold only commitments, and could not be decided on again"));
    }
    let unsure_too = if *unsure > 0 { format!(", {unsure} cannot be told") } else { String::new() };
    match args.format {
        Document::Text => writeln!(out, "{same} decisions stay, {different} change, {erased} were erased{unsure_too}")?,
        Document::Json => {
            let mut summary = json!({
                "type": "summary", "same": same, "different": different, "erased": erased, "committed": committed,
            });
            if *gaps > 0 || *unsure > 0 {
                summary["gaps"] = json!(gaps);
                summary["unsure"] = json!(unsure);
            }
            writeln!(out, "{summary}")?;
        }
    }
    if *gaps > 0 {
        complaint::warn("records are missing; `lictor verify` names the first bad place");
        return Ok(Outcome::Unjudged);
    }
    Ok(if *different > 0 { Outcome::Findings } else { Outcome::Compliant })
}

/// Is it the record of a decision?
fn is_decision(body: &Map<String, Value>) -> bool {
    body.get("type").and_then(Value::as_str) == Some("decision") && !body.contains_key("refused")
}

/// Is that about an event, and not about what had waited and was decided along with one?
fn is_event(body: &Map<String, Value>) -> bool {
    body.get("settles") != Some(&Value::Bool(true))
}

/// The event that a payload holds.
fn event(payload: &[u8]) -> anyhow::Result<Event> {
    let value = json::parse(payload).map_err(|error| anyhow::anyhow!("{error}"))?;
    let Json::Object(mut object) = value else { anyhow::bail!("expected an object") };
    let value = object.remove("event").context("there is no `event`")?;
    let file: Arc<str> = "ledger".into();
    let record = LogRecord { value, file, line: 0, index: 0 };
    record.native_event().map_err(|fault| anyhow::anyhow!("{}", fault.message))
}
