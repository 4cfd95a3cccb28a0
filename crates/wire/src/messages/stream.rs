//! Streams of Anthropic Messages: blocks by their index, each announced, sent in pieces and closed.
//!
//! A call is a block, and complete when the block is closed. Consecutive blocks of text are one text.

use std::collections::BTreeMap;

use lictor_decode::piece::{self, Block, failure};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, JsonEdit, JsonPath, Object, Text, json_path};

use super::streamed_block::{BlockKind, StreamedBlock, assistant_message, rewrite_block};
use crate::known::{check_blocks, is_thinking, read_text};
use crate::refusal::WireRefusal;
use crate::ruling::Ruling;
use crate::segment::Edits;
use crate::segment::message::read_call_block;
use crate::split_word::{is_joined, is_split};
use crate::stream::frame::{FrameContent, HeldFrame, SentFrame, TextPiece};
use crate::stream::refusals::{shape, truncated, unknown, unknown_event};
use crate::stream::units::Units;
use crate::stream::vendor::VendorStream;

/// A stream of Anthropic Messages.
#[derive(Debug, Default)]
pub(super) struct MessageStream {
    blocks: BTreeMap<i64, StreamedBlock>,
    /// The unit of the text that is arriving, and its blocks.
    text_run: Option<(usize, Vec<i64>)>,
    has_begun: bool,
    is_finished: bool,
    /// The blocks that were sent.
    sent: BTreeMap<i64, Block>,
    /// Whether a block that splits a word ends the line.
    separates_texts: bool,
    /// The last block with a text, and the end of that text.
    last_text: Option<(i64, String)>,
    /// Whether a call or a result came after it.
    has_ended_text: bool,
}

impl VendorStream for MessageStream {
    fn normalize(&mut self, payload: &Json) -> Result<Edits, WireRefusal> {
        Ok(self.separate_texts(payload)?.into_iter().collect())
    }

    fn read(&mut self, payload: &Json, name: Option<&str>, units: &mut Units) -> Result<FrameContent, WireRefusal> {
        let event_type = payload.text("type").unwrap_or_default();
        if name.is_some_and(|name| name != event_type) {
            return Err(shape("an event of the stream has two names"));
        }
        let mut content = FrameContent::default();
        match event_type {
            "ping" => {}
            "error" => {
                let error = payload.get("error").unwrap_or(&Json::Null);
                content.waits_for.push(units.add_complete(failure(error)));
            }
            "message_start" => {
                let given = payload.at("message.content").and_then(Json::as_array).unwrap_or_default();
                if std::mem::replace(&mut self.has_begun, true) || !given.is_empty() {
                    return Err(shape("a message begins twice, or with content"));
                }
            }
            "content_block_start" => self.read_start(payload, units, &mut content)?,
            "content_block_delta" => self.read_delta(payload, units, &mut content)?,
            "content_block_stop" => {
                let block = self.find_open(payload)?;
                block.is_closed = true;
                block.joined.close();
                if let Some(unit) = block.call_unit() {
                    units.complete(unit, block.read_whole_event()?);
                    content.waits_for.push(unit);
                }
            }
            "message_delta" => {
                let delta = payload.get("delta").unwrap_or(&Json::Null);
                self.close_all(delta, false, units)?;
                content.waits_for.extend(self.call_units());
                if units.holds_back() {
                    content.waits_for.extend(self.blocks.values().filter_map(StreamedBlock::text_unit));
                }
            }
            "message_stop" => {
                self.close_all(&Json::Null, false, units)?;
                self.is_finished = true;
                content.waits_for.extend(self.call_units());
            }
            other => return Err(unknown_event(other)),
        }
        Ok(content)
    }

