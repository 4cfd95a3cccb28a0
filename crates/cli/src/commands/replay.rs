//! `lictor replay`: decides on the events of a ledger again, by another policy.
//!
//! Events that were erased, kept only as a commitment, or whose records are missing are unknown to the policy. The
//! numbers of the decisions in a session reveal them; a changed decision after such a gap is reported as uncertain. So is
//! one after an answer of a labeler to another question than the policy asks.

mod recorded_answers;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use lictor::decode::LogRecord;
use lictor::event::{Event, parse_time};
use lictor::guard::{Decision, Guard, GuardOptions};
use lictor::json::{self, Json, Text};
use lictor::judge::Judge;
use lictor::policy::{History, Policy};
use lictor_ledger::{Reader, RevealedPayload};
use lictor_logic::Span;
use serde_json::{Map, Value, json};

use crate::args::{Listing, ReplayArgs};
use crate::commands::log::no_ledger;
use crate::commands::replay::recorded_answers::RecordedAnswers;
use crate::complaint;
use crate::exit::Outcome;
use crate::ledger_log::continuity::Continuity;
use crate::ledger_log::is_decision;
use crate::policies;

/// Counts of records by result.
#[derive(Debug, Default)]
struct Counts {
    same: u64,
    different: u64,
    /// A person in it was erased.
    erased: u64,
    /// Only a commitment was kept.
    committed: u64,
    /// The decision changes, but earlier events are unknown.
    unsure: u64,
    /// How many gaps there are.
    gaps: u64,
}

/// The state of a replay.
struct Replay<'a> {
    policy: &'a Policy,
    judge: Judge,
    /// The tenants, by their names in records; that without a name has none there.
    tenants: HashMap<String, TenantReplay>,
    answers: RecordedAnswers,
    /// The properties that are judged over more than a session.
    wide: BTreeSet<Text>,
    continuity: Continuity,
    counts: Counts,
}

/// The state of one tenant: its sessions and histories are apart from those of others, whatever their names.
struct TenantReplay {
    guard: Guard,
    /// The present run of each session.
    sessions: HashMap<Text, String>,
    /// The sessions with answers that the policy did not ask for.
    unanswered: BTreeSet<Text>,
}

/// A decision that changes.
struct Difference {
    record: u64,
    before: String,
    decision: Decision,
    is_unsure: bool,
}

/// Decides on the events again, and reports the decisions that change.
pub(crate) fn run(args: &ReplayArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let policy = policies::load(Some(&args.policy), &[])?;
    if !args.log.join("records").is_dir() {
        return Err(no_ledger(&args.log));
    }
    let mut replay = Replay::new(&policy)?;
    let reader = Reader::open(&args.log);
    for record in reader.records(0)? {
        let record = record?;
        if let Some((first, last)) = replay.continuity.note(record.index)? {
            write_gap(args, first, last, out)?;
            replay.counts.gaps += u64::from(first > 0);
        }
        let Some(body) = record.body.as_ref().filter(|body| is_decision(body)) else { continue };
        let payload = match reader.reveal(record.index)? {
            RevealedPayload::Content(payload) => payload,
            revealed => {
                replay.count_unreadable(&revealed);
                continue;
            }
        };
        let event =
            parse_event(&payload).with_context(|| format!("record {}: its payload is not an event", record.index))?;
        if let Some(difference) = replay.decide(record.index, body, &event)? {
            write_difference(args, &difference, out)?;
        }
    }
    finish(args, &replay.counts, out)
}

impl TenantReplay {
    fn new(judge: Judge, policy: &Policy) -> anyhow::Result<TenantReplay> {
        let foresight = policies::open_foresight(&judge, policy)?;
        // The recorded times are those that counted.
        let guard = Guard::new(judge, GuardOptions::default()).within_skew(Some(Span(u64::MAX))).foreseeing(foresight);
        Ok(TenantReplay { guard, sessions: HashMap::new(), unanswered: BTreeSet::new() })
    }

    /// Begins a session anew if this is a new run of it: that does not know the events of an earlier run.
    fn enter_run(&mut self, session: &Text, run: &str) {
        if self.sessions.get(session).is_some_and(|known| known != run) {
            self.guard.release(session);
        }
        self.sessions.insert(session.clone(), run.to_owned());
    }
}

