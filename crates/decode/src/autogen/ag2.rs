//! Events of AG2, which continues version 0.2 of AutoGen.
//!
//! Version 1 logs an event by the path of its class, `{"type": "ag2.events.types.ModelResponse", "data": …}`. Versions
//! before it write `{"type": "text", "content": {"uuid": …, "sender": …}}`. Both tell a call several times: when the
//! model asks for it, when it runs, and with all others of its turn. It is read once, by its id.

use super::CODE_TOOL;
use crate::chat;
use crate::dialect::fill_answer;
use crate::message_log::{Part, Reading, read_time, tool_result};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// Classes of version 1 without content for a policy: pieces and repetitions of others, costs, upkeep.
const SILENT_CLASSES: [&str; 12] = [
    "ModelMessage",
    "ModelMessageChunk",
    "ModelReasoning",
    "UsageEvent",
    "MessageEnqueued",
    "ObserverStarted",
    "ObserverCompleted",
    "CompactionStarted",
    "CompactionCompleted",
    "AggregationStarted",
    "AggregationCompleted",
    "ClientToolCallEvent",
];

/// Whether a value is an event of any version.
pub(super) fn is_ag2_event(value: &Json) -> bool {
    let Some(name) = value.text("type") else { return false };
    name.starts_with("ag2.") && value.get("data").is_some() || value.at("content.uuid").is_some()
}

/// Reads an event; returns whether it is known.
pub(super) fn read_ag2_event(value: &Json, reading: &mut Reading) -> bool {
    let name = value.text("type").unwrap_or_default();
    match value.get("data") {
        Some(data) => read_class(name, data, reading),
        None => {
            read_type(name, value.get("content").unwrap_or(&Json::Null), reading);
            true
        }
    }
}

/// Reads an event of version 1 by the name of its class. Classes of vendors are named like those that they extend.
fn read_class(path: &str, data: &Json, reading: &mut Reading) -> bool {
    let class = path.rsplit('.').next().unwrap_or_default();
    reading.time = data.get("created_at").and_then(read_time);
    match class {
        "ModelRequest" | "DrainedModelRequest" => {
            reading.push_content(Kind::UserMessage, data.get("parts").unwrap_or(&Json::Null), read_input);
        }
        "ModelResponse" => {
            let text = data.at("message.content").unwrap_or(&Json::Null);
            reading.push_content(Kind::AssistantMessage, text, read_input);
            read_calls(data.at("tool_calls.calls"), reading);
        }
        "HumanInputRequest" | "ToolApprovalRequest" => push_text(Kind::AssistantMessage, data, reading),
        "HumanMessage" => push_text(Kind::UserMessage, data, reading),
        "ToolCallsEvent" => read_calls(data.get("calls"), reading),
        "ToolResultsEvent" => {
            for answer in data.get("results").and_then(Json::as_array).unwrap_or_default() {
                read_answer(answer, reading);
            }
        }
        class if SILENT_CLASSES.contains(&class) => {}
        class if class.ends_with("ToolCallEvent") => read_call(data, reading),
        class if class.ends_with("ToolResultEvent") || data.get("parent_id").is_some() => read_answer(data, reading),
        _ => return false,
    }
    true
}

fn push_text(kind: Kind, data: &Json, reading: &mut Reading) {
    reading.push(Event { text: data.text("content").map(Text::from), ..Event::new(kind) });
}

/// Reads a part of what the model is asked.
fn read_input(part: &Json) -> Part {
    if let Some(text) = part.text("content") {
        return Part::Text(text.into());
    }
    let class = part.text("__event__").and_then(|path| path.rsplit('.').next());
    match class {
        Some("DataInput") => part.get("data").map_or(Part::Unknown, |data| Part::Text(data.to_string().into())),
        Some(class @ ("BinaryInput" | "FileIdInput" | "UrlInput")) => Part::Attachment(class.into()),
        _ => Part::Unknown,
    }
}

fn read_calls(calls: Option<&Json>, reading: &mut Reading) {
    for call in calls.and_then(Json::as_array).unwrap_or_default() {
        read_call(call, reading);
    }
}

/// Reads a call, unless it was read before.
fn read_call(call: &Json, reading: &mut Reading) {
    let id = call.text("id");
    if is_first("call", id, reading) {
        let function = call.get("function").unwrap_or(call);
        reading.push(chat::tool_call(id, function.text("name"), function.get("arguments")));
    }
}

