//! Pydantic AI messages, as its type adapter for messages dumps them.
//!
//! A request holds the instructions, the words of the user and the answers of tools; a response holds the words and the
//! calls of the model. Newer versions name the conversation of each message, which is the session.

use super::chat;
use super::content::Content;
use super::dialect::fill_answer;
use super::message_log::{MessageLog, MessageLogDecoder, Part, Reading, Turn, tool_result};
use lictor_event::{Event, Kind, parse_time};
use lictor_json::{Json, Text};

/// Decodes the records of one file.
pub(super) type PydanticAiDecoder = MessageLogDecoder<PydanticAiLog>;

/// The shape of Pydantic AI's messages.
#[derive(Debug, Default)]
pub(super) struct PydanticAiLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_message(value) || list_messages(value).is_some_and(|messages| messages.iter().any(is_message))
}

fn is_message(value: &Json) -> bool {
    let parts = value.get("parts").and_then(Json::as_array);
    matches!(value.text("kind"), Some("request" | "response"))
        && parts.is_some_and(|parts| parts.iter().all(|part| part.text("part_kind").is_some()))
}

/// Returns the messages of a list, of a run, or of an evaluation.
fn list_messages(value: &Json) -> Option<&[Json]> {
    let list = ["messages", "message_history", "all_messages"].iter().find_map(|key| value.get(key));
    list.unwrap_or(value).as_array()
}

impl MessageLog for PydanticAiLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        let session = |message: Option<&Json>| message?.text("conversation_id").map(Text::from);
        match list_messages(value) {
            Some(messages) => vec![Turn { session: session(messages.first()), ..Turn::from_history(messages) }],
            None if is_message(value) => vec![Turn { session: session(Some(value)), ..Turn::from_message(value) }],
            None => Vec::new(),
        }
    }

    fn read_message(message: &Json, reading: &mut Reading) {
        if !is_message(message) {
            return reading.push_unknown(message);
        }
        let time = |value: &Json| value.text("timestamp").and_then(parse_time);
        reading.time = time(message);
        if let Some(instructions) = message.get("instructions") {
            reading.push_instructions(instructions);
        }
        let speaker = match message.text("kind") {
            Some("request") => Kind::UserMessage,
            _ => Kind::AssistantMessage,
        };
        let parts = message.get("parts").and_then(Json::as_array).unwrap_or_default();
        match speaker {
            Kind::UserMessage => parts.iter().for_each(|part| {
                reading.time = time(part).or_else(|| time(message));
                read_request_part(part, reading);
            }),
            _ => reading.push_content(speaker, &Json::Array(parts.to_vec()), read_response_part),
        }
    }
}

fn read_request_part(part: &Json, reading: &mut Reading) {
    let content = part.get("content").unwrap_or(&Json::Null);
    match part.text("part_kind") {
        Some("system-prompt" | "instruction" | "instruction-delta") => {
            reading.push(chat::message_event(Kind::SystemMessage, Content::from_json(content, "\n")));
        }
        Some("user-prompt") => reading.push_content(Kind::UserMessage, content, read_user_part),
        Some("tool-return" | "builtin-tool-return") => {
            if part.text("outcome") == Some("denied") {
                let (id, tool) = (part.text("tool_call_id"), part.text("tool_name"));
                reading.push(Event { kind: Kind::Denial, ..tool_result(id, tool) });
            }
            reading.push(read_answer(part));
        }
        // Without a tool, the framework asks the model for another answer.
        Some("retry-prompt" | "retry-feedback") if part.text("tool_name").is_none() => {
            let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
            reading.push(Event { text: Some(text.into()), ..Event::new(Kind::SystemMessage) });
        }
        Some("retry-prompt") => reading.push(Event { failed: true, ..read_answer(part) }),
        // Marks of what the next request changes, other than words.
        Some("tool-availability-delta" | "capability-load-delta" | "model-settings-delta" | "instruction-digest") => {}
        _ => reading.push_unknown(part),
    }
}

/// Reads a part of what the user sends: a text, a file, or the address of one.
fn read_user_part(part: &Json) -> Part {
    match part.text("kind") {
        Some("text-content" | "text") => Part::from_text(part.text("content").or_else(|| part.text("text"))),
        Some("cache-point") => Part::Silent,
        Some(sort) if sort.ends_with("-url") || sort == "binary" || sort == "uploaded-file" => {
            Part::Attachment(Text::from(sort))
        }
        Some("structured-content") => Part::Text(part.to_string().into()),
        _ => Part::Unknown,
    }
}

fn read_response_part(part: &Json) -> Part {
    match part.text("part_kind") {
        Some("text") => Part::from_text(part.text("content")),
        Some("thinking" | "compaction") => Part::Silent,
        Some("file") => Part::Attachment(Text::from("file")),
        Some("tool-call" | "builtin-tool-call") => {
            Part::from_event(chat::tool_call(part.text("tool_call_id"), part.text("tool_name"), part.get("args")))
        }
        Some("tool-return" | "builtin-tool-return") => Part::from_event(read_answer(part)),
        _ => Part::Unknown,
    }
}

fn read_answer(part: &Json) -> Event {
    let mut event = tool_result(part.text("tool_call_id"), part.text("tool_name"));
    event.failed = part.text("outcome").is_some_and(|outcome| outcome != "success");
    fill_answer(&mut event, part.get("content").cloned().unwrap_or(Json::Null));
    event
}
