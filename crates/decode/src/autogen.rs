//! AutoGen: messages of agent chats, states of teams, contexts of models, chat results of version 0.2, and events of AG2.
//!
//! A message says what it is in `type` and who wrote it in `source`. The thread of a team's manager has all messages of
//! the team; without one, the contexts of its agents are read, each a conversation. In a chat result of version 0.2 the
//! roles are those that the agent that began the chat sees: its own messages are `assistant`. They are turned around.

mod ag2;

use super::chat;
use super::content::Content;
use super::dialect::fill_answer;
use super::message_log::{MessageLog, MessageLogDecoder, Part, Reading, Turn, read_time, tool_result};
use ag2::{is_ag2_event, read_ag2_event};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Object, Text};

/// Messages without content for a policy: pieces of others, and the choice of the next speaker.
const SILENT_TYPES: [&str; 4] =
    ["ModelClientStreamingChunkEvent", "SelectSpeakerEvent", "SelectorEvent", "UserInputRequestedEvent"];

/// Messages of the agents.
const CHAT_TYPES: [&str; 10] = [
    "TextMessage",
    "MultiModalMessage",
    "StopMessage",
    "HandoffMessage",
    "ToolCallSummaryMessage",
    "ToolCallRequestEvent",
    "ToolCallExecutionEvent",
    "ThoughtEvent",
    "CodeGenerationEvent",
    "CodeExecutionEvent",
];

/// Messages of a model's context.
const CONTEXT_TYPES: [&str; 4] = ["UserMessage", "AssistantMessage", "SystemMessage", "FunctionExecutionResultMessage"];

/// The tool of code that an agent runs.
const CODE_TOOL: &str = "code_execution";

/// Decodes the records of one file.
pub(super) type AutogenDecoder = MessageLogDecoder<AutogenLog>;

/// The shapes of AutoGen's messages.
#[derive(Debug, Default)]
pub(super) struct AutogenLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let is_own = |turn: &Turn<'_>| turn.messages.iter().any(|message| is_message(message) || is_old_answer(message));
    is_chat_result(value) || is_ag2_event(value) || AutogenLog::find_turns(value).iter().any(is_own)
}

fn is_message(value: &Json) -> bool {
    let Some(name) = value.text("type") else { return false };
    let is_chat = CHAT_TYPES.contains(&name) || SILENT_TYPES.contains(&name) || name == "MemoryQueryEvent";
    let is_context = CONTEXT_TYPES.contains(&name) && value.get("content").is_some() && value.get("role").is_none();
    is_context || value.text("source").is_some() && (is_chat || name.starts_with("StructuredMessage"))
}

/// Whether a value is the answer of a tool as version 0.2 writes it.
fn is_old_answer(value: &Json) -> bool {
    value.text("role") == Some("tool") && value.get("tool_responses").is_some_and(|list| list.as_array().is_some())
}

fn is_chat_result(value: &Json) -> bool {
    let history = value.get("chat_history").and_then(Json::as_array);
    history.is_some_and(|list| list.iter().any(|message| message.get("role").is_some()))
        && ["summary", "cost", "chat_id"].iter().any(|key| value.get(key).is_some())
}

impl MessageLog for AutogenLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        if let Some(states) = value.get("agent_states").and_then(Json::as_object) {
            return find_state(states);
        }
        if is_ag2_event(value) {
            return vec![Turn::from_message(value)];
        }
        let lists = ["messages", "chat_history", "message_thread", "llm_context.messages", "llm_messages"];
        let list = lists.iter().find_map(|path| value.at(path)).unwrap_or(value).as_array();
        match list {
            Some(messages) => vec![Turn::from_history(messages)],
            None if is_message(value) || value.get("role").is_some() => vec![Turn::from_message(value)],
            None => Vec::new(),
        }
    }

    fn read_message(message: &Json, reading: &mut Reading) {
        reading.time = message.get("created_at").and_then(read_time);
        let is_known = match message.text("type") {
            Some(_) if is_ag2_event(message) => read_ag2_event(message, reading),
            Some(name) if is_message(message) => read_typed(name, message, reading),
            _ => read_old(message, reading),
        };
        if !is_known {
            reading.push_unknown(message);
        }
    }
}

/// Returns the thread of a team, or the contexts of its agents.
fn find_state(states: &Object) -> Vec<Turn<'_>> {
    let find = |paths: &[&str]| {
        let lists = states.iter().filter_map(|(_, state)| paths.iter().find_map(|path| state.at(path)?.as_array()));
        lists.filter(|list| !list.is_empty()).map(Turn::from_history).collect::<Vec<_>>()
    };
    let threads = find(&["message_thread"]);
    match threads.is_empty() {
        true => find(&["agent_state.llm_context.messages", "llm_context.messages"]),
        false => threads,
    }
}

