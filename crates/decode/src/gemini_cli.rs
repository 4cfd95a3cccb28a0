//! Sessions of the Gemini command line.
//!
//! A file is one session. A message of the model keeps its calls, each with its state and its answer.

use super::chat;
use super::dialect::fill_answer;
use super::gemini;
use super::message_log::{MessageLog, MessageLogDecoder, Reading, Turn, read_time, tool_result};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// Decodes the records of one file.
pub(super) type GeminiCliDecoder = MessageLogDecoder<GeminiCliLog>;

/// The shape of the command line's sessions.
#[derive(Debug, Default)]
pub(super) struct GeminiCliLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let is_message =
        |message: &Json| matches!(message.text("type"), Some("user" | "gemini" | "info" | "error" | "warning"));
    let messages = value.get("messages").and_then(Json::as_array);
    value.text("sessionId").is_some()
        && value.get("startTime").is_some()
        && messages.is_some_and(|messages| messages.iter().all(is_message))
}

impl MessageLog for GeminiCliLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        if !recognises(value) {
            return Vec::new();
        }
        let messages = value.get("messages").and_then(Json::as_array).unwrap_or_default();
        vec![Turn { session: value.text("sessionId").map(Text::from), ..Turn::from_history(messages) }]
    }

    fn read_message(message: &Json, reading: &mut Reading) {
        reading.time = message.get("timestamp").and_then(read_time);
        let content = message.get("content").unwrap_or(&Json::Null);
        match message.text("type") {
            Some("user") => reading.push_content(Kind::UserMessage, content, gemini::read_part),
            Some("gemini") => {
                reading.push_content(Kind::AssistantMessage, content, gemini::read_part);
                let calls = message.get("toolCalls").and_then(Json::as_array).unwrap_or_default();
                calls.iter().for_each(|call| read_call(call, reading));
            }
            Some("error") => {
                let text = message.text("content").map(Text::from);
                reading.push(Event { text, failed: true, ..Event::new(Kind::Error) });
            }
            // Remarks of the program to the user.
            Some("info" | "warning") => {}
            _ => reading.push_unknown(message),
        }
    }
}

fn read_call(call: &Json, reading: &mut Reading) {
    let (id, tool) = (call.text("id"), call.text("name"));
    let time = call.get("timestamp").and_then(read_time);
    if tool.is_none() {
        return reading.push_unknown(call);
    }
    reading.push(Event { time, ..chat::tool_call(id, tool, call.get("args")) });
    let status = call.text("status").unwrap_or_default();
    let mut answer = Event { time, ..tool_result(id, tool) };
    answer.failed = matches!(status, "error" | "cancelled");
    // The answer is the part that the model was sent.
    let sent = call.get("result").map(|result| result.as_array().and_then(<[Json]>::first).unwrap_or(result));
    let response = sent.and_then(|part| part.at("functionResponse.response")).or(sent);
    fill_answer(&mut answer, response.cloned().unwrap_or(Json::Null));
    if answer.failed || matches!(status, "success") || response.is_some_and(|response| !response.is_null()) {
        reading.push(answer);
    }
}
