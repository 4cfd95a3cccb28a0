//! The shapes that are known: fields, blocks and events that say nothing an agent does, or say it where we look.
//!
//! What is in none of these lists is refused. A field that is `null` says nothing.

use lictor_json::{Json, Object};

use crate::WireRefusal;

/// What a message of Chat Completions, or a piece of one, may have. What the model thinks is among it: it passes.
pub(crate) const MESSAGE: [&str; 16] = [
    "role",
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "name",
    "annotations",
    "audio",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "reasoning_text",
    "reasoning_opaque",
    "reasoning_signature",
    "thinking_blocks",
    "provider_specific_fields",
];

/// What a choice may have beside its message.
pub(crate) const CHOICE: [&str; 12] = [
    "index",
    "message",
    "delta",
    "logprobs",
    "finish_reason",
    "native_finish_reason",
    "stop_reason",
    "content_filter_results",
    "content_filter_offsets",
    "content_filter_result",
    "matched_stop",
    "token_ids",
];

/// Whether a block of Anthropic's is known in a reply.
pub(crate) fn is_block(name: &str) -> bool {
    const BLOCKS: [&str; 11] = [
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
    BLOCKS.contains(&name) || name.ends_with("_tool_result")
}

/// Refuses members that are not known.
pub(crate) fn check(object: &Object, known: &[&str], what: &str) -> Result<(), WireRefusal> {
    match object.iter().find(|(key, value)| !known.contains(&key.as_str()) && !value.is_null()) {
        Some((key, _)) => Err(WireRefusal::new(
            "wire.unknown",
            format!("{what} has a field `{key}`, which is not known, so nobody can judge it"),
        )),
        None => Ok(()),
    }
}

/// A member that is a text or absent.
pub(crate) fn text<'a>(value: &'a Json, key: &str, what: &str) -> Result<&'a str, WireRefusal> {
    match value.get(key) {
        None | Some(Json::Null) => Ok(""),
        Some(Json::String(text)) => Ok(text),
        Some(_) => Err(WireRefusal::new("wire.shape", format!("`{key}` of {what} is not a text"))),
    }
}
