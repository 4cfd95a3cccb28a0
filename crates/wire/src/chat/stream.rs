//! Streams of Chat Completions: chunks with pieces of choices and of calls, both by their index.
//!
//! A call is complete when its choice is finished, because services may send the pieces of several calls in any order.
//! So from the first piece of a call on, frames wait for the end of the choice.

use std::collections::BTreeMap;

use lictor_decode::piece::{ReplyChoice, failure};
use lictor_event::Event;
use lictor_json::{Json, JsonEdit, JsonStep, Object, Text, join_path, json_path};

use super::canonical::CallNumbers;
use super::streamed_choice::StreamedChoice;
use crate::quoted::QuotedTexts;
use crate::refusal::WireRefusal;
use crate::segment::Edits;
use crate::stream::frame::{FrameContent, HeldFrame, SentFrame};
use crate::stream::refusals::{shape, unknown_event};
use crate::stream::units::Units;
use crate::stream::vendor::VendorStream;

/// The members that every chunk of a stream repeats.
const REPEATED_MEMBERS: [&str; 6] = ["id", "object", "created", "model", "service_tier", "system_fingerprint"];

/// A stream of Chat Completions.
#[derive(Debug)]
pub(super) struct ChatStream {
    /// The first index of a choice that is refused.
    max_choices: usize,
    choices: BTreeMap<i64, StreamedChoice>,
    is_ended: bool,
    /// The members that the last chunk repeats, once there is a call that could be denied.
    envelope: Object,
    /// What was sent, by choice.
    sent: BTreeMap<i64, ReplyChoice>,
    numbers: CallNumbers,
}

impl VendorStream for ChatStream {
    fn normalize(&mut self, payload: &Json) -> Result<Edits, WireRefusal> {
        self.numbers.normalize(payload, self.max_choices == 1)
    }

    fn read(&mut self, payload: &Json, name: Option<&str>, units: &mut Units) -> Result<FrameContent, WireRefusal> {
        if let Some(name) = name.filter(|name| !matches!(*name, "message" | "error")) {
            return Err(unknown_event(name));
        }
        let mut content = FrameContent::default();
        let choices = payload.get("choices").filter(|choices| !choices.is_null());
        if let Some(error) = payload.get("error").filter(|error| !error.is_null()) {
            content.waits_for.push(units.add_complete(failure(error)));
            // Some services end a choice in the same chunk.
            if choices.is_none() {
                return Ok(content);
            }
        }
        let Some(choices) = choices.and_then(Json::as_array) else {
            return Err(shape("a chunk without `choices`"));
        };
        for (place, choice) in choices.iter().enumerate() {
            self.read_choice(choice, place, units, &mut content)?;
        }
        // Only denials of calls are sent as chunks of our own.
        if self.choices.values().any(StreamedChoice::has_calls) {
            let repeated = REPEATED_MEMBERS.iter().filter_map(|key| Some(((*key).into(), payload.get(key)?.clone())));
            self.envelope = repeated.collect();
        }
        Ok(content)
    }

    fn read_error(&self, payload: &Json) -> QuotedTexts {
        let has_choices = payload.get("choices").is_some_and(|choices| !choices.is_null());
        if has_choices { QuotedTexts::of_error(payload) } else { QuotedTexts::default() }
    }

    fn finish(&mut self, units: &mut Units) {
        self.is_ended = true;
        for (&index, choice) in &mut self.choices {
            choice.finish(index, false, units);
        }
    }

    fn is_finished(&self) -> bool {
        self.is_ended || !self.choices.is_empty() && self.choices.values().all(StreamedChoice::is_finished)
    }

