//! One item of a response that is coming.

use std::collections::BTreeMap;
use std::ops::Range;

use lictor_decode::piece::{self, Piece};
use lictor_json::{self as json, Json, Object, Text};

use super::super::desk::Desk;
use super::super::{Said, Taken, shape, truncated};
use crate::api::object;
use crate::segment;
use crate::splice::{self, Edit, Path, Step, at, join, nothing};
use crate::{Ruling, WireRefusal};

/// An item, as far as it has come.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) piece: Piece,
    pub(super) sort: Sort,
    pub(super) is_done: bool,
    /// Where the parts of a message stand in its text.
    parts: BTreeMap<i64, Range<usize>>,
    /// Whether what stands in its place was announced.
    pub(super) is_told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Something said.
    Message(usize),
    /// A call, an answer, or something like one.
    Act(usize),
    /// What nobody says or does: thoughts.
    Silent,
}

impl Item {
    pub(super) fn new(written: &Json, desk: &mut Desk) -> Result<Item, WireRefusal> {
        let name = written.text("type").unwrap_or_default();
        let sort = match (name, piece::item(written)) {
            ("message", Some(_)) if written.text("role").is_some_and(|role| role == "assistant") => {
                Sort::Message(desk.open_text())
            }
            ("reasoning" | "compaction" | "compaction_summary", _) => Sort::Silent,
            ("" | "message" | "item_reference", _) | (_, None) => {
                return Err(segment::unknown("an item", "type", name));
            }
            (_, Some(_)) => Sort::Act(desk.open_act()),
        };
        let piece = Piece::default();
        Ok(Item { piece, sort, is_done: false, parts: BTreeMap::new(), is_told: false })
    }

    pub(super) fn unit(&self) -> Option<usize> {
        match self.sort {
            Sort::Message(unit) | Sort::Act(unit) => Some(unit),
            Sort::Silent => None,
        }
    }

