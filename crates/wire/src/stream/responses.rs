//! OpenAI Responses: items by their place in the output, each announced, sent in pieces, told once more when it is done,
//! and once more when everything is.
//!
//! What is told several times must be the same every time: a stream that disagrees with itself is refused, because clients
//! differ in which telling they believe. Frames are numbered; when there are more or fewer of them, those that follow get
//! other numbers.

use std::collections::BTreeMap;

use lictor_decode::piece::{self, Piece, failure};
use lictor_event::{Event, Kind};
use lictor_json::Json;

use super::desk::Desk;
use super::{Dialect, Out, Slot, Taken, shape, unknown};
use crate::WireRefusal;
use crate::segment::hash;
use crate::splice::{Edit, Path, at, nothing, value_at};

pub(crate) mod items;

use items::{Item, Sort};

/// Events about calls, by how their names begin. Whatever they say waits for the ruling on the call.
const ACTS: [&str; 12] = [
    "response.function_call_arguments.",
    "response.custom_tool_call_input.",
    "response.mcp_call",
    "response.mcp_list_tools.",
    "response.code_interpreter_call",
    "response.web_search_call.",
    "response.file_search_call.",
    "response.image_generation_call.",
    "response.shell_call_",
    "response.apply_patch_call_",
    "response.computer_call",
    "response.tool_search_call.",
];

/// Says what a text quotes, which may be what is taken out of it.
const ANNOTATED: &str = "response.output_text.annotation.added";

/// A stream of responses.
#[derive(Debug)]
pub(super) struct Responses {
    items: BTreeMap<i64, Item>,
    /// Whether text may still change when it is told once more.
    holds_back: bool,
    is_finished: bool,
    /// By how much the numbers of frames differ from what they were.
    shift: i64,
    next: i64,
    /// What has left.
    sent: BTreeMap<i64, Piece>,
}

impl Responses {
    pub(super) fn new(holds_back: bool) -> Responses {
        Responses { items: BTreeMap::new(), holds_back, is_finished: false, shift: 0, next: 0, sent: BTreeMap::new() }
    }
}

impl Dialect for Responses {
    fn take(&mut self, payload: &Json, name: Option<&str>, desk: &mut Desk) -> Result<Taken, WireRefusal> {
        let sort = payload.text("type").unwrap_or_default();
        if name.is_some_and(|name| name != sort) {
            return Err(shape("an event of the stream has two names"));
        }
        let mut taken = Taken::default();
        match sort {
            "keepalive" | "ping" => {}
            "error" => taken.waits.push(desk.note(failure(payload))),
            "response.created" | "response.in_progress" | "response.queued" => {
                let output = payload.at("response.output").and_then(Json::as_array).unwrap_or_default();
                if !output.is_empty() {
                    return Err(shape("a response begins with something in it"));
                }
            }
            "response.output_item.added" => self.begin(payload, desk, &mut taken)?,
            "response.output_item.done" => self.done(payload, desk, &mut taken)?,
            "response.output_text.delta" | "response.refusal.delta" => {
                let (item, unit) = self.message(payload)?;
                let said = item.say(unit, payload, "delta", desk)?;
                item.piece.take(sort, payload);
                taken.said.push(said);
            }
            "response.output_text.done" | "response.refusal.done" => {
                let key = if sort.contains("refusal") { "refusal" } else { "text" };
                let (item, unit) = self.message(payload)?;
                item.repeat(unit, payload, payload, at![key], desk, &mut taken)?;
                item.piece.take(sort, payload);
                self.wait_for_text(payload, &mut taken);
            }
            "response.content_part.added" | "response.content_part.done" => {
                let part = payload.get("part").unwrap_or(&Json::Null);
                let key = match part.text("type") {
                    Some("output_text") => "text",
                    Some("refusal") => "refusal",
                    // A thought, told in parts.
                    Some("reasoning_text" | "summary_text") => return Ok(taken),
                    other => return Err(unknown("a part of the type", other.unwrap_or("none"))),
                };
                let (item, unit) = self.message(payload)?;
                if sort.ends_with("done") {
                    item.repeat(unit, payload, part, at!["part", key], desk, &mut taken)?;
                    self.wait_for_text(payload, &mut taken);
                } else if !part.text(key).unwrap_or_default().is_empty() {
                    return Err(shape("a part begins with something in it"));
                }
            }
            ANNOTATED => {
                self.message(payload)?;
                self.wait_for_text(payload, &mut taken);
            }
            "response.completed" | "response.failed" | "response.incomplete" | "response.cancelled" => {
                self.complete(payload, desk, &mut taken)?;
            }
            _ if sort.starts_with("response.reasoning") || sort.starts_with("response.compaction") => {}
            _ if ACTS.iter().any(|known| sort.starts_with(known)) => {
                let item = self.item(payload)?;
                let Sort::Act(unit) = item.sort else { return Err(shape("an event does not fit its item")) };
                item.piece.take(sort, payload);
                taken.waits.push(unit);
            }
            other => return Err(unknown("an event of the type", other)),
        }
        Ok(taken)
    }

