//! Langfuse: observations as its API, its exports and its blob storage give them, and batches as its libraries send them.
//!
//! In a batch an observation is created and then updated by its id; an update changes only the members it has. A
//! generation is a call of a model; a tool, a retriever and a check are what they are called. A plain span is any timed
//! work: it counts as a tool call if its attributes or its output say so (see [`tool_span`]), else as a frame. An event
//! becomes an event of the kind `event`.

mod generation;
mod tool_span;

use std::collections::{HashMap, HashSet};

use super::attributes::parse_embedded;
use super::dialect::take_any;
use super::spans::{self, Span, Spans, Work};
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_event::{Arguments, Event, Kind, Source};
use lictor_json::{Json, Object, Text};

/// The types of observations.
const OBSERVATION_TYPES: [&str; 10] =
    ["SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"];

/// Columns of an export to blob storage, and what the API calls them.
const COLUMNS: [(&str, &str); 7] = [
    ("trace_id", "traceId"),
    ("start_time", "startTime"),
    ("end_time", "endTime"),
    ("parent_observation_id", "parentObservationId"),
    ("session_id", "sessionId"),
    ("status_message", "statusMessage"),
    ("tool_definitions", "toolDefinitions"),
];

/// Whether a record is an observation, a trace, or a batch of events about them.
pub(super) fn recognises(value: &Json) -> bool {
    let listed = |key: &str, is: fn(&Json) -> bool| {
        value.get(key).and_then(Json::as_array).is_some_and(|list| list.first().is_some_and(is))
    };
    is_observation(value)
        || is_ingestion(value)
        || listed("batch", is_ingestion)
        || listed("observations", is_observation)
        || listed("data", is_observation)
}

fn is_observation(value: &Json) -> bool {
    value.text("type").is_some_and(|sort| OBSERVATION_TYPES.contains(&sort))
        && [["traceId", "startTime"], ["trace_id", "start_time"]]
            .iter()
            .any(|keys| keys.iter().all(|key| value.get(key).is_some()))
}

fn is_ingestion(value: &Json) -> bool {
    value.get("body").is_some_and(|body| body.as_object().is_some())
        && value.text("type").is_some_and(|sort| ingestion_type(sort).is_some())
}

/// Returns the observation type of a batch event: `GENERATION` for `generation-update`.
fn ingestion_type(sort: &str) -> Option<String> {
    let (name, change) = sort.rsplit_once('-')?;
    let name = name.to_ascii_uppercase();
    let known = OBSERVATION_TYPES.contains(&name.as_str())
        || matches!(name.as_str(), "TRACE" | "SCORE" | "OBSERVATION" | "SDK");
    (known && matches!(change, "create" | "update" | "log")).then_some(name)
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct LangfuseDecoder {
    observations: Vec<(Object, Source)>,
    places: HashMap<Text, usize>,
    /// The session of each trace.
    sessions: HashMap<Text, Text>,
}

impl Decoder for LangfuseDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        if !recognises(&record.value) {
            return out.faults.push(unknown_record::describe(&record, &record.value));
        }
        let source = record.source();
        let Json::Object(mut value) = record.value else { return };
        let list = match take_any(&mut value, &["batch", "observations", "data"]) {
            Some(Json::Array(list)) => {
                self.note_session(&value);
                // An export holds the trace beside its observations.
                if let Some(Json::Object(trace)) = value.get("trace") {
                    self.note_session(trace);
                }
                list
            }
            _ => vec![Json::Object(value)],
        };
        for item in list {
            match item {
                Json::Object(item) if is_ingestion(&Json::Object(item.clone())) => self.take_ingestion(item, &source),
                Json::Object(item) => self.merge_observation(item, &source),
                _ => out.faults.push(spans::span_fault(
                    &source,
                    "an element of a batch is not an object; it is skipped".to_owned(),
                )),
            }
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        let observations = std::mem::take(&mut self.observations);
        let above = |(observation, _): &(Object, Source)| read_text(observation, "parentObservationId");
        let parents: HashSet<Text> = observations.iter().filter_map(above).collect();
        let mut spans = Spans::default();
        for (mut observation, source) in observations {
            let id = read_text(&observation, "id");
            let trace = read_text(&observation, "traceId");
            let is_parent = id.as_ref().is_some_and(|id| parents.contains(id));
            let session = read_text(&observation, "sessionId");
            let session = session.or_else(|| trace.as_ref().and_then(|trace| self.sessions.get(trace).cloned()));
            let sort = read_text(&observation, "type").unwrap_or_default();
            let time = |key: &str| observation.get(key).and_then(spans::read_utc_time);
            let (start, end) = (time("startTime"), time("endTime"));
            let mut unread = Vec::new();
            let span = Span {
                parent: read_text(&observation, "parentObservationId"),
                agent: read_text(&observation, "name").filter(|_| sort == "AGENT"),
                work: read_work(&sort, &mut observation, is_parent, &mut unread),
                // An event has no end, and needs none.
                end: end.or(start.filter(|_| sort == "EVENT")),
                id,
                trace,
                session,
                start,
                source: source.clone(),
            };
            out.faults.extend(unread.into_iter().map(|message| spans::span_fault(&source, message)));
            spans.push(span);
        }
        spans.emit(out);
    }
}

