//! Reads one message of a chat, in the shapes of OpenAI, Anthropic and their imitators.
//!
//! Both vendors write `{role, content}`, and many logs mix their habits, so there is one reader for both: tool calls
//! are beside the content (`tool_calls`, `function_call`) or blocks within it (`tool_use`), answers are messages of
//! their own (`role: tool`) or blocks (`tool_result`). Reasoning is not an event.

use super::content::Content;
use lictor_event::{Arguments, Event, FREE_TEXT, Kind, find_time};
use lictor_json::{Json, Object, Text};

/// The roles by which a message is known.
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// Blocks that only an Anthropic message has.
const ANTHROPIC_BLOCKS: [&str; 5] = ["tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"];

/// The fact that a model declined to answer.
pub(super) const REFUSAL: &str = "refusal";

/// The kind of a call that a person is asked about before it is made.
pub(super) const APPROVAL_REQUEST: &str = "approval_request";

/// Whether a value is a chat message: it has a role and content or calls.
pub(super) fn is_message(value: &Json) -> bool {
    let said = ["content", "tool_calls", "function_call", "refusal"].iter().any(|key| value.get(key).is_some());
    value.text("role").is_some_and(|role| ROLES.contains(&role))
        && said
        // Messages of Agent2Agent and events of Lictor's own have these.
        && ["parts", "kind", "type"].iter().all(|key| value.get(key).is_none())
}

/// Whether a value is a message with blocks that only Anthropic has.
pub(super) fn has_blocks(value: &Json) -> bool {
    let blocks = value.get("content").and_then(Json::as_array).unwrap_or_default();
    let telling =
        |name: &str| ANTHROPIC_BLOCKS.contains(&name) || name.ends_with("_tool_result") || name == "mcp_tool_use";
    is_message(value) && blocks.iter().any(|block| block.text("type").is_some_and(telling))
}

/// Returns the events of a message; none if its role is unknown.
pub(super) fn read_message(message: &Json) -> Option<Vec<Event>> {
    let null = Json::Null;
    let content = message.get("content").unwrap_or(&null);
    match message.text("role")? {
        "system" | "developer" => Some(vec![message_event(Kind::SystemMessage, Content::from_json(content, "\n"))]),
        "user" => Some(read_user(content)),
        "assistant" => Some(read_assistant(message, content)),
        "tool" | "function" => Some(vec![read_answer(message, content)]),
        _ => None,
    }
}

/// Returns the events of a message in a log, with the time that the message names. A message on the wire names none that
/// could be trusted.
pub(super) fn read_logged_message(message: &Json) -> Option<Vec<Event>> {
    let mut events = read_message(message)?;
    set_time(&mut events, message);
    Some(events)
}

/// Sets the time that a message names in its events.
pub(super) fn set_time(events: &mut [Event], message: &Json) {
    if let Some(time) = message.as_object().and_then(find_time) {
        events.iter_mut().for_each(|event| event.time = Some(time));
    }
}

/// Returns an event of a kind with a content.
pub(super) fn message_event(kind: Kind, content: Content) -> Event {
    let mut event = Event::new(kind);
    content.fill(&mut event);
    event
}

fn read_user(content: &Json) -> Vec<Event> {
    let mut events = Vec::new();
    let mut open = Content::default();
    for block in content.as_array().unwrap_or(std::slice::from_ref(content)) {
        match read_block(block) {
            Some(event) => {
                flush_content(&mut open, Kind::UserMessage, &mut events);
                events.push(event);
            }
            None => open.add(block, "\n"),
        }
    }
    // A user who sends nothing still took a turn; one who sends the answers of tools did not.
    if !open.is_empty() || events.is_empty() {
        events.push(message_event(Kind::UserMessage, open));
    }
    events
}

fn read_assistant(message: &Json, content: &Json) -> Vec<Event> {
    let mut events = Vec::new();
    let mut open = Content::default();
    let mut refused = false;
    for block in content.as_array().unwrap_or(std::slice::from_ref(content)) {
        match (read_block(block), block.text("type")) {
            (Some(event), _) => {
                flush_content(&mut open, Kind::AssistantMessage, &mut events);
                events.push(event);
            }
            (None, Some("thinking" | "redacted_thinking" | "reasoning" | "fallback" | "compaction")) => {}
            (None, kind) => {
                refused |= kind == Some(REFUSAL);
                open.add(block, "");
            }
        }
    }
    if let Some(transcript) = message.at("audio.transcript") {
        open.add(transcript, "\n");
    }
    if let Some(refusal) = message.text("refusal").filter(|text| !text.is_empty()) {
        open.add(&refusal.into(), "\n");
        refused = true;
    }
    flush_content(&mut open, Kind::AssistantMessage, &mut events);
    if refused {
        mark_refusal(&mut events);
    }
    let calls = message.get("tool_calls").and_then(Json::as_array).unwrap_or_default();
    events.extend(calls.iter().map(read_call));
    if let Some(legacy) = message.get("function_call").filter(|call| !call.is_null()) {
        events.push(tool_call(None, legacy.text("name"), legacy.get("arguments")));
    }
    if let Some(name) = message.text("name") {
        events.iter_mut().for_each(|event| event.agent = Some(name.into()));
    }
    events
}