impl<'a> Replay<'a> {
    fn new(policy: &'a Policy) -> anyhow::Result<Replay<'a>> {
        let judge = Judge::new(policy).map_err(|problems| policies::unusable(&problems))?;
        let wide = policy.properties.iter().filter(|property| property.history != History::Session);
        let wide = wide.map(|property| property.id.clone()).collect();
        // A policy that cannot be used is refused before the first record.
        let tenants = HashMap::from([(String::new(), TenantReplay::new(judge.fork(), policy)?)]);
        let answers = RecordedAnswers::open(policy, &judge);
        Ok(Replay {
            policy,
            judge,
            tenants,
            answers,
            wide,
            continuity: Continuity::default(),
            counts: Counts::default(),
        })
    }

    /// Counts a decision whose event can no longer be read.
    fn count_unreadable(&mut self, revealed: &RevealedPayload) {
        self.continuity.is_broken = true;
        match revealed {
            RevealedPayload::Erased => self.counts.erased += 1,
            _ => self.counts.committed += 1,
        }
    }

    /// Decides on an event again; none if the decision is the same.
    fn decide(&mut self, record: u64, body: &Map<String, Value>, event: &Event) -> anyhow::Result<Option<Difference>> {
        let (run, number) = body
            .get("run")
            .and_then(Value::as_str)
            .zip(body.get("number").and_then(Value::as_u64))
            .with_context(|| format!("record {record}: the decision says neither run nor number"))?;
        let session = event.session.clone().unwrap_or_default();
        let tenant = body.get("tenant").and_then(Value::as_str).unwrap_or_default();
        let tenant = match self.tenants.entry(tenant.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(TenantReplay::new(self.judge.fork(), self.policy)?),
        };
        tenant.enter_run(&session, run);
        if let Some(missing) = self.continuity.count_missing(run, number) {
            tenant.guard.miss(&session, missing, event.time);
        }
        if !is_event(body) {
            return Ok(None);
        }
        let seen = body.get("seen").and_then(Value::as_str).and_then(parse_time);
        let mut event = event.clone();
        if self.answers.void_foreign(&mut event) {
            tenant.unanswered.insert(session.clone());
        }
        let is_unanswered = tenant.unanswered.contains(&session);
        let decision = tenant.guard.decide(event, seen);
        let before = body.get("action").and_then(Value::as_str).unwrap_or_default();
        if before == decision.action.name() {
            self.counts.same += 1;
            return Ok(None);
        }
        let is_unsure = is_unanswered
            || self.continuity.has_gap(run)
            || self.continuity.is_broken && self.is_cross_session(body, &decision);
        *if is_unsure { &mut self.counts.unsure } else { &mut self.counts.different } += 1;
        Ok(Some(Difference { record, before: before.to_owned(), decision, is_unsure }))
    }

    /// Whether the objections differ in a property that is judged across sessions.
    fn is_cross_session(&self, body: &Map<String, Value>, decision: &Decision) -> bool {
        let before = body.get("objections").and_then(Value::as_array).into_iter().flatten();
        let before: BTreeSet<&str> = before.filter_map(|objection| objection.get("property")?.as_str()).collect();
        let now: BTreeSet<&str> = decision.objections.iter().map(|objection| objection.property.id.as_str()).collect();
        before.symmetric_difference(&now).any(|id| self.wide.iter().any(|wide| wide.as_str() == *id))
    }
}

fn write_difference(args: &ReplayArgs, difference: &Difference, out: &mut dyn Write) -> anyhow::Result<()> {
    let Difference { record, before, decision, is_unsure } = difference;
    let now = decision.action.name();
    let objections = decision.objections.iter().map(|objection| objection.property.id.as_str());
    let because: Vec<&str> = objections.chain(decision.forecast.as_ref().map(|_| "forecast")).collect();
    match args.format {
        Listing::Text => {
            let because = if because.is_empty() { String::new() } else { format!(" ({})", because.join(", ")) };
            let unsure = if *is_unsure { "; not all that went before is known" } else { "" };
            writeln!(out, "record {record}: {before}, now {now}{because}{unsure}")?;
        }
        Listing::Jsonl => {
            let line = json!({
                "type": "change", "record": record, "before": before, "now": now, "objections": because,
                "unsure": is_unsure,
            });
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// Reports missing records.
fn write_gap(args: &ReplayArgs, first: u64, last: u64, out: &mut dyn Write) -> anyhow::Result<()> {
    match args.format {
        Listing::Text => writeln!(out, "gap: records {first} to {last} are missing")?,
        Listing::Jsonl => writeln!(out, "{}", json!({"type": "gap", "first": first, "last": last}))?,
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
        complaint::warn(&format!("{committed} records hold only commitments and cannot be replayed"));
    }
    let unsure_too = if *unsure > 0 { format!(", {unsure} uncertain") } else { String::new() };
    match args.format {
        Listing::Text => writeln!(out, "{same} decisions stay, {different} change, {erased} were erased{unsure_too}")?,
        Listing::Jsonl => {
            let summary = json!({
                "type": "summary", "same": same, "different": different, "unsure": unsure, "erased": erased,
                "committed": committed, "gaps": gaps,
            });
            writeln!(out, "{summary}")?;
        }
    }
    if *gaps > 0 {
        complaint::warn("records are missing; `lictor verify` names the first bad place");
        return Ok(Outcome::Unjudged);
    }
    Ok(match (different, unsure) {
        (0, 0) => Outcome::Compliant,
        (0, _) => Outcome::Inconclusive,
        _ => Outcome::Findings,
    })
}

/// Whether the decision is on an event, not on a call that waited for one.
fn is_event(body: &Map<String, Value>) -> bool {
    body.get("settles") != Some(&Value::Bool(true))
}

/// Parses the event of a payload.
fn parse_event(payload: &[u8]) -> anyhow::Result<Event> {
    let value = json::parse(payload).map_err(|error| anyhow::anyhow!("{error}"))?;
    let Json::Object(mut object) = value else { anyhow::bail!("expected an object") };
    let value = object.remove("event").context("there is no `event`")?;
    let file: Arc<str> = "ledger".into();
    let record = LogRecord { value, file, line: 0, index: 0 };
    record.stored_event().map_err(|fault| anyhow::anyhow!("{}", fault.message))
}
