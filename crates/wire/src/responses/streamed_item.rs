//! One item of a streamed response, as far as it has arrived.

use std::collections::BTreeMap;
use std::ops::Range;

use lictor_decode::piece::{self, Piece};
use lictor_event::{Arguments, Event};
use lictor_json::{self as json, Json, JsonEdit, JsonPath, JsonStep, edit_text, join_path, json_path};

use super::item::{
    check_members, check_reply_item, invocation_text, is_begun_by, is_item_type, is_reasoning, read_reply_item,
};
use super::replacement::{message_item, text_part};
use crate::known::read_text;
use crate::refusal::WireRefusal;
use crate::ruling::Ruling;
use crate::segment::{Edits, without_approval};
use crate::stream::frame::{FrameContent, TextPiece};
use crate::stream::refusals::{shape, truncated};
use crate::stream::units::Units;

/// The members of an event that says only which item it is about.
const REFERENCE_MEMBERS: [&str; 4] = ["type", "sequence_number", "output_index", "item_id"];

/// The members of a call with its arguments, by the type of the call.
const ARGUMENT_MEMBERS: [&str; 3] = ["arguments", "input", "code"];

/// An item, as far as it has arrived.
#[derive(Debug)]
pub(super) struct StreamedItem {
    pub(super) joined: Piece,
    pub(super) kind: ItemKind,
    pub(super) is_done: bool,
    /// Whether it has an event of its own; otherwise it comes with the end of the response.
    pub(super) is_announced: bool,
    /// The ranges of a message's parts in its text.
    parts: BTreeMap<i64, Range<usize>>,
    /// Whether the arguments or the message in the place of a call were sent.
    pub(super) is_replacement_sent: bool,
    id: Option<String>,
    /// The type that it was announced with, which decides how it is judged.
    item_type: String,
    /// Whether it was announced with arguments.
    has_given_arguments: bool,
    /// The name of the called tool that an event repeated.
    repeated_name: Option<String>,
    /// The texts of the call that came in pieces, by their place in the whole item.
    pieces: BTreeMap<JsonPath, String>,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A message, by the unit of its text.
    Message(usize),
    /// A call or a result, by its unit.
    Call(usize),
    /// Reasoning, which is no event.
    Reasoning,
}

/// A text of a message.
pub(super) struct MessagePart<'a> {
    place: usize,
    key: &'static str,
    pub(super) text: &'a str,
}

/// Reading.
impl StreamedItem {
    /// Returns the item as it is announced.
    pub(super) fn new(written: &Json, units: &mut Units) -> Result<StreamedItem, WireRefusal> {
        let item_type = written.text("type").unwrap_or_default();
        let kind = match (item_type, piece::item(written).filter(|_| is_item_type(item_type))) {
            ("message", Some(_)) if written.text("role").is_some_and(|role| role == "assistant") => {
                ItemKind::Message(units.open_text())
            }
            (reasoning, _) if is_reasoning(reasoning) => ItemKind::Reasoning,
            ("" | "message" | "item_reference" | "mcp_approval_response", _) | (_, None) => {
                return Err(WireRefusal::unknown("an item", "type", item_type));
            }
            (_, Some(_)) => ItemKind::Call(units.open_call()),
        };
        check_members(written)?;
        Ok(StreamedItem {
            joined: Piece::default(),
            kind,
            is_done: false,
            is_announced: true,
            parts: BTreeMap::new(),
            is_replacement_sent: false,
            id: written.text("id").map(str::to_owned),
            item_type: item_type.to_owned(),
            has_given_arguments: ARGUMENT_MEMBERS
                .iter()
                .any(|key| written.text(key).is_some_and(|text| !text.is_empty())),
            repeated_name: None,
            pieces: BTreeMap::new(),
        })
    }

    /// Returns an item that comes with the end of the response only.
    pub(super) fn unannounced(self) -> StreamedItem {
        StreamedItem { is_announced: false, ..self }
    }

    /// Whether it was announced with this id.
    pub(super) fn has_id(&self, id: Option<&str>) -> bool {
        self.id.is_some() && self.id.as_deref() == id
    }

