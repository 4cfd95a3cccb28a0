//! Tools on offer and notes for the model, in Anthropic Messages.

use lictor_json::{Json, JsonEdit, JsonPath, Object, json_path};

use crate::offered_tool::OfferedTool;

/// Returns the tool of an entry of `tools`. An entry with a type of its own is defined by the vendor.
pub(super) fn read_tool(entry: &Json) -> Option<OfferedTool> {
    let name = entry.text("name")?;
    match entry.text("type") {
        None | Some("custom") => Some(OfferedTool::of_client(name, entry, json_path!["input_schema"])),
        Some(_) => Some(OfferedTool::of_vendor(name)),
    }
}

/// Returns the edit that adds a note after the system prompt.
pub(super) fn add_note(body: &Json, note: &str) -> Option<(JsonPath, JsonEdit)> {
    let edit = match body.get("system") {
        None | Some(Json::Null) => JsonEdit::Set(note.into()),
        Some(Json::String(text)) if text.is_empty() => JsonEdit::Set(note.into()),
        Some(Json::String(text)) => JsonEdit::Set(format!("{text}\n\n{note}").into()),
        Some(Json::Array(_)) => JsonEdit::Append(vec![Json::from([("type", "text".into()), ("text", note.into())])]),
        Some(_) => return None,
    };
    Some((json_path!["system"], edit))
}

/// Returns the value of `tool_choice` for a word, with what the present one says beside it.
pub(super) fn choose(word: &str, before: Option<&Json>) -> Json {
    let mut choice = Object::new();
    choice.insert("type", word);
    let parallel = before.and_then(|before| before.get("disable_parallel_tool_use"));
    if let Some(parallel) = parallel.filter(|_| word != "none") {
        choice.insert("disable_parallel_tool_use", parallel.clone());
    }
    choice.into()
}
