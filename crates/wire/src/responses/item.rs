//! Items of a response's input or output, cut into segments.

use lictor_decode::piece;
use lictor_event::{Event, Kind};
use lictor_json::{Json, JsonStep, Object, join_path};

use crate::known::check_texts;
use crate::refusal::WireRefusal;
use crate::segment::message::read_message;
use crate::segment::text_part::{collect_texts, hash_attachments};
use crate::segment::{EXECUTED_BY, Segment, ValuePlace, definition_paths, without_approval};

/// The types of calls that the vendor carries out itself, so that a denial comes too late to stop them.
const HOSTED_TYPES: [&str; 7] = [
    "mcp_call",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "tool_search_call",
    "program",
];

/// The tools of OpenAI whose calls have the type `TOOL_call`, and whose results have `TOOL_call_output`. An item of another
/// tool would be judged by its type, while a client may read a name in it.
const CALL_TOOLS: [&str; 12] = [
    "function",
    "custom_tool",
    "mcp",
    "web_search",
    "file_search",
    "code_interpreter",
    "image_generation",
    "tool_search",
    "computer",
    "local_shell",
    "shell",
    "apply_patch",
];

/// Such tools of compatible vendors, xAI and Azure. They run without being asked for by this name.
pub(crate) const COMPATIBLE_TOOLS: [&str; 8] = [
    "x_search",
    "bing_grounding",
    "bing_custom_search_preview",
    "azure_ai_search",
    "sharepoint_grounding_preview",
    "fabric_dataagent_preview",
    "browser_automation_preview",
    "memory_search",
];

/// The other types of items.
const OTHER_TYPES: [&str; 12] = [
    "message",
    "reasoning",
    "compaction",
    "compaction_summary",
    "item_reference",
    "additional_tools",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "tool_search_output",
    "program",
    "program_output",
];

/// The members of items that hold content.
const CONTENT_MEMBERS: [&str; 16] = [
    "content",
    "name",
    "arguments",
    "input",
    "action",
    "actions",
    "operation",
    "queries",
    "code",
    "output",
    "outputs",
    "results",
    "result",
    "tools",
    "summary",
    "error",
];

/// The members that say what a tool of the vendor does. An item has one of them, or several if none of the first three is
/// among them: then they are read as one value.
const INVOCATION_MEMBERS: [&str; 7] = ["arguments", "action", "operation", "input", "actions", "queries", "code"];

/// The members with what a tool returned.
const RESULT_MEMBERS: [&str; 5] = ["output", "outputs", "result", "results", "error"];

/// The members of a call that are no arguments, if all other members are.
const OTHER_MEMBERS: [&str; 11] = [
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

/// Whether an item is reasoning of the model, which is no event.
pub(super) fn is_reasoning(item_type: &str) -> bool {
    matches!(item_type, "reasoning" | "compaction" | "compaction_summary")
}

/// Whether a part belongs to reasoning.
pub(super) fn is_thought(part: &Json) -> bool {
    let is_empty = |key: &str| part.get(key).is_none_or(|value| value.is_null() || value.as_str() == Some(""));
    matches!(part.text("type"), Some("reasoning_text" | "summary_text")) && is_empty("refusal")
}

/// Returns the members with content that items of a type have.
fn content_members(item_type: &str) -> &'static [&'static str] {
    match item_type {
        "message" => &["content"],
        reasoning if is_reasoning(reasoning) => &["content", "summary"],
        "function_call" => &["name", "arguments"],
        "custom_tool_call" => &["name", "input"],
        "mcp_call" => &["name", "arguments", "output", "error"],
        "mcp_approval_request" => &["name", "arguments"],
        "mcp_approval_response" => &[],
        "mcp_list_tools" => &["tools", "error"],
        "additional_tools" => &["tools"],
        "tool_search_output" => &["tools"],
        name if name.ends_with("_output") => &["output", "result", "error"],
        "image_generation_call" => &["action", "result", "error"],
        _ => &[
            "arguments",
            "action",
            "operation",
            "input",
            "actions",
            "queries",
            "code",
            "output",
            "outputs",
            "results",
            "error",
        ],
    }
}

/// Whether the type of an item is known.
pub(super) fn is_item_type(name: &str) -> bool {
    let tool = name.strip_suffix("_output").unwrap_or(name).strip_suffix("_call");
    OTHER_TYPES.contains(&name)
        || tool.is_some_and(|tool| CALL_TOOLS.contains(&tool) || COMPATIBLE_TOOLS.contains(&tool))
}

