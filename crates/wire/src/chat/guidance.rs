//! Tools on offer and notes for the model, in Chat Completions.

use lictor_json::{Json, JsonEdit, JsonPath, json_path};

use crate::offered_tool::OfferedTool;

/// Returns the tool of an entry of `tools`, or of the older `functions`.
pub(super) fn read_tool(entry: &Json) -> Option<OfferedTool> {
    match entry.text("type") {
        Some("function") => {
            let name = entry.at("function.name").and_then(Json::as_str)?;
            Some(OfferedTool::of_client(name, entry, json_path!["function", "parameters"]))
        }
        Some("custom") => {
            let name = entry.at("custom.name").and_then(Json::as_str)?;
            Some(OfferedTool::of_client(name, entry, json_path!["custom", "parameters"]))
        }
        Some(kind) => Some(OfferedTool::of_vendor(kind)),
        None => Some(OfferedTool::of_client(entry.text("name")?, entry, json_path!["parameters"])),
    }
}

/// Returns the edit that adds a note as the last message. Newer models take instructions from the role `developer`, and
/// many compatible services know `system` only: the request tells which it uses.
pub(super) fn add_note(body: &Json, note: &str) -> Option<(JsonPath, JsonEdit)> {
    let messages = body.get("messages").and_then(Json::as_array)?;
    let has_developer = messages.iter().any(|message| message.text("role") == Some("developer"));
    let role = if has_developer { "developer" } else { "system" };
    let message = Json::from([("role", role.into()), ("content", note.into())]);
    Some((json_path!["messages"], JsonEdit::Append(vec![message])))
}