/// Reads a message by its type; returns whether it is known.
fn read_typed(name: &str, message: &Json, reading: &mut Reading) -> bool {
    let source = message.text("source").unwrap_or_default();
    let is_user = name == "UserMessage" || source.to_ascii_lowercase().starts_with("user");
    reading.agent = Some(source).filter(|source| !is_user && !source.is_empty()).map(Text::from);
    let content = message.get("content").unwrap_or(&Json::Null);
    let speaker = match name {
        "SystemMessage" => Kind::SystemMessage,
        _ if is_user => Kind::UserMessage,
        _ => Kind::AssistantMessage,
    };
    match name {
        "HandoffMessage" => {
            let (to, text) = (message.text("target").map(Text::from), message.text("content").map(Text::from));
            reading.push(Event { to, text, ..Event::new(Kind::Handoff) });
        }
        "MemoryQueryEvent" => reading.push(Event { result: Some(content.clone()), ..Event::new(Kind::Retrieval) }),
        "CodeGenerationEvent" => {
            reading.push_content(speaker, content, read_part);
            if let Some(blocks) = message.get("code_blocks").filter(|blocks| blocks.as_array() != Some(&[])) {
                let arguments: Object = [(Text::from("code_blocks"), blocks.clone())].into_iter().collect();
                reading.push(chat::tool_call(None, Some(CODE_TOOL), Some(&arguments.into())));
            }
        }
        "CodeExecutionEvent" => {
            let mut answer = tool_result(None, Some(CODE_TOOL));
            answer.text = message.at("result.output").and_then(Json::as_str).map(Text::from);
            answer.failed = message.at("result.exit_code").and_then(Json::as_i64).is_some_and(|code| code != 0);
            reading.push(answer);
        }
        name if SILENT_TYPES.contains(&name) => {}
        name if name.starts_with("StructuredMessage") => {
            let said = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
            reading.push(Event { text: Some(said.into()), ..Event::new(speaker) });
        }
        _ => {
            if let Some(thought) = message.text("thought").filter(|thought| !thought.is_empty()) {
                reading.push(Event { text: Some(thought.into()), ..Event::new(Kind::AssistantMessage) });
            }
            reading.push_content(speaker, content, read_part);
        }
    }
    true
}

/// Reads a part of a content: a call, an answer, or a picture.
fn read_part(part: &Json) -> Part {
    if part.get("call_id").is_some() {
        let mut answer = tool_result(part.text("call_id"), part.text("name"));
        answer.failed = part.get("is_error") == Some(&Json::Bool(true));
        fill_answer(&mut answer, part.get("content").cloned().unwrap_or(Json::Null));
        return Part::from_event(answer);
    }
    if part.get("arguments").is_some() && part.text("name").is_some() {
        return Part::from_event(chat::tool_call(part.text("id"), part.text("name"), part.get("arguments")));
    }
    match part.get("data").is_some() || part.get("image_url").is_some() {
        true => Part::Attachment(Text::from("image")),
        false => Part::Unknown,
    }
}

/// Reads a message of version 0.2; returns whether it is known.
fn read_old(message: &Json, reading: &mut Reading) -> bool {
    let (name, role) = (message.text("name").unwrap_or_default(), message.text("role"));
    let is_first = reading.opener.is_none();
    if is_first {
        // Without a name, or if the user comes first, the roles are right as they are.
        reading.opener = Some(Text::from(if role == Some("assistant") { name } else { "" }));
    }
    if is_old_answer(message) {
        for answer in message.get("tool_responses").and_then(Json::as_array).unwrap_or_default() {
            let mut event = tool_result(answer.text("tool_call_id"), None);
            fill_answer(&mut event, answer.get("content").cloned().unwrap_or(Json::Null));
            reading.push(event);
        }
        return true;
    }
    let is_turned = reading.opener.as_ref().is_some_and(|opener| !opener.is_empty());
    let has_calls = ["tool_calls", "function_call"].iter().any(|key| message.get(key).is_some());
    match role {
        Some("user" | "assistant") if is_turned && !name.is_empty() && !has_calls => {
            let is_opener = reading.opener.as_deref() == Some(name);
            reading.agent = (!is_opener).then(|| Text::from(name));
            let speaker = if is_opener { Kind::UserMessage } else { Kind::AssistantMessage };
            let content = Content::from_json(message.get("content").unwrap_or(&Json::Null), "\n");
            reading.push(chat::message_event(speaker, content));
        }
        Some(_) => reading.push_chat(message),
        None => return false,
    }
    true
}