/// Adds an event for the content so far, unless it is empty.
fn flush_content(open: &mut Content, kind: Kind, events: &mut Vec<Event>) {
    let content = std::mem::take(open);
    if !content.is_empty() {
        events.push(message_event(kind, content));
    }
}

/// Labels the agent's last message as a refusal; without one, adds an empty message.
pub(super) fn mark_refusal(events: &mut Vec<Event>) {
    match events.iter_mut().rfind(|event| event.kind == Kind::AssistantMessage) {
        Some(event) => event.labels.push(REFUSAL.into()),
        None => {
            let mut event = Event::new(Kind::AssistantMessage);
            event.labels.push(REFUSAL.into());
            events.push(event);
        }
    }
}

/// Returns the event of a tool call.
pub(super) fn tool_call(id: Option<&str>, name: Option<&str>, arguments: Option<&Json>) -> Event {
    Event {
        id: id.map(Text::from),
        tool: name.map(Text::from),
        args: Some(Arguments::from_json(arguments.cloned().unwrap_or(Json::Null))),
        ..Event::new(Kind::ToolCall)
    }
}

/// Returns the event of a call of a tool that takes free text: its arguments are an object with that text as `input`, and
/// it is marked with [`FREE_TEXT`].
pub(super) fn tool_call_of_text(id: Option<&str>, name: Option<&str>, input: Option<&Json>) -> Event {
    let mut arguments = Object::new();
    arguments.insert("input", input.cloned().unwrap_or(Json::Null));
    let mut event = tool_call(id, name, Some(&arguments.into()));
    event.more.insert(FREE_TEXT, true);
    event
}

/// Reads an entry of `tool_calls`.
fn read_call(entry: &Json) -> Event {
    let id = entry.text("id");
    if let Some(function) = entry.get("function").filter(|function| function.as_object().is_some()) {
        return tool_call(id, function.text("name"), function.get("arguments"));
    }
    if let Some(custom) = entry.get("custom") {
        return tool_call_of_text(id, custom.text("name"), custom.get("input"));
    }
    let arguments = ["args", "arguments", "input"].iter().find_map(|key| entry.get(key));
    match entry.text("name").or_else(|| entry.text("function")) {
        Some(name) => tool_call(id, Some(name), arguments),
        // A call of unknown shape is still a call, and all of it is its arguments.
        None => tool_call(id, None, Some(entry)),
    }
}

/// Reads the answer of a tool that is a message of its own.
fn read_answer(message: &Json, content: &Json) -> Event {
    let mut event = message_event(Kind::ToolResult, Content::from_json(content, "\n"));
    event.id = message.text("tool_call_id").map(Text::from);
    event.tool = message.text("name").map(Text::from);
    event
}

/// Reads a block that is a call or an answer; none for other blocks.
fn read_block(block: &Json) -> Option<Event> {
    let name = block.text("type")?;
    match name {
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            let mut event = tool_call(block.text("id"), block.text("name"), block.get("input"));
            copy_server(block, "server_name", &mut event);
            Some(event)
        }
        "tool_result" | "mcp_tool_result" => {
            let mut event =
                message_event(Kind::ToolResult, Content::from_json(block.get("content").unwrap_or(&Json::Null), "\n"));
            event.id = block.text("tool_use_id").map(Text::from);
            event.failed = block.get("is_error").and_then(Json::as_bool).unwrap_or(false);
            Some(event)
        }
        "mcp_tool_listing" => {
            let mut event = Event::new(Kind::ToolDefinitions);
            event.more.insert("tools", block.get("tools").cloned().unwrap_or(Json::Array(Vec::new())));
            copy_server(block, "mcp_server_name", &mut event);
            Some(event)
        }
        _ => name.strip_suffix("_tool_result").map(|tool| read_server_answer(tool, block)),
    }
}

/// Reads the answer of a tool that the vendor runs: a value, which may report a failure.
fn read_server_answer(tool: &str, block: &Json) -> Event {
    let mut event = Event::new(Kind::ToolResult);
    event.tool = Some(tool.into());
    event.id = block.text("tool_use_id").map(Text::from);
    event.result = block.get("content").cloned();
    let error = block.at("content.type").and_then(Json::as_str).is_some_and(|name| name.ends_with("_error"));
    event.failed = error || block.get("is_error").and_then(Json::as_bool).unwrap_or(false);
    event
}

/// Copies the name of the server that offers the tool.
pub(super) fn copy_server(from: &Json, key: &str, event: &mut Event) {
    if let Some(server) = from.text(key) {
        event.more.insert("server", server);
    }
}

/// Returns the event of a failure that the service reports.
pub(super) fn failure_event(error: &Json) -> Event {
    let mut event = Event::new(Kind::Error);
    event.failed = true;
    event.text = Some(match error.text("message").or(error.as_str()) {
        Some(text) => text.into(),
        None => error.to_string().into(),
    });
    if let Some(code) = error.get("code").or_else(|| error.get("type")).filter(|code| !code.is_null()) {
        event.more.insert("code", code.clone());
    }
    event
}
