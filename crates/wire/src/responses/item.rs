//! Items of a response's input or output, cut into segments.

use lictor_decode::piece;
use lictor_event::{Event, Kind};
use lictor_json::{Json, JsonStep, join_path};

use crate::known::check_texts;
use crate::refusal::WireRefusal;
use crate::segment::message::read_message;
use crate::segment::text_part::{collect_texts, hash_attachments};
use crate::segment::{EXECUTED_BY, Segment, ValuePlace, without_approval};

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

/// The tools whose calls have the type `TOOL_call`, and whose results have `TOOL_call_output`: those of OpenAI, xAI and
/// Azure. An item of another tool would be judged by its type, while a client may read a name in it.
const CALL_TOOLS: [&str; 20] = [
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

/// The types of items that name their tool.
const NAMED_TYPES: [&str; 4] = ["function_call", "custom_tool_call", "mcp_call", "mcp_approval_request"];

/// Whether the type of an item is known.
pub(super) fn is_item_type(name: &str) -> bool {
    let tool = name.strip_suffix("_output").unwrap_or(name).strip_suffix("_call");
    OTHER_TYPES.contains(&name) || tool.is_some_and(|tool| CALL_TOOLS.contains(&tool))
}

/// Refuses an item of a reply that refers to content elsewhere, that is not the assistant's, or that calls nothing.
pub(super) fn check_reply_item(item: &Json) -> Result<(), WireRefusal> {
    let has = |keys: &[&str]| keys.iter().any(|key| item.get(key).is_some_and(|value| !value.is_null()));
    check_texts(item.get("content").and_then(Json::as_array).unwrap_or_default())?;
    match item.text("type") {
        Some("message") if has(&["name", "arguments", "input", "output", "result", "code", "action"]) => {
            Err(WireRefusal::new("wire.shape", "a message of the reply also has the content of another item"))
        }
        Some("function_call" | "custom_tool_call") if has(&["content", "output", "result", "code", "action"]) => {
            Err(WireRefusal::new("wire.shape", "a call of the reply also has the content of another item"))
        }
        Some("message") if item.text("role") != Some("assistant") => {
            Err(WireRefusal::unknown("a message of the reply", "role", item.text("role").unwrap_or("none")))
        }
        Some("function_call" | "custom_tool_call") if item.text("name").is_none_or(str::is_empty) => {
            Err(WireRefusal::new("wire.shape", "the name of a call is missing, or not a text"))
        }
        None | Some("" | "item_reference") => {
            Err(WireRefusal::unknown("an item", "type", item.text("type").unwrap_or("none")))
        }
        Some(name) if !is_item_type(name) => Err(WireRefusal::unknown("an item", "type", name)),
        Some(name) if !NAMED_TYPES.contains(&name) && has(&["name"]) => {
            Err(WireRefusal::new("wire.shape", format!("an item of the type `{name}` names another tool")))
        }
        Some(_) => Ok(()),
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

fn item_segment(event: Event, written: &Json, item_type: &str, at: &[JsonStep]) -> Segment {
    let is_hosted = HOSTED_TYPES.contains(&item_type);
    let mut segment = Segment::new(without_approval(event), at.to_vec());
    let Segment { event, texts, value, result_at, attached, .. } = &mut segment;
    match event.kind {
        Kind::ToolResult => {
            let key = ["output", "results", "outputs", "result"]
                .into_iter()
                .find(|key| written.get(key).is_some_and(|result| !result.is_null()));
            if let Some(key) = key {
                let place = join_path(at, [key.into()]);
                match event.result {
                    Some(_) => *value = Some(ValuePlace::of_result(place)),
                    None => collect_texts(written.get(key).unwrap_or(&Json::Null), place, "\n", texts),
                }
            }
            if !is_hosted && event.result.is_none() {
                *attached = key.and_then(|key| hash_attachments(written.get(key)?));
            }
            let key = key.or_else(|| written.get("error").map(|_| "error"));
            // The found tools of a search are no text that a denial could replace.
            *result_at = (item_type != "tool_search_output").then(|| join_path(at, [key.unwrap_or("output").into()]));
        }
        Kind::ToolCall => {
            let is_custom = item_type == "custom_tool_call";
            let key = match is_custom {
                true => Some("input"),
                false => ["arguments", "action", "operation"].into_iter().find(|key| written.get(key).is_some()),
            };
            let place = |key: &str| ValuePlace::of_arguments(join_path(at, [key.into()]), written.get(key), is_custom);
            *value = key.map(place);
        }
        _ => {}
    }
    if is_hosted && matches!(event.kind, Kind::ToolCall | Kind::ToolResult) {
        event.more.insert(EXECUTED_BY, "vendor");
    }
    segment
}