    fn finish(&mut self, units: &mut Units) {
        // A block that cannot be read was refused when it began.
        let _ = self.close_all(&Json::Null, true, units);
        self.is_finished = true;
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn write(&mut self, frame: HeldFrame, units: &Units, sent: &mut Vec<SentFrame>) -> Result<(), WireRefusal> {
        let Some(payload) = &frame.payload else {
            sent.push(frame.unchanged());
            return Ok(());
        };
        let index = payload.get("index").and_then(Json::as_i64).unwrap_or(-1);
        let event_type = payload.text("type").unwrap_or_default();
        match self.blocks.get(&index).map(|block| block.kind) {
            _ if event_type == "message_delta" => {
                let edits = self.edit_stop(payload, units);
                sent.push(frame.edited(&edits)?);
            }
            Some(BlockKind::Call { unit, .. }) if !units.is_forwarded(unit) => match event_type {
                "content_block_start" => write_changed_start(frame, index, unit, units, sent)?,
                "content_block_delta" => {}
                _ => sent.push(frame.unchanged()),
            },
            // Citations could leak the original text.
            Some(BlockKind::Text(unit)) if is_citation(payload) && units.is_altered(unit) => {}
            _ => {
                let edits = frame.text_edits(units);
                sent.push(frame.edited(&edits)?);
            }
        }
        Ok(())
    }

    fn divide(&self, payload: &Json) -> Option<Edits> {
        (payload.text("type") == Some("content_block_delta")).then(Vec::new)
    }

    fn record_sent(&mut self, payload: &Json) {
        let index = payload.get("index").and_then(Json::as_i64).unwrap_or(0);
        match payload.text("type") {
            Some("content_block_start") => {
                let start = payload.get("content_block").unwrap_or(&Json::Null);
                self.sent.insert(index, Block::new(start, false));
            }
            Some("content_block_delta") => {
                if let (Some(block), Some(delta)) = (self.sent.get_mut(&index), payload.get("delta")) {
                    block.take(delta);
                }
            }
            _ => {}
        }
    }

    fn sent_events(&self) -> Vec<Vec<Event>> {
        let blocks = self.sent.values().map(|block| block.clone().json()).collect();
        vec![piece::message(&assistant_message(blocks).into()).unwrap_or_default()]
    }
}

impl MessageStream {
    /// Returns a stream that begins.
    pub(super) fn new(separates_texts: bool) -> MessageStream {
        MessageStream { separates_texts, ..MessageStream::default() }
    }

    /// Returns the edit that ends the line before a piece of text, if a block other than text splits a word there. A call
    /// ends the text, so what is on both sides of it is judged apart, while some clients join it.
    fn separate_texts(&mut self, payload: &Json) -> Result<Option<(JsonPath, JsonEdit)>, WireRefusal> {
        let index = payload.get("index").and_then(Json::as_i64).filter(|_| self.separates_texts);
        let holder = match payload.text("type") {
            Some("content_block_start") => "content_block",
            Some("content_block_delta") => "delta",
            _ => return Ok(None),
        };
        let (Some(index), Some(piece)) = (index, payload.get(holder)) else { return Ok(None) };
        self.has_ended_text |= holder == "content_block" && piece.text("type") != Some("text") && !is_thinking(piece);
        let Some(text) = piece.text("text").filter(|text| !text.is_empty()) else { return Ok(None) };
        let has_ended = std::mem::take(&mut self.has_ended_text);
        let before = self.last_text.replace((index, text.to_owned()));
        if before.as_ref().is_some_and(|(last, _)| *last > index) {
            return Err(shape("the texts of a stream come out of order"));
        }
        let is_apart = |(last, before): &(i64, String)| match has_ended {
            true => is_joined(before, text),
            false => index > last.saturating_add(1) && is_split(before, text),
        };
        let edit = || (json_path![holder, "text"], JsonEdit::Set(format!("\n{text}").into()));
        Ok(before.filter(is_apart).map(|_| edit()))
    }

