//! The types of content blocks that are known, and reading of texts. A block of another type is refused.

use lictor_json::{self as json, Json};

use crate::refusal::WireRefusal;

/// The types of content blocks in a reply, besides results of tools.
const BLOCK_TYPES: [&str; 12] = [
    "text",
    "thinking",
    "redacted_thinking",
    "reasoning",
    "reference",
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "container_upload",
    "compaction",
    "fallback",
    "refusal",
];

/// The members of blocks that hold content. Each type of block has some of them.
const CONTENT_MEMBERS: [&str; 8] = ["text", "refusal", "content", "input", "thinking", "data", "name", "tools"];

/// Whether the type of a content block in a reply is known.
pub(crate) fn is_block_type(name: &str) -> bool {
    BLOCK_TYPES.contains(&name) || name.ends_with("_tool_result")
}

/// Whether a block holds the model's thinking, which is no text of the message.
pub(crate) fn is_thinking(block: &Json) -> bool {
    matches!(block.text("type"), Some("thinking" | "redacted_thinking" | "reasoning" | "fallback" | "compaction"))
}

/// Refuses content blocks of unknown types, and thinking that some clients would show as text.
pub(crate) fn check_blocks(blocks: &[Json]) -> Result<(), WireRefusal> {
    check_texts(blocks)?;
    let has_text =
        |block: &&Json| ["text", "refusal"].iter().any(|key| block.text(key).is_some_and(|text| !text.is_empty()));
    if blocks.iter().filter(|block| is_thinking(block)).any(|block| has_text(&block)) {
        return Err(WireRefusal::new("wire.shape", "a block of thinking also has a text"));
    }
    // Some clients read every member, whatever the type.
    if let Some(block) = blocks.iter().find(|block| has_other_content(block)) {
        let name = block.text("type").unwrap_or_default();
        return Err(WireRefusal::new("wire.shape", format!("a block of the type `{name}` also has other content")));
    }
    let is_call = |block: &&Json| block.text("type").is_some_and(|name| name.ends_with("tool_use"));
    if blocks.iter().filter(is_call).any(|block| block.text("name").is_none_or(str::is_empty)) {
        return Err(WireRefusal::new("wire.shape", "the name of a call is missing, or not a text"));
    }
    if !blocks.iter().filter(is_call).all(has_arguments) {
        return Err(WireRefusal::new("wire.shape", "`input` of a call is not an object"));
    }
    match blocks.iter().map(|block| block.text("type").unwrap_or("none")).find(|name| !is_block_type(name)) {
        Some(name) => Err(WireRefusal::unknown("a block", "type", name)),
        None => Ok(()),
    }
}

/// The members that hold the text of a part, in the order in which they are looked for.
const TEXT_MEMBERS: [&str; 3] = ["text", "refusal", "transcript"];

/// Refuses parts of a reply with two texts: one of them would not be judged, and some clients show it.
pub(crate) fn check_texts(parts: &[Json]) -> Result<(), WireRefusal> {
    let has_second = |part: &&Json| {
        let mut texts = TEXT_MEMBERS.iter().filter_map(|key| part.text(key));
        texts.next();
        texts.any(|text| !text.is_empty())
    };
    match parts.iter().any(|part| has_second(&part)) {
        true => Err(WireRefusal::new("wire.shape", "a part of a text has two texts")),
        false => Ok(()),
    }
}

/// Whether a block has content that belongs to blocks of other types.
fn has_other_content(block: &Json) -> bool {
    let own: &[&str] = match block.text("type") {
        Some("text" | "refusal") => &["text", "refusal"],
        Some("thinking") => &["thinking"],
        Some("redacted_thinking") => &["data"],
        Some("reasoning") => &["thinking", "content", "data"],
        Some("compaction" | "fallback") => &["content"],
        Some("container_upload" | "reference") => &[],
        Some(name) if name.ends_with("tool_use") => &["name", "input"],
        Some(name) if name.ends_with("_tool_result") => &["name", "content"],
        // It is refused by its type.
        _ => return false,
    };
    let is_empty = |value: &Json| matches!(value, Json::Null) || value.as_str().is_some_and(str::is_empty);
    let mut others = CONTENT_MEMBERS.iter().filter(|key| !own.contains(key));
    others.any(|key| block.get(key).is_some_and(|value| !is_empty(value)))
}

/// Whether all clients read the same arguments of a call's block. Some parse a text once more, others do not; a text that
/// is no JSON stays a text for all of them.
fn has_arguments(block: &Json) -> bool {
    match block.get("input") {
        None | Some(Json::Null | Json::Object(_)) => true,
        Some(Json::String(text)) => text.trim().is_empty() || json::parse_str(text).is_err(),
        Some(_) => false,
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

/// Whether an entry of `tool_calls` calls a custom tool. All readers must agree on that.
pub(crate) fn is_custom_call(entry: &Json) -> Result<bool, WireRefusal> {
    let has = |key: &str| entry.get(key).is_some_and(|body| !body.is_null());
    let mixed = WireRefusal::new("wire.shape", "a call is a function and a custom tool at once");
    match (entry.text("type"), has("function"), has("custom")) {
        (_, true, true) | (Some("custom"), true, _) | (Some("function"), _, true) => Err(mixed),
        (Some("custom"), ..) | (_, _, true) => Ok(true),
        _ => Ok(false),
    }
}

/// Returns a name as readers compare it that ignore case; some take the long s for an s, and the Kelvin sign for a k.
pub(crate) fn fold_case(name: &str) -> String {
    name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}
