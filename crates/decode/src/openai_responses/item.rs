//! Items: the steps of which the inputs and outputs of the Responses interface consist.
//!
//! Every tool has its own type of item, and new ones appear often, but they are built alike: `…_call` is a call, and
//! `…_call_output` an answer to one. Tools that the vendor runs may hold the answer within the call.

use crate::chat::{self, APPROVAL_REQUEST, copy_server, message_event, tool_call, tool_call_of_text};
use crate::content::Content;
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Object, Text};

/// Items that make no event.
const SILENT_ITEMS: [&str; 5] = ["reasoning", "item_reference", "compaction", "compaction_summary", "additional_tools"];

/// Members of a call that are no arguments.
const NON_ARGUMENT_KEYS: [&str; 11] = [
    "type",
    "id",
    "call_id",
    "status",
    "results",
    "result",
    "outputs",
    "output",
    "pending_safety_checks",
    "created_by",
    "name",
];

/// The vendor's own tools, whose calls have no name but their type.
const VENDOR_TOOLS: [&str; 10] = [
    "apply_patch",
    "code_interpreter",
    "computer",
    "file_search",
    "image_generation",
    "local_shell",
    "program",
    "shell",
    "tool_search",
    "web_search",
];

/// Whether a value is an item, by its type. Messages count if their parts are of this interface.
pub(super) fn is_item(value: &Json) -> bool {
    match value.text("type") {
        Some("message") => is_message(value),
        Some("mcp_list_tools" | "mcp_approval_request" | "mcp_approval_response") => true,
        Some("reasoning") => value.get("summary").is_some(),
        Some("item_reference") => value.get("id").is_some(),
        Some(name) => {
            let called = ["call_id", "id"].iter().any(|key| value.text(key).is_some());
            called && (name.ends_with("_call") || name.ends_with("_call_output"))
        }
        None => false,
    }
}

fn is_message(value: &Json) -> bool {
    let known = |name: &str| name.starts_with("input_") || name.starts_with("output_") || name == "refusal";
    let parts = |content: &Json| match content {
        Json::Array(parts) => parts.iter().all(|part| part.text("type").is_some_and(known)),
        content => content.as_str().is_some(),
    };
    value.text("role").is_some()
        && value.get("content").is_some_and(parts)
        // An answer of Anthropic's is a message too.
        && value.get("stop_reason").is_none()
}

/// Returns the events of an item; none if its type is unknown.
pub(crate) fn read_item(item: &Json) -> Option<Vec<Event>> {
    let name = item.text("type").unwrap_or("message");
    match name {
        "message" => chat::read_message(item),
        "mcp_list_tools" => Some(vec![read_definitions(item)]),
        "mcp_approval_request" => Some(vec![read_approval_request(item)]),
        "mcp_approval_response" => Some(vec![read_approval(item)]),
        "program" => Some(read_call(name, item)),
        _ if SILENT_ITEMS.contains(&name) => Some(Vec::new()),
        _ => match name.strip_suffix("_output").map(|call| call.strip_suffix("_call").unwrap_or(call)) {
            Some(tool) => Some(vec![read_answer(tool, item)]),
            None => Some(read_call(name.strip_suffix("_call")?, item)),
        },
    }
}

fn read_definitions(item: &Json) -> Event {
    let mut event = Event::new(Kind::ToolDefinitions);
    event.id = item.text("id").map(Text::from);
    event.more.insert("tools", item.get("tools").cloned().unwrap_or(Json::Array(Vec::new())));
    copy_server(item, "server_label", &mut event);
    if let Some(error) = item.get("error").filter(|error| !error.is_null()) {
        event.failed = true;
        event.text = Some(error_text(error));
    }
    event
}

fn read_approval_request(item: &Json) -> Event {
    let mut event = tool_call(item.text("id"), item.text("name"), item.get("arguments"));
    event.kind = Kind::Other(APPROVAL_REQUEST.into());
    copy_server(item, "server_label", &mut event);
    event
}

fn read_approval(item: &Json) -> Event {
    let kind = match item.get("approve").and_then(Json::as_bool) {
        Some(true) => Kind::Approval,
        // Anything but a yes is a no.
        _ => Kind::Denial,
    };
    let mut event = Event::new(kind);
    event.id = item.text("approval_request_id").map(Text::from);
    event.text = item.text("reason").map(Text::from);
    event
}

