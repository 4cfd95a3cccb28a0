//! Anthropic Messages: blocks by their index, each announced, sent in pieces and closed.
//!
//! A call is a block and whole when the block is closed. Blocks of text that follow each other are one text.

use std::collections::BTreeMap;

use lictor_decode::piece::{self, Block, failure};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{self as json, Json, Object, Text};

use super::desk::Desk;
use super::{Dialect, Out, Said, Slot, Taken, shape, truncated, unknown};
use crate::api::object;
use crate::segment::{self, Segment};
use crate::splice::{self, Edit, at};
use crate::{Ruling, WireRefusal, known};

/// A stream of Anthropic Messages.
#[derive(Debug, Default)]
pub(super) struct Messages {
    blocks: BTreeMap<i64, Open>,
    /// The text that is coming, and its blocks.
    run: Option<(usize, Vec<i64>)>,
    has_begun: bool,
    is_finished: bool,
    /// What has left.
    sent: BTreeMap<i64, Block>,
}

/// A block, as far as it has come.
#[derive(Debug)]
struct Open {
    block: Block,
    sort: Sort,
    is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// A part of a text.
    Said(usize),
    /// A call or an answer; whether the client is to carry it out.
    Act { unit: usize, is_clients: bool },
    /// What nobody says or does: thoughts.
    Silent,
}

impl Dialect for Messages {
    fn take(&mut self, payload: &Json, name: Option<&str>, desk: &mut Desk) -> Result<Taken, WireRefusal> {
        let sort = payload.text("type").unwrap_or_default();
        if name.is_some_and(|name| name != sort) {
            return Err(shape("an event of the stream has two names"));
        }
        let mut taken = Taken::default();
        match sort {
            "ping" => {}
            "error" => {
                let error = payload.get("error").unwrap_or(&Json::Null);
                taken.waits.push(desk.note(failure(error)));
            }
            "message_start" => {
                let given = payload.at("message.content").and_then(Json::as_array).unwrap_or_default();
                if std::mem::replace(&mut self.has_begun, true) || !given.is_empty() {
                    return Err(shape("a message begins twice, or with something in it"));
                }
            }
            "content_block_start" => self.begin(payload, desk, &mut taken)?,
            "content_block_delta" => self.piece(payload, desk, &mut taken)?,
            "content_block_stop" => {
                let open = self.open(payload)?;
                open.is_closed = true;
                open.block.close();
                if let Sort::Act { unit, .. } = open.sort {
                    desk.close(unit, open.event()?);
                    taken.waits.push(unit);
                }
            }
            "message_delta" => {
                let delta = payload.get("delta").unwrap_or(&Json::Null);
                self.finish(delta, false, desk)?;
                taken.waits = self.acts().collect();
                if desk.holds_back() {
                    taken.waits.extend(self.blocks.values().filter_map(Open::words));
                }
            }
            "message_stop" => {
                self.finish(&Json::Null, false, desk)?;
                self.is_finished = true;
                taken.waits = self.acts().collect();
            }
            other => return Err(unknown("an event of the type", other)),
        }
        Ok(taken)
    }

