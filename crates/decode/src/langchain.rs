//! LangChain messages and LangGraph states.
//!
//! A message comes in four shapes: its fields (`{"type": "ai", "content": …}`), `messages_to_dict` (`{"type", "data"}`),
//! a serialized constructor (`{"lc": 1, "id": […, "AIMessage"], "kwargs": …}`), and OpenAI's. LangGraph keeps messages in
//! states, checkpoints and streams; the thread that these name is the session. A state repeats the whole history, the
//! update of a node continues it. Events of `astream_events` hold the same messages.

mod run_event;

use std::collections::HashSet;

use super::chat;
use super::dialect::fill_answer;
use super::message_log::{MessageLog, MessageLogDecoder, Part, Reading, Turn, tool_result};
use lictor_event::{Kind, content_hash, read_time};
use lictor_json::{Json, Text};
use run_event::{find_turn, is_run_event, read_run_event};

/// Where a record names its thread.
const THREAD_PATHS: [&str; 5] = [
    "config.configurable.thread_id",
    "checkpoint.thread_id",
    "configurable.thread_id",
    "metadata.thread_id",
    "thread_id",
];

/// Where a record keeps a state.
const STATE_PATHS: [&str; 7] =
    ["", "values", "channel_values", "checkpoint.channel_values", "state", "input", "output"];

/// Decodes the records of one file.
pub(super) type LangchainDecoder = MessageLogDecoder<LangchainLog>;

/// The shapes of LangChain's messages.
#[derive(Debug, Default)]
pub(super) struct LangchainLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let is_own = |turn: &Turn<'_>| turn.messages.iter().any(|message| is_message(message));
    is_run_event(value) || LangchainLog::find_turns(value).iter().any(is_own)
}

/// Whether a value is a message that only this framework writes.
fn is_message(value: &Json) -> bool {
    if value.get("lc").is_some() {
        return value.get("kwargs").is_some() && class_name(value).is_some_and(|class| class.contains("Message"));
    }
    let is_foreign = ["role", "subtype", "sessionId", "session_id", "uuid", "source"];
    let data = value.get("data").filter(|data| data.get("content").is_some());
    let fields = data.unwrap_or(value);
    fields.get("content").is_some()
        // A message whose fields are in an object of their own is stored with its session beside it.
        && (data.is_some() && value.get("role").is_none() || is_foreign.iter().all(|key| value.get(key).is_none()))
        // Another framework names its types as this one names its classes.
        && value.text("type").is_some_and(|name| find_speaker(name).is_some() && !name.ends_with("Message"))
}

/// Returns the class of a serialized message.
fn class_name(value: &Json) -> Option<&str> {
    value.get("id").and_then(Json::as_array).and_then(<[Json]>::last).and_then(Json::as_str)
}

fn find_speaker(name: &str) -> Option<Kind> {
    Some(match name.trim_end_matches("Chunk").trim_end_matches("Message") {
        "human" | "Human" => Kind::UserMessage,
        "ai" | "AI" => Kind::AssistantMessage,
        "system" | "System" => Kind::SystemMessage,
        "tool" | "Tool" | "function" | "Function" => Kind::ToolResult,
        _ => return None,
    })
}