impl LangfuseDecoder {
    fn take_ingestion(&mut self, mut item: Object, source: &Source) {
        let sort = read_text(&item, "type").and_then(|sort| ingestion_type(&sort)).unwrap_or_default();
        let time = item.remove("timestamp");
        let Some(Json::Object(mut body)) = item.remove("body") else { return };
        match sort.as_str() {
            "TRACE" => self.note_session(&body),
            "SCORE" | "SDK" => {}
            sort => {
                if sort != "OBSERVATION" {
                    body.insert("type", sort);
                }
                if let (None, Some(time)) = (body.get("startTime"), time)
                    && sort == "EVENT"
                {
                    body.insert("startTime", time);
                }
                self.merge_observation(body, source);
            }
        }
    }

    /// Adds an observation, or merges an update into one.
    fn merge_observation(&mut self, mut observation: Object, source: &Source) {
        // Blob storage holds texts as JSON too, in their quotes.
        if observation.get(COLUMNS[0].0).is_some() {
            for key in ["input", "output"] {
                if observation.get(key).and_then(Json::as_str).is_some_and(|text| text.starts_with('"'))
                    && let Some(quoted) = observation.remove(key)
                {
                    observation.insert(key, parse_embedded(quoted));
                }
            }
        }
        for (column, name) in COLUMNS {
            if let Some(value) = observation.remove(column).filter(|_| observation.get(name).is_none()) {
                observation.insert(name, value);
            }
        }
        let id = read_text(&observation, "id");
        if let Some(&place) = id.as_ref().and_then(|id| self.places.get(id)) {
            let known = &mut self.observations[place].0;
            for (key, value) in observation.into_members() {
                if !value.is_null() {
                    known.insert(key, value);
                }
            }
            return;
        }
        if let Some(id) = id {
            self.places.insert(id, self.observations.len());
        }
        self.observations.push((observation, source.clone()));
    }

    fn note_session(&mut self, trace: &Object) {
        if let (Some(id), Some(session)) = (read_text(trace, "id"), read_text(trace, "sessionId")) {
            self.sessions.insert(id, session);
        }
    }
}

fn read_text(object: &Object, key: &str) -> Option<Text> {
    object.get(key)?.as_str().filter(|text| !text.is_empty()).map(Text::from)
}

/// Returns the work of an observation. Unreadable parts go to `unread`.
fn read_work(sort: &str, observation: &mut Object, is_parent: bool, unread: &mut Vec<String>) -> Work {
    let name = read_text(observation, "name").unwrap_or_default();
    let failure = (read_text(observation, "level").as_deref() == Some("ERROR"))
        .then(|| read_text(observation, "statusMessage").unwrap_or_else(|| Text::from("failed")));
    let input = observation.remove("input").unwrap_or(Json::Null);
    let output = observation.remove("output").unwrap_or(Json::Null);
    match sort {
        "GENERATION" => generation::read_model(&name, observation, (input, output), failure, unread),
        "TOOL" => tool_span::read_tool(name, observation, (input, output), failure),
        "SPAN" if tool_span::is_tool_call(observation, (&input, &output), is_parent) => {
            tool_span::read_tool(name, observation, (input, output), failure)
        }
        "RETRIEVER" => {
            let mut event = Event { tool: Some(name), failed: failure.is_some(), ..Event::new(Kind::Retrieval) };
            event.text = Some(match input {
                Json::String(query) => query,
                input => Text::from(input.to_string()),
            });
            event.result = (!output.is_null()).then_some(output);
            Work::End(Box::new(event))
        }
        "GUARDRAIL" => {
            let mut event = spans::policy_check(Some(name), failure.is_some());
            event.result = (!output.is_null()).then_some(output);
            event.text = failure;
            Work::End(Box::new(event))
        }
        "EVENT" => {
            let mut event = Event { text: Some(name), ..Event::new(Kind::Other(Text::from("event"))) };
            event.args = (!input.is_null()).then(|| Arguments::Value(parse_embedded(input)));
            event.result = (!output.is_null()).then_some(output);
            event.failed = failure.is_some();
            Work::Start(Box::new(event))
        }
        "SPAN" | "AGENT" | "CHAIN" | "EVALUATOR" | "EMBEDDING" => Work::Frame,
        other => {
            unread.push(format!("the observation `{name}` is of the unknown type `{other}`, so it is not judged"));
            Work::Frame
        }
    }
}
