//! Chat messages of Haystack, lists of them, and results of its agents.
//!
//! A part of a message is an object with one key that says what it is: `text`, `tool_call`, `tool_call_result`. Each
//! message has a `meta`, which those of Amazon Bedrock do not have. Versions before 2.9 begin their keys with `_`.

use super::chat;
use super::dialect::fill_answer;
use super::message_log::{MessageLog, MessageLogDecoder, Part, Reading, Turn, tool_result};
use lictor_event::Kind;
use lictor_json::{Json, Text};

/// Decodes the records of one file.
pub(super) type HaystackDecoder = MessageLogDecoder<HaystackLog>;

/// The shape of Haystack's messages.
#[derive(Debug, Default)]
pub(super) struct HaystackLog {}

/// The keys of parts.
const PARTS: [&str; 6] = ["text", "tool_call", "tool_call_result", "image", "file", "reasoning"];

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_message(value) || list_messages(value).is_some_and(|messages| messages.iter().any(is_message))
}

fn is_message(value: &Json) -> bool {
    let is_part = |part: &Json| PARTS.iter().any(|key| part.get(key).is_some()) && part.get("type").is_none();
    let parts = member(value, "content", "_content").and_then(Json::as_array).unwrap_or_default();
    member(value, "role", "_role").is_some()
        && member(value, "meta", "_meta").is_some_and(|meta| meta.as_object().is_some())
        && !parts.is_empty()
        && parts.iter().all(is_part)
}

fn member<'a>(value: &'a Json, key: &str, old: &str) -> Option<&'a Json> {
    value.get(key).or_else(|| value.get(old))
}

fn list_messages(value: &Json) -> Option<&[Json]> {
    value.get("messages").unwrap_or(value).as_array()
}

impl MessageLog for HaystackLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        match list_messages(value) {
            Some(messages) => vec![Turn::from_history(messages)],
            None if is_message(value) => vec![Turn::from_message(value)],
            None => Vec::new(),
        }
    }

    fn read_message(message: &Json, reading: &mut Reading) {
        let speaker = match member(message, "role", "_role").and_then(Json::as_str) {
            Some("user") => Kind::UserMessage,
            Some("assistant") => Kind::AssistantMessage,
            Some("system") => Kind::SystemMessage,
            // A message of a tool holds answers and nothing else.
            Some("tool") => Kind::ToolResult,
            _ => return reading.push_unknown(message),
        };
        reading.push_content(speaker, member(message, "content", "_content").unwrap_or(&Json::Null), read_part);
    }
}

fn read_part(part: &Json) -> Part {
    if let Some(call) = part.get("tool_call") {
        return Part::from_event(chat::tool_call(call.text("id"), call.text("tool_name"), call.get("arguments")));
    }
    if let Some(result) = part.get("tool_call_result") {
        let origin = result.get("origin").unwrap_or(&Json::Null);
        let mut event = tool_result(origin.text("id"), origin.text("tool_name"));
        event.failed = result.get("error").and_then(Json::as_bool) == Some(true);
        fill_answer(&mut event, result.get("result").cloned().unwrap_or(Json::Null));
        return Part::from_event(event);
    }
    match PARTS.iter().find(|key| part.get(key).is_some()) {
        Some(&"text") => Part::from_text(part.text("text")),
        Some(&"reasoning") => Part::Silent,
        Some(sort) => Part::Attachment(Text::from(*sort)),
        None => Part::Unknown,
    }
}
