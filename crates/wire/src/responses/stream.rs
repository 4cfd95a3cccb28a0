//! Streams of OpenAI Responses: items by their place in the output. Each is announced, sent in pieces, repeated when it is
//! done, and repeated again at the end.
//!
//! All repetitions must agree: a stream that contradicts itself is refused, because clients differ in which of them they
//! use. Events are numbered; when some are added or removed, those that follow get other numbers.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use lictor_decode::piece::{self, Piece, failure};
use lictor_event::Event;
use lictor_json::{Json, JsonEdit, JsonPath, join_path, json_path};

use super::item::{check_reply_item, has_result, is_thought};
use super::replacement::{announce_message, item_event};
use super::reply::read_end;
use super::streamed_item::{ItemKind, StreamedItem};
use super::text_separator::TextSeparator;
use crate::known::check_texts;
use crate::refusal::WireRefusal;
use crate::segment::{Edits, hash_event};
use crate::stream::frame::{FrameContent, HeldFrame, SentFrame, TextPiece};
use crate::stream::refusals::{shape, unknown, unknown_event};
use crate::stream::units::Units;
use crate::stream::vendor::VendorStream;

/// The beginnings of the types of events about calls. All of them wait for the ruling on the call.
const CALL_EVENTS: [&str; 12] = [
    "response.function_call_arguments.",
    "response.custom_tool_call_input.",
    "response.mcp_call",
    "response.mcp_list_tools.",
    "response.code_interpreter_call",
    "response.web_search_call.",
    "response.file_search_call.",
    "response.image_generation_call.",
    "response.shell_call_command.",
    "response.apply_patch_call_operation_diff.",
    "response.computer_call",
    "response.tool_search_call.",
];

/// The types of events about reasoning.
const THOUGHT_EVENTS: [&str; 12] = [
    "response.reasoning_text.delta",
    "response.reasoning_text.done",
    "response.reasoning_part.added",
    "response.reasoning_part.done",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.reasoning_summary.delta",
    "response.reasoning_summary.done",
    "response.reasoning.delta",
    "response.reasoning.done",
];

/// The type of events with annotations, which may quote text that is masked.
const ANNOTATION_ADDED: &str = "response.output_text.annotation.added";

/// The type of the event that repeats an item when it is done.
const ITEM_DONE: &str = "response.output_item.done";

/// A stream of OpenAI Responses.
#[derive(Debug)]
pub(super) struct ResponseStream {
    items: BTreeMap<i64, StreamedItem>,
    /// The arguments that function calls were announced with.
    announced: BTreeMap<i64, String>,
    /// Whether a repeated text may still change.
    holds_back: bool,
    is_finished: bool,
    /// By how much the numbers of events differ from those that arrived.
    shift: i64,
    next_number: i64,
    /// The items that were sent.
    sent: BTreeMap<i64, Piece>,
    separator: TextSeparator,
}

impl ResponseStream {
    /// Returns a stream that begins.
    pub(super) fn new(holds_back: bool, separates_texts: bool) -> ResponseStream {
        let (items, sent, separator) = (BTreeMap::new(), BTreeMap::new(), TextSeparator::new(separates_texts));
        let announced = BTreeMap::new();
        ResponseStream { items, announced, holds_back, is_finished: false, shift: 0, next_number: 0, sent, separator }
    }
}

impl VendorStream for ResponseStream {
    fn normalize(&mut self, payload: &Json) -> Result<Edits, WireRefusal> {
        self.check_announced(payload)?;
        self.separator.separate(payload)
    }

    fn empty_announced(&self, payload: &Json) -> Edits {
        empty_announcement(payload)
    }