    fn read_start(&mut self, payload: &Json, units: &mut Units, content: &mut FrameContent) -> Result<(), WireRefusal> {
        let index = payload.get("index").and_then(Json::as_i64).filter(|index| !self.blocks.contains_key(index));
        let Some(index) = index else { return Err(shape("a block has no index, or one that was used before")) };
        let block = payload.get("content_block").unwrap_or(&Json::Null);
        let block_type = block.text("type").unwrap_or_default();
        check_blocks(std::slice::from_ref(block))?;
        let is_given = |input: &Json| match input {
            Json::Object(input) => !input.is_empty(),
            Json::String(input) => !input.is_empty(),
            _ => false,
        };
        if block.get("input").is_some_and(is_given) {
            // Some clients read it, some only the pieces that follow.
            return Err(shape("a call begins with arguments"));
        }
        let kind = if read_call_block("assistant", block)?.is_some() {
            self.close_text(&Json::Null, units, false);
            let unit = units.open_call();
            content.waits_for.push(unit);
            BlockKind::Call { unit, is_clients: block_type == "tool_use" }
        } else if block_type == "text" {
            let (unit, blocks) = self.text_run.get_or_insert_with(|| (units.open_text(), Vec::new()));
            blocks.push(index);
            let has_citations = block.get("citations").and_then(Json::as_array).is_some_and(|cited| !cited.is_empty());
            if has_citations && units.holds_back() {
                return Err(shape("a block of text begins with citations"));
            }
            let range = units.append_text(*unit, read_text(block, "text", "a block")?);
            content.texts.push(TextPiece { unit: *unit, range, at: json_path!["content_block", "text"] });
            BlockKind::Text(*unit)
        } else {
            BlockKind::Thinking
        };
        self.blocks.insert(
            index,
            StreamedBlock {
                joined: Block::new(block, false),
                kind,
                is_closed: false,
                takes_arguments: block_type.ends_with("tool_use"),
            },
        );
        Ok(())
    }

    fn read_delta(&mut self, payload: &Json, units: &mut Units, content: &mut FrameContent) -> Result<(), WireRefusal> {
        let block = self.find_open(payload)?;
        let delta = payload.get("delta").unwrap_or(&Json::Null);
        match (delta.text("type").unwrap_or_default(), block.kind) {
            ("text_delta", BlockKind::Text(unit)) => {
                let range = units.append_text(unit, read_text(delta, "text", "a piece of text")?);
                content.texts.push(TextPiece { unit, range, at: json_path!["delta", "text"] });
            }
            // Citations may quote text that is masked.
            ("citations_delta", BlockKind::Text(unit)) => content.waits_for.extend(units.holds_back().then_some(unit)),
            ("input_json_delta", BlockKind::Call { unit, .. }) if block.takes_arguments => {
                read_text(delta, "partial_json", "a piece of a call")?;
                content.waits_for.push(unit);
            }
            ("thinking_delta" | "signature_delta" | "compaction_delta", BlockKind::Thinking) => {}
            ("text_delta" | "citations_delta" | "input_json_delta" | "thinking_delta" | "signature_delta", _) => {
                return Err(shape("a piece does not fit its block"));
            }
            (other, _) => return Err(unknown("a piece of the type", other)),
        }
        block.joined.take(delta);
        Ok(())
    }

    /// Returns the open block that an event is about.
    fn find_open(&mut self, payload: &Json) -> Result<&mut StreamedBlock, WireRefusal> {
        let index = payload.get("index").and_then(Json::as_i64);
        let block = index.and_then(|index| self.blocks.get_mut(&index)).filter(|block| !block.is_closed);
        block.ok_or_else(|| shape("an event is about a block that was not announced, or is closed"))
    }

    fn call_units(&self) -> impl Iterator<Item = usize> {
        self.blocks.values().filter_map(StreamedBlock::call_unit)
    }

    /// Completes everything that is open. `delta` has the reason why the model stopped.
    fn close_all(&mut self, delta: &Json, is_cut: bool, units: &mut Units) -> Result<(), WireRefusal> {
        for block in self.blocks.values_mut().filter(|block| !block.is_closed) {
            block.is_closed = true;
            if let Some(unit) = block.call_unit() {
                // Its end is missing. A part of the arguments may be any value.
                let event = if is_cut { block.read_event()? } else { block.read_whole_event()? };
                units.complete(unit, event.map(truncated));
            }
        }
        self.close_text(delta, units, is_cut);
        Ok(())
    }