    /// Reads an event about a call. Its pieces, their repetition and the name must agree.
    pub(super) fn read_call_event(&mut self, event_type: &str, payload: &Json) -> Result<(), WireRefusal> {
        let is_call = self.item_type.ends_with("_call") || self.item_type == "program";
        let is_named = matches!(self.item_type.as_str(), "function_call" | "custom_tool_call" | "mcp_call");
        if !is_call && !is_reference(payload) || !is_named && payload.get("name").is_some_and(|name| !name.is_null()) {
            return Err(shape("an event does not fit its item"));
        }
        if event_type.ends_with(".delta") && self.has_given_arguments {
            return Err(shape("a call begins with arguments"));
        }
        if event_type.ends_with(".delta") && payload.get("delta").is_some_and(|delta| delta.as_str().is_none()) {
            return Err(shape("a piece of a call is not a text"));
        }
        if event_type.ends_with(".done") {
            let before = self.joined.clone().json();
            for key in ARGUMENT_MEMBERS.into_iter().filter(|key| payload.get(key).is_some()) {
                check_repetition(before.text(key), payload.text(key))?;
            }
        }
        self.take_piece(event_type, payload)?;
        if let Some(name) = payload.text("name") {
            check_repetition(self.joined.clone().json().text("name"), Some(name))?;
            self.repeated_name = Some(name.to_owned());
        }
        self.joined.take(event_type, payload);
        Ok(())
    }

    /// Reads a piece of a command or of a change of a file, or its repetition. The whole item must have the same text.
    fn take_piece(&mut self, event_type: &str, payload: &Json) -> Result<(), WireRefusal> {
        let (at, key) = if event_type.starts_with("response.shell_call_command.") {
            let index =
                payload.get("command_index").and_then(Json::as_i64).and_then(|index| usize::try_from(index).ok());
            (json_path!["action", "commands", index.unwrap_or(0)], "command")
        } else if event_type.starts_with("response.apply_patch_call_operation_diff.") {
            (json_path!["operation", "diff"], "diff")
        } else {
            return Ok(());
        };
        let text = self.pieces.entry(at).or_default();
        if event_type.ends_with(".delta") {
            text.push_str(payload.text("delta").unwrap_or_default());
        } else {
            let whole = read_text(payload, key, "an event")?;
            check_repetition(Some(text), Some(whole))?;
            whole.clone_into(text);
        }
        Ok(())
    }

    pub(super) fn unit(&self) -> Option<usize> {
        match self.kind {
            ItemKind::Message(unit) | ItemKind::Call(unit) => Some(unit),
            ItemKind::Reasoning => None,
        }
    }