    /// The texts of a message: the number of the part, the key, the text.
    pub(super) fn words<'a>(&self, written: &'a Json) -> Vec<(usize, &'static str, &'a str)> {
        if !matches!(self.sort, Sort::Message(_)) {
            return Vec::new();
        }
        let parts = written.get("content").and_then(Json::as_array).unwrap_or_default();
        let text = |(place, part): (usize, &'a Json)| {
            let key = ["text", "refusal"].into_iter().find(|key| part.text(key).is_some())?;
            Some((place, key, part.text(key)?))
        };
        parts.iter().enumerate().filter_map(text).collect()
    }

    /// Takes a piece of text.
    pub(super) fn say(&mut self, unit: usize, payload: &Json, key: &str, desk: &mut Desk) -> Result<Said, WireRefusal> {
        let place = payload.get("content_index").and_then(Json::as_i64).unwrap_or(0);
        let text = crate::known::text(payload, key, "an event")?;
        self.add(unit, place, text, at![key], desk)
    }

    fn add(&mut self, unit: usize, place: i64, text: &str, at: Path, desk: &mut Desk) -> Result<Said, WireRefusal> {
        if self.parts.keys().next_back().is_some_and(|last| *last > place) {
            return Err(shape("the parts of a message come out of order"));
        }
        let range = desk.say(unit, text);
        let part = self.parts.entry(place).or_insert(range.start..range.start);
        part.end = range.end;
        Ok(Said { unit, range, at })
    }

    /// Takes a text that is told once more as a whole; if it was not told before, it is told now.
    pub(super) fn repeat(
        &mut self,
        unit: usize,
        payload: &Json,
        holder: &Json,
        at: Path,
        desk: &mut Desk,
        taken: &mut Taken,
    ) -> Result<(), WireRefusal> {
        let place = payload.get("content_index").and_then(Json::as_i64).unwrap_or(0);
        let Some(Step::Key(key)) = at.last() else { return Ok(()) };
        let text = crate::known::text(holder, key, "an event")?;
        self.told(unit, place, text, at.clone(), desk, taken)
    }

    fn told(
        &mut self,
        unit: usize,
        place: i64,
        text: &str,
        at: Path,
        desk: &mut Desk,
        taken: &mut Taken,
    ) -> Result<(), WireRefusal> {
        match self.parts.get(&place) {
            Some(range) if desk.text(unit).get(range.clone()) == Some(text) => {
                taken.said.push(Said { unit, range: range.clone(), at });
            }
            Some(_) => return Err(shape("a text is told twice and differently")),
            None if text.is_empty() => {}
            None => {
                let said = self.add(unit, place, text, at, desk)?;
                taken.said.push(said);
            }
        }
        Ok(())
    }

    /// Takes the item as it is when it is done.
    pub(super) fn done(&mut self, payload: &Json, desk: &mut Desk, taken: &mut Taken) -> Result<(), WireRefusal> {
        let written = payload.get("item").unwrap_or(&Json::Null);
        let before = self.piece.clone().json();
        self.is_done = true;
        match self.sort {
            Sort::Silent => drop(self.piece.take("response.output_item.done", payload)),
            Sort::Message(unit) => {
                for (place, key, text) in self.words(written) {
                    let at = at!["item", "content", place, key];
                    self.told(unit, place as i64, text, at, desk, taken)?;
                }
                self.piece.take("response.output_item.done", payload);
                let said = piece::item(written).unwrap_or_default().into_iter().next();
                let spoken = said.as_ref().and_then(|event| event.text.as_deref()).unwrap_or_default();
                if spoken != desk.text(unit) {
                    return Err(shape("a message is told twice and differently"));
                }
                desk.close(unit, said);
                taken.waits.push(unit);
            }
            Sort::Act(unit) => {
                self.piece.take("response.output_item.done", payload);
                for key in ["type", "name", "call_id", "arguments", "input", "code"] {
                    let (then, now) = (before.text(key), written.text(key));
                    if then.is_some_and(|then| !then.is_empty()) && then != now {
                        return Err(shape("a call is told twice and differently"));
                    }
                }
                let segments = segment::item(written, &[])?;
                let mut events = segments.into_iter().map(|segment| segment.event);
                desk.close(unit, events.next());
                events.for_each(|event| desk.add(unit, event));
                taken.waits.push(unit);
            }
        }
        Ok(())
    }

    /// Makes an item whole whose end never came.
    pub(super) fn cut(&mut self, desk: &mut Desk) {
        if std::mem::replace(&mut self.is_done, true) {
            return;
        }
        let events = self.piece.clone().events().unwrap_or_default().into_iter();
        let mut events = events.map(|event| truncated(segment::on_the_wire(event)));
        if let Some(unit) = self.unit() {
            desk.close(unit, events.next());
            events.for_each(|event| desk.add(unit, event));
        }
    }

    /// The edits by which a message that is told as a whole says its text as it left.
    pub(super) fn retext(&self, written: &Json, at: &[Step], unit: usize, desk: &Desk) -> Vec<(Path, Edit)> {
        let mut edits = Vec::new();
        for (place, key, text) in self.words(written) {
            let Some(range) = self.parts.get(&(place as i64)) else { continue };
            let shown = desk.shown(unit, range.clone());
            if shown != text {
                edits.push((join(at, at!["content", place, key]), Edit::Set(shown.into())));
            }
            if desk.is_altered(unit) {
                for beside in ["logprobs", "annotations"] {
                    let path = at!["content", place, beside];
                    let edit = splice::value_at(written, &path).and_then(nothing);
                    edits.extend(edit.map(|edit| (join(at, path), edit)));
                }
            }
        }
        edits
    }

    /// The edits by which an event says the arguments as they leave; none if it does not leave at all.
    pub(super) fn rewrite(
        &mut self,
        payload: &Json,
        unit: usize,
        desk: &Desk,
    ) -> Result<Option<Vec<(Path, Edit)>>, WireRefusal> {
        let sort = payload.text("type").unwrap_or_default();
        if let Some(written) = payload.get("item") {
            let mut settled = self.settled(written, unit, desk)?;
            if sort.ends_with("added")
                && let Json::Object(item) = &mut settled
            {
                for key in ["arguments", "input"].into_iter().filter(|key| written.text(key) == Some("")) {
                    item.insert(key, "");
                }
            }
            return Ok(Some(vec![(at!["item"], Edit::Set(settled))]));
        }
        let whole = self.settled(&self.piece.clone().json(), unit, desk)?;
        let key = ["arguments", "input"].into_iter().find(|key| whole.text(key).is_some());
        let text = key.and_then(|key| whole.get(key)).cloned().unwrap_or_default();
        Ok(match key {
            // All that there is goes with the first piece.
            Some(_) if sort.ends_with(".delta") => {
                let is_first = !std::mem::replace(&mut self.is_told, true);
                is_first.then(|| vec![(at!["delta"], Edit::Set(text))])
            }
            Some(key) if payload.get(key).is_some() => Some(vec![(at![key], Edit::Set(text))]),
            // An event that says how far it is may pass; one that tells more would tell what it was.
            _ => is_bare(payload).then(Vec::new),
        })
    }

    /// The item as it leaves: with other arguments, or as a message in its place.
    pub(super) fn settled(&self, written: &Json, unit: usize, desk: &Desk) -> Result<Json, WireRefusal> {
        if let Ruling::Deny { text } = desk.ruling(unit) {
            let whole = self.piece.clone().json();
            return Ok(message(written.text("id").or_else(|| whole.text("id")).unwrap_or_default(), text));
        }
        let mut edits = Vec::new();
        for (segment, (_, ruling)) in segment::item(written, &[])?.iter().zip(desk.rulings(unit)) {
            if let Ruling::Rewrite(event) = ruling {
                edits.extend(segment.rewrite(event)?);
            }
        }
        let text = splice::edited(&written.to_string(), &edits);
        text.and_then(|text| json::parse_str(&text).ok()).ok_or_else(|| shape("a change cannot be written back"))
    }
}