/// Reads the answer of a tool, unless it was read before.
fn read_answer(answer: &Json, reading: &mut Reading) {
    let id = answer.text("parent_id");
    if !is_first("answer", id, reading) {
        return;
    }
    let mut event = tool_result(id, answer.text("name"));
    let error = answer.get("error").filter(|error| !error.is_null());
    event.failed = error.is_some();
    let parts = answer.at("result.data.parts").and_then(Json::as_array).unwrap_or_default();
    let texts: Option<Vec<&str>> = parts.iter().map(|part| part.text("content")).collect();
    match (error.and_then(|error| error.text("message")), texts, parts) {
        // The parts of a failure show where in the program it happened.
        (Some(message), _, _) => event.text = Some(message.into()),
        (None, Some(texts), _) => event.text = Some(texts.join("\n").into()),
        (None, None, [part]) if part.get("data").is_some() => event.result = part.get("data").cloned(),
        (None, None, parts) => event.result = Some(Json::Array(parts.to_vec())),
    }
    reading.push(event);
}

/// Whether a call or an answer with this id was not read before. Without an id, each counts.
fn is_first(sort: &str, id: Option<&str>, reading: &mut Reading) -> bool {
    id.is_none_or(|id| reading.call_ids.insert(Text::from(format!("{sort} {id}")), Text::default()).is_none())
}

/// Reads an event before version 1 by its type. Others tell how the conversation is run.
fn read_type(name: &str, content: &Json, reading: &mut Reading) {
    let sender = content.text("sender").unwrap_or_default();
    if reading.opener.is_none() && ["text", "tool_call", "function_call"].contains(&name) {
        reading.opener = Some(sender.into());
    }
    let is_opener = reading.opener.as_deref() == Some(sender);
    reading.agent = Some(sender).filter(|sender| !is_opener && !sender.is_empty()).map(Text::from);
    let text = content.get("content").unwrap_or(&Json::Null);
    match name {
        "text" => {
            let speaker = if is_opener { Kind::UserMessage } else { Kind::AssistantMessage };
            reading.push_content(speaker, text, read_input);
        }
        "tool_call" | "function_call" => {
            reading.push_content(Kind::AssistantMessage, text, read_input);
            read_calls(content.get("tool_calls"), reading);
            if let Some(call) = content.get("function_call").filter(|call| !call.is_null()) {
                reading.push(chat::tool_call(None, call.text("name"), call.get("arguments")));
            }
        }
        "execute_function" | "executed_function" => read_execution(name, content, reading),
        "tool_response" => {
            for answer in content.get("tool_responses").and_then(Json::as_array).unwrap_or_default() {
                let id = answer.text("tool_call_id");
                if is_first("answer", id, reading) {
                    let mut event = tool_result(id, None);
                    fill_answer(&mut event, answer.get("content").cloned().unwrap_or(Json::Null));
                    reading.push(event);
                }
            }
        }
        "execute_code_block" => reading.push(chat::tool_call(None, Some(CODE_TOOL), Some(content))),
        "error" => {
            let text =
                content.get("error").map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned));
            reading.push(Event { text: text.map(Text::from), failed: true, ..Event::new(Kind::Error) });
        }
        name if name.ends_with("_transition") => {
            reading.agent = content.text("source_agent").map(Text::from);
            let to = content.text("transition_target").map(Text::from);
            reading.push(Event { to, ..Event::new(Kind::Handoff) });
        }
        _ => {}
    }
}

/// Reads the run of a function: its call, if no message had it, and its answer.
fn read_execution(name: &str, content: &Json, reading: &mut Reading) {
    let (id, tool) = (content.text("call_id"), content.text("func_name"));
    let is_start = name == "execute_function";
    if is_start && id.is_some() && is_first("call", id, reading) {
        reading.push(chat::tool_call(id, tool, content.get("arguments")));
    }
    if !is_start && is_first("answer", id, reading) {
        let mut event = tool_result(id, tool);
        event.failed = content.get("is_exec_success") == Some(&Json::Bool(false));
        fill_answer(&mut event, content.get("content").cloned().unwrap_or(Json::Null));
        reading.push(event);
    }
}