    fn end(&mut self, desk: &mut Desk) {
        // What cannot be read has been refused before.
        let _ = self.finish(&Json::Null, true, desk);
        self.is_finished = true;
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn write(&mut self, slot: &Slot, desk: &Desk) -> Result<Vec<Out>, WireRefusal> {
        let Some(payload) = &slot.payload else { return Ok(vec![slot.whole()]) };
        let index = payload.get("index").and_then(Json::as_i64).unwrap_or(-1);
        match (payload.text("type").unwrap_or_default(), self.blocks.get(&index).map(|open| open.sort)) {
            ("message_delta", _) => {
                let calls = self.blocks.values().filter(|open| matches!(open.sort, Sort::Act { is_clients: true, .. }));
                let is_left = calls.clone().any(|open| !desk.is_denied(open.unit()));
                let edit = (at!["delta", "stop_reason"], Edit::Set("end_turn".into()));
                let was_called = payload.at("delta.stop_reason").and_then(Json::as_str) == Some("tool_use");
                let mut edits = if was_called && !is_left && calls.count() > 0 { vec![edit] } else { Vec::new() };
                let explains = payload.at("delta.stop_details.explanation").and_then(Json::as_str).is_some();
                if explains && self.blocks.values().filter_map(Open::words).any(|unit| desk.is_altered(unit)) {
                    edits.push((at!["delta", "stop_details", "explanation"], Edit::Set(Json::Null)));
                }
                Ok(vec![slot.edited(&edits)?])
            }
            (sort, Some(Sort::Act { unit, .. })) if !desk.is_forward(unit) => {
                self.changed(slot, sort, index, unit, desk)
            }
            (_, Some(Sort::Said(unit))) if is_cited(payload) && desk.is_altered(unit) => Ok(Vec::new()),
            _ => Ok(vec![slot.edited(&slot.text_edits(desk))?]),
        }
    }

    fn left(&mut self, payload: &Json) {
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

    fn sent(&self) -> Vec<Vec<Event>> {
        let blocks = self.sent.values().map(|block| block.clone().json()).collect();
        vec![piece::message(&message(blocks).into()).unwrap_or_default()]
    }
}

impl Messages {
    fn begin(&mut self, payload: &Json, desk: &mut Desk, taken: &mut Taken) -> Result<(), WireRefusal> {
        let Some(index) = payload.get("index").and_then(Json::as_i64).filter(|index| !self.blocks.contains_key(index))
        else {
            return Err(shape("a block has no index, or one that was there before"));
        };
        let block = payload.get("content_block").unwrap_or(&Json::Null);
        let name = block.text("type").unwrap_or_default();
        if !known::is_block(name) {
            return Err(unknown("a block of the type", name));
        }
        let sort = if segment::act("assistant", block)?.is_some() {
            self.end_run(&Json::Null, desk, false)?;
            let unit = desk.open_act();
            taken.waits.push(unit);
            Sort::Act { unit, is_clients: name == "tool_use" }
        } else if name == "text" {
            let (unit, blocks) = self.run.get_or_insert_with(|| (desk.open_text(), Vec::new()));
            blocks.push(index);
            if block.get("citations").and_then(Json::as_array).is_some_and(|cited| !cited.is_empty())
                && desk.holds_back()
            {
                return Err(shape("a block of text begins with what it cites"));
            }
            let range = desk.say(*unit, known::text(block, "text", "a block")?);
            taken.said.push(Said { unit: *unit, range, at: at!["content_block", "text"] });
            Sort::Said(*unit)
        } else {
            Sort::Silent
        };
        self.blocks.insert(index, Open { block: Block::new(block, false), sort, is_closed: false });
        Ok(())
    }

    fn piece(&mut self, payload: &Json, desk: &mut Desk, taken: &mut Taken) -> Result<(), WireRefusal> {
        let open = self.open(payload)?;
        let delta = payload.get("delta").unwrap_or(&Json::Null);
        match (delta.text("type").unwrap_or_default(), open.sort) {
            ("text_delta", Sort::Said(unit)) => {
                let range = desk.say(unit, known::text(delta, "text", "a piece of text")?);
                taken.said.push(Said { unit, range, at: at!["delta", "text"] });
            }
            // What is quoted may be what is taken out of the text.
            ("citations_delta", Sort::Said(unit)) => taken.waits.extend(desk.holds_back().then_some(unit)),
            ("input_json_delta", Sort::Act { unit, .. }) => {
                known::text(delta, "partial_json", "a piece of a call")?;
                taken.waits.push(unit);
            }
            ("thinking_delta" | "signature_delta" | "compaction_delta", Sort::Silent) => {}
            ("text_delta" | "citations_delta" | "input_json_delta" | "thinking_delta" | "signature_delta", _) => {
                return Err(shape("a piece does not fit its block"));
            }
            (other, _) => return Err(unknown("a piece of the type", other)),
        }
        open.block.take(delta);
        Ok(())
    }

    fn open(&mut self, payload: &Json) -> Result<&mut Open, WireRefusal> {
        let index = payload.get("index").and_then(Json::as_i64);
        let open = index.and_then(|index| self.blocks.get_mut(&index)).filter(|open| !open.is_closed);
        open.ok_or_else(|| shape("an event about a block that was not announced, or is closed"))
    }

    fn acts(&self) -> impl Iterator<Item = usize> {
        self.blocks.values().filter(|open| matches!(open.sort, Sort::Act { .. })).map(Open::unit)
    }

    /// Makes everything whole that has come. `delta` says why the model stopped.
    fn finish(&mut self, delta: &Json, is_cut: bool, desk: &mut Desk) -> Result<(), WireRefusal> {
        for open in self.blocks.values_mut().filter(|open| !open.is_closed) {
            open.is_closed = true;
            if let Sort::Act { unit, .. } = open.sort {
                // Its end never came.
                desk.close(unit, open.event()?.map(truncated));
            }
        }
        self.end_run(delta, desk, is_cut)
    }

    /// Makes a text whole.
    fn end_run(&mut self, delta: &Json, desk: &mut Desk, is_cut: bool) -> Result<(), WireRefusal> {
        let is_refusal = delta.text("stop_reason") == Some("refusal");
        let (unit, blocks) = match self.run.take() {
            Some(run) => run,
            // A refusal without words is a message without words.
            None if is_refusal => (desk.open_text(), Vec::new()),
            None => return Ok(()),
        };
        let blocks = blocks.iter().filter_map(|index| Some(self.blocks.get(index)?.block.clone().json())).collect();
        let mut answer = message(blocks);
        for key in ["stop_reason", "stop_details"] {
            if let Some(value) = delta.get(key) {
                answer.insert(key, value.clone());
            }
        }
        let event = piece::answer(&answer.into()).unwrap_or_default().into_iter().next();
        desk.close(unit, event.map(|event| if is_cut { truncated(event) } else { event }));
        Ok(())
    }

    /// Writes a frame about a block that leaves otherwise than it came.
    fn changed(
        &mut self,
        slot: &Slot,
        sort: &str,
        index: i64,
        unit: usize,
        desk: &Desk,
    ) -> Result<Vec<Out>, WireRefusal> {
        let start = slot.payload.as_ref().and_then(|payload| payload.get("content_block")).cloned().unwrap_or_default();
        let delta = |delta: Json| {
            let delta = [("type", "content_block_delta".into()), ("index", index.into()), ("delta", delta)];
            slot.sibling(Some("content_block_delta"), object(&delta).into())
        };
        match (sort, desk.ruling(unit)) {
            ("content_block_start", Ruling::Deny { text }) => {
                let empty = object(&[("type", "text".into()), ("text", "".into())]);
                let edits = [(at!["content_block"], Edit::Set(empty.into()))];
                let said = object(&[("type", "text_delta".into()), ("text", text.as_str().into())]);
                Ok(vec![slot.edited(&edits)?, delta(said.into())])
            }
            ("content_block_start", _) => {
                let rulings = desk.rulings(unit);
                let Some((_, Ruling::Rewrite(event))) = rulings.first() else {
                    return Ok(vec![slot.whole()]);
                };
                if event.kind != Kind::ToolCall {
                    let edit = Edit::Set(rewritten(&start, event)?);
                    return Ok(vec![slot.edited(&[(at!["content_block"], edit)])?]);
                }
                let arguments: Text = match &event.args {
                    Some(Arguments::Value(value)) => value.to_string().into(),
                    Some(Arguments::Unparsed(text)) => text.clone(),
                    None => "{}".into(),
                };
                let mut edits = Vec::new();
                if start.get("input").and_then(Json::as_object).is_some_and(|input| !input.is_empty()) {
                    edits.push((at!["content_block", "input"], Edit::Set(Object::new().into())));
                }
                let piece = object(&[("type", "input_json_delta".into()), ("partial_json", arguments.into())]);
                Ok(vec![slot.edited(&edits)?, delta(piece.into())])
            }
            ("content_block_delta", _) => Ok(Vec::new()),
            _ => Ok(vec![slot.whole()]),
        }
    }
}

impl Open {
    /// The text that it is a part of.
    fn words(&self) -> Option<usize> {
        match self.sort {
            Sort::Said(unit) => Some(unit),
            _ => None,
        }
    }

    fn unit(&self) -> usize {
        match self.sort {
            Sort::Said(unit) | Sort::Act { unit, .. } => unit,
            Sort::Silent => usize::MAX,
        }
    }

    /// The call or the answer that the block is, as far as it has come.
    fn event(&self) -> Result<Option<Event>, WireRefusal> {
        let alone = message(vec![self.block.clone().json()]);
        let segments = segment::message(&alone.into(), &[])?;
        let mut event = segments.into_iter().next().map(|segment: Segment| segment.event);
        if let Some(event) = event.as_mut().filter(|event| event.kind == Kind::ToolCall && self.block.is_silent()) {
            event.args = Some(Arguments::Unparsed(Text::default()));
        }
        Ok(event)
    }
}

/// Whether a frame says what a text cites.
fn is_cited(payload: &Json) -> bool {
    payload.at("delta.type").and_then(Json::as_str) == Some("citations_delta")
}

/// A block that says what an event says now.
fn rewritten(block: &Json, event: &Event) -> Result<Json, WireRefusal> {
    let alone = Json::from(message(vec![block.clone()]));
    let mut edits = Vec::new();
    for segment in segment::message(&alone, &[])? {
        edits.extend(segment.rewrite(event)?);
    }
    let changed = splice::edited(&alone.to_string(), &edits).and_then(|text| json::parse_str(&text).ok());
    let block = changed.as_ref().and_then(|changed| changed.at("content.0"));
    block.cloned().ok_or_else(|| shape("a change cannot be written back"))
}

fn message(blocks: Vec<Json>) -> Object {
    object(&[("role", "assistant".into()), ("content", blocks.into())])
}
