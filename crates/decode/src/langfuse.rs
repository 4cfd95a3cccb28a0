//! Langfuse: observations as its API and exports give them, and batches as its libraries send them.
//!
//! In a batch an observation is created and then updated by its id; what an update leaves out stays. A generation is a
//! call of a model; a tool, a retriever and a check are what they are called. A plain span is anything a program wanted
//! to time: it is taken as a call of a tool if it has an input and no observation below it, else as a frame. An event is
//! told as it is, under the kind `event`.

use std::collections::{HashMap, HashSet};

use super::dialect::{self, take_any};
use super::flattened::opened;
use super::spans::{self, Span, Spans, Work};
use super::{DecodedEvents, Decoder, LogRecord, unknown};
use lictor_event::{Arguments, Event, Kind, Source, parse_time};
use lictor_json::{Json, Object, Text};

/// The types of observations.
const TYPES: [&str; 10] =
    ["SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"];

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
    value.text("type").is_some_and(|sort| TYPES.contains(&sort))
        && ["traceId", "startTime"].iter().all(|key| value.get(key).is_some())
}

fn is_ingestion(value: &Json) -> bool {
    value.get("body").is_some_and(|body| body.as_object().is_some())
        && value.text("type").is_some_and(|sort| ingested(sort).is_some())
}

/// The type of what an event of a batch is about: `GENERATION` for `generation-update`.
fn ingested(sort: &str) -> Option<String> {
    let (name, change) = sort.rsplit_once('-')?;
    let name = name.to_ascii_uppercase();
    let known = TYPES.contains(&name.as_str()) || matches!(name.as_str(), "TRACE" | "SCORE" | "OBSERVATION" | "SDK");
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
            return out.faults.push(unknown::fault(&record, &record.value));
        }
        let source = record.source();
        let Json::Object(mut value) = record.value else { return };
        let list = match take_any(&mut value, &["batch", "observations", "data"]) {
            Some(Json::Array(list)) => {
                self.trace(&value);
                list
            }
            _ => vec![Json::Object(value)],
        };
        for item in list {
            match item {
                Json::Object(item) if is_ingestion(&Json::Object(item.clone())) => self.ingest(item, &source),
                Json::Object(item) => self.observe(item, &source),
                _ => out.faults.push(spans::fault(&source, "an element of a batch is no object".to_owned())),
            }
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        let observations = std::mem::take(&mut self.observations);
        let above = |(observation, _): &(Object, Source)| text(observation, "parentObservationId");
        let parents: HashSet<Text> = observations.iter().filter_map(above).collect();
        let mut told = Spans::default();
        for (mut observation, source) in observations {
            let id = text(&observation, "id");
            let trace = text(&observation, "traceId");
            let is_parent = id.as_ref().is_some_and(|id| parents.contains(id));
            let session = text(&observation, "sessionId");
            let session = session.or_else(|| trace.as_ref().and_then(|trace| self.sessions.get(trace).cloned()));
            let sort = text(&observation, "type").unwrap_or_default();
            let time = |key: &str| observation.get(key).and_then(Json::as_str).and_then(parse_time);
            let (start, end) = (time("startTime"), time("endTime"));
            let mut unread = Vec::new();
            let span = Span {
                parent: text(&observation, "parentObservationId"),
                agent: text(&observation, "name").filter(|_| sort == "AGENT"),
                work: work(&sort, &mut observation, is_parent, &mut unread),
                // An event has no end, and needs none.
                end: end.or(start.filter(|_| sort == "EVENT")),
                id,
                trace,
                session,
                start,
                source: source.clone(),
            };
            out.faults.extend(unread.into_iter().map(|message| spans::fault(&source, message)));
            told.push(span);
        }
        told.tell(out);
    }
}

impl LangfuseDecoder {
    fn ingest(&mut self, mut item: Object, source: &Source) {
        let sort = text(&item, "type").and_then(|sort| ingested(&sort)).unwrap_or_default();
        let time = item.remove("timestamp");
        let Some(Json::Object(mut body)) = item.remove("body") else { return };
        match sort.as_str() {
            "TRACE" => self.trace(&body),
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
                self.observe(body, source);
            }
        }
    }

    /// Takes an observation, or an update of one.
    fn observe(&mut self, observation: Object, source: &Source) {
        let id = text(&observation, "id");
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

    fn trace(&mut self, trace: &Object) {
        if let (Some(id), Some(session)) = (text(trace, "id"), text(trace, "sessionId")) {
            self.sessions.insert(id, session);
        }
    }
}

