//! What a client sends back of a reply, and where the model's thinking is in it.

use lictor_json::{Json, JsonStep};

use super::file::{FileContent, FileHolder};
use super::keys::THINKING_KEYS;
use crate::known::is_thinking;

/// Whether a message or an item was in a reply of the model, if the client is honest.
pub(super) fn is_models_entry(entry: &Json) -> bool {
    let is_item =
        |name: &str| name.ends_with("_call") || matches!(name, "program" | "mcp_list_tools" | "mcp_approval_request");
    match entry.text("role") {
        Some(role) => role == "assistant",
        None => is_thinking(entry) || is_compaction(entry) || entry.text("type").is_some_and(is_item),
    }
}

/// Whether an item of Responses is a compaction.
fn is_compaction(entry: &Json) -> bool {
    matches!(entry.text("type"), Some("compaction" | "compaction_summary"))
}

/// Returns the members that hold thinking of an object in a message or an item of the model, by where it is there.
pub(super) fn thought_keys(value: &Json, at: &[JsonStep], is_said: bool) -> &'static [&'static str] {
    let kind = value.text("type");
    match at {
        [_, _] if is_said => &THINKING_KEYS,
        // An item of Responses: the vendor reads what is encrypted, and no summary beside it.
        [_, _] => match (kind, value.text("encrypted_content").map(|text| FileHolder::default().read_file(text))) {
            (Some("reasoning"), Some(FileContent::Opaque)) => &["summary"],
            _ => &[],
        },
        [_, _, JsonStep::Key(key)] if is_said && key == "provider_specific_fields" => &THINKING_KEYS,
        [_, _, JsonStep::Key(key), JsonStep::Index(_)] if is_said && key == "content" => match kind {
            Some("thinking") => &["thinking", "signature"],
            Some("reasoning") => &["thinking", "summary", "content", "signature"],
            _ => &[],
        },
        _ => &[],
    }
}
