//! Messages in the dialects of tracing tools.
//!
//! A tracing tool copies messages from the library it watches: LangChain's own and serialized messages, the parts of
//! OpenTelemetry (`tool_call`, `tool_call_response`), OpenInference's wrappers, items of the Responses API. Here they
//! are put into the plain shape that [`chat`] reads; answers, which may be values, are read directly.

use super::content::Content;
use super::{chat, openai_responses};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Object, Text};

/// Where a call may keep its arguments.
const ARGUMENTS: [&str; 4] = ["arguments", "args", "input", "parameters"];

/// Adds the events of a message; returns whether its shape is known.
pub(super) fn read_message(message: Json, events: &mut Vec<Event>) -> bool {
    match message {
        Json::Object(message) => read_object(message, events),
        // A list of alternatives, or a batch of conversations.
        Json::Array(messages) => read_each(messages, |message| read_message(message, events)),
        _ => false,
    }
}

/// Reads each of several values; returns whether all of them are known.
pub(super) fn read_each(items: impl IntoIterator<Item = Json>, read: impl FnMut(Json) -> bool) -> bool {
    items.into_iter().map(read).filter(|known| !known).count() == 0
}

/// Adds the events of a speaker: one message, several, or a bare text. Returns whether the shape is known.
pub(super) fn read_said(said: Json, speaker: Kind, events: &mut Vec<Event>) -> bool {
    match said {
        Json::Null => true,
        Json::String(text) => {
            if !text.trim().is_empty() {
                events.push(Event { text: Some(text), ..Event::new(speaker) });
            }
            true
        }
        said => read_message(said, events),
    }
}

/// Returns the role of a message by its role, type or class.
fn find_role(name: &str) -> Option<&'static str> {
    Some(match name {
        "user" | "human" | "HumanMessage" | "HumanMessageChunk" => "user",
        "assistant" | "ai" | "model" | "AIMessage" | "AIMessageChunk" => "assistant",
        "system" | "developer" | "SystemMessage" | "SystemMessageChunk" => "system",
        "tool" | "function" | "ToolMessage" | "ToolMessageChunk" | "FunctionMessage" => "tool",
        _ => return None,
    })
}

fn read_object(mut message: Object, events: &mut Vec<Event>) -> bool {
    if let Some(inner) = unwrap_envelope(&mut message) {
        return read_object(inner, events);
    }
    let named = message.get("role").or_else(|| message.get("type")).and_then(Json::as_str);
    match named.and_then(find_role) {
        Some("tool") => read_answer(message, events),
        Some(role) => read_speech(message, role, events),
        None => read_item(message, events),
    }
}

/// Takes the message out of an envelope: `{"message": …}`, `{"type": "human", "data": …}`,
/// `{"lc": 1, "id": […, "AIMessage"], "kwargs": …}`.
fn unwrap_envelope(message: &mut Object) -> Option<Object> {
    let (key, role) = if message.get("message").is_some_and(|inner| inner.as_object().is_some()) {
        // A choice of a model may leave out whose it is.
        ("message", Some(Text::from("assistant")))
    } else if message.get("lc").is_some() {
        let class = message.get("id").and_then(Json::as_array).and_then(<[Json]>::last).and_then(Json::as_str);
        ("kwargs", class.map(Text::from))
    } else if message.get("content").is_none() && message.get("data").is_some_and(|inner| inner.as_object().is_some()) {
        ("data", message.get("type").and_then(Json::as_str).map(Text::from))
    } else {
        return None;
    };
    let Some(Json::Object(mut inner)) = message.remove(key) else { return None };
    if let Some(role) = role
        && inner.get("role").is_none()
        && inner.get("lc").is_none()
    {
        inner.insert("role", role);
    }
    Some(inner)
}

