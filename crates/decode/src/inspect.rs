//! Inspect logs: an evaluation with its samples, or the files of an archive, a sample each.
//!
//! A sample is a session. Its messages tell its story. Calls that only its events show, such as those of an agent below
//! the first one, follow the messages. The events also give the times of calls and answers. Long texts are kept apart
//! as attachments, and are put back in their places.

use std::collections::{HashMap, HashSet};

use lictor_logic::Time;

use super::chat;
use super::conversation::Stamp;
use super::dialect::fill_answer;
use super::message_log::{Part, Reading, tool_result};
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_event::{Event, Kind, parse_time};
use lictor_json::{Json, Text};

/// How a text that is kept apart is named.
const ATTACHMENT: &str = "attachment://";

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_log(value) || is_sample(value)
}

fn is_log(value: &Json) -> bool {
    value.at("eval.task").is_some() && value.get("version").is_some()
}

fn is_sample(value: &Json) -> bool {
    value.get("epoch").and_then(Json::as_i64).is_some()
        && value.get("target").is_some()
        && value.get("messages").and_then(Json::as_array).is_some()
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct InspectDecoder {}

impl Decoder for InspectDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let samples = match &record.value {
            log if is_log(log) => log.get("samples").and_then(Json::as_array).unwrap_or_default(),
            sample if is_sample(sample) => std::slice::from_ref(sample),
            other => return out.faults.push(unknown_record::describe(&record, other)),
        };
        for sample in samples {
            match is_sample(sample) {
                true => read_sample(sample, &record, out),
                false => out.faults.push(unknown_record::describe(&record, sample)),
            }
        }
    }
}

fn read_sample(sample: &Json, record: &LogRecord, out: &mut DecodedEvents) {
    let plain = |key: &str| sample.get(key).map_or_else(String::new, ToString::to_string).replace('"', "");
    let session = Text::from(format!("sample-{}-epoch-{}", plain("id"), plain("epoch")));
    let mut reading = Reading::default();
    let mut start = Event::new(Kind::SessionStart);
    for key in ["id", "epoch", "target", "scores"] {
        if let Some(value) = sample.get(key).filter(|value| !value.is_null()) {
            start.more.insert(key, value.clone());
        }
    }
    reading.push(start);
    let listed = |key: &str| sample.get(key).and_then(Json::as_array).unwrap_or_default();
    let attachments = Attachments { texts: sample.get("attachments") };
    for message in listed("messages") {
        read_message(&attachments.restore(message), &mut reading);
    }
    let calls = list_tool_events(listed("events"));
    let known: HashSet<Text> = reading.events().iter().filter_map(|event| event.id.clone()).collect();
    for call in calls.iter().filter(|call| call.text("id").is_none_or(|id| !known.contains(id))) {
        read_tool_event(&attachments.restore(call), &mut reading);
    }
    if let Some(reason) = sample.at("error.message").and_then(Json::as_str) {
        reading.push(Event { text: Some(reason.into()), failed: true, ..Event::new(Kind::Error) });
    }
    let times: HashMap<&str, &Json> = calls.iter().filter_map(|call| Some((call.text("id")?, *call))).collect();
    reading.emit_run(&session, &Stamp::new(record, None), record, out, |event| {
        let call = times.get(event.id.as_deref()?)?;
        read_call_time(call, &event.kind)
    });
}

/// Returns when a call began, or when it was answered.
fn read_call_time(call: &Json, kind: &Kind) -> Option<Time> {
    let key = if *kind == Kind::ToolCall { "timestamp" } else { "completed" };
    call.text(key).and_then(parse_time)
}

/// Returns the events of calls. Older versions keep the events of an agent inside the call that runs it.
fn list_tool_events(events: &[Json]) -> Vec<&Json> {
    let mut found = Vec::new();
    let mut waiting: Vec<&Json> = events.iter().rev().collect();
    while let Some(event) = waiting.pop() {
        if event.text("event") == Some("tool") {
            found.push(event);
        }
        waiting.extend(event.get("events").and_then(Json::as_array).unwrap_or_default().iter().rev());
    }
    found
}

fn read_message(message: &Json, reading: &mut Reading) {
    let content = message.get("content").unwrap_or(&Json::Null);
    match message.text("role") {
        Some("system") => reading.push_content(Kind::SystemMessage, content, read_part),
        Some("user") => reading.push_content(Kind::UserMessage, content, read_part),
        Some("assistant") => {
            reading.push_content(Kind::AssistantMessage, content, read_part);
            for call in message.get("tool_calls").and_then(Json::as_array).unwrap_or_default() {
                reading.push(chat::tool_call(call.text("id"), call.text("function"), call.get("arguments")));
            }
        }
        Some("tool") => {
            let event = tool_result(message.text("tool_call_id"), message.text("function"));
            push_answer(event, content, message, reading);
        }
        _ => reading.push_unknown(message),
    }
}

fn read_tool_event(call: &Json, reading: &mut Reading) {
    let (id, tool) = (call.text("id"), call.text("function"));
    reading.push(chat::tool_call(id, tool, call.get("arguments")));
    if call.get("pending") != Some(&Json::Bool(true)) {
        push_answer(tool_result(id, tool), call.get("result").unwrap_or(&Json::Null), call, reading);
    }
}

/// Adds the answer of a tool, with the error that it ended in.
fn push_answer(mut event: Event, content: &Json, from: &Json, reading: &mut Reading) {
    fill_answer(&mut event, content.clone());
    if let Some(error) = from.get("error").filter(|error| !error.is_null()) {
        event.failed = true;
        if event.text.as_ref().is_none_or(|text| text.is_empty()) && event.result.is_none() {
            event.text = error.text("message").or(error.as_str()).map(Text::from);
        }
    }
    reading.push(event);
}

fn read_part(part: &Json) -> Part {
    match part.text("type") {
        Some("text") => Part::from_text(part.text("text")),
        Some("reasoning") => Part::Silent,
        Some(sort @ ("image" | "audio" | "video" | "data" | "document")) => Part::Attachment(Text::from(sort)),
        // A tool that the vendor of the model runs.
        Some("tool_use") => {
            let (id, tool) = (part.text("id"), part.text("name").or_else(|| part.text("tool_type")));
            let mut answer = tool_result(id, tool);
            answer.failed = part.get("error").is_some_and(|error| !error.is_null());
            fill_answer(&mut answer, part.get("result").cloned().unwrap_or(Json::Null));
            Part::Events(vec![chat::tool_call(id, tool, part.get("arguments")), answer])
        }
        _ => Part::Unknown,
    }
}

/// The texts that a sample keeps apart.
struct Attachments<'a> {
    texts: Option<&'a Json>,
}

impl Attachments<'_> {
    /// Returns a value with its texts in their places.
    fn restore(&self, value: &Json) -> Json {
        match value {
            Json::String(text) => {
                let kept = text.strip_prefix(ATTACHMENT).and_then(|name| self.texts?.get(name));
                kept.unwrap_or(value).clone()
            }
            Json::Array(items) => items.iter().map(|item| self.restore(item)).collect::<Vec<_>>().into(),
            Json::Object(object) => {
                let members = object.iter().map(|(key, value)| (key.clone(), self.restore(value)));
                Json::Object(members.collect())
            }
            value => value.clone(),
        }
    }
}
