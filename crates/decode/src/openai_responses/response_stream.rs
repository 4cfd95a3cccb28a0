//! Joins streamed responses: items by their place in the output, texts and arguments from their pieces.
//!
//! The joined item is one like any other, so a streamed response and a plain one make the same events by construction.
//! The last payload repeats the whole output and wins; the pieces are needed only for a truncated stream.

use std::collections::BTreeMap;

use super::item::{mark_unknown_arguments, read_item};
use crate::Fault;
use crate::conversation::Stamp;
use crate::openai_chat::truncation_fault;
use lictor_event::Event;
use lictor_json::{Json, Object};

/// Payloads that report progress, or repeat other payloads.
const PROGRESS_PREFIXES: [&str; 13] = [
    "response.in_progress",
    "response.queued",
    "response.content_part.",
    "response.output_text.annotation.",
    "response.reasoning",
    "response.web_search_call.",
    "response.file_search_call.",
    "response.code_interpreter_call.",
    "response.image_generation_call.",
    "response.mcp_list_tools.",
    "response.mcp_call.",
    "response.audio.",
    "response.compaction",
];

/// A response that is being streamed.
#[derive(Debug)]
pub(super) struct ResponseStream {
    /// The conversation in which it began.
    conversation: usize,
    items: BTreeMap<i64, Piece>,
    /// Where it began.
    stamp: Stamp,
    /// The line of its last payload.
    line: u32,
}

/// A streamed item, joined from the payloads about it.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    /// The item as it was announced, or as it is when done.
    item: Object,
    /// The parts of a message, by their place.
    parts: BTreeMap<i64, StreamedPart>,
    /// Arguments, the input of a custom tool, or code.
    arguments: String,
    is_done: bool,
}

#[derive(Clone, Debug, Default)]
struct StreamedPart {
    text: String,
    is_refusal: bool,
}

impl ResponseStream {
    /// Returns a stream that begins here.
    pub(super) fn new(conversation: usize, stamp: &Stamp) -> ResponseStream {
        ResponseStream { conversation, items: BTreeMap::new(), stamp: stamp.clone(), line: stamp.source.line }
    }

    /// Takes the next payload; returns whether its type is known.
    pub(super) fn take_payload(&mut self, payload: &Json, stamp: &Stamp) -> bool {
        self.line = stamp.source.line;
        let Some(name) = payload.text("type") else { return false };
        if PROGRESS_PREFIXES.iter().any(|known| name.starts_with(known)) {
            return true;
        }
        // The finished item repeats these.
        if name.starts_with("response.shell_call_") {
            return true;
        }
        let place = payload.get("output_index").and_then(Json::as_i64).unwrap_or(0);
        let mut piece = self.items.remove(&place).unwrap_or_default();
        let is_known = piece.take(name, payload);
        if is_known || piece.has_begun() {
            self.items.insert(place, piece);
        }
        is_known
    }

    /// Returns the conversation, the items in their order, and where the response began.
    pub(super) fn into_items(self) -> (usize, Vec<Json>, Stamp) {
        (self.conversation, self.items.into_values().map(Piece::json).collect(), self.stamp)
    }

    /// Returns the conversation, the events of what has arrived, and where the response began.
    pub(super) fn into_events(self) -> (usize, Vec<Event>, Stamp) {
        let mut events = Vec::new();
        for piece in self.items.into_values() {
            events.extend(piece.events().unwrap_or_default());
        }
        (self.conversation, events, self.stamp)
    }

    /// Returns the fault of a stream without an end.
    pub(super) fn truncation_fault(&self) -> Fault {
        truncation_fault(&self.stamp.source.file, self.line)
    }
}

impl Piece {
    /// Takes a payload about the item, by its type; returns whether the type is known.
    pub fn take(&mut self, name: &str, payload: &Json) -> bool {
        let part = payload.get("content_index").and_then(Json::as_i64).unwrap_or(0);
        let text = |key: &str| payload.text(key).unwrap_or_default();
        match name.strip_prefix("response.").unwrap_or(name) {
            "output_item.added" | "output_item.done" => {
                self.item = payload.get("item").and_then(Json::as_object).cloned().unwrap_or_default();
                self.is_done = name.ends_with("done");
            }
            "output_text.delta" => self.part_mut(part, false).text.push_str(text("delta")),
            "output_text.done" => self.part_mut(part, false).text = text("text").to_owned(),
            "refusal.delta" => self.part_mut(part, true).text.push_str(text("delta")),
            "refusal.done" => self.part_mut(part, true).text = text("refusal").to_owned(),
            "function_call_arguments.delta"
            | "mcp_call_arguments.delta"
            | "custom_tool_call_input.delta"
            | "code_interpreter_call_code.delta" => self.arguments.push_str(text("delta")),
            "function_call_arguments.done" | "mcp_call_arguments.done" => self.arguments = text("arguments").to_owned(),
            "custom_tool_call_input.done" => self.arguments = text("input").to_owned(),
            "code_interpreter_call_code.done" => self.arguments = text("code").to_owned(),
            _ => return false,
        }
        true
    }

    /// Returns the events of the item; none if its type is unknown. In a truncated item, arguments of which nothing
    /// arrived are unknown, not empty.
    pub fn events(self) -> Option<Vec<Event>> {
        let is_silent = !self.is_done && self.arguments.is_empty();
        let mut said = read_item(&self.json())?;
        if is_silent {
            said.iter_mut().for_each(mark_unknown_arguments);
        }
        Some(said)
    }

    fn has_begun(&self) -> bool {
        !self.item.is_empty() || !self.parts.is_empty() || !self.arguments.is_empty()
    }

    fn part_mut(&mut self, place: i64, is_refusal: bool) -> &mut StreamedPart {
        let part = self.parts.entry(place).or_default();
        part.is_refusal = is_refusal;
        part
    }

    /// Returns the item as a plain response has it.
    pub fn json(mut self) -> Json {
        if self.is_done {
            return self.item.into();
        }
        if !self.parts.is_empty() {
            let parts = self.parts.into_values().map(StreamedPart::json).collect::<Vec<Json>>();
            self.item.insert("content", parts);
            self.item.insert("role", "assistant");
        }
        if !self.arguments.is_empty() {
            // Pieces of arguments without an item before them: the beginning of the stream is missing.
            if self.item.get("type").is_none() {
                self.item.insert("type", "function_call");
            }
            let key = match self.item.get("type").and_then(Json::as_str) {
                Some("custom_tool_call") => "input",
                Some("code_interpreter_call") => "code",
                _ => "arguments",
            };
            self.item.insert(key, self.arguments);
        }
        self.item.into()
    }
}

impl StreamedPart {
    fn json(self) -> Json {
        let (name, key) = match self.is_refusal {
            true => ("refusal", "refusal"),
            false => ("output_text", "text"),
        };
        Json::Object([("type".into(), name.into()), (key.into(), self.text.into())].into_iter().collect())
    }
}
