//! Contents that a database keeps as text: lists of blocks, or whole messages, written as JSON.
//!
//! What an agent said is read as blocks if its text as a whole is a list of them. What a user wrote may look like that
//! too, and must not pass for the answer of a tool: it is read so only if it answers a call that was read from a text.

use std::collections::HashSet;

use super::chat;
use lictor_json::{Json, Object, Text};

/// Types of blocks that the interfaces of models define.
const BLOCKS: [&str; 20] = [
    "text",
    "input_text",
    "output_text",
    "refusal",
    "reasoning",
    "thinking",
    "redacted_thinking",
    "image",
    "image_url",
    "document",
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "tool_result",
    "mcp_tool_result",
    "web_search_tool_result",
    "code_execution_tool_result",
    "tool_call",
    "tool-call",
    "tool-result",
];

/// Types of blocks that a user may send beside answers.
const INPUTS: [&str; 5] = ["text", "input_text", "image", "image_url", "document"];

/// How many ids of calls are remembered.
const MAX_IDS: usize = 1_000_000;

/// Opens the contents of one file.
#[derive(Debug, Default)]
pub(super) struct ContentOpener {
    /// The ids of the calls that were read from texts.
    calls: HashSet<Text>,
}

impl ContentOpener {
    /// Puts blocks in the place of the texts that hold them, in a message or in the messages of a record.
    pub(super) fn open(&mut self, record: &mut Json) {
        if !has_text_blocks(record) {
            return;
        }
        match record {
            Json::Array(messages) => messages.iter_mut().for_each(|message| self.open(message)),
            Json::Object(object) => {
                if let Some(mut messages @ Json::Array(_)) = object.get("messages").cloned() {
                    self.open(&mut messages);
                    object.insert("messages", messages);
                }
                self.open_message(object);
            }
            _ => {}
        }
    }

    fn open_message(&mut self, message: &mut Object) {
        let Some(content) = message.get("content").and_then(Json::as_str) else { return };
        let Some(role) = message.get("role").and_then(Json::as_str) else { return };
        let is_agent = role == "assistant";
        if !is_agent && role != "user" {
            return;
        }
        match lictor_json::parse_str(content.trim()) {
            Ok(list) if is_block_list(&list) => {
                if is_agent {
                    self.remember(&list);
                } else if !self.answers(&list) {
                    return;
                }
                message.insert("content", list);
            }
            Ok(Json::Object(inner)) if is_agent => {
                let inner = Json::Object(inner);
                if inner.text("role") != Some("assistant") || !chat::is_message(&inner) {
                    return;
                }
                for key in ["content", "tool_calls", "function_call", "refusal"] {
                    if let Some(value) = inner.get(key) {
                        message.insert(key, value.clone());
                    }
                }
            }
            _ => {}
        }
    }

    fn remember(&mut self, blocks: &Json) {
        let ids = blocks.as_array().unwrap_or_default().iter().filter_map(|block| block.text("id"));
        let room = MAX_IDS.saturating_sub(self.calls.len());
        self.calls.extend(ids.take(room).map(Text::from));
    }

    /// Whether blocks hold answers, all of them of calls that were read from texts, and nothing that an agent does.
    fn answers(&self, blocks: &Json) -> bool {
        let blocks = blocks.as_array().unwrap_or_default();
        let is_answer = |block: &Json| block.text("type").is_some_and(|sort| sort.ends_with("tool_result"));
        let is_known = |block: &Json| match block.text("type") {
            _ if is_answer(block) => block.text("tool_use_id").is_some_and(|id| self.calls.contains(id)),
            Some(sort) => INPUTS.contains(&sort),
            None => false,
        };
        blocks.iter().any(is_answer) && blocks.iter().all(is_known)
    }
}

/// Whether a value is a list of blocks of the interface of a model.
fn is_block_list(value: &Json) -> bool {
    let blocks = value.as_array().unwrap_or_default();
    let is_block = |block: &Json| block.text("type").is_some_and(|sort| BLOCKS.contains(&sort)) && is_filled(block);
    !blocks.is_empty() && blocks.iter().all(is_block)
}

/// Whether a block has what its type is for.
fn is_filled(block: &Json) -> bool {
    match block.text("type") {
        Some("text" | "input_text" | "output_text") => block.text("text").is_some(),
        Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
            block.text("id").is_some() && block.text("name").is_some()
        }
        Some(_) => block.as_object().is_some_and(|block| block.len() > 1),
        None => false,
    }
}

/// Whether a record, or one of its messages, has a content that may be the text of blocks.
fn has_text_blocks(record: &Json) -> bool {
    match record {
        Json::Array(messages) => messages.iter().any(has_text_blocks),
        Json::Object(object) => {
            let is_text = object.get("content").and_then(Json::as_str).is_some_and(|text| {
                let text = text.trim_start();
                text.starts_with(['[', '{']) && (text.contains("\"type\"") || text.contains("\"role\""))
            });
            is_text
                || object
                    .get("messages")
                    .is_some_and(|messages| messages.as_array().is_some() && has_text_blocks(messages))
        }
        _ => false,
    }
}
