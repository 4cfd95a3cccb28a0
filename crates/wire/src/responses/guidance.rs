//! Tools on offer and notes for the model, in OpenAI Responses.

use lictor_json::{Json, JsonEdit, JsonPath, json_path};

use crate::offered_tool::OfferedTool;
use crate::segment::Edits;

/// Returns the tool of an entry of `tools`. Tools of the vendor have no name but their type.
pub(super) fn read_tool(entry: &Json) -> Option<OfferedTool> {
    match entry.text("type")? {
        "function" | "custom" => Some(OfferedTool::of_client(entry.text("name")?, entry, json_path!["parameters"])),
        // The calls of `web_search_preview` and of dated versions are calls of `web_search`.
        kind => {
            let end = ["_preview", "_20"].iter().filter_map(|mark| kind.find(mark)).min().unwrap_or(kind.len());
            Some(OfferedTool::of_vendor(kind.get(..end)?))
        }
    }
}

/// Returns the edit that adds a note. The vendor keeps the input of a request unless it is told not to, and the note would
/// come again with each later request. It does not keep the instructions.
pub(super) fn add_note(body: &Json, note: &str) -> Option<(JsonPath, JsonEdit)> {
    let is_kept = body.get("store").and_then(Json::as_bool) != Some(false);
    let instructions = body.get("instructions").filter(|it| !it.is_null());
    // The instructions of a stored prompt would give way to those of the request.
    let has_prompt = body.get("prompt").is_some_and(|prompt| !prompt.is_null());
    match instructions {
        Some(Json::String(text)) if is_kept && !text.is_empty() => {
            Some((json_path!["instructions"], JsonEdit::Set(format!("{text}\n\n{note}").into())))
        }
        None | Some(Json::String(_)) if is_kept && !has_prompt => {
            Some((json_path!["instructions"], JsonEdit::Set(note.into())))
        }
        _ => add_item(body, "developer", note),
    }
}

/// Returns the edits that put a question of the user after the input. The vendor is told not to keep it.
pub(super) fn add_question(body: &Json, question: &str) -> Option<Edits> {
    let asked = add_item(body, "user", question)?;
    Some(vec![asked, (json_path!["store"], JsonEdit::Set(false.into()))])
}

/// Returns the edit that adds a message as the last item of the input.
fn add_item(body: &Json, role: &str, text: &str) -> Option<(JsonPath, JsonEdit)> {
    let item = Json::from([("role", role.into()), ("content", text.into())]);
    let edit = match body.get("input") {
        Some(Json::Array(_)) => JsonEdit::Append(vec![item]),
        Some(text @ Json::String(_)) => {
            let said = Json::from([("role", "user".into()), ("content", text.clone())]);
            JsonEdit::Set(vec![said, item].into())
        }
        None | Some(Json::Null) => JsonEdit::Set(vec![item].into()),
        Some(_) => return None,
    };
    Some((json_path!["input"], edit))
}
