//! Chunks in the form that all clients read alike.
//!
//! Compatible services leave out the index of the only choice, and that of a call where each piece is a whole call. They
//! give all calls the same index, repeat the name in every piece, or send `null` for no choices. Clients differ in how they
//! read that. So a chunk gets the form of OpenAI before it is judged and forwarded: each choice and each call has an index
//! of its own, and a call its name once.

use std::collections::BTreeMap;

use lictor_json::{Json, JsonEdit, JsonStep, join_path, json_path};

use crate::refusal::WireRefusal;
use crate::segment::Edits;
use crate::stream::refusals::shape;

/// The calls of a stream so far, by choice.
#[derive(Debug, Default)]
pub(super) struct CallNumbers {
    choices: BTreeMap<i64, ChoiceCalls>,
}

/// The calls of one choice.
#[derive(Debug, Default)]
struct ChoiceCalls {
    /// The calls by the index that clients get.
    calls: BTreeMap<i64, NumberedCall>,
    /// The indices that clients get, by those that the service gave last.
    given: BTreeMap<i64, i64>,
}

#[derive(Debug, Default)]
struct NumberedCall {
    id: String,
    name: String,
}

/// A piece of a call, as far as it says which call it belongs to.
struct CallPiece<'a> {
    index: Option<i64>,
    id: &'a str,
    /// The member that names the tool.
    body: &'static str,
    name: &'a str,
    has_arguments: bool,
}

impl CallNumbers {
    /// Returns the edits that give a chunk the form of OpenAI. A piece that could belong to two calls is refused. If the
    /// client asked for one choice, a choice that is alone in its chunk needs no index.
    pub(super) fn normalize(&mut self, chunk: &Json, has_one_choice: bool) -> Result<Edits, WireRefusal> {
        let mut edits = Edits::new();
        if chunk.get("choices").is_some_and(Json::is_null) && chunk.get("error").is_none_or(Json::is_null) {
            edits.push((json_path!["choices"], JsonEdit::Set(Vec::new().into())));
        }
        let choices = chunk.get("choices").and_then(Json::as_array).unwrap_or_default();
        for (place, choice) in choices.iter().enumerate() {
            let is_missing = choice.get("index").is_none_or(Json::is_null);
            if is_missing && has_one_choice && choices.len() == 1 {
                edits.push((json_path!["choices", place, "index"], JsonEdit::Set(0.into())));
            }
            let index = if is_missing { Some(0) } else { choice.get("index").and_then(Json::as_i64) };
            let (Some(index), Some(delta)) = (index, choice.get("delta")) else { continue };
            let entries = delta.get("tool_calls").and_then(Json::as_array).unwrap_or_default();
            if entries.is_empty() {
                continue;
            }
            let calls = self.choices.entry(index).or_default();
            for (number, entry) in entries.iter().enumerate() {
                let at = json_path!["choices", place, "delta", "tool_calls", number];
                calls.number_piece(entry, &at, &mut edits)?;
            }
        }
        Ok(edits)
    }
}

impl ChoiceCalls {
    fn number_piece(&mut self, entry: &Json, at: &[JsonStep], edits: &mut Edits) -> Result<(), WireRefusal> {
        let piece = CallPiece::read(entry);
        let index = match self.find_call(&piece)? {
            Some(index) => index,
            None => self.add_call(&piece),
        };
        if piece.index != Some(index) {
            edits.push((join_path(at, ["index".into()]), JsonEdit::Set(index.into())));
        }
        let call = self.calls.entry(index).or_default();
        let repeats = |before: &str, now: &str| !now.is_empty() && before == now;
        if repeats(&call.name, piece.name) {
            edits.push((join_path(at, json_path![piece.body, "name"]), JsonEdit::Remove));
            if repeats(&call.id, piece.id) {
                edits.push((join_path(at, ["id".into()]), JsonEdit::Remove));
            }
        }
        for (known, said) in [(&mut call.id, piece.id), (&mut call.name, piece.name)] {
            if known.is_empty() {
                said.clone_into(known);
            }
        }
        Ok(())
    }

    /// Returns the index of the call that a piece belongs to; none if it begins a call.
    fn find_call(&self, piece: &CallPiece<'_>) -> Result<Option<i64>, WireRefusal> {
        let is_known = !piece.id.is_empty() && self.calls.values().any(|call| call.id == piece.id);
        let Some(given) = piece.index else {
            let is_whole = !piece.id.is_empty() && !piece.name.is_empty() && piece.has_arguments;
            return match is_whole && !is_known && self.given.is_empty() {
                true => Ok(None),
                false => Err(shape("a piece of a call without an index")),
            };
        };
        if self.given.is_empty() && !self.calls.is_empty() {
            return Err(shape("only some pieces of calls have an index"));
        }
        let Some(index) = self.given.get(&given).copied() else { return Ok(None) };
        let id = self.calls.get(&index).map_or("", |call| call.id.as_str());
        if piece.id.is_empty() || id.is_empty() || piece.id == id {
            return Ok(Some(index));
        }
        // Another id begins another call, if it also has a name.
        match piece.name.is_empty() || is_known {
            true => Err(shape("two calls share an index")),
            false => Ok(None),
        }
    }

    /// Returns the index of a new call: the one that the service gave, if it is free.
    fn add_call(&mut self, piece: &CallPiece<'_>) -> i64 {
        let next = self.calls.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
        let index = piece.index.filter(|given| !self.calls.contains_key(given)).unwrap_or(next);
        if let Some(given) = piece.index {
            self.given.insert(given, index);
        }
        self.calls.insert(index, NumberedCall::default());
        index
    }
}

impl<'a> CallPiece<'a> {
    fn read(entry: &'a Json) -> CallPiece<'a> {
        let body = if entry.get("custom").is_some_and(|custom| !custom.is_null()) { "custom" } else { "function" };
        let inner = entry.get(body).unwrap_or(&Json::Null);
        CallPiece {
            index: entry.get("index").and_then(Json::as_i64),
            id: entry.text("id").unwrap_or_default(),
            body,
            name: inner.text("name").unwrap_or_default(),
            has_arguments: ["arguments", "input"].iter().any(|key| inner.text(key).is_some()),
        }
    }
}