/// Reads the message and the calls of a user, a model or an operator.
fn read_speech(mut message: Object, role: &'static str, events: &mut Vec<Event>) -> bool {
    let content = take_any(&mut message, &["parts", "content", "contents"]).unwrap_or(Json::Null);
    let mut calls = take_calls(&mut message);
    let mut blocks = Vec::new();
    let plain = match content {
        Json::Array(parts) => {
            blocks = parts;
            None
        }
        part @ Json::Object(_) => {
            blocks.push(part);
            None
        }
        content => Some(content),
    };
    let mut run = Vec::new();
    for block in blocks {
        match read_part(block) {
            MessagePart::Block(part) => {
                // The list of calls repeats those that are blocks.
                if part.text("type") == Some("tool_use") {
                    calls.clear();
                }
                run.push(part);
            }
            MessagePart::Answer(answer) => {
                if !run.is_empty() {
                    add_message(role, Json::Array(std::mem::take(&mut run)), &mut Object::new(), Vec::new(), events);
                }
                events.push(*answer);
            }
        }
    }
    let content = plain.unwrap_or(Json::Array(run));
    let silent = content.is_null() || content.as_array().is_some_and(<[Json]>::is_empty);
    let known = calls.iter().all(|call| call.as_object().is_some());
    if !silent || !calls.is_empty() || message.get("function_call").is_some() || message.get("refusal").is_some() {
        add_message(role, content, &mut message, calls, events);
    }
    known
}

/// Adds the events of a message in its plain shape.
fn add_message(role: &'static str, content: Json, from: &mut Object, calls: Vec<Json>, events: &mut Vec<Event>) {
    let mut plain = Object::new();
    plain.insert("role", role);
    plain.insert("content", content);
    for key in ["refusal", "function_call"] {
        if let Some(value) = from.remove(key) {
            plain.insert(key, value);
        }
    }
    if !calls.is_empty() {
        plain.insert("tool_calls", calls);
    }
    events.extend(chat::read_message(&Json::Object(plain)).unwrap_or_default());
}

/// Takes the calls beside the content of a message. LangChain keeps a second copy of them, and a list of those that it
/// could not parse.
fn take_calls(message: &mut Object) -> Vec<Json> {
    let mut extra = match message.remove("additional_kwargs") {
        Some(Json::Object(extra)) => extra,
        _ => Object::new(),
    };
    let list = |from: &mut Object, key: &str| match from.remove(key) {
        Some(Json::Array(calls)) => calls,
        _ => Vec::new(),
    };
    let mut calls = list(message, "tool_calls");
    calls.append(&mut list(message, "invalid_tool_calls"));
    if calls.is_empty() {
        calls = list(&mut extra, "tool_calls");
    }
    if calls.is_empty()
        && let Some(call @ Json::Object(_)) = extra.remove("function_call")
    {
        message.insert("function_call", call);
    }
    // OpenInference wraps each call once more.
    let unwrap = |call: Json| match call {
        Json::Object(mut outer) => match outer.remove("tool_call") {
            Some(call) => call,
            None => Json::Object(outer),
        },
        call => call,
    };
    calls.into_iter().map(unwrap).collect()
}

/// A part of a content.
enum MessagePart {
    /// A block that [`chat`] reads.
    Block(Json),
    /// The answer of a tool.
    Answer(Box<Event>),
}

fn read_part(part: Json) -> MessagePart {
    let Json::Object(mut part) = part else { return MessagePart::Block(part) };
    // OpenInference wraps each part once more.
    if let Some(Json::Object(inner)) = part.remove("message_content") {
        part = inner;
    }
    let sort = part.get("type").and_then(Json::as_str).map(Text::from);
    match sort.as_deref() {
        Some("tool_call" | "tool-call") => {
            let mut block = Object::new();
            block.insert("type", "tool_use");
            for (key, names) in
                [("id", &["id", "toolCallId"][..]), ("name", &["name", "toolName"]), ("input", &ARGUMENTS)]
            {
                if let Some(value) = take_any(&mut part, names) {
                    block.insert(key, value);
                }
            }
            MessagePart::Block(Json::Object(block))
        }
        Some("tool_call_response" | "tool-result" | "tool_result") => {
            let mut event = Event::new(Kind::ToolResult);
            event.id = take_text(&mut part, &["tool_use_id", "tool_call_id", "toolCallId", "id"]);
            event.tool = take_text(&mut part, &["name", "toolName"]);
            event.failed = part.get("is_error").and_then(Json::as_bool) == Some(true);
            fill_answer(
                &mut event,
                take_any(&mut part, &["response", "result", "content", "output"]).unwrap_or(Json::Null),
            );
            MessagePart::Answer(Box::new(event))
        }
        _ => MessagePart::Block(Json::Object(rename_content(part))),
    }
}

