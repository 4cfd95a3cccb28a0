//! OpenAI Assistants: messages, runs and run steps of threads, and lists of them.
//!
//! A thread is a session. A list may have the newest object first, so the objects of a record are put in the order of
//! their times. A call is in the step that ran it, and in the run that waited for it; it becomes one event.

use std::collections::BTreeMap;

use super::chat;
use super::dialect::fill_answer;
use super::message_log::{MessageLog, MessageLogDecoder, Part, Reading, Turn, read_time, tool_result};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// Decodes the records of one file.
pub(super) type OpenaiAssistantsDecoder = MessageLogDecoder<OpenaiAssistantsLog>;

/// The objects of the interface.
#[derive(Debug, Default)]
pub(super) struct OpenaiAssistantsLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_object(value) || list_objects(value).is_some()
}

fn is_object(value: &Json) -> bool {
    matches!(value.text("object"), Some("thread.message" | "thread.run" | "thread.run.step"))
}

fn list_objects(value: &Json) -> Option<&[Json]> {
    let list = value.get("data").unwrap_or(value).as_array()?;
    list.iter().any(is_object).then_some(list)
}

impl MessageLog for OpenaiAssistantsLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        let objects = match list_objects(value) {
            Some(objects) => objects,
            None if is_object(value) => std::slice::from_ref(value),
            None => return Vec::new(),
        };
        let mut objects: Vec<&Json> = objects.iter().collect();
        // The sort is stable, so that objects without a time keep their places.
        objects.sort_by_key(|object| object.get("created_at").and_then(Json::as_i64).unwrap_or_default());
        let mut threads: BTreeMap<Option<&str>, Vec<&Json>> = BTreeMap::new();
        for object in objects {
            threads.entry(object.text("thread_id")).or_default().push(object);
        }
        let turn = |(thread, messages): (Option<&str>, _)| Turn {
            session: thread.map(Text::from),
            messages,
            ..Turn::default()
        };
        threads.into_iter().map(turn).collect()
    }

    fn read_message(object: &Json, reading: &mut Reading) {
        reading.time = object.get("created_at").and_then(read_time);
        let listed = |path: &str| object.at(path).and_then(Json::as_array).unwrap_or_default();
        match object.text("object") {
            Some("thread.message") => {
                let speaker = match object.text("role") {
                    Some("user") => Kind::UserMessage,
                    Some("assistant") => Kind::AssistantMessage,
                    _ => return reading.push_unknown(object),
                };
                reading.push_content(speaker, object.get("content").unwrap_or(&Json::Null), read_part);
            }
            Some("thread.run") => {
                if let Some(instructions) = object.get("instructions") {
                    reading.push_instructions(instructions);
                }
                listed("required_action.submit_tool_outputs.tool_calls")
                    .iter()
                    .for_each(|call| read_call(call, reading));
                if let Some(reason) = object.at("last_error.message").and_then(Json::as_str) {
                    reading.push(Event { text: Some(reason.into()), failed: true, ..Event::new(Kind::Error) });
                }
            }
            Some("thread.run.step") => match object.at("step_details.type").and_then(Json::as_str) {
                Some("tool_calls") => {
                    listed("step_details.tool_calls").iter().for_each(|call| read_call(call, reading));
                }
                // The message is an object of its own.
                Some("message_creation") => {}
                _ => reading.push_unknown(object),
            },
            _ => reading.push_unknown(object),
        }
    }
}

fn read_part(part: &Json) -> Part {
    match part.text("type") {
        Some("text") => Part::from_text(part.at("text.value").and_then(Json::as_str).or_else(|| part.text("text"))),
        Some("refusal") => Part::from_text(part.text("refusal")),
        Some(sort @ ("image_file" | "image_url")) => Part::Attachment(Text::from(sort)),
        _ => Part::Unknown,
    }
}

/// Reads a call and, where it has one, its answer. The tool of a call that the vendor runs is its type.
fn read_call(call: &Json, reading: &mut Reading) {
    let Some(sort) = call.text("type") else { return reading.push_unknown(call) };
    let id = call.text("id");
    let details = call.get(sort).unwrap_or(&Json::Null);
    let is_function = sort == "function";
    let tool = if is_function { details.text("name") } else { Some(sort) };
    let arguments = if is_function { details.get("arguments") } else { details.get("input") };
    let is_new = |key: &str, reading: &mut Reading| {
        id.is_none_or(|id| reading.call_ids.insert(Text::from(format!("{key} {id}")), Text::default()).is_none())
    };
    if is_new("call", reading) {
        reading.push(match (is_function, arguments) {
            (false, Some(Json::String(_))) => chat::tool_call_of_text(id, tool, arguments),
            _ => chat::tool_call(id, tool, arguments),
        });
    }
    let output =
        ["output", "outputs", "results"].iter().find_map(|key| details.get(key).filter(|value| !value.is_null()));
    if let Some(output) = output
        && is_new("answer", reading)
    {
        let mut answer = tool_result(id, tool);
        fill_answer(&mut answer, output.clone());
        reading.push(answer);
    }
}