    /// Completes the text that is arriving.
    fn close_text(&mut self, delta: &Json, units: &mut Units, is_cut: bool) {
        let is_refusal = delta.text("stop_reason") == Some("refusal");
        let (unit, blocks) = match self.text_run.take() {
            Some(run) => run,
            // A refusal without text is a message without text.
            None if is_refusal => (units.open_text(), Vec::new()),
            None => return,
        };
        let blocks = blocks.iter().filter_map(|index| Some(self.blocks.get(index)?.joined.clone().json())).collect();
        let mut answer = assistant_message(blocks);
        for key in ["stop_reason", "stop_details"] {
            if let Some(value) = delta.get(key) {
                answer.insert(key, value.clone());
            }
        }
        let event = piece::answer(&answer.into()).unwrap_or_default().into_iter().next();
        units.complete(unit, event.map(|event| if is_cut { truncated(event) } else { event }));
    }

    /// Returns the edits of the event that says why the model stopped.
    fn edit_stop(&self, payload: &Json, units: &Units) -> Edits {
        let mut edits = Vec::new();
        let mut calls = self.blocks.values().filter_map(|block| match block.kind {
            BlockKind::Call { unit, is_clients: true } => Some(unit),
            _ => None,
        });
        let stops_for_call = payload.at("delta.stop_reason").and_then(Json::as_str) == Some("tool_use");
        // The calls must not be empty: without one the reason is not ours to change.
        let first = calls.next().filter(|_| stops_for_call);
        if first.is_some_and(|first| units.is_denied(first) && calls.all(|unit| units.is_denied(unit))) {
            edits.push((json_path!["delta", "stop_reason"], JsonEdit::Set("end_turn".into())));
        }
        let explains = payload.at("delta.stop_details.explanation").and_then(Json::as_str).is_some();
        if explains && self.blocks.values().filter_map(StreamedBlock::text_unit).any(|unit| units.is_altered(unit)) {
            edits.push((json_path!["delta", "stop_details", "explanation"], JsonEdit::Set(Json::Null)));
        }
        edits
    }
}

/// Adds the frames for the start of a call or result that is denied or rewritten.
fn write_changed_start(
    frame: HeldFrame,
    index: i64,
    unit: usize,
    units: &Units,
    sent: &mut Vec<SentFrame>,
) -> Result<(), WireRefusal> {
    let write_delta = |delta: Json| {
        let event = [("type", "content_block_delta".into()), ("index", index.into()), ("delta", delta)];
        frame.sibling(Some("content_block_delta"), event.into())
    };
    let (edits, delta) = match (units.ruling(unit), units.rulings(unit).next()) {
        (Ruling::Deny { text }, _) => {
            let empty = Json::from([("type", "text".into()), ("text", "".into())]);
            let delta = Json::from([("type", "text_delta".into()), ("text", text.as_str().into())]);
            (vec![(json_path!["content_block"], JsonEdit::Set(empty))], Some(write_delta(delta)))
        }
        (_, Some(Ruling::Rewrite(event))) => {
            let start = frame.payload.as_ref().and_then(|payload| payload.get("content_block")).unwrap_or(&Json::Null);
            if event.kind == Kind::ToolCall {
                let is_given = start.get("input").and_then(Json::as_object).is_some_and(|input| !input.is_empty());
                let empty = (json_path!["content_block", "input"], JsonEdit::Set(Object::new().into()));
                let piece = [("type", "input_json_delta".into()), ("partial_json", write_arguments(event).into())];
                (is_given.then_some(empty).into_iter().collect(), Some(write_delta(piece.into())))
            } else {
                (vec![(json_path!["content_block"], JsonEdit::Set(rewrite_block(start, event)?))], None)
            }
        }
        _ => (Vec::new(), None),
    };
    sent.push(frame.edited(&edits)?);
    sent.extend(delta);
    Ok(())
}

/// Returns the arguments of a call as a text.
fn write_arguments(event: &Event) -> Text {
    match &event.args {
        Some(Arguments::Value(value)) => value.to_string().into(),
        Some(Arguments::Unparsed(text)) => text.clone(),
        None => "{}".into(),
    }
}

/// Whether an event has citations of a text.
fn is_citation(payload: &Json) -> bool {
    payload.at("delta.type").and_then(Json::as_str) == Some("citations_delta")
}