/// Renames `content` to `text` in a part, as OpenTelemetry and AgentDojo write it.
fn rename_content(mut part: Object) -> Object {
    if part.get("text").is_none()
        && let Some(Json::String(_)) = part.get("content")
        && let Some(text) = part.remove("content")
    {
        part.insert("text", text);
    }
    part
}

/// Reads the answer of a tool that is a message.
fn read_answer(mut message: Object, events: &mut Vec<Event>) -> bool {
    let mut event = Event::new(Kind::ToolResult);
    event.id = take_text(&mut message, &["tool_call_id", "call_id", "id"]);
    event.tool = take_text(&mut message, &["name"])
        .or_else(|| message.get("tool_call").and_then(|call| call.text("function")).map(Text::from));
    let error = message.remove("error").filter(|error| !error.is_null());
    event.failed = error.is_some()
        || message.get("status").and_then(Json::as_str) == Some("error")
        || message.get("is_error").and_then(Json::as_bool) == Some(true);
    let content = take_any(&mut message, &["parts", "content", "contents"]).unwrap_or(Json::Null);
    if let Json::Array(parts) = &content
        && parts.iter().any(|part| matches!(part.text("type"), Some("tool_call_response" | "tool_result")))
    {
        return read_speech([("content".into(), content)].into_iter().collect(), "user", events);
    }
    fill_answer(&mut event, content);
    if event.text.as_ref().is_none_or(|text| text.is_empty())
        && event.result.is_none()
        && let Some(Json::String(error)) = error
    {
        event.text = Some(error);
    }
    events.push(event);
    true
}

/// Reads an item of the Responses API.
fn read_item(item: Object, events: &mut Vec<Event>) -> bool {
    match openai_responses::read_item(&Json::Object(item)) {
        Some(read) => {
            events.extend(read);
            true
        }
        None => false,
    }
}

/// Puts the answer of a tool into its event: text as text, any other value as a value.
pub(super) fn fill_answer(event: &mut Event, value: Json) {
    match value {
        Json::Null => {}
        Json::String(text) => event.text = Some(text),
        Json::Array(parts) if is_parts(&parts) => fill_parts(event, parts),
        Json::Object(mut result) if result.get("content").and_then(Json::as_array).is_some_and(is_parts) => {
            // The answer of an MCP server.
            event.failed |= result.get("isError").and_then(Json::as_bool) == Some(true);
            event.result = result.remove("structuredContent").filter(|content| !content.is_null());
            if let Some(Json::Array(parts)) = result.remove("content") {
                fill_parts(event, parts);
            }
        }
        value => event.result = Some(value),
    }
}

/// Whether a list holds parts of a content rather than values of any kind.
fn is_parts(parts: &[Json]) -> bool {
    const PART_TYPES: [&str; 8] =
        ["text", "input_text", "output_text", "image", "image_url", "audio", "resource", "document"];
    !parts.is_empty() && parts.iter().all(|part| part.text("type").is_some_and(|sort| PART_TYPES.contains(&sort)))
}

fn fill_parts(event: &mut Event, parts: Vec<Json>) {
    let native = |part: Json| match part {
        Json::Object(part) => Json::Object(rename_content(part)),
        part => part,
    };
    Content::from_json(&Json::Array(parts.into_iter().map(native).collect()), "\n").fill(event);
}

/// Takes out the first of these members that is a text with something in it.
pub(super) fn take_text(object: &mut Object, keys: &[&str]) -> Option<Text> {
    let key = keys.iter().find(|key| object.get(key).and_then(Json::as_str).is_some_and(|text| !text.is_empty()))?;
    match object.remove(key) {
        Some(Json::String(text)) => Some(text),
        _ => None,
    }
}

/// Takes out the first of these members that is not `null`.
pub(super) fn take_any(object: &mut Object, keys: &[&str]) -> Option<Json> {
    keys.iter().find_map(|key| object.remove(key).filter(|value| !value.is_null()))
}