    fn end(&mut self, desk: &mut Desk) {
        for item in self.items.values_mut() {
            item.cut(desk);
        }
        self.is_finished = true;
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn write(&mut self, slot: &Slot, desk: &Desk) -> Result<Vec<Out>, WireRefusal> {
        let Some(payload) = &slot.payload else { return Ok(vec![slot.whole()]) };
        let sort = payload.text("type").unwrap_or_default();
        let index = payload.get("output_index").and_then(Json::as_i64);
        let mut edits = slot.text_edits(desk);
        if !edits.is_empty() {
            for beside in [at!["logprobs"], at!["part", "logprobs"], at!["part", "annotations"]] {
                let edit = value_at(payload, &beside).and_then(nothing);
                edits.extend(edit.map(|edit| (beside, edit)));
            }
        }
        if let Some(item) = index.and_then(|index| self.items.get_mut(&index)) {
            match item.sort {
                Sort::Act(unit) if desk.is_denied(unit) => return self.denied(slot, index.unwrap_or(0), unit, desk),
                Sort::Act(unit) if !desk.is_forward(unit) => match item.rewrite(payload, unit, desk)? {
                    Some(rewritten) => edits.extend(rewritten),
                    None => {
                        self.shift -= 1;
                        return Ok(Vec::new());
                    }
                },
                Sort::Message(unit) if sort == ANNOTATED && desk.is_altered(unit) => {
                    self.shift -= 1;
                    return Ok(Vec::new());
                }
                Sort::Message(unit) if sort == "response.output_item.done" => {
                    let item_of = payload.get("item").unwrap_or(&Json::Null);
                    edits = item.retext(item_of, &at!["item"], unit, desk);
                }
                _ => {}
            }
        }
        if payload.get("response").is_some() {
            edits.extend(self.output_edits(payload, desk)?);
            let all =
                value_at(payload, &at!["response", "output_text"]).and_then(nothing).filter(|_| !edits.is_empty());
            edits.extend(all.map(|edit| (at!["response", "output_text"], edit)));
        }
        self.numbered(slot, edits)
    }

    fn left(&mut self, payload: &Json) {
        if let Some(number) = payload.get("sequence_number").and_then(Json::as_i64) {
            self.next = number + 1;
        }
        if let (Some(index), Some(name)) = (payload.get("output_index").and_then(Json::as_i64), payload.text("type")) {
            self.sent.entry(index).or_default().take(name, payload);
        }
    }

    fn sequence(&self) -> i64 {
        self.next
    }

    fn sent(&self) -> Vec<Vec<Event>> {
        vec![self.sent.values().flat_map(|piece| piece.clone().events().unwrap_or_default()).collect()]
    }
}

impl Responses {
    fn begin(&mut self, payload: &Json, desk: &mut Desk, taken: &mut Taken) -> Result<(), WireRefusal> {
        let written = payload.get("item").unwrap_or(&Json::Null);
        let index = payload.get("output_index").and_then(Json::as_i64);
        let Some(index) = index.filter(|index| *index >= 0 && !self.items.contains_key(index)) else {
            return Err(shape("an item has no place in the output, or one that was there before"));
        };
        let mut item = Item::new(written, desk)?;
        if !item.words(written).iter().all(|(_, _, text)| text.is_empty()) {
            return Err(shape("an item begins with something in it"));
        }
        if let Sort::Act(unit) = item.sort {
            taken.waits.push(unit);
        }
        item.piece.take("response.output_item.added", payload);
        self.items.insert(index, item);
        Ok(())
    }

    fn done(&mut self, payload: &Json, desk: &mut Desk, taken: &mut Taken) -> Result<(), WireRefusal> {
        let index = payload.get("output_index").and_then(Json::as_i64).unwrap_or(-1);
        if index >= 0 && !self.items.contains_key(&index) {
            // Some services announce nothing.
            let item = Item::new(payload.get("item").unwrap_or(&Json::Null), desk)?;
            self.items.insert(index, item);
        }
        let item = self.item(payload)?;
        item.done(payload, desk, taken)
    }

    /// The item that an event is about.
    fn item(&mut self, payload: &Json) -> Result<&mut Item, WireRefusal> {
        let index = payload.get("output_index").and_then(Json::as_i64);
        let item = index.and_then(|index| self.items.get_mut(&index)).filter(|item| !item.is_done);
        item.ok_or_else(|| shape("an event about an item that was not announced, or is done"))
    }