    fn read(&mut self, payload: &Json, name: Option<&str>, units: &mut Units) -> Result<FrameContent, WireRefusal> {
        let event_type = payload.text("type").unwrap_or_default();
        if name.is_some_and(|name| name != event_type) {
            return Err(shape("an event of the stream has two names"));
        }
        self.check_id(payload)?;
        let mut content = FrameContent::default();
        match event_type {
            "keepalive" | "ping" => {}
            "error" => content.waits_for.push(units.add_complete(failure(payload))),
            "response.created" | "response.in_progress" | "response.queued" => {
                let response = payload.get("response").unwrap_or(&Json::Null);
                let output = response.get("output").and_then(Json::as_array).unwrap_or_default();
                if !output.is_empty() {
                    return Err(shape("a response begins with content"));
                }
                content.waits_for.extend(read_end(response).into_iter().map(|event| units.add_complete(event)));
            }
            "response.output_item.added" => self.read_added(payload, units, &mut content)?,
            ITEM_DONE => self.read_done(payload, units, &mut content)?,
            "response.output_text.delta" | "response.refusal.delta" => {
                self.open_unannounced(payload, units)?;
                let (item, unit) = self.find_message(payload)?;
                content.texts.push(item.append_text(unit, payload, "delta", units)?);
                item.joined.take(event_type, payload);
            }
            "response.output_text.done" | "response.refusal.done" => {
                let key = if event_type.contains("refusal") { "refusal" } else { "text" };
                let (item, unit) = self.find_message(payload)?;
                item.repeat_text(unit, payload, payload, json_path![key], units, &mut content)?;
                item.joined.take(event_type, payload);
                self.wait_for_text(payload, &mut content);
            }
            "response.content_part.added" | "response.content_part.done" => {
                self.read_part(event_type, payload, units, &mut content)?;
            }
            ANNOTATION_ADDED => {
                self.find_message(payload)?;
                self.wait_for_text(payload, &mut content);
            }
            "response.completed" | "response.failed" | "response.incomplete" | "response.cancelled" => {
                self.read_end(payload, units, &mut content)?;
            }
            _ if THOUGHT_EVENTS.contains(&event_type) => {
                self.check_thought(payload, payload.get("part").filter(|part| !part.is_null()))?;
            }
            _ if event_type.starts_with("response.compaction") => self.check_thought(payload, None)?,
            _ if CALL_EVENTS.iter().any(|known| event_type.starts_with(known)) => {
                let item = self.find_open(payload)?;
                let ItemKind::Call(unit) = item.kind else { return Err(shape("an event does not fit its item")) };
                item.read_call_event(event_type, payload)?;
                content.waits_for.push(unit);
            }
            other => return Err(unknown_event(other)),
        }
        Ok(content)
    }

    fn finish(&mut self, units: &mut Units) {
        for item in self.items.values_mut() {
            item.cut(units);
        }
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
        let event_type = payload.text("type").unwrap_or_default();
        let index = payload.get("output_index").and_then(Json::as_i64);
        self.shift += i64::from(frame.content.is_second);
        let mut edits = frame.text_edits(units);
        if !edits.is_empty() {
            let leaks = [json_path!["logprobs"], json_path!["part", "logprobs"], json_path!["part", "annotations"]];
            for leak in leaks {
                let edit = payload.find(&leak).and_then(JsonEdit::to_empty);
                edits.extend(edit.map(|edit| (leak, edit)));
            }
        }
        if let Some(item) = index.and_then(|index| self.items.get_mut(&index)) {
            match item.kind {
                ItemKind::Call(unit) if units.is_denied(unit) => {
                    return self.write_denied(&frame, index.unwrap_or(0), unit, units, sent);
                }
                ItemKind::Call(unit) if !units.is_forwarded(unit) => match item.rewrite_call(payload, unit, units)? {
                    Some(rewritten) => edits.extend(rewritten),
                    None => {
                        self.shift -= 1;
                        return Ok(());
                    }
                },
                ItemKind::Message(unit) if event_type == ANNOTATION_ADDED && units.is_altered(unit) => {
                    self.shift -= 1;
                    return Ok(());
                }
                ItemKind::Message(unit) if event_type == ITEM_DONE => {
                    let written = payload.get("item").unwrap_or(&Json::Null);
                    edits = item.edit_message(written, &json_path!["item"], unit, units);
                }
                _ => {}
            }
        }
        if payload.get("response").is_some() {
            // The texts of the items are written with their items.
            edits.retain(|(path, _)| !path.starts_with(&json_path!["response", "output"]));
            edits.extend(self.edit_output(payload, units)?);
            let output_text = json_path!["response", "output_text"];
            let edit = payload.find(&output_text).and_then(JsonEdit::to_empty).filter(|_| !edits.is_empty());
            edits.extend(edit.map(|edit| (output_text, edit)));
        }
        if let Some(number) = payload.get("sequence_number").and_then(Json::as_i64).filter(|_| self.shift != 0) {
            edits.push((json_path!["sequence_number"], JsonEdit::Set((number + self.shift).into())));
        }
        sent.push(frame.edited(&edits)?);
        Ok(())
    }

    fn divide(&self, payload: &Json) -> Option<Edits> {
        let is_empty = |tokens: &Json| tokens.is_null() || tokens.as_array().is_some_and(<[Json]>::is_empty);
        let is_text = matches!(payload.text("type"), Some("response.output_text.delta" | "response.refusal.delta"));
        (is_text && payload.get("logprobs").is_none_or(is_empty)).then(Vec::new)
    }

