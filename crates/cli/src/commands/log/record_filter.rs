//! Which records of a ledger a command looks at: by session, person, property, action, kind and time.

use std::collections::HashSet;

use anyhow::{Result, bail};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lictor::glob::Glob;
use lictor_ledger::{Reader, Record, RevealedPayload};
use serde_json::{Map, Value};

use crate::args::RecordFilterArgs;
use crate::subject_names::names_in_records;

/// The records that a command looks at. Without conditions these are all.
#[derive(Debug, Default)]
pub(super) struct RecordFilter {
    session: Option<SessionRecords>,
    /// The pseudonyms of a person.
    subjects: Option<Vec<String>>,
    property: Option<Glob>,
    action: Option<String>,
    kind: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// What the records of one session have in common.
#[derive(Debug, Default)]
struct SessionRecords {
    /// Its runs.
    runs: HashSet<String>,
    /// Its exchanges with a model: their records name no run.
    exchanges: HashSet<String>,
}

impl RecordFilter {
    /// Returns the filter of the arguments. A session and a person are looked up in the ledger.
    pub(super) fn new(args: &RecordFilterArgs, reader: &Reader) -> Result<RecordFilter> {
        Ok(RecordFilter {
            session: args.session.as_deref().map(|name| SessionRecords::find(name, reader)).transpose()?,
            subjects: args.subject.as_deref().map(|person| find_pseudonyms(person, reader)).transpose()?,
            property: args.property.as_deref().map(Glob::new),
            action: args.action.clone(),
            kind: args.kind.clone(),
            since: args.since.as_deref().map(|text| parse_moment("--since", text)).transpose()?,
            until: args.until.as_deref().map(|text| parse_moment("--until", text)).transpose()?,
        })
    }

    /// Whether a record fits all conditions. Notices of the ledger fit those about time only.
    pub(super) fn fits(&self, record: &Record) -> bool {
        self.fits_time(record)
            && self.subjects.as_ref().is_none_or(|known| record.subjects.iter().any(|one| known.contains(one)))
            && match &record.body {
                Some(body) => self.fits_body(body),
                None => !self.asks_for_body(),
            }
    }

    fn fits_time(&self, record: &Record) -> bool {
        let Ok(time) = record.time.parse::<Timestamp>() else { return false };
        self.since.is_none_or(|since| time >= since) && self.until.is_none_or(|until| time < until)
    }

    fn asks_for_body(&self) -> bool {
        self.session.is_some() || self.property.is_some() || self.action.is_some() || self.kind.is_some()
    }

    fn fits_body(&self, body: &Map<String, Value>) -> bool {
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        self.session.as_ref().is_none_or(|session| session.has(body))
            && self.action.as_deref().is_none_or(|action| text("action") == Some(action))
            && self.kind.as_deref().is_none_or(|kind| text("kind") == Some(kind) || text("type") == Some(kind))
            && self.property.as_ref().is_none_or(|glob| properties(body).any(|property| glob.matches(property)))
    }
}

impl SessionRecords {
    /// Finds the records of a session by its name, which only sealed content has, or by its name in records.
    fn find(name: &str, reader: &Reader) -> Result<SessionRecords> {
        let (mut found, mut has_unreadable) = (SessionRecords::default(), false);
        for record in reader.records(0)? {
            let record = record?;
            let Some(body) = &record.body else { continue };
            let text = |key: &str| body.get(key).and_then(Value::as_str);
            let is_named = text("run") == Some(name) || text("session") == Some(name);
            let is_decision = text("type") == Some("decision") && text("run").is_some();
            if is_named || is_decision && is_of_session(name, reader, &record, &mut has_unreadable)? {
                found.runs.extend(text("run").map(str::to_owned));
                found.exchanges.extend(text("exchange").map(str::to_owned));
            }
        }
        if found.runs.is_empty() && found.exchanges.is_empty() {
            let hint = match has_unreadable {
                true => {
                    "hint: records do not say what a session is called, and not all content is kept; give the `run` of one \
                     of its records, or the `x-lictor-session-name` of a reply"
                }
                false => "hint: `lictor log show --reveal` shows the sessions of events",
            };
            bail!("--session {name}: no record of such a session\n{hint}");
        }
        Ok(found)
    }

    fn has(&self, body: &Map<String, Value>) -> bool {
        let is_in = |key: &str, known: &HashSet<String>| {
            body.get(key).and_then(Value::as_str).is_some_and(|name| known.contains(name))
        };
        is_in("run", &self.runs) || is_in("exchange", &self.exchanges)
    }
}

/// Whether the content of a decision says that its event is of a session.
fn is_of_session(name: &str, reader: &Reader, record: &Record, has_unreadable: &mut bool) -> Result<bool> {
    let RevealedPayload::Content(content) = reader.reveal(record.index)? else {
        *has_unreadable = true;
        return Ok(false);
    };
    let content: Value = serde_json::from_slice(&content).unwrap_or_default();
    Ok(content.pointer("/event/session").and_then(Value::as_str) == Some(name))
}

/// Returns the pseudonyms of a person.
fn find_pseudonyms(person: &str, reader: &Reader) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for name in names_in_records(person) {
        found.extend(reader.pseudonym(&name)?);
    }
    if found.is_empty() {
        bail!("--subject {person}: no record names this person, or they were erased");
    }
    Ok(found)
}

/// Returns the properties that a record is about: those that object, that are late, and that a forecast puts at risk.
fn properties(body: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let objections = body.get("objections").and_then(Value::as_array).into_iter().flatten();
    let objections = objections.filter_map(|objection| objection.get("property")?.as_str());
    let at_risk = body.get("forecast").and_then(|forecast| forecast.get("at_risk")?.as_array()).into_iter().flatten();
    let at_risk = at_risk.filter_map(Value::as_str);
    objections.chain(at_risk).chain(body.get("property").and_then(Value::as_str))
}

/// Parses a time, or a day, which begins at midnight in UTC.
fn parse_moment(option: &str, text: &str) -> Result<Timestamp> {
    let day = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    match text.parse().ok().or_else(day) {
        Some(moment) => Ok(moment),
        None => bail!("{option} {text}: not a time; write it like 2026-05-01 or 2026-05-01T10:00:00Z"),
    }
}