    fn write(&mut self, frame: HeldFrame, units: &Units, sent: &mut Vec<SentFrame>) -> Result<(), WireRefusal> {
        let Some(payload) = &frame.payload else {
            if frame.frame.data().is_some() {
                self.write_denials(None, Some(&frame), units, sent);
            }
            sent.push(frame.unchanged());
            return Ok(());
        };
        let mut edits = frame.text_edits(units);
        let mut has_removed_call = false;
        for (place, written) in payload.get("choices").and_then(Json::as_array).unwrap_or_default().iter().enumerate() {
            let index = read_index(written);
            let at: [JsonStep; 2] = ["choices".into(), place.into()];
            let Some(choice) = self.choices.get_mut(&index) else { continue };
            has_removed_call |= choice.edit_calls(written, &at, units, &mut edits);
            let is_edited = edits.iter().any(|(path, _)| path.starts_with(&at));
            if is_edited || choice.is_text_altered(units) {
                edits.extend(empty_leaks(written, &at));
            }
            if written.text("finish_reason").is_some() {
                self.write_denials(Some(index), Some(&frame), units, sent);
            }
        }
        let edited = frame.edited(&edits)?;
        if !(has_removed_call && edited.payload.as_ref().is_some_and(is_empty_chunk)) {
            sent.push(edited);
        }
        Ok(())
    }

    fn divide(&self, payload: &Json) -> Option<Edits> {
        let [choice] = payload.get("choices")?.as_array()? else { return None };
        let is_empty = |(key, value): (&Text, &Json)| matches!(key.as_str(), "index" | "delta") || is_absent(value);
        let delta = choice.get("delta")?.as_object()?;
        let is_text = delta.iter().all(|(key, value)| matches!(key.as_str(), "role" | "content") || is_absent(value));
        let is_alone = delta.get("content").is_some_and(|text| text.as_str().is_some())
            && choice.as_object()?.iter().all(is_empty)
            && payload.get("usage").is_none_or(is_absent);
        let role = delta.get("role").map(|_| (json_path!["choices", 0, "delta", "role"], JsonEdit::Remove));
        (is_text && is_alone).then(|| role.into_iter().collect())
    }

    fn write_end(&mut self, units: &Units, sent: &mut Vec<SentFrame>) {
        self.write_denials(None, None, units, sent);
    }

    fn record_sent(&mut self, payload: &Json) {
        for written in payload.get("choices").and_then(Json::as_array).unwrap_or_default() {
            let index = read_index(written);
            if let Some(choice) = self.choices.get_mut(&index) {
                choice.record_sent_text(written);
            }
            self.sent.entry(index).or_default().take(written);
        }
    }

    fn sent_events(&self) -> Vec<Vec<Event>> {
        self.sent.values().map(|choice| choice.clone().events(true)).collect()
    }
}

impl ChatStream {
    /// Returns a stream that begins, with so many choices at most.
    pub(super) fn new(max_choices: usize) -> ChatStream {
        ChatStream {
            max_choices,
            choices: BTreeMap::new(),
            is_ended: false,
            envelope: Object::new(),
            sent: BTreeMap::new(),
            numbers: CallNumbers::default(),
        }
    }

    fn read_choice(
        &mut self,
        written: &Json,
        place: usize,
        units: &mut Units,
        content: &mut FrameContent,
    ) -> Result<(), WireRefusal> {
        let index = written.get("index").and_then(Json::as_i64).filter(|index| *index >= 0);
        let Some(index) = index else { return Err(shape("a choice of a chunk without an index")) };
        if usize::try_from(index).is_ok_and(|index| index >= self.max_choices) {
            return Err(shape("a choice that the client did not ask for"));
        }
        let delta = written.get("delta").unwrap_or(&Json::Null);
        let choice = self.choices.entry(index).or_default();
        choice.read_delta(delta, place, units, content)?;
        choice.join(written);
        if written.text("finish_reason").is_some() {
            choice.finish(index, true, units);
            content.waits_for.extend(choice.call_units());
        }
        Ok(())
    }