fn text(object: &Object, key: &str) -> Option<Text> {
    object.get(key)?.as_str().filter(|text| !text.is_empty()).map(Text::from)
}

/// What an observation shows. What cannot be read is told.
fn work(sort: &str, observation: &mut Object, is_parent: bool, unread: &mut Vec<String>) -> Work {
    let name = text(observation, "name").unwrap_or_default();
    let failure = (text(observation, "level").as_deref() == Some("ERROR"))
        .then(|| text(observation, "statusMessage").unwrap_or_else(|| Text::from("failed")));
    let input = observation.remove("input").unwrap_or(Json::Null);
    let output = observation.remove("output").unwrap_or(Json::Null);
    match sort {
        "GENERATION" => model(&name, observation, (input, output), failure, unread),
        "TOOL" => tool(name, observation, (input, output), failure),
        "SPAN" if !is_parent && !input.is_null() => tool(name, observation, (input, output), failure),
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
            event.args = (!input.is_null()).then(|| Arguments::Value(opened(input)));
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

fn model(
    name: &str,
    observation: &mut Object,
    (asked, said): (Json, Json),
    failure: Option<Text>,
    unread: &mut Vec<String>,
) -> Work {
    let (mut input, mut output) = (Vec::new(), Vec::new());
    let mut asked = opened(asked);
    let mut tools = observation.remove("toolDefinitions").filter(|tools| !tools.is_null());
    if let Json::Object(request) = &mut asked {
        tools = request.remove("tools").filter(|tools| !tools.is_null()).or(tools);
        if let Some(messages) = take_any(request, &["messages", "input", "prompt"]) {
            asked = messages;
        }
    }
    input.extend(tools.map(opened).map(spans::definitions));
    let mut known = dialect::read_said(asked, Kind::UserMessage, &mut input);
    let mut said = opened(said);
    if let Json::Object(response) = &mut said
        && let Some(messages) = take_any(response, &["choices", "output", "messages"])
    {
        said = messages;
    }
    known &= match said {
        // A model that was asked for JSON answers a value that is no message.
        Json::Object(value)
            if value.get("role").is_none() && value.get("content").is_none() && value.get("message").is_none() =>
        {
            dialect::read_said(
                Json::String(Json::Object(value).to_string().into()),
                Kind::AssistantMessage,
                &mut output,
            )
        }
        said => dialect::read_said(with_role(said), Kind::AssistantMessage, &mut output),
    };
    if let Some(reason) = failure {
        output.push(Event { text: Some(reason), failed: true, ..Event::new(Kind::Error) });
    }
    if !known {
        unread.push(format!("the generation `{name}` holds a message of an unknown shape, which is not judged"));
    }
    Work::Model { input, output }
}

/// What a model says may leave out that it does.
fn with_role(said: Json) -> Json {
    match said {
        Json::Object(mut message) if message.get("role").is_none() && message.get("message").is_none() => {
            message.insert("role", "assistant");
            Json::Object(message)
        }
        said => said,
    }
}

fn tool(name: Text, observation: &Object, (input, output): (Json, Json), failure: Option<Text>) -> Work {
    let mut call = Event { tool: Some(name), ..Event::new(Kind::ToolCall) };
    let metadata = observation.get("metadata").and_then(Json::as_object);
    call.id = metadata.and_then(|metadata| text(metadata, "tool_call_id"));
    call.args = Some(match input {
        Json::String(words) if !words.trim_start().starts_with(['{', '[']) => Arguments::Value(Json::String(words)),
        input => Arguments::from_json(input),
    });
    let ended = observation.get("endTime").is_some_and(|time| !time.is_null());
    let answered = ended || failure.is_some() || !output.is_null();
    let mut answer = Event { id: call.id.clone(), tool: call.tool.clone(), ..Event::new(Kind::ToolResult) };
    dialect::answer(&mut answer, output);
    answer.failed = failure.is_some();
    if answer.text.is_none() && answer.result.is_none() {
        answer.text = failure;
    }
    Work::Tool { call: Box::new(call), answer: answered.then(|| Box::new(answer)) }
}