    fn skip(&mut self, frame: &HeldFrame) {
        let is_numbered = |payload: &Json| payload.get("sequence_number").is_some();
        self.shift -= i64::from(frame.payload.as_ref().is_some_and(is_numbered));
    }

    fn record_sent(&mut self, payload: &Json) {
        if let Some(number) = payload.get("sequence_number").and_then(Json::as_i64) {
            self.next_number = number + 1;
        }
        if let (Some(index), Some(name)) = (payload.get("output_index").and_then(Json::as_i64), payload.text("type")) {
            self.sent.entry(index).or_default().take(name, payload);
        }
        // Items that were not announced come with the end only.
        let is_whole = |index: usize| self.items.get(&(index as i64)).is_some_and(|item| !item.is_announced);
        let output = payload.at("response.output").and_then(Json::as_array).unwrap_or_default();
        for (index, item) in output.iter().enumerate().filter(|(index, _)| is_whole(*index)) {
            let mut sent = Piece::default();
            sent.take(ITEM_DONE, &Json::from([("item", item.clone())]));
            self.sent.insert(index as i64, sent);
        }
    }

    fn sequence(&self) -> i64 {
        self.next_number
    }

    fn sent_events(&self) -> Vec<Vec<Event>> {
        vec![self.sent.values().flat_map(|piece| piece.clone().events().unwrap_or_default()).collect()]
    }
}

/// Reading.
impl ResponseStream {
    /// Refuses a function call that is done with other arguments than it was announced with.
    fn check_announced(&mut self, payload: &Json) -> Result<(), WireRefusal> {
        let index = payload.get("output_index").and_then(Json::as_i64).unwrap_or(-1);
        let arguments = payload.at("item.arguments").and_then(Json::as_str).unwrap_or_default();
        match payload.text("type") {
            Some("response.output_item.added") if !arguments.is_empty() => {
                self.announced.insert(index, arguments.to_owned());
                Ok(())
            }
            Some(ITEM_DONE) if self.announced.get(&index).is_some_and(|announced| announced != arguments) => {
                Err(shape("a call is repeated with other content"))
            }
            _ => Ok(()),
        }
    }

    fn read_added(&mut self, payload: &Json, units: &mut Units, content: &mut FrameContent) -> Result<(), WireRefusal> {
        let written = payload.get("item").unwrap_or(&Json::Null);
        let index = payload.get("output_index").and_then(Json::as_i64);
        let Some(index) = index.filter(|index| *index >= 0 && !self.items.contains_key(index)) else {
            return Err(shape("an item has no place in the output, or one that was used before"));
        };
        let mut item = StreamedItem::new(written, units)?;
        if !item.texts(written).iter().all(|part| part.text.is_empty()) {
            return Err(shape("an item begins with content"));
        }
        if has_result(written) {
            return Err(shape("an item begins with a result"));
        }
        if let ItemKind::Call(unit) = item.kind {
            content.waits_for.push(unit);
        }
        item.joined.take("response.output_item.added", payload);
        self.items.insert(index, item);
        Ok(())
    }

    fn read_done(&mut self, payload: &Json, units: &mut Units, content: &mut FrameContent) -> Result<(), WireRefusal> {
        let index = payload.get("output_index").and_then(Json::as_i64).unwrap_or(-1);
        if index >= 0 && !self.items.contains_key(&index) {
            // Some services announce nothing.
            let item = StreamedItem::new(payload.get("item").unwrap_or(&Json::Null), units)?;
            self.items.insert(index, item);
        }
        self.find_open(payload)?.read_done(payload, units, content)
    }

    fn read_part(
        &mut self,
        event_type: &str,
        payload: &Json,
        units: &mut Units,
        content: &mut FrameContent,
    ) -> Result<(), WireRefusal> {
        let part = payload.get("part").unwrap_or(&Json::Null);
        let key = match part.text("type") {
            Some("output_text") => "text",
            Some("refusal") => "refusal",
            // A part of the model's reasoning.
            Some("reasoning_text" | "summary_text") => return self.check_thought(payload, Some(part)),
            other => return Err(unknown("a part of the type", other.unwrap_or("none"))),
        };
        check_texts(std::slice::from_ref(part))?;
        let (item, unit) = self.find_message(payload)?;
        if event_type.ends_with("done") {
            item.repeat_text(unit, payload, part, json_path!["part", key], units, content)?;
            self.wait_for_text(payload, content);
        } else if !part.text(key).unwrap_or_default().is_empty() {
            return Err(shape("a part begins with content"));
        }
        Ok(())
    }

