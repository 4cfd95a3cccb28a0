//! Reads a decision back from its line, for an event that is delivered twice.

use std::sync::Arc;

use super::{Action, Cause, Decision, ForecastObjection, Objection, Redaction, Refusal};
use crate::Judge;
use crate::finding::{DecidedBy, Finding};
use lictor_event::record::LogRecord;
use lictor_event::{Event, Kind, parse_time};
use lictor_json::{self as json, Json};
use lictor_logic::{Chance, ChanceRange, WitnessBasis};
use lictor_policy::{Property, Response};
use lictor_predict::Score;

const ACTIONS: [Action; 5] = [Action::Forward, Action::Steer, Action::Redact, Action::Ask, Action::Block];

const RESPONSES: [Response; 6] =
    [Response::Observe, Response::Warn, Response::Steer, Response::Redact, Response::Ask, Response::Block];

impl Decision {
    /// Reads back the [line](Decision::line) of a decision on an event. Witnesses and gaps are in the line only, and
    /// objections of removed properties are dropped. A line that cannot be read is a block.
    pub fn from_line(line: &str, event: Event, judge: &Judge) -> Decision {
        json::parse_str(line).map_or_else(
            |_| Decision { action: Action::Block, ..Decision::on(event.clone(), Vec::new()) },
            |line| read(&line, event.clone(), judge),
        )
    }
}

fn read(line: &Json, event: Event, judge: &Judge) -> Decision {
    let text = |key: &str| line.text(key).map(Into::into);
    let list = |key: &str| line.get(key).and_then(Json::as_array).unwrap_or_default();
    let objections = list("objections").iter().filter_map(|it| objection(it, &event, judge)).collect();
    let redactions = list("redactions")
        .iter()
        .filter_map(|it| Some(Redaction { path: it.text("path")?.into(), what: it.text("what")?.into() }));
    let settled = list("settled").iter().map(|it| read(it, summary(it), judge));
    Decision {
        action: named(line.text("action"), ACTIONS, Action::name).unwrap_or(Action::Block),
        answered_by: None,
        approval_record: None,
        rewritten: line.get("rewritten").and_then(read_event).map(Box::new),
        redactions: redactions.collect(),
        forecast: line.get("forecast").map(|it| forecast(it, judge)),
        step: line.get("step").and_then(Json::as_i64).and_then(|step| u32::try_from(step).ok()),
        message: line.text("message").map(str::to_owned),
        approval_id: text("waits_as"),
        until: line.text("until").and_then(parse_time),
        settles: text("settles"),
        refused: line.text("refused").map(refusal),
        settled: settled.collect(),
        ..Decision::on(event, objections)
    }
}

fn named<T: Copy, const N: usize>(name: Option<&str>, all: [T; N], name_of: fn(T) -> &'static str) -> Option<T> {
    all.into_iter().find(|one| Some(name_of(*one)) == name)
}

fn read_event(value: &Json) -> Option<Event> {
    LogRecord { value: value.clone(), file: "-".into(), line: 0, index: 0 }.stored_event().ok()
}

/// Returns the event as far as a line describes it.
fn summary(line: &Json) -> Event {
    let text = |key: &str| line.text(key).map(Into::into);
    let mut event = Event::new(Kind::named(line.text("kind").unwrap_or_default()));
    (event.session, event.id, event.tool) = (text("session"), text("id"), text("tool"));
    event
}

fn objection(line: &Json, event: &Event, judge: &Judge) -> Option<Objection> {
    let id = line.text("property")?;
    let property = judge.properties().iter().find(|property| property.id == id)?;
    let why = match line.get("finding") {
        Some(finding) => Cause::Violation(Box::new(finding_of(finding, property, event))),
        None => Cause::Unknown,
    };
    Some(Objection {
        property: Arc::clone(property),
        response: named(line.text("response"), RESPONSES, Response::name).unwrap_or(Response::Block),
        why,
        waived_by: line.text("waived_by").map(Into::into),
    })
}

fn forecast(line: &Json, judge: &Judge) -> ForecastObjection {
    let number = |key: &str| match line.get(key)? {
        Json::Number(number) => Some(number.as_f64()),
        _ => None,
    };
    let names: Vec<&str> =
        line.get("properties").and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_str).collect();
    let find = |name: &&str| judge.properties().iter().find(|property| property.id == **name).cloned();
    ForecastObjection {
        response: named(line.text("response"), RESPONSES, Response::name).unwrap_or(Response::Block),
        score: number("chance").zip(number("most")).map(|(chance, most)| Score { most, chance }),
        within: line
            .get("within")
            .and_then(Json::as_i64)
            .and_then(|within| u32::try_from(within).ok())
            .unwrap_or_default(),
        properties: names.iter().filter_map(find).collect(),
    }
}

fn finding_of(line: &Json, property: &Arc<Property>, event: &Event) -> Finding {
    let decisive = [DecidedBy::Event, DecidedBy::Deadline, DecidedBy::End];
    Finding {
        property: Arc::clone(property),
        session: line.text("session").unwrap_or_default().into(),
        decided: named(line.text("decided"), decisive, DecidedBy::name).unwrap_or(DecidedBy::Event),
        step: line.get("step").and_then(Json::as_i64).and_then(|step| u32::try_from(step).ok()).unwrap_or_default(),
        source: event.source.clone(),
        kind: event.kind.clone(),
        tool: event.tool.clone(),
        binding: Vec::new(),
        witness: Vec::new(),
        basis: WitnessBasis::default(),
        risk: line.get("risk").and_then(read_risk),
        grounds: Vec::new(),
        owed: line.text("owed").map(str::to_owned),
        suppressed: line.text("suppressed").map(Into::into),
        fingerprint: line.text("fingerprint").unwrap_or_default().to_owned(),
    }
}

/// Reads a range as [`FindingView`](crate::finding::FindingView) writes it.
fn read_risk(value: &Json) -> Option<ChanceRange> {
    let end = |place: usize| match value.as_array()?.get(place)? {
        Json::Number(number) => Chance::new(number.as_f64()).ok(),
        _ => None,
    };
    Some(ChanceRange { least: end(0)?, most: end(1)? })
}

fn refusal(text: &str) -> Refusal {
    let plain = [Refusal::Late, Refusal::Ended, Refusal::Alone];
    let known = plain.into_iter().find(|refusal| refusal.to_string() == text);
    known.unwrap_or_else(|| Refusal::Denied(text.strip_prefix("denied by ").unwrap_or(text).into()))
}