    /// Returns the texts of a message that is written as a whole.
    pub(super) fn texts<'a>(&self, written: &'a Json) -> Vec<MessagePart<'a>> {
        if !matches!(self.kind, ItemKind::Message(_)) {
            return Vec::new();
        }
        let parts = written.get("content").and_then(Json::as_array).unwrap_or_default();
        let text = |(place, part): (usize, &'a Json)| {
            let key = ["text", "refusal"].into_iter().find(|key| part.text(key).is_some())?;
            Some(MessagePart { place, key, text: part.text(key)? })
        };
        parts.iter().enumerate().filter_map(text).collect()
    }

    /// Reads a piece of text.
    pub(super) fn append_text(
        &mut self,
        unit: usize,
        payload: &Json,
        key: &str,
        units: &mut Units,
    ) -> Result<TextPiece, WireRefusal> {
        let text = read_text(payload, key, "an event")?;
        self.add_text(unit, part_index(payload), text, json_path![key], units)
    }

    fn add_text(
        &mut self,
        unit: usize,
        place: i64,
        text: &str,
        at: JsonPath,
        units: &mut Units,
    ) -> Result<TextPiece, WireRefusal> {
        if self.parts.keys().next_back().is_some_and(|last| *last > place) {
            return Err(shape("the parts of a message come out of order"));
        }
        let range = units.append_text(unit, text);
        let part = self.parts.entry(place).or_insert(range.start..range.start);
        part.end = range.end;
        Ok(TextPiece { unit, range, at })
    }

    /// Reads the repetition of a whole text in `holder`; a text without pieces before it is new.
    pub(super) fn repeat_text(
        &mut self,
        unit: usize,
        payload: &Json,
        holder: &Json,
        at: JsonPath,
        units: &mut Units,
        content: &mut FrameContent,
    ) -> Result<(), WireRefusal> {
        let Some(JsonStep::Key(key)) = at.last() else { return Ok(()) };
        let text = read_text(holder, key, "an event")?;
        self.check_text(unit, part_index(payload), text, at.clone(), units, content)
    }

    fn check_text(
        &mut self,
        unit: usize,
        place: i64,
        text: &str,
        at: JsonPath,
        units: &mut Units,
        content: &mut FrameContent,
    ) -> Result<(), WireRefusal> {
        match self.parts.get(&place) {
            Some(range) if units.text(unit).get(range.clone()) == Some(text) => {
                content.texts.push(TextPiece { unit, range: range.clone(), at });
            }
            Some(_) => return Err(shape("a text is repeated with other content")),
            None if text.is_empty() => {}
            None => content.texts.push(self.add_text(unit, place, text, at, units)?),
        }
        Ok(())
    }

    /// Reads the whole item when it is done.
    pub(super) fn read_done(
        &mut self,
        payload: &Json,
        units: &mut Units,
        content: &mut FrameContent,
    ) -> Result<(), WireRefusal> {
        let written = payload.get("item").unwrap_or(&Json::Null);
        if written.text("type") != Some(&self.item_type) {
            return Err(shape("an item is done with another type than it was announced with"));
        }
        self.is_done = true;
        match self.kind {
            ItemKind::Reasoning => {
                check_reply_item(written)?;
                self.joined.take("response.output_item.done", payload);
            }
            ItemKind::Message(unit) => {
                check_reply_item(written)?;
                for part in self.texts(written) {
                    let at = json_path!["item", "content", part.place, part.key];
                    self.check_text(unit, part.place as i64, part.text, at, units, content)?;
                }
                self.joined.take("response.output_item.done", payload);
                let event = piece::item(written).unwrap_or_default().into_iter().next();
                let text = event.as_ref().and_then(|event| event.text.as_deref()).unwrap_or_default();
                if text != units.text(unit) {
                    return Err(shape("a message is repeated with other content"));
                }
                units.complete(unit, event);
                content.waits_for.push(unit);
            }
            ItemKind::Call(unit) => {
                let before = self.joined.clone().json();
                check_reply_item(written)?;
                self.joined.take("response.output_item.done", payload);
                for key in ["name", "call_id", "arguments", "input", "code"] {
                    check_repetition(before.text(key), written.text(key))?;
                }
                check_repetition(self.repeated_name.as_deref(), written.text("name"))?;
                if !is_begun_by(written, &before) {
                    return Err(shape("a call is done with other content than it was announced with"));
                }
                for (at, text) in &self.pieces {
                    check_repetition(Some(text), written.find(at).and_then(Json::as_str))?;
                }
                let mut events = read_reply_item(written, &[])?.into_iter().map(|segment| segment.event);
                units.complete(unit, events.next());
                events.for_each(|event| units.attach(unit, event));
                content.waits_for.push(unit);
            }
        }
        Ok(())
    }

    /// Completes an item whose end is missing.
    pub(super) fn cut(&mut self, units: &mut Units) {
        if std::mem::replace(&mut self.is_done, true) {
            return;
        }
        let events = self.joined.clone().events().unwrap_or_default().into_iter();
        let mut events = events.map(|event| truncated(without_approval(event)));
        // Of a call that is not done, the client may have all that it was announced with, and the pieces.
        let announced = invocation_text(&self.joined.clone().json());
        let given: Vec<&str> = announced.iter().chain(self.pieces.values()).map(String::as_str).collect();
        let with_given = |event: Event| match &event.args {
            Some(Arguments::Unparsed(text)) if text.is_empty() => {
                Event { args: Some(Arguments::Unparsed(given.join("\n").into())), ..event }
            }
            _ => event,
        };
        if let Some(unit) = self.unit() {
            units.complete(unit, events.next().map(with_given));
            events.for_each(|event| units.attach(unit, event));
        }
    }
}

