//! Ends the line between two messages of one streamed response.
//!
//! Each message is judged alone, while the usual client joins the texts of all of them. Where that would make one word of
//! two, the second message begins with a line end, in its pieces and in all their repetitions.

use std::collections::BTreeSet;

use lictor_json::{Json, JsonEdit, JsonPath, join_path, json_path};

use crate::refusal::WireRefusal;
use crate::segment::Edits;
use crate::split_word::is_joined;
use crate::stream::refusals::shape;

/// The texts of the messages so far.
#[derive(Debug, Default)]
pub(super) struct TextSeparator {
    is_on: bool,
    /// The end of the last text.
    last: String,
    /// The items with a text.
    begun: BTreeSet<i64>,
    /// The parts that begin with a line end, by their item and their place in it.
    separated: BTreeSet<(i64, i64)>,
}

/// The place of a part of a message.
type PartPlace = (i64, i64);

impl TextSeparator {
    pub(super) fn new(is_on: bool) -> TextSeparator {
        TextSeparator { is_on, ..TextSeparator::default() }
    }

    /// Returns the edits of an event that separate the texts in it from those before. Messages that do not come in their
    /// order are refused: clients would join them in another one.
    pub(super) fn separate(&mut self, payload: &Json) -> Result<Edits, WireRefusal> {
        if !self.is_on {
            return Ok(Edits::new());
        }
        let number = |key: &str| payload.get(key).and_then(Json::as_i64).unwrap_or(0);
        let place = (number("output_index"), number("content_index"));
        let texts = match payload.text("type").unwrap_or_default() {
            "response.output_text.delta" | "response.refusal.delta" => return self.read_piece(place, payload),
            "response.output_text.done" => vec![(place, json_path!["text"])],
            "response.refusal.done" => vec![(place, json_path!["refusal"])],
            "response.content_part.done" => list_part(place, payload, json_path!["part"]),
            "response.output_item.done" => list_item(place.0, payload, &json_path!["item"]),
            _ => {
                let output = payload.at("response.output").and_then(Json::as_array).unwrap_or_default();
                let items = (0..output.len()).map(|index| (index as i64, json_path!["response", "output", index]));
                items.flat_map(|(index, at)| list_item(index, payload, &at)).collect()
            }
        };
        let mut edits = Edits::new();
        for (place, at) in texts {
            let text = payload.find(&at).and_then(Json::as_str).unwrap_or_default();
            self.begin(place, text)?;
            if self.separated.contains(&place) {
                edits.push((at, JsonEdit::Set(format!("\n{text}").into())));
            }
        }
        Ok(edits)
    }

    fn read_piece(&mut self, place: PartPlace, payload: &Json) -> Result<Edits, WireRefusal> {
        let text = payload.text("delta").unwrap_or_default();
        let is_first = self.begin(place, text)?;
        if self.begun.last().is_some_and(|last| *last > place.0) {
            return Err(shape("the messages of a stream come out of order"));
        }
        if !text.is_empty() {
            text.clone_into(&mut self.last);
        }
        let edit = || (json_path!["delta"], JsonEdit::Set(format!("\n{text}").into()));
        Ok((is_first && self.separated.contains(&place)).then(edit).into_iter().collect())
    }

    /// Notes that an item begins with a text, if it has none yet. Returns whether it begins.
    fn begin(&mut self, place: PartPlace, text: &str) -> Result<bool, WireRefusal> {
        if text.is_empty() || !self.begun.insert(place.0) {
            return Ok(false);
        }
        if self.begun.last().is_some_and(|last| *last > place.0) {
            return Err(shape("the messages of a stream come out of order"));
        }
        if is_joined(&self.last, text) {
            self.separated.insert(place);
        }
        text.clone_into(&mut self.last);
        Ok(true)
    }
}

/// Returns the places of the texts of an item that is written as a whole.
fn list_item(index: i64, payload: &Json, at: &JsonPath) -> Vec<(PartPlace, JsonPath)> {
    let item = payload.find(at).filter(|item| item.text("type") == Some("message"));
    let content = item.and_then(|item| item.get("content")).and_then(Json::as_array).unwrap_or_default();
    let parts = (0..content.len()).map(|part| ((index, part as i64), [&at[..], &json_path!["content", part]].concat()));
    parts.flat_map(|(place, path)| list_part(place, payload, path)).collect()
}

/// Returns the place of the text of a part that is written as a whole.
fn list_part(place: PartPlace, payload: &Json, at: JsonPath) -> Vec<(PartPlace, JsonPath)> {
    let key = match payload.find(&at).and_then(|part| part.text("type")) {
        Some("output_text") => "text",
        Some("refusal") => "refusal",
        _ => return Vec::new(),
    };
    vec![(place, join_path(&at, [key.into()]))]
}