impl MessageLog for LangchainLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        let (item, is_streamed) = match value.as_array() {
            Some([Json::String(_), item] | [_, Json::String(_), item]) => (item, true),
            _ => (value, false),
        };
        let step = find_step(item);
        let named = step.unwrap_or(item);
        let session = THREAD_PATHS.iter().find_map(|path| named.at(path)?.as_str()).map(Text::from);
        let times = ["created_at", "ts", "checkpoint.ts"].iter().map(|path| named.at(path));
        let time = times.chain([step.and(item.get("timestamp"))]).flatten().find_map(read_time);
        let mut turns = find_messages(value);
        for turn in &mut turns {
            turn.session.clone_from(&session);
            turn.time = time.or(turn.time);
            // Checkpoints hold what the tasks, and the items of other modes of the same stream, say before them.
            turn.is_detail = session.is_none() && (step.is_some() || is_streamed);
        }
        turns
    }

    fn read_message(message: &Json, reading: &mut Reading) {
        if is_run_event(message) {
            return read_run_event(message, reading);
        }
        let (name, fields) = match message.get("lc") {
            Some(_) => (class_name(message), message.get("kwargs")),
            None => (message.text("type"), message.get("data").filter(|data| data.get("content").is_some())),
        };
        let fields = fields.unwrap_or(message);
        if is_repeated(fields, reading) {
            return;
        }
        reading.agent = fields.text("name").map(Text::from);
        match name.and_then(find_speaker) {
            Some(Kind::ToolResult) => {
                reading.agent = None;
                let mut event = tool_result(fields.text("tool_call_id"), fields.text("name"));
                event.failed = fields.text("status") == Some("error");
                fill_answer(&mut event, fields.get("content").cloned().unwrap_or(Json::Null));
                reading.push(event);
            }
            Some(Kind::AssistantMessage) => read_answer(fields, reading),
            Some(speaker) => reading.push_content(speaker, fields.get("content").unwrap_or(&Json::Null), read_part),
            None if message.get("role").is_some() => reading.push_chat(message),
            // The state forgets a message; the log does not.
            None if matches!(name, Some("remove" | "RemoveMessage")) => {}
            None => reading.push_unknown(message),
        }
    }
}

/// Whether a message was read before. Nodes that hand on the whole state, and streams of several modes, repeat messages;
/// one with the id of another and other words replaces it, and is read.
fn is_repeated(fields: &Json, reading: &mut Reading) -> bool {
    let Some(id) = fields.text("id").filter(|id| !id.is_empty()) else { return false };
    let content = Text::from(content_hash::to_hex(&content_hash::hash_json(fields)));
    reading.call_ids.insert(Text::from(format!("message {id}")), content.clone()) == Some(content)
}

/// Returns the turns of a message, a list, a state, or the updates of nodes.
fn find_messages(value: &Json) -> Vec<Turn<'_>> {
    match value {
        // A streamed item with its mode, and with the graph that it is of.
        Json::Array(item) => match item.as_slice() {
            [Json::String(mode), item] | [_, Json::String(mode), item] => find_streamed(mode, item),
            messages if messages.iter().any(is_message) => vec![Turn::from_history(messages)],
            _ => Vec::new(),
        },
        value if is_message(value) => vec![Turn::from_message(value)],
        value if is_run_event(value) => vec![find_turn(value)],
        value if let Some(payload) = find_step(value) => match find_messages(payload) {
            turns if turns.is_empty() => vec![Turn::default()],
            turns => turns,
        },
        value => {
            let states: Vec<Turn<'_>> = STATE_PATHS.iter().filter_map(|path| find_state(value, path)).collect();
            if states.is_empty() { find_updates(value) } else { states }
        }
    }
}

/// Returns the payload of a step, as a stream for debugging has them: checkpoints, tasks and their results.
fn find_step(value: &Json) -> Option<&Json> {
    let is_step = matches!(value.text("type"), Some("checkpoint" | "task" | "task_result"));
    value.get("payload").filter(|payload| is_step && value.get("step").is_some() && payload.as_object().is_some())
}

fn find_streamed<'a>(mode: &str, item: &'a Json) -> Vec<Turn<'a>> {
    match mode {
        "values" | "updates" | "debug" | "checkpoints" => match find_messages(item) {
            // A node that changes something other than messages.
            turns if turns.is_empty() && mode == "updates" => vec![Turn::default()],
            turns => turns,
        },
        // A message with where it comes from. Pieces of one are not put together, and are reported.
        "messages" => {
            let message = item.as_array().and_then(<[Json]>::first);
            let is_piece = |message: &Json| message.text("type").is_some_and(|name| name.ends_with("Chunk"));
            message
                .map(|message| Turn::from_message(if is_piece(message) { item } else { message }))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the history of a state, or of a state further down.
fn find_state<'a>(value: &'a Json, path: &str) -> Option<Turn<'a>> {
    let state = if path.is_empty() { value } else { value.at(path)? };
    match state.get("messages")? {
        // A thread begins with an empty state.
        Json::Array(messages) if messages.iter().any(is_message) || (messages.is_empty() && path == "values") => {
            Some(Turn::from_history(messages))
        }
        message if is_message(message) => Some(Turn::from_message(message)),
        _ => None,
    }
}

