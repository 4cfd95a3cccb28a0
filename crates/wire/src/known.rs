//! Checks of shapes against lists of known names. Anything that is on no list is refused.

use lictor_json::{Json, Object};

use crate::refusal::WireRefusal;

/// The types of content blocks in a reply, besides results of tools.
const BLOCK_TYPES: [&str; 11] = [
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "mcp_tool_listing",
    "container_upload",
    "compaction",
    "fallback",
    "refusal",
];

/// Whether the type of a content block in a reply is known.
pub(crate) fn is_block_type(name: &str) -> bool {
    BLOCK_TYPES.contains(&name) || name.ends_with("_tool_result")
}

/// Refuses content blocks of unknown types.
pub(crate) fn check_blocks(blocks: &[Json]) -> Result<(), WireRefusal> {
    match blocks.iter().map(|block| block.text("type").unwrap_or("none")).find(|name| !is_block_type(name)) {
        Some(name) => Err(WireRefusal::unknown("a block", "type", name)),
        None => Ok(()),
    }
}

/// Refuses an object with unknown members. A member that is `null` carries nothing and passes.
pub(crate) fn check_members(object: &Object, known: &[&str], what: &str) -> Result<(), WireRefusal> {
    match object.iter().find(|(key, value)| !known.contains(&key.as_str()) && !value.is_null()) {
        Some((key, _)) => {
            let message = format!("{what} has the unknown field `{key}`, so Lictor cannot judge it");
            Err(WireRefusal::new("wire.unknown", message))
        }
        None => Ok(()),
    }
}

/// Returns a member that is a text or missing.
pub(crate) fn read_text<'a>(value: &'a Json, key: &str, what: &str) -> Result<&'a str, WireRefusal> {
    match value.get(key) {
        None | Some(Json::Null) => Ok(""),
        Some(Json::String(text)) => Ok(text),
        Some(_) => Err(WireRefusal::new("wire.shape", format!("`{key}` of {what} is not a text"))),
    }
}