/// Refuses an item of a reply that refers to content elsewhere, that is not the assistant's, or that calls nothing.
pub(super) fn check_reply_item(item: &Json) -> Result<(), WireRefusal> {
    match item.text("type") {
        Some("message") if item.text("role") != Some("assistant") => {
            Err(WireRefusal::unknown("a message of the reply", "role", item.text("role").unwrap_or("none")))
        }
        Some("function_call" | "custom_tool_call") if item.text("name").is_none_or(str::is_empty) => {
            Err(WireRefusal::new("wire.shape", "the name of a call is missing, or not a text"))
        }
        // Only a client refers to items, and answers questions of the vendor.
        None | Some("" | "item_reference" | "mcp_approval_response") => {
            Err(WireRefusal::unknown("an item", "type", item.text("type").unwrap_or("none")))
        }
        Some(name) if !is_item_type(name) => Err(WireRefusal::unknown("an item", "type", name)),
        Some(_) => check_members(item),
    }
}

/// Refuses an item with content that belongs to items of other types: it is judged by its type, while a client may read
/// every member.
pub(super) fn check_members(item: &Json) -> Result<(), WireRefusal> {
    check_texts(item.get("content").and_then(Json::as_array).unwrap_or_default())?;
    let item_type = item.text("type").unwrap_or_default();
    let own = content_members(item_type);
    let mut parts = own.iter().filter_map(|key| item.get(key)?.as_array()).flatten();
    // A client may collect each part that a message can have.
    if is_reasoning(item_type) && parts.any(|part| !is_thought(part)) {
        return Err(WireRefusal::new("wire.shape", "reasoning has the part of another item"));
    }
    let is_empty = |value: &Json| value.is_null() || value.as_str() == Some("") || value.as_array() == Some(&[]);
    let has = |key: &&&str| item.get(key).is_some_and(|value| !is_empty(value));
    if CONTENT_MEMBERS.iter().filter(has).any(|key| !own.contains(key)) {
        let message = format!("an item of the type `{item_type}` also has the content of another item");
        return Err(WireRefusal::new("wire.shape", message));
    }
    let mut invocations = INVOCATION_MEMBERS.iter().filter(has);
    if INVOCATION_MEMBERS[..3].iter().any(|key| has(&key)) && invocations.nth(1).is_some() {
        let message = format!("an item of the type `{item_type}` says twice what its tool does");
        return Err(WireRefusal::new("wire.shape", message));
    }
    Ok(())
}

