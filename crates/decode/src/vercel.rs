//! Vercel AI SDK: model messages, and messages of its user interface.
//!
//! Model messages have typed parts (`tool-call`, `tool-result`). Messages of the user interface keep a call, its state
//! and its answer in one part (`tool-NAME`, `dynamic-tool`; `tool-invocation` in version 4). A call whose arguments are
//! still streamed is not yet a call. The body of a chat request names the chat, which is the session.

use std::collections::HashMap;

use super::dialect::fill_answer;
use super::message_log::{MessageLog, MessageLogDecoder, Part, Reading, Turn, find_exchange, tool_result};
use super::{chat, envelope};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// Parts that only model messages have.
const MODEL_PARTS: [&str; 4] = ["tool-call", "tool-result", "tool-approval-request", "tool-approval-response"];

/// The states of a call whose arguments are complete.
const CALL_STATES: [&str; 7] = [
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
    // Version 4.
    "call",
];

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
    is_own(value) || list_messages(value).is_some_and(|messages| messages.iter().any(is_own))
}

/// Whether a value is a message with a part that only model messages have.
fn is_model_message(value: &Json) -> bool {
    let parts = value.get("content").and_then(Json::as_array).unwrap_or_default();
    let is_own = |part: &Json| {
        part.text("type").is_some_and(|name| MODEL_PARTS.contains(&name))
            && (part.get("toolCallId").is_some() || part.get("approvalId").is_some())
    };
    value.text("role").is_some() && parts.iter().any(is_own)
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
        find_exchange(value, find_part)
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
        for part in content.as_array().unwrap_or_default() {
            if let (Some(request), Some(call)) = (part.text("approvalId"), part.text("toolCallId")) {
                reading.call_ids.insert(request.into(), call.into());
            }
        }
        let call_ids = std::mem::take(&mut reading.call_ids);
        reading.push_content(speaker, content, |part| read_part(part, &call_ids));
        reading.call_ids = call_ids;
        // Version 4 keeps the calls beside the content where it has no parts.
        let beside = message.get("toolInvocations").filter(|_| !has_parts).and_then(Json::as_array);
        for invocation in beside.unwrap_or_default() {
            match read_invocation(invocation.text("toolName"), invocation) {
                Part::Events(events) => events.into_iter().for_each(|event| reading.push(event)),
                Part::Silent => {}
                _ => reading.push_unknown(invocation),
            }
        }
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

fn read_part(part: &Json, call_ids: &HashMap<Text, Text>) -> Part {
    let Some(sort) = part.text("type") else { return Part::Unknown };
    let (id, tool) = (part.text("toolCallId"), part.text("toolName"));
    match sort {
        "text" => Part::from_text(part.text("text")),
        "image" | "file" | "source-url" | "source-document" | "source" => Part::Attachment(Text::from(sort)),
        "reasoning" | "redacted-reasoning" | "step-start" => Part::Silent,
        "tool-call" => Part::from_event(chat::tool_call(id, tool, part.get("input").or_else(|| part.get("args")))),
        "tool-result" => {
            let mut event = tool_result(id, tool);
            event.failed = part.get("isError").and_then(Json::as_bool) == Some(true);
            match part.get("output") {
                Some(output) => fill_output(&mut event, output),
                None => fill_answer(&mut event, part.get("result").cloned().unwrap_or(Json::Null)),
            }
            Part::from_event(event)
        }
        "tool-error" => {
            let mut event = tool_result(id, tool);
            event.failed = true;
            fill_answer(&mut event, part.get("error").cloned().unwrap_or(Json::Null));
            Part::from_event(event)
        }
        // The call is an event of its own, and so is the decision.
        "tool-approval-request" => Part::Silent,
        "tool-approval-response" => {
            let call = part.text("approvalId").and_then(|request| call_ids.get(request));
            read_approval(call.map(Text::as_str), part)
        }
        "dynamic-tool" => read_invocation(tool, part),
        "tool-invocation" => match part.get("toolInvocation") {
            Some(invocation) => read_invocation(invocation.text("toolName"), invocation),
            None => Part::Unknown,
        },
        sort if sort.starts_with("data-") => Part::from_text(part.get("data").map(ToString::to_string).as_deref()),
        sort => match sort.strip_prefix("tool-") {
            Some(tool) if id.is_some() => read_invocation(Some(tool), part),
            _ => Part::Unknown,
        },
    }
}

/// Reads a call with its state and its answer.
fn read_invocation(tool: Option<&str>, part: &Json) -> Part {
    let id = part.text("toolCallId");
    let state = part.text("state").unwrap_or_default();
    if matches!(state, "input-streaming" | "partial-call") {
        return Part::Silent;
    }
    if !CALL_STATES.contains(&state) && state != "result" {
        return Part::Unknown;
    }
    let arguments = ["input", "rawInput", "args"].iter().find_map(|key| part.get(key));
    let mut events = vec![chat::tool_call(id, tool, arguments)];
    if let Some(approval) = part.get("approval")
        && let Part::Events(mut answer) = read_approval(id, approval)
    {
        events.append(&mut answer);
    }
    let output = part.get("output").or_else(|| part.get("result"));
    let mut answer = tool_result(id, tool);
    match state {
        "output-available" | "result" => fill_answer(&mut answer, output.cloned().unwrap_or(Json::Null)),
        "output-error" => {
            answer.failed = true;
            answer.text = part.text("errorText").map(Text::from);
        }
        _ => return Part::Events(events),
    }
    events.push(answer);
    Part::Events(events)
}

/// Reads the decision of a person on a call; nothing if it is still open.
fn read_approval(id: Option<&str>, approval: &Json) -> Part {
    let Some(is_approved) = approval.get("approved").and_then(Json::as_bool) else { return Part::Silent };
    let mut event = Event::new(if is_approved { Kind::Approval } else { Kind::Denial });
    event.id = id.map(Text::from);
    event.text = approval.text("reason").map(Text::from);
    Part::from_event(event)
}

/// Puts the output of a model message's answer into its event.
fn fill_output(event: &mut Event, output: &Json) {
    let value = output.get("value").cloned();
    match output.text("type") {
        Some("text" | "json" | "content") => fill_answer(event, value.unwrap_or(Json::Null)),
        Some("error-text" | "error-json") => {
            event.failed = true;
            fill_answer(event, value.unwrap_or(Json::Null));
        }
        Some("execution-denied") => {
            event.failed = true;
            event.text = output.text("reason").map(Text::from);
        }
        _ => fill_answer(event, output.clone()),
    }
}
