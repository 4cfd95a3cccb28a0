//! Traces of the OpenAI Agents SDK, as its exporter sends them.
//!
//! A trace names the workflow and the group (the session); each span has its own type of data. The input of a model is
//! in `generation` spans only; `response` spans of the standard exporter hold only an id.

use std::collections::HashMap;

use super::dialect;
use super::spans::{self, Span, Spans, Work};
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_event::{Arguments, Event, Kind, Source, parse_time};
use lictor_json::{Json, Object, Text};

/// Whether a record is a trace or a span, or a list of them as it was sent.
pub(super) fn recognises(value: &Json) -> bool {
    let listed = value.get("data").and_then(Json::as_array);
    is_part(value) || listed.is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_part))
}

fn is_part(value: &Json) -> bool {
    match value.text("object") {
        Some("trace") => value.get("workflow_name").is_some() || value.get("group_id").is_some(),
        Some("trace.span") => value.get("span_data").is_some(),
        _ => false,
    }
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct OpenaiAgentsDecoder {
    spans: Vec<(Object, Source)>,
    /// The group of each trace.
    groups: HashMap<Text, Text>,
}

impl Decoder for OpenaiAgentsDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        if !recognises(&record.value) {
            return out.faults.push(unknown_record::describe(&record, &record.value));
        }
        let source = record.source();
        let Json::Object(mut value) = record.value else { return };
        let parts = match value.remove("data") {
            Some(Json::Array(parts)) => parts,
            _ => vec![Json::Object(value)],
        };
        for part in parts {
            let Json::Object(part) = part else { continue };
            if part.get("span_data").is_some() {
                self.spans.push((part, source.clone()));
            } else if let (Some(id), Some(group)) = (read_text(&part, "id"), read_text(&part, "group_id")) {
                self.groups.insert(id, group);
            }
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        let mut spans = Spans::default();
        for (mut span, source) in std::mem::take(&mut self.spans) {
            let data = match span.remove("span_data") {
                Some(Json::Object(data)) => data,
                _ => Object::new(),
            };
            let trace = read_text(&span, "trace_id");
            let time = |key: &str| span.get(key).and_then(Json::as_str).and_then(parse_time);
            let failure = span.get("error").filter(|error| !error.is_null()).map(|error| match error.text("message") {
                Some(message) => Text::from(message),
                None => Text::from(error.to_string()),
            });
            let mut unread = Vec::new();
            spans.push(Span {
                id: read_text(&span, "id"),
                parent: read_text(&span, "parent_id"),
                session: trace.as_ref().and_then(|trace| self.groups.get(trace).cloned()),
                agent: find_agent(&data),
                start: time("started_at"),
                end: time("ended_at"),
                work: read_work(data, failure, &mut unread),
                trace,
                source: source.clone(),
            });
            out.faults.extend(unread.into_iter().map(|message| spans::span_fault(&source, message)));
        }
        spans.emit(out);
    }
}

fn read_text(object: &Object, key: &str) -> Option<Text> {
    object.get(key)?.as_str().filter(|text| !text.is_empty()).map(Text::from)
}

/// Returns the agent of a span: its own name, or the agent whose turn it is.
fn find_agent(data: &Object) -> Option<Text> {
    match read_text(data, "type").as_deref() {
        Some("agent") => read_text(data, "name"),
        Some("handoff") => read_text(data, "from_agent"),
        Some("custom") => data.get("data").and_then(|inner| inner.text("agent_name")).map(Text::from),
        _ => None,
    }
}

/// Returns the work of a span. Unreadable parts go to `unread`.
fn read_work(mut data: Object, failure: Option<Text>, unread: &mut Vec<String>) -> Work {
    let sort = read_text(&data, "type").unwrap_or_default();
    let start = |event: Event| Work::Start(Box::new(event));
    match sort.as_str() {
        "agent" | "speech_group" => Work::Frame,
        "function" => read_tool(data, failure),
        "handoff" => start(Event { to: read_text(&data, "to_agent"), ..Event::new(Kind::Handoff) }),
        "guardrail" => {
            let triggered = data.get("triggered").and_then(Json::as_bool) == Some(true);
            Work::End(Box::new(spans::policy_check(read_text(&data, "name"), triggered)))
        }
        "mcp_tools" => {
            let mut event = spans::definitions(data.remove("result").unwrap_or(Json::Array(Vec::new())));
            if let Some(server) = read_text(&data, "server") {
                event.more.insert("server", server);
            }
            start(event)
        }
        "generation" | "response" => read_model(&sort, data, failure, unread),
        // Transcripts and speech are in the conversation as well.
        "transcription" => {
            Work::Model { input: Vec::new(), output: speech_events(Kind::UserMessage, read_text(&data, "output")) }
        }
        "speech" => {
            Work::Model { input: speech_events(Kind::AssistantMessage, read_text(&data, "input")), output: Vec::new() }
        }
        "custom" if data.get("data").and_then(|inner| inner.get("sdk_span_type")).is_some() => Work::Frame,
        "custom" => {
            let mut event = Event { text: read_text(&data, "name"), ..Event::new(Kind::Other(Text::from("custom"))) };
            event.result = data.remove("data").filter(|inner| !inner.is_null());
            event.failed = failure.is_some();
            start(event)
        }
        other => {
            unread.push(format!("a span is of the unknown type `{other}`, so it is not judged"));
            Work::Frame
        }
    }
}

fn speech_events(speaker: Kind, text: Option<Text>) -> Vec<Event> {
    text.into_iter().map(|text| Event { text: Some(text), ..Event::new(speaker.clone()) }).collect()
}

fn read_tool(mut data: Object, failure: Option<Text>) -> Work {
    let mut call = Event { tool: read_text(&data, "name"), ..Event::new(Kind::ToolCall) };
    call.args = data.remove("input").filter(|input| !input.is_null()).map(Arguments::from_json);
    if let Some(server) = data.get("mcp_data").and_then(|server| server.text("server")) {
        call.more.insert("server", server);
    }
    let mut answer = Event { tool: call.tool.clone(), ..Event::new(Kind::ToolResult) };
    dialect::fill_answer(&mut answer, data.remove("output").unwrap_or(Json::Null));
    if let Some(reason) = failure {
        answer.failed = true;
        answer.text = answer.text.or(Some(reason));
    }
    Work::Tool { call: Box::new(call), answer: Some(Box::new(answer)) }
}

fn read_model(sort: &str, mut data: Object, failure: Option<Text>, unread: &mut Vec<String>) -> Work {
    let (mut input, mut output) = (Vec::new(), Vec::new());
    let mut take = |key: &str| data.remove(key).unwrap_or(Json::Null);
    let mut known = dialect::read_said(take("input"), Kind::UserMessage, &mut input);
    let said = match take("response") {
        Json::Object(mut response) => response.remove("output").unwrap_or(Json::Null),
        _ => take("output"),
    };
    known &= dialect::read_said(said, Kind::AssistantMessage, &mut output);
    if let Some(reason) = failure {
        output.push(Event { text: Some(reason), failed: true, ..Event::new(Kind::Error) });
    }
    if !known {
        unread.push(format!("a span of type `{sort}` holds a message of an unknown shape, which is not judged"));
    }
    Work::Model { input, output }
}