/// Reads a call, and its answer if the item holds it.
fn read_call(tool: &str, item: &Json) -> Vec<Event> {
    let id = item.text("call_id").or_else(|| item.text("id"));
    let name = item.text("name").filter(|_| !VENDOR_TOOLS.contains(&tool)).unwrap_or(tool);
    let mut event = match (item.get("arguments"), item.get("input").filter(|_| tool == "custom_tool")) {
        (Some(arguments), _) => tool_call(id, Some(name), Some(arguments)),
        (None, Some(input)) => tool_call_of_text(id, Some(name), Some(input)),
        (None, None) => tool_call(id, Some(name), Some(&read_arguments(item))),
    };
    copy_server(item, "server_label", &mut event);
    for key in ["approval_request_id", "pending_safety_checks", "namespace", "environment"] {
        if let Some(value) = item.get(key).filter(|value| !value.is_null()) {
            event.more.insert(key, value.clone());
        }
    }
    let mut events = vec![event];
    let error = item.get("error").filter(|error| !error.is_null());
    let held = ["output", "results", "outputs"].iter().find_map(|key| item.get(key).filter(|held| !held.is_null()));
    if error.is_some() || held.is_some() {
        let mut event = Event::new(Kind::ToolResult);
        event.id = id.map(Text::from);
        event.tool = Some(name.into());
        event.failed = error.is_some() || item.text("status") == Some("failed");
        match error {
            Some(error) => event.text = Some(error_text(error)),
            None => fill_output(&mut event, held.unwrap_or(&Json::Null)),
        }
        events.push(event);
    }
    events
}

/// Returns the arguments of a vendor's tool: its action or operation, or all other members.
fn read_arguments(item: &Json) -> Json {
    let whole =
        ["action", "operation"].iter().find_map(|key| item.get(key).filter(|value| value.as_object().is_some()));
    if let Some(whole) = whole {
        return whole.clone();
    }
    let members = item.as_object().into_iter().flat_map(Object::iter);
    let called = members.filter(|(key, value)| !NON_ARGUMENT_KEYS.contains(&key.as_str()) && !value.is_null());
    Json::Object(called.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn read_answer(tool: &str, item: &Json) -> Event {
    let mut event = Event::new(Kind::ToolResult);
    event.id = item.text("call_id").or_else(|| item.text("id")).map(Text::from);
    // Other names are known from the call only.
    event.tool = Some(tool).filter(|tool| VENDOR_TOOLS.contains(tool)).map(Text::from);
    event.failed = matches!(item.text("status"), Some("failed" | "incomplete"));
    fill_output(&mut event, item.get("output").or_else(|| item.get("result")).unwrap_or(&Json::Null));
    event
}

/// Puts an answer into an event: as text if it is text or parts of it, else as the value that it is.
fn fill_output(event: &mut Event, output: &Json) {
    let is_said = |part: &Json| {
        part.as_str().is_some()
            || part.text("text").is_some()
            || part.text("type").is_some_and(|name| name.starts_with("input_"))
    };
    match output {
        Json::Null => {}
        Json::String(text) => event.text = Some(text.clone()),
        Json::Array(parts) if !parts.is_empty() && parts.iter().all(is_said) => {
            Content::from_json(output, "\n").fill(event)
        }
        value => event.result = Some(value.clone()),
    }
}

fn error_text(error: &Json) -> Text {
    match error.as_str().or_else(|| error.text("message")) {
        Some(text) => text.into(),
        None => error.to_string().into(),
    }
}

/// Returns the event of a user message that is plain text.
pub(super) fn user_message(text: &Text) -> Event {
    message_event(Kind::UserMessage, Content { text: Some(text.clone()), attachments: Vec::new() })
}

/// Marks the arguments of a call as unknown, because the stream was truncated before they arrived.
pub(super) fn mark_unknown_arguments(event: &mut Event) {
    if event.kind == Kind::ToolCall {
        event.args = Some(Arguments::Unparsed(Text::default()));
    }
}