    /// Refuses an event about reasoning that belongs to another item, and a part in it that some clients would show.
    fn check_thought(&self, payload: &Json, part: Option<&Json>) -> Result<(), WireRefusal> {
        check_texts(part.map(std::slice::from_ref).unwrap_or_default())?;
        let index = payload.get("output_index").and_then(Json::as_i64).unwrap_or(-1);
        let is_elsewhere = self.items.get(&index).is_some_and(|item| item.kind != ItemKind::Reasoning);
        match is_elsewhere || part.is_some_and(|part| !is_thought(part)) {
            true => Err(shape("a part does not fit its item")),
            false => Ok(()),
        }
    }

    fn read_end(&mut self, payload: &Json, units: &mut Units, content: &mut FrameContent) -> Result<(), WireRefusal> {
        let response = payload.get("response").unwrap_or(&Json::Null);
        let is_whole = payload.text("type") == Some("response.completed");
        if is_whole && response.get("error").is_some_and(|error| !error.is_null()) {
            return Err(shape("a response is complete and an error at once"));
        }
        let output = response.get("output").and_then(Json::as_array).unwrap_or_default();
        self.read_unstreamed(output, units, content)?;
        for item in self.items.values_mut() {
            item.cut(units);
        }
        for (place, written) in output.iter().enumerate() {
            check_reply_item(written)?;
            let Some(item) = self.items.get(&(place as i64)) else {
                return Err(shape("a response ends with an item that was not streamed"));
            };
            let hashes =
                |events: Option<Vec<Event>>| -> Vec<_> { events.unwrap_or_default().iter().map(hash_event).collect() };
            if hashes(piece::item(written)) != hashes(item.joined.clone().events()) {
                return Err(shape("a response ends with another item than was streamed"));
            }
        }
        content.waits_for.extend(self.items.values().filter_map(StreamedItem::unit));
        content.waits_for.extend(read_end(response).into_iter().map(|event| units.add_complete(event)));
        self.is_finished = true;
        Ok(())
    }

    /// Reads the items of a response that come with its end only, if nothing or only texts came before: services that answer
    /// a stream with a whole reply send it like that.
    fn read_unstreamed(
        &mut self,
        output: &[Json],
        units: &mut Units,
        content: &mut FrameContent,
    ) -> Result<(), WireRefusal> {
        if self.items.values().any(|item| item.is_announced) {
            return Ok(());
        }
        for (place, written) in output.iter().enumerate() {
            let index = place as i64;
            let item = match self.items.entry(index) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(StreamedItem::new(written, units)?.unannounced()),
            };
            let mut end = FrameContent::default();
            item.read_done(&Json::from([("item", written.clone())]), units, &mut end)?;
            content.waits_for.extend(end.waits_for);
            let moved = |at: JsonPath| join_path(&json_path!["response", "output", place], at.into_iter().skip(1));
            content.texts.extend(end.texts.into_iter().map(|piece| TextPiece { at: moved(piece.at), ..piece }));
        }
        Ok(())
    }

    /// Opens the first message of a response for a piece of text that comes without an announcement.
    fn open_unannounced(&mut self, payload: &Json, units: &mut Units) -> Result<(), WireRefusal> {
        if self.items.is_empty() && payload.get("output_index").and_then(Json::as_i64) == Some(0) {
            let content: Vec<Json> = Vec::new();
            let message = [("type", "message".into()), ("role", "assistant".into()), ("content", content.into())];
            self.items.insert(0, StreamedItem::new(&message.into(), units)?.unannounced());
        }
        Ok(())
    }

    /// Returns the open item that an event is about.
    fn find_open(&mut self, payload: &Json) -> Result<&mut StreamedItem, WireRefusal> {
        let index = payload.get("output_index").and_then(Json::as_i64);
        let item = index.and_then(|index| self.items.get_mut(&index)).filter(|item| !item.is_done);
        item.ok_or_else(|| shape("an event is about an item that was not announced, or is done"))
    }

    /// Refuses an event with the place of one item and the id of another: clients differ in which of them they use.
    fn check_id(&self, payload: &Json) -> Result<(), WireRefusal> {
        let (index, id) = (payload.get("output_index").and_then(Json::as_i64), payload.text("item_id"));
        let is_other = |(place, item): (&i64, &StreamedItem)| Some(*place) != index && item.has_id(id);
        match id.is_some() && index.is_some() && self.items.iter().any(is_other) {
            true => Err(shape("an event is about two items at once")),
            false => Ok(()),
        }
    }

    /// Returns the open message that an event is about, and the unit of its text.
    fn find_message(&mut self, payload: &Json) -> Result<(&mut StreamedItem, usize), WireRefusal> {
        let item = self.find_open(payload)?;
        match item.kind {
            ItemKind::Message(unit) => Ok((item, unit)),
            _ => Err(shape("an event does not fit its item")),
        }
    }

    /// Lets a repetition of a whole text wait until the text cannot change any more.
    fn wait_for_text(&self, payload: &Json, content: &mut FrameContent) {
        let index = payload.get("output_index").and_then(Json::as_i64).unwrap_or(-1);
        let kind = self.items.get(&index).map(|item| item.kind);
        if let Some(ItemKind::Message(unit)) = kind.filter(|_| self.holds_back) {
            content.waits_for.push(unit);
        }
    }
}