    /// The message that an event is about, and its text.
    fn message(&mut self, payload: &Json) -> Result<(&mut Item, usize), WireRefusal> {
        let item = self.item(payload)?;
        match item.sort {
            Sort::Message(unit) => Ok((item, unit)),
            _ => Err(shape("an event does not fit its item")),
        }
    }

    /// Whole texts wait until nothing can change them any more.
    fn wait_for_text(&self, payload: &Json, taken: &mut Taken) {
        let index = payload.get("output_index").and_then(Json::as_i64).unwrap_or(-1);
        if let Some(Sort::Message(unit)) = self.items.get(&index).map(|item| item.sort).filter(|_| self.holds_back) {
            taken.waits.push(unit);
        }
    }

    fn complete(&mut self, payload: &Json, desk: &mut Desk, taken: &mut Taken) -> Result<(), WireRefusal> {
        let response = payload.get("response").unwrap_or(&Json::Null);
        for item in self.items.values_mut() {
            item.cut(desk);
        }
        let output = response.get("output").and_then(Json::as_array).unwrap_or_default();
        for (place, written) in output.iter().enumerate() {
            let Some(item) = self.items.get(&(place as i64)) else {
                return Err(shape("a response ends with an item that was not streamed"));
            };
            let told = |events: Option<Vec<Event>>| -> Vec<_> { events.unwrap_or_default().iter().map(hash).collect() };
            if told(piece::item(written)) != told(item.piece.clone().events()) {
                return Err(shape("a response ends otherwise than it was streamed"));
            }
        }
        for unit in self.items.values().filter_map(Item::unit) {
            taken.waits.push(unit);
        }
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            taken.waits.push(desk.note(failure(error)));
        }
        if let Some(reason) = response.at("incomplete_details.reason").and_then(Json::as_str) {
            let mut event = Event::new(Kind::Other("incomplete".into()));
            event.text = Some(reason.into());
            taken.waits.push(desk.note(event));
        }
        self.is_finished = true;
        Ok(())
    }

    /// The edits by which the last event tells the items as they left.
    fn output_edits(&self, payload: &Json, desk: &Desk) -> Result<Vec<(Path, Edit)>, WireRefusal> {
        let output = payload.at("response.output").and_then(Json::as_array).unwrap_or_default();
        let mut edits = Vec::new();
        for (place, written) in output.iter().enumerate() {
            let Some(item) = self.items.get(&(place as i64)) else { continue };
            let at = at!["response", "output", place];
            match item.sort {
                Sort::Message(unit) => edits.extend(item.retext(written, &at, unit, desk)),
                Sort::Act(unit) if !desk.is_forward(unit) => {
                    edits.push((at, Edit::Set(item.settled(written, unit, desk)?)));
                }
                _ => {}
            }
        }
        Ok(edits)
    }

    /// Writes a frame about a call that was denied: a message stands in its place.
    fn denied(&mut self, slot: &Slot, index: i64, unit: usize, desk: &Desk) -> Result<Vec<Out>, WireRefusal> {
        let (Some(payload), Some(item)) = (&slot.payload, self.items.get_mut(&index)) else { return Ok(Vec::new()) };
        let sort = payload.text("type").unwrap_or_default();
        let is_numbered = payload.get("sequence_number").is_some();
        let message = item.settled(payload.get("item").unwrap_or(&Json::Null), unit, desk)?;
        let mut frames = Vec::new();
        if !std::mem::replace(&mut item.is_told, true) {
            frames = items::announce(&message, index);
        }
        if sort == "response.output_item.done" {
            frames.push(items::event(sort, index, &[("item", message)]));
        }
        let first = payload.get("sequence_number").and_then(Json::as_i64).unwrap_or(0) + self.shift;
        self.shift += frames.len() as i64 - 1;
        let numbered = frames.into_iter().enumerate().map(|(place, mut frame)| {
            if is_numbered {
                frame.insert("sequence_number", first + place as i64);
            }
            let name = frame.get("type").and_then(Json::as_str).map(str::to_owned);
            slot.sibling(name.as_deref(), frame.into())
        });
        Ok(numbered.collect())
    }

    fn numbered(&self, slot: &Slot, mut edits: Vec<(Path, Edit)>) -> Result<Vec<Out>, WireRefusal> {
        let number = slot.payload.as_ref().and_then(|payload| payload.get("sequence_number")).and_then(Json::as_i64);
        if let Some(number) = number.filter(|_| self.shift != 0) {
            edits.push((at!["sequence_number"], Edit::Set((number + self.shift).into())));
        }
        Ok(vec![slot.edited(&edits)?])
    }
}
