//! Joins streamed answers: blocks by their index, texts and arguments from their pieces.
//!
//! The joined message is one like any other, so a streamed answer and a plain one make the same events by construction.

use std::collections::BTreeMap;

use super::read_response;
use crate::conversation::{Conversations, Stamp};
use crate::openai_chat::truncation_fault;
use crate::{DecodedEvents, Fault};
use lictor_event::{Arguments, Kind};
use lictor_json::{Json, Object, Text};

/// A message that is being streamed.
#[derive(Debug)]
pub(super) struct MessageStream {
    /// The conversation in which it began.
    conversation: usize,
    message: Object,
    blocks: BTreeMap<i64, Block>,
    /// Where it began.
    stamp: Stamp,
    /// The line of its last piece.
    line: u32,
}

/// A block of a streamed message, joined from its pieces.
#[derive(Clone, Debug)]
pub struct Block {
    /// The block as it was announced.
    start: Object,
    text: String,
    /// Arguments, as JSON in pieces.
    input: String,
    is_whole: bool,
}

impl MessageStream {
    /// Returns the stream that a `message_start` begins.
    pub(super) fn new(start: &Json, conversation: usize, stamp: &Stamp) -> MessageStream {
        let message = start.get("message").and_then(Json::as_object).cloned().unwrap_or_default();
        let given = message.get("content").and_then(Json::as_array).unwrap_or_default();
        let blocks = given.iter().enumerate().map(|(index, block)| (index as i64, Block::new(block, true))).collect();
        MessageStream { conversation, message, blocks, stamp: stamp.clone(), line: stamp.source.line }
    }

    /// Takes the next piece; returns whether its type is known.
    pub(super) fn take_piece(&mut self, piece: &Json, stamp: &Stamp) -> bool {
        self.line = stamp.source.line;
        let index = piece.get("index").and_then(Json::as_i64).unwrap_or(0);
        match piece.text("type") {
            Some("content_block_start") => {
                let block = Block::new(piece.get("content_block").unwrap_or(&Json::Null), false);
                self.blocks.insert(index, block);
                true
            }
            Some("content_block_delta") => {
                let block = self.blocks.entry(index).or_insert_with(|| Block::new(&Json::Null, false));
                piece.get("delta").is_some_and(|delta| block.take(delta))
            }
            Some("content_block_stop") => {
                if let Some(block) = self.blocks.get_mut(&index) {
                    block.close();
                }
                true
            }
            Some("message_delta") => {
                for (key, value) in piece.get("delta").and_then(Json::as_object).into_iter().flat_map(Object::iter) {
                    self.message.insert(key.clone(), value.clone());
                }
                true
            }
            _ => false,
        }
    }

    /// Emits the events of what has arrived. In a truncated stream, arguments of which nothing arrived are unknown, not
    /// empty.
    pub(super) fn finish(mut self, is_whole: bool, conversations: &mut Conversations, out: &mut DecodedEvents) {
        let silent: Vec<bool> = self.blocks.values().filter(|block| block.is_call()).map(Block::is_silent).collect();
        let blocks: Vec<Json> = self.blocks.into_values().map(Block::json).collect();
        self.message.insert("role", "assistant");
        self.message.insert("content", blocks);
        let mut events = read_response(&self.message.into()).unwrap_or_default();
        let calls = events.iter_mut().filter(|event| event.kind == Kind::ToolCall);
        for (event, _) in calls.zip(silent).filter(|(_, silent)| !is_whole && *silent) {
            event.args = Some(Arguments::Unparsed(Text::default()));
        }
        conversations.take_answer(self.conversation, vec![events], &self.stamp, out);
    }

    /// Returns the fault of a stream without an end.
    pub(super) fn truncation_fault(&self) -> Fault {
        truncation_fault(&self.stamp.source.file, self.line)
    }
}

impl Block {
    /// Returns a block as it is announced; a whole one gets no more pieces.
    pub fn new(start: &Json, is_whole: bool) -> Block {
        let start = start.as_object().cloned().unwrap_or_default();
        let text = start.get("text").and_then(Json::as_str).unwrap_or_default().to_owned();
        Block { start, text, input: String::new(), is_whole }
    }

    /// Takes the next piece; returns whether its type is known.
    pub fn take(&mut self, delta: &Json) -> bool {
        match delta.text("type") {
            Some("text_delta") => self.text.push_str(delta.text("text").unwrap_or_default()),
            Some("input_json_delta") => self.input.push_str(delta.text("partial_json").unwrap_or_default()),
            Some("thinking_delta" | "signature_delta" | "citations_delta" | "compaction_delta") => {}
            _ => return false,
        }
        true
    }

    /// Marks the block as complete.
    pub fn close(&mut self) {
        self.is_whole = true;
    }

    fn is_call(&self) -> bool {
        self.start.get("type").and_then(Json::as_str).is_some_and(|name| name.ends_with("tool_use"))
    }

    /// Whether no part of the arguments has arrived.
    pub fn is_silent(&self) -> bool {
        self.input.is_empty() && !self.is_whole
    }

    /// Returns the block as a plain answer has it.
    pub fn json(mut self) -> Json {
        if self.start.get("type").is_none() {
            self.start.insert("type", "text");
        }
        if !self.input.is_empty() {
            self.start.insert("input", self.input);
        }
        if !self.text.is_empty() || self.start.get("text").is_some() {
            self.start.insert("text", self.text);
        }
        self.start.into()
    }
}
