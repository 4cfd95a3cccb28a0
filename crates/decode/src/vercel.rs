//! Vercel AI SDK: model messages, and messages of its user interface.
//!
//! Model messages have typed parts (`tool-call`, `tool-result`). Messages of the user interface keep a call, its state
//! and its answer in one part (`tool-NAME`, `dynamic-tool`; `tool-invocation` in version 4). A call whose arguments are
//! still streamed is not yet a call, and one that a person is asked about is a call once it is allowed. The body of a
//! chat request names the chat, which is the session.

mod part_reader;
mod tool_step;

use super::envelope;
use super::message_log::{MessageLog, MessageLogDecoder, Part, Reading, Turn, find_exchange};
use lictor_event::Kind;
use lictor_json::{Json, Text};
use part_reader::PartReader;

/// Parts that only model messages have.
const MODEL_PARTS: [&str; 4] = ["tool-call", "tool-result", "tool-approval-request", "tool-approval-response"];

/// Decodes the records of one file.
pub(super) type VercelDecoder = MessageLogDecoder<VercelLog>;

/// The shapes of the SDK's messages.
#[derive(Debug, Default)]
pub(super) struct VercelLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_part(value) || envelope::open_envelope(value).is_some_and(|exchange| exchange.parts().any(is_part))
}

fn is_part(value: &Json) -> bool {
    let is_own = |message: &Json| is_model_message(message) || is_ui_message(message);
    is_own(value)
        || list_steps(value).is_some()
        || list_messages(value).is_some_and(|messages| messages.iter().any(is_own))
}

/// Whether a value is a step of `generateText` or `streamText`: its content, and the messages of all steps so far.
fn is_step(value: &Json) -> bool {
    value.text("finishReason").is_some()
        && value.get("content").is_some_and(|content| content.as_array().is_some())
        && value.at("response.messages").is_some_and(|messages| messages.as_array().is_some())
}

/// Returns the steps of a result.
fn list_steps(value: &Json) -> Option<&[Json]> {
    let steps = value.get("steps").and_then(Json::as_array)?;
    (!steps.is_empty() && steps.iter().all(is_step)).then_some(steps)
}

/// Whether a value is a message with a part that only model messages have, or with calls beside its content.
fn is_model_message(value: &Json) -> bool {
    let parts = value.get("content").and_then(Json::as_array).unwrap_or_default();
    let is_own = |part: &Json| {
        part.text("type").is_some_and(|name| MODEL_PARTS.contains(&name))
            && (part.get("toolCallId").is_some() || part.get("approvalId").is_some())
    };
    // Version 4 keeps calls beside a content without parts.
    let beside = value.get("toolInvocations").and_then(Json::as_array).unwrap_or_default();
    let is_call = |call: &Json| call.text("toolCallId").is_some() && call.text("state").is_some();
    value.text("role").is_some() && (parts.iter().any(is_own) || beside.iter().any(is_call))
}

/// Whether a value is a message of the user interface. Messages of Agent2Agent have an id under another name.
fn is_ui_message(value: &Json) -> bool {
    let is_part = |part: &Json| match part.text("type") {
        Some("text" | "reasoning") => part.get("text").is_some() || part.get("reasoning").is_some(),
        sort => sort.is_some(),
    };
    let parts = value.get("parts").and_then(Json::as_array);
    matches!(value.text("role"), Some("user" | "assistant" | "system"))
        && ["messageId", "kind", "taskId"].iter().all(|key| value.get(key).is_none())
        && parts.is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_part))
}

/// Returns the messages of a request, of a result, or of a list.
fn list_messages(value: &Json) -> Option<&[Json]> {
    let list = value.get("messages").or_else(|| value.get("prompt")).or_else(|| value.at("response.messages"));
    list.unwrap_or(value).as_array()
}

impl MessageLog for VercelLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        match list_steps(value) {
            // Each step repeats the messages of those before it.
            Some(steps) => steps.iter().flat_map(find_part).collect(),
            // Its request and its response are no exchange: its content is the message, which the response repeats.
            None if is_step(value) => find_part(value),
            None => find_exchange(value, find_part),
        }
    }

    fn read_message(message: &Json, reading: &mut Reading) {
        let speaker = match message.text("role") {
            Some("user" | "data") => Kind::UserMessage,
            Some("system") => Kind::SystemMessage,
            Some("assistant") => Kind::AssistantMessage,
            // A message of a tool holds answers and nothing else.
            Some("tool") => Kind::ToolResult,
            _ => return reading.push_unknown(message),
        };
        if ["tool_calls", "tool_call_id", "function_call"].iter().any(|key| message.get(key).is_some()) {
            return reading.push_chat(message);
        }
        let has_parts = message.get("parts").is_some_and(|parts| parts.as_array().is_some());
        let content = message.get("parts").filter(|_| has_parts).or_else(|| message.get("content"));
        let content = content.unwrap_or(&Json::Null);
        // Version 4 keeps the calls beside the content where it has no parts.
        let beside = message.get("toolInvocations").filter(|_| !has_parts).and_then(Json::as_array);
        let beside = beside.unwrap_or_default();
        let mut parts = PartReader::new(content.as_array().unwrap_or_default(), beside, reading);
        reading.push_content(speaker, content, |part| parts.read(part));
        for invocation in beside {
            match parts.read_invocation(invocation.text("toolName"), invocation) {
                Part::Events(events) => events.into_iter().for_each(|event| reading.push(event)),
                Part::Silent => {}
                _ => reading.push_unknown(invocation),
            }
        }
        parts.finish(reading);
    }
}

fn find_part(value: &Json) -> Vec<Turn<'_>> {
    if let Some(messages) = list_messages(value) {
        let mut turn = Turn::from_history(messages);
        turn.instructions = value.get("system").filter(|system| !system.is_null());
        turn.definitions = value.get("tools").cloned();
        turn.session = value.text("id").or_else(|| find_chat(value)).map(Text::from);
        return vec![turn];
    }
    match value.text("role") {
        Some(_) => vec![Turn { session: find_chat(value).map(Text::from), ..Turn::from_message(value) }],
        None => Vec::new(),
    }
}

/// Returns the chat that a message is stored with.
fn find_chat(value: &Json) -> Option<&str> {
    value.text("chatId").or_else(|| value.text("chat_id"))
}