/// Returns what a call says that its tool does, as a text; none if it says nothing.
pub(super) fn invocation_text(item: &Json) -> Option<String> {
    let values = INVOCATION_MEMBERS.iter().filter_map(|key| item.get(key));
    let texts: Vec<String> = values.filter(|value| has_text(value)).map(Json::to_string).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Whether a call that the client carries out was announced as it is when it is done: as the beginning of the same.
pub(super) fn is_begun_by(item: &Json, announced: &Json) -> bool {
    let is_hosted = item.text("type").is_some_and(|name| HOSTED_TYPES.contains(&name));
    is_hosted
        || INVOCATION_MEMBERS.iter().all(|key| announced.get(key).is_none_or(|begun| begins(begun, item.get(key))))
}

/// Whether an item has what its tool returned. One that is announced has it later, when the whole is judged.
pub(super) fn has_result(item: &Json) -> bool {
    let lists_tools = item.text("type") == Some("mcp_list_tools");
    let members = RESULT_MEMBERS.iter().chain(lists_tools.then_some(&"tools"));
    members.filter_map(|key| item.get(key)).any(has_text)
}

/// Whether a value has a text that is not empty.
fn has_text(value: &Json) -> bool {
    match value {
        Json::String(text) => !text.is_empty(),
        Json::Array(values) => values.iter().any(has_text),
        Json::Object(members) => members.iter().any(|(_, value)| has_text(value)),
        _ => false,
    }
}

/// Whether all texts of a value begin those of another.
fn begins(value: &Json, whole: Option<&Json>) -> bool {
    match (value, whole) {
        (Json::String(text), Some(Json::String(whole))) => whole.starts_with(text.as_str()),
        (Json::Array(values), Some(Json::Array(whole))) => {
            values.iter().enumerate().all(|(place, value)| begins(value, whole.get(place)))
        }
        (Json::Object(members), Some(Json::Object(whole))) => {
            members.iter().all(|(key, value)| begins(value, whole.get(key)))
        }
        _ => !has_text(value),
    }
}

/// Returns the segments of an item.
pub(super) fn read_item(written: &Json, at: &[JsonStep]) -> Result<Vec<Segment>, WireRefusal> {
    let item_type = written.text("type").unwrap_or("message");
    if item_type == "message" {
        return read_message(written, at);
    }
    let events = piece::item(written).filter(|_| is_item_type(item_type));
    let events = events.ok_or_else(|| WireRefusal::unknown("an item", "type", item_type))?;
    Ok(events.into_iter().map(|event| item_segment(event, written, item_type, at)).collect())
}

/// Returns the segments of an item of a reply, the tools that the vendor found among them. Requests have them as known.
pub(super) fn read_reply_item(written: &Json, at: &[JsonStep]) -> Result<Vec<Segment>, WireRefusal> {
    let mut segments = read_item(written, at)?;
    if matches!(written.text("type"), Some("additional_tools" | "tool_search_output")) {
        let tools = written.get("tools").and_then(|tools| Segment::definitions(tools, at.to_vec()));
        segments.extend(tools.map(|tools| Segment { is_sent_back: true, ..tools }));
    }
    Ok(segments)
}

fn item_segment(event: Event, written: &Json, item_type: &str, at: &[JsonStep]) -> Segment {
    let is_hosted = HOSTED_TYPES.contains(&item_type);
    let mut segment = Segment::new(without_approval(event), at.to_vec());
    let Segment { event, texts, value, result_at, attached, held, .. } = &mut segment;
    let place = |key: &str| join_path(at, [key.into()]);
    let error = written.get("error").filter(|error| !error.is_null());
    match event.kind {
        Kind::ToolResult if item_type.ends_with("_call") && error.is_some() => {
            // The event has the error, and no output.
            let has_message = error.is_some_and(|error| error.text("message").is_some());
            held.push(if has_message { join_path(&place("error"), ["message".into()]) } else { place("error") });
            *result_at = Some(place("error"));
        }
        Kind::ToolResult => {
            let key = ["output", "results", "outputs", "result"]
                .into_iter()
                .find(|key| written.get(key).is_some_and(|result| !result.is_null()));
            if let Some(key) = key {
                match event.result {
                    Some(_) => *value = Some(ValuePlace::of_result(place(key))),
                    None => collect_texts(written.get(key).unwrap_or(&Json::Null), place(key), "\n", texts),
                }
            }
            if !is_hosted && event.result.is_none() {
                *attached = key.and_then(|key| hash_attachments(written.get(key)?));
            }
            let key = key.or_else(|| written.get("error").map(|_| "error"));
            // The found tools of a search are no text that a denial could replace.
            *result_at = (item_type != "tool_search_output").then(|| place(key.unwrap_or("output")));
        }
        Kind::ToolCall => {
            let is_custom = item_type == "custom_tool_call";
            let key = match is_custom {
                true => Some("input"),
                false => ["arguments", "action", "operation"].into_iter().find(|key| written.get(key).is_some()),
            };
            let is_whole = |key: &&str| *key == "arguments" || is_custom || written.at(key).is_some_and(is_object);
            if key.filter(is_whole).is_none() {
                // All other members are its arguments.
                let members = written.as_object().into_iter().flat_map(Object::iter).map(|(key, _)| key.as_str());
                held.extend(members.filter(|key| !OTHER_MEMBERS.contains(key)).map(place));
            }
            let value_at = |key| ValuePlace::of_arguments(place(key), written.get(key), is_custom);
            *value = key.map(value_at);
        }
        Kind::ToolDefinitions => {
            *held = definition_paths(written.get("tools").unwrap_or(&Json::Null), &place("tools"));
            held.push(place("error"));
        }
        // Its reason is a text of the client, which is read on its own.
        Kind::Other(_) if item_type == "mcp_approval_response" => {}
        Kind::Other(_) => held.push(place("arguments")),
        _ => {}
    }
    if is_hosted && matches!(event.kind, Kind::ToolCall | Kind::ToolResult) {
        event.more.insert(EXECUTED_BY, "vendor");
    }
    segment
}

fn is_object(value: &Json) -> bool {
    value.as_object().is_some()
}