    /// Adds the denials of calls as chunks of our own, once for each choice.
    fn write_denials(
        &mut self,
        only: Option<i64>,
        beside: Option<&HeldFrame>,
        units: &Units,
        sent: &mut Vec<SentFrame>,
    ) {
        for (&index, choice) in &mut self.choices {
            if only.is_some_and(|only| only != index) {
                continue;
            }
            let Some(text) = choice.take_denials(units) else { continue };
            let payload = text_chunk(&self.envelope, index, &text);
            sent.push(match beside {
                Some(frame) => frame.sibling(None, payload),
                None => SentFrame::alone(payload),
            });
        }
    }
}

fn read_index(choice: &Json) -> i64 {
    choice.get("index").and_then(Json::as_i64).unwrap_or(0)
}

/// Returns the edits that empty the members of a choice which could leak the original: tokens repeat text and arguments,
/// annotations quote the text, and sound says it.
fn empty_leaks(choice: &Json, at: &[JsonStep]) -> Edits {
    let leaks = [
        json_path!["logprobs"],
        json_path!["token_ids"],
        json_path!["delta", "annotations"],
        json_path!["delta", "audio", "data"],
    ];
    let edits = leaks.into_iter().filter_map(|leak| {
        let edit = JsonEdit::to_empty(choice.find(&leak)?)?;
        Some((join_path(at, leak), edit))
    });
    edits.collect()
}

/// Whether a chunk has nothing but the role of its message.
pub(super) fn opens_message(chunk: &Json) -> bool {
    let is_silent = |choice: &Json| {
        let says = |(key, value): (&Text, &Json)| key != "role" && !is_absent(value) && value.as_str() != Some("");
        let delta = choice.get("delta").and_then(Json::as_object);
        choice.text("finish_reason").is_none() && delta.is_some_and(|delta| !delta.iter().any(says))
    };
    let choices = chunk.get("choices").and_then(Json::as_array);
    choices.is_some_and(|choices| !choices.is_empty() && choices.iter().all(is_silent))
        && chunk.get("usage").is_none_or(is_absent)
}

/// Returns the edits that make a chunk one of the message with this id, the role of which was sent.
pub(super) fn resume_edits(chunk: &Json, id: &str) -> Edits {
    let mut edits = Vec::new();
    if !id.is_empty() && chunk.text("id").is_some_and(|own| own != id) {
        edits.push((json_path!["id"], JsonEdit::Set(id.into())));
    }
    for (place, choice) in chunk.get("choices").and_then(Json::as_array).unwrap_or_default().iter().enumerate() {
        if choice.get("delta").is_some_and(|delta| delta.get("role").is_some()) {
            edits.push((json_path!["choices", place, "delta", "role"], JsonEdit::Remove));
        }
    }
    edits
}

/// Whether a member says nothing: null, or an empty list.
fn is_absent(value: &Json) -> bool {
    value.is_null() || value.as_array().is_some_and(<[Json]>::is_empty)
}

/// Returns a chunk of our own with a text.
fn text_chunk(envelope: &Object, index: i64, text: &str) -> Json {
    let delta = Json::from([("content", text.into())]);
    let choice = [("index", index.into()), ("delta", delta), ("logprobs", Json::Null), ("finish_reason", Json::Null)];
    let mut chunk = envelope.clone();
    chunk.insert("choices", vec![choice.into()]);
    chunk.into()
}

/// Whether a chunk carries nothing any more.
fn is_empty_chunk(payload: &Json) -> bool {
    let has_value = |value: Option<&Json>| value.is_some_and(|value| !value.is_null());
    let choices = payload.get("choices").and_then(Json::as_array).unwrap_or_default();
    let is_empty_choice = |choice: &Json| {
        let delta = choice.get("delta").and_then(Json::as_object);
        let is_empty_delta = delta.is_none_or(|delta| delta.iter().all(|(_, value)| value.is_null()));
        !has_value(choice.get("finish_reason")) && is_empty_delta
    };
    !has_value(payload.get("usage")) && choices.iter().all(is_empty_choice)
}