/// A message of ours. Its id is made of the id of the call in whose place it stands: one that is used nowhere else, and
/// begins as ids of messages must.
pub(crate) fn message(id: &str, text: &str) -> Json {
    object(&[
        ("type", "message".into()),
        ("id", format!("msg_{id}").into()),
        ("role", "assistant".into()),
        ("status", "completed".into()),
        ("content", vec![part(text)].into()),
    ])
    .into()
}

/// Whether an event says nothing but which item it is about.
fn is_bare(payload: &Json) -> bool {
    let known = ["type", "sequence_number", "output_index", "item_id"];
    payload.as_object().is_some_and(|members| members.iter().all(|(key, _)| known.contains(&key.as_str())))
}

fn part(text: &str) -> Json {
    object(&[("type", "output_text".into()), ("text", text.into()), ("annotations", Vec::new().into())]).into()
}

/// An event about an item.
pub(super) fn event(name: &str, index: i64, more: &[(&str, Json)]) -> Object {
    let mut event = object(&[("type", name.into()), ("output_index", index.into())]);
    more.iter().for_each(|(key, value)| event.insert(*key, value.clone()));
    event
}

/// The events that come before a message is done.
pub(super) fn announce(message: &Json, index: i64) -> Vec<Object> {
    let id: Json = message.text("id").unwrap_or_default().into();
    let text: Text = message.at("content.0.text").and_then(Json::as_str).unwrap_or_default().into();
    let mut begun = message.as_object().cloned().unwrap_or_default();
    begun.insert("status", "in_progress");
    begun.insert("content", Vec::new());
    let said = |name: &str, key: &str, value: Json| {
        let more = [("item_id", id.clone()), ("content_index", 0.into()), (key, value)];
        event(&format!("response.{name}"), index, &more)
    };
    let mut events = vec![
        event("response.output_item.added", index, &[("item", begun.into())]),
        said("content_part.added", "part", part("")),
        said("output_text.delta", "delta", text.clone().into()),
        said("output_text.done", "text", text.clone().into()),
        said("content_part.done", "part", part(&text)),
    ];
    for event in &mut events[2..4] {
        event.insert("logprobs", Vec::new());
    }
    events
}