/// Writing.
impl StreamedItem {
    /// Returns the edits that give a whole message at `at` its text as it is sent.
    pub(super) fn edit_message(&self, written: &Json, at: &[JsonStep], unit: usize, units: &Units) -> Edits {
        let mut edits = Vec::new();
        for MessagePart { place, key, text } in self.texts(written) {
            let Some(range) = self.parts.get(&(place as i64)) else { continue };
            let sent = units.sent_text(unit, range.clone());
            if sent != text {
                edits.push((join_path(at, json_path!["content", place, key]), JsonEdit::Set(sent.as_ref().into())));
            }
            if units.is_altered(unit) {
                for leak in ["logprobs", "annotations"] {
                    let path = json_path!["content", place, leak];
                    let edit = written.find(&path).and_then(JsonEdit::to_empty);
                    edits.extend(edit.map(|edit| (join_path(at, path), edit)));
                }
            }
        }
        edits
    }

    /// Returns the edits that give an event the rewritten arguments; none if the event is not sent.
    pub(super) fn rewrite_call(
        &mut self,
        payload: &Json,
        unit: usize,
        units: &Units,
    ) -> Result<Option<Edits>, WireRefusal> {
        let event_type = payload.text("type").unwrap_or_default();
        if let Some(written) = payload.get("item") {
            let mut rewritten = self.write_call(written, unit, units)?;
            if event_type.ends_with("added")
                && let Json::Object(item) = &mut rewritten
            {
                for key in ["arguments", "input"].into_iter().filter(|key| written.text(key) == Some("")) {
                    item.insert(key, "");
                }
            }
            return Ok(Some(vec![(json_path!["item"], JsonEdit::Set(rewritten))]));
        }
        let whole = self.write_call(&self.joined.clone().json(), unit, units)?;
        let key = ["arguments", "input"].into_iter().find(|key| whole.text(key).is_some());
        let text = key.and_then(|key| whole.get(key)).cloned().unwrap_or_default();
        Ok(match key {
            // The first piece has all of the arguments.
            Some(_) if event_type.ends_with(".delta") => {
                let is_first = !std::mem::replace(&mut self.is_replacement_sent, true);
                is_first.then(|| vec![(json_path!["delta"], JsonEdit::Set(text))])
            }
            Some(key) if payload.get(key).is_some() => Some(vec![(json_path![key], JsonEdit::Set(text))]),
            // An event with more than a reference to the item could leak the original.
            _ => is_reference(payload).then(Vec::new),
        })
    }

    /// Returns a whole item as it is sent: with other arguments, or as a message in its place.
    pub(super) fn write_call(&self, written: &Json, unit: usize, units: &Units) -> Result<Json, WireRefusal> {
        if let Ruling::Deny { text } = units.ruling(unit) {
            let whole = self.joined.clone().json();
            return Ok(message_item(
                written.text("id").or_else(|| whole.text("id")).unwrap_or_default(),
                text_part(text),
            ));
        }
        let mut edits = Vec::new();
        for (segment, ruling) in read_reply_item(written, &[])?.iter().zip(units.rulings(unit)) {
            if let Ruling::Rewrite(event) = ruling {
                edits.extend(segment.rewrite(event)?);
            }
        }
        let text = edit_text(&written.to_string(), &edits);
        text.and_then(|text| json::parse_str(&text).ok()).ok_or_else(|| shape("a change cannot be written back"))
    }
}

/// Refuses another text than was said before.
fn check_repetition(before: Option<&str>, now: Option<&str>) -> Result<(), WireRefusal> {
    match before.is_some_and(|before| !before.is_empty()) && before != now {
        true => Err(shape("a call is repeated with other content")),
        false => Ok(()),
    }
}

/// Returns the number of the part that an event is about.
fn part_index(payload: &Json) -> i64 {
    payload.get("content_index").and_then(Json::as_i64).unwrap_or(0)
}

/// Whether an event says only which item it is about.
fn is_reference(payload: &Json) -> bool {
    payload.as_object().is_some_and(|event| event.iter().all(|(key, _)| REFERENCE_MEMBERS.contains(&key.as_str())))
}