/// Writing.
impl ResponseStream {
    /// Returns the edits of the last event, which repeats all items.
    fn edit_output(&self, payload: &Json, units: &Units) -> Result<Edits, WireRefusal> {
        let output = payload.at("response.output").and_then(Json::as_array).unwrap_or_default();
        let mut edits = Vec::new();
        for (place, written) in output.iter().enumerate() {
            check_reply_item(written)?;
            let Some(item) = self.items.get(&(place as i64)) else { continue };
            let at = json_path!["response", "output", place];
            match item.kind {
                ItemKind::Message(unit) => edits.extend(item.edit_message(written, &at, unit, units)),
                ItemKind::Call(unit) if !units.is_forwarded(unit) => {
                    edits.push((at, JsonEdit::Set(item.write_call(written, unit, units)?)));
                }
                _ => {}
            }
        }
        Ok(edits)
    }

    /// Adds the frames for an event about a denied call: a message takes its place.
    fn write_denied(
        &mut self,
        frame: &HeldFrame,
        index: i64,
        unit: usize,
        units: &Units,
        sent: &mut Vec<SentFrame>,
    ) -> Result<(), WireRefusal> {
        let (Some(payload), Some(item)) = (&frame.payload, self.items.get_mut(&index)) else { return Ok(()) };
        let event_type = payload.text("type").unwrap_or_default();
        let is_numbered = payload.get("sequence_number").is_some();
        let message = item.write_call(payload.get("item").unwrap_or(&Json::Null), unit, units)?;
        let mut events = Vec::new();
        if !std::mem::replace(&mut item.is_replacement_sent, true) {
            events = announce_message(&message, index);
        }
        if event_type == ITEM_DONE {
            events.push(item_event(event_type, index, &[("item", message)]));
        }
        let first = payload.get("sequence_number").and_then(Json::as_i64).unwrap_or(0) + self.shift;
        self.shift += events.len() as i64 - 1;
        for (place, mut event) in events.into_iter().enumerate() {
            if is_numbered {
                event.insert("sequence_number", first + place as i64);
            }
            let name = event.get("type").and_then(Json::as_str).map(str::to_owned);
            sent.push(frame.sibling(name.as_deref(), event.into()));
        }
        Ok(())
    }
}

/// Returns the edits that empty the announcement of a message, of a part or of a function call: some services announce the
/// whole, and clients would have it before it is judged, or twice.
fn empty_announcement(payload: &Json) -> Edits {
    let is_said = |at: &JsonPath| payload.find(at).and_then(Json::as_str).is_some_and(|text| !text.is_empty());
    let emptied: Vec<(JsonPath, Json)> = match (payload.text("type"), payload.at("item.type").and_then(Json::as_str)) {
        (Some("response.output_item.added"), Some("message")) => {
            let has_parts = payload.at("item.content").and_then(Json::as_array).is_some_and(|parts| !parts.is_empty());
            has_parts.then(|| (json_path!["item", "content"], Vec::new().into())).into_iter().collect()
        }
        (Some("response.output_item.added"), Some("function_call")) => {
            Some((json_path!["item", "arguments"], "".into())).filter(|(at, _)| is_said(at)).into_iter().collect()
        }
        (Some("response.content_part.added"), _) => {
            let key = match payload.at("part.type").and_then(Json::as_str) {
                Some("output_text") => "text",
                Some("refusal") => "refusal",
                _ => return Edits::new(),
            };
            Some((json_path!["part", key], "".into())).filter(|(at, _)| is_said(at)).into_iter().collect()
        }
        _ => Vec::new(),
    };
    emptied.into_iter().map(|(at, value)| (at, JsonEdit::Set(value))).collect()
}