/// Returns the messages that nodes add, by the name of the node.
fn find_updates(value: &Json) -> Vec<Turn<'_>> {
    let mut turns = Vec::new();
    for (_, update) in value.as_object().into_iter().flat_map(lictor_json::Object::iter) {
        let commands = update.as_array().unwrap_or(std::slice::from_ref(update));
        for messages in commands.iter().filter_map(|command| command.get("messages")) {
            let messages = messages.as_array().unwrap_or(std::slice::from_ref(messages));
            if messages.iter().any(is_message) {
                turns.push(Turn { is_history: false, ..Turn::from_history(messages) });
            }
        }
    }
    turns
}

/// Reads a message of the model, with its calls. Calls that are parts of the content are repeated in the list of calls.
fn read_answer(fields: &Json, reading: &mut Reading) {
    let listed = |key: &str| fields.at(key).and_then(Json::as_array).unwrap_or_default();
    let mut calls: Vec<&Json> = listed("tool_calls").iter().chain(listed("invalid_tool_calls")).collect();
    if calls.is_empty() {
        calls.extend(listed("additional_kwargs.tool_calls"));
    }
    let ids: HashSet<&str> = calls.iter().filter_map(|call| call.text("id")).collect();
    let is_listed = |part: &Json| ["id", "call_id"].iter().any(|key| part.text(key).is_some_and(|id| ids.contains(id)));
    reading.push_content(Kind::AssistantMessage, fields.get("content").unwrap_or(&Json::Null), |part| {
        match (part.text("type"), read_part(part)) {
            (Some("tool_use" | "tool_call" | "function_call"), Part::Events(_)) if is_listed(part) => Part::Silent,
            (_, meaning) => meaning,
        }
    });
    for call in calls {
        let function = call.get("function").unwrap_or(call);
        let arguments = function.get("args").or_else(|| function.get("arguments"));
        reading.push(chat::tool_call(call.text("id"), function.text("name"), arguments));
    }
    if let Some(call) = fields.at("additional_kwargs.function_call").filter(|call| !call.is_null()) {
        reading.push(chat::tool_call(None, call.text("name"), call.get("arguments")));
    }
}

fn read_part(part: &Json) -> Part {
    let Some(sort) = part.text("type") else { return Part::Unknown };
    let arguments = || ["input", "args", "arguments"].iter().find_map(|key| part.get(key));
    match sort {
        "text" | "text-plain" | "input_text" | "output_text" => Part::from_text(part.text("text")),
        "refusal" => Part::from_text(part.text("refusal")),
        "image_url" | "image" | "audio" | "video" | "file" | "document" | "media" | "input_audio" => {
            Part::Attachment(Text::from(sort))
        }
        "reasoning" | "reasoning_content" | "thinking" | "redacted_thinking" => Part::Silent,
        // Pieces of arguments, which the calls hold as a whole.
        "input_json_delta" | "tool_call_chunk" => Part::Silent,
        "tool_use" | "tool_call" | "server_tool_use" | "server_tool_call" | "mcp_tool_use" => {
            Part::from_event(chat::tool_call(part.text("id"), part.text("name"), arguments()))
        }
        "function_call" => Part::from_event(chat::tool_call(part.text("call_id"), part.text("name"), arguments())),
        sort if sort.ends_with("tool_result") => {
            let mut event = tool_result(part.text("tool_use_id").or_else(|| part.text("tool_call_id")), None);
            event.failed = part.text("status") == Some("error") || part.get("is_error") == Some(&Json::Bool(true));
            let content = part.get("content").or_else(|| part.get("output"));
            fill_answer(&mut event, content.cloned().unwrap_or(Json::Null));
            Part::from_event(event)
        }
        _ => Part::Unknown,
    }
}
