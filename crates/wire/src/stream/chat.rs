//! Chat Completions: chunks that speak about choices by their index, and about calls by theirs.
//!
//! A call is whole when its choice is finished, because services may send the pieces of several calls in any order. So
//! from the first piece of a call on, frames wait for the end of the choice.

use std::collections::{BTreeMap, HashSet};

use lictor_decode::piece::{Choice, failure};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Object};

use super::desk::Desk;
use super::{Dialect, Out, Said, Slot, Taken, shape, truncated, unknown};
use crate::known::{self, CHOICE, MESSAGE};
use crate::splice::{Edit, Path, at, join, nothing, value_at};
use crate::{Ruling, WireRefusal};

/// What every chunk of a stream repeats.
const ENVELOPE: [&str; 6] = ["id", "object", "created", "model", "service_tier", "system_fingerprint"];

/// A stream of Chat Completions.
#[derive(Debug, Default)]
pub(super) struct Chat {
    choices: BTreeMap<i64, Open>,
    is_ended: bool,
    /// What the last chunk repeats.
    envelope: Object,
    /// What has left.
    sent: BTreeMap<i64, Choice>,
}

/// A choice, as far as it has come.
#[derive(Debug, Default)]
struct Open {
    whole: Choice,
    words: Option<usize>,
    has_refusal: bool,
    /// The calls by their index, then the one of the old form.
    calls: BTreeMap<i64, Call>,
    function: Option<Call>,
    is_finished: bool,
    /// Whether any text has left.
    has_spoken: bool,
    /// Whether the denials were told.
    is_told: bool,
    /// The calls whose beginning has left.
    begun: HashSet<Key>,
}

/// The index of a call; none is the one of the old form.
type Key = Option<i64>;

#[derive(Debug)]
struct Call {
    unit: usize,
    id: String,
    name: String,
}

impl Dialect for Chat {
    fn take(&mut self, payload: &Json, name: Option<&str>, desk: &mut Desk) -> Result<Taken, WireRefusal> {
        if let Some(name) = name.filter(|name| !matches!(*name, "message" | "error")) {
            return Err(unknown("an event of the stream with the name", name));
        }
        let mut taken = Taken::default();
        let choices = payload.get("choices").filter(|choices| !choices.is_null());
        if let Some(error) = payload.get("error").filter(|error| !error.is_null()) {
            if choices.is_some() {
                return Err(shape("a chunk is an error and an answer at once"));
            }
            taken.waits.push(desk.note(failure(error)));
            return Ok(taken);
        }
        let Some(choices) = choices.and_then(Json::as_array) else {
            return Err(shape("a chunk without `choices`"));
        };
        for (place, choice) in choices.iter().enumerate() {
            self.choice(choice, place, desk, &mut taken)?;
        }
        let repeated = ENVELOPE.iter().filter_map(|key| Some(((*key).into(), payload.get(key)?.clone())));
        self.envelope = repeated.collect();
        Ok(taken)
    }

    fn end(&mut self, desk: &mut Desk) {
        self.is_ended = true;
        for (&index, open) in &mut self.choices {
            open.finish(index, false, desk);
        }
    }

    fn is_finished(&self) -> bool {
        self.is_ended || !self.choices.is_empty() && self.choices.values().all(|open| open.is_finished)
    }

    fn write(&mut self, slot: &Slot, desk: &Desk) -> Result<Vec<Out>, WireRefusal> {
        let Some(payload) = &slot.payload else {
            let mut out = if slot.frame.data.is_some() { self.denials(None, Some(slot), desk) } else { Vec::new() };
            out.push(slot.whole());
            return Ok(out);
        };
        let mut edits = slot.text_edits(desk);
        let mut out = Vec::new();
        let mut has_lost = false;
        for (place, choice) in payload.get("choices").and_then(Json::as_array).unwrap_or_default().iter().enumerate() {
            let index = choice.get("index").and_then(Json::as_i64).unwrap_or(0);
            let at = at!["choices", place];
            let Some(open) = self.choices.get_mut(&index) else { continue };
            has_lost |= open.write(choice, &at, desk, &mut edits);
            // The tokens hold words and arguments once more, and what is quoted may be what was taken out.
            let is_altered = edits.iter().any(|(path, _)| path.starts_with(&at));
            if is_altered || open.words.is_some_and(|unit| desk.is_altered(unit)) {
                for beside in [at!["logprobs"], at!["token_ids"], at!["delta", "annotations"]] {
                    let edit = value_at(choice, &beside).and_then(nothing);
                    edits.extend(edit.map(|edit| (join(&at, beside), edit)));
                }
            }
            if choice.text("finish_reason").is_some() {
                out.append(&mut self.denials(Some(index), Some(slot), desk));
            }
        }
        let edited = slot.edited(&edits)?;
        if !(has_lost && is_hollow(edited.payload.as_ref())) {
            out.push(edited);
        }
        Ok(out)
    }

    fn left(&mut self, payload: &Json) {
        for choice in payload.get("choices").and_then(Json::as_array).unwrap_or_default() {
            let index = choice.get("index").and_then(Json::as_i64).unwrap_or(0);
            let has_text = ["content", "refusal"]
                .iter()
                .any(|key| choice.get("delta").and_then(|delta| delta.text(key)).is_some_and(|text| !text.is_empty()));
            if let Some(open) = self.choices.get_mut(&index) {
                open.has_spoken |= has_text;
            }
            self.sent.entry(index).or_default().take(choice);
        }
    }

    fn last(&mut self, desk: &Desk) -> Vec<Out> {
        self.denials(None, None, desk)
    }

    fn sent(&self) -> Vec<Vec<Event>> {
        self.sent.values().map(|choice| choice.clone().events(true)).collect()
    }
}

impl Chat {
    fn choice(&mut self, choice: &Json, place: usize, desk: &mut Desk, taken: &mut Taken) -> Result<(), WireRefusal> {
        let Some(object) = choice.as_object() else { return Err(shape("a choice is not an object")) };
        known::check(object, &CHOICE, "a choice of a chunk")?;
        if choice.get("message").is_some_and(|message| !message.is_null()) {
            return Err(shape("a choice of a chunk has a whole message"));
        }
        let Some(index) = choice.get("index").and_then(Json::as_i64).filter(|index| (0..1024).contains(index)) else {
            return Err(shape("a choice of a chunk without an index"));
        };
        let open = self.choices.entry(index).or_default();
        let null = Json::Null;
        let delta = choice.get("delta").unwrap_or(&null);
        if let Some(object) = delta.as_object() {
            known::check(object, &MESSAGE, "a piece of a message")?;
        } else if !delta.is_null() {
            return Err(shape("a piece of a message is not an object"));
        }
        open.take(delta, &at!["choices", place, "delta"], desk, taken)?;
        open.whole.take(choice);
        if choice.text("finish_reason").is_some() {
            open.finish(index, true, desk);
            taken.waits.extend(open.calls.values().chain(&open.function).map(|call| call.unit));
        }
        Ok(())
    }

    /// What is said in place of calls that were denied, as chunks of their own.
    fn denials(&mut self, only: Option<i64>, beside: Option<&Slot>, desk: &Desk) -> Vec<Out> {
        let mut out = Vec::new();
        for (&index, open) in &mut self.choices {
            if open.is_told || only.is_some_and(|only| only != index) {
                continue;
            }
            open.is_told = true;
            let texts: Vec<&str> = open
                .in_order()
                .filter_map(|(_, call)| match desk.ruling(call.unit) {
                    Ruling::Deny { text } => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            if texts.is_empty() {
                continue;
            }
            let joint = if open.has_spoken { "\n\n" } else { "" };
            let payload = chunk(&self.envelope, index, &format!("{joint}{}", texts.join("\n\n")));
            out.push(match beside {
                Some(slot) => slot.sibling(None, payload),
                None => Out { raw: format!("data: {payload}\n\n").into_bytes(), payload: Some(payload) },
            });
        }
        out
    }
}

impl Open {
    fn take(&mut self, delta: &Json, at: &Path, desk: &mut Desk, taken: &mut Taken) -> Result<(), WireRefusal> {
        let what = "a piece of a message";
        let (content, refusal) = (known::text(delta, "content", what)?, known::text(delta, "refusal", what)?);
        let calls = match delta.get("tool_calls") {
            None | Some(Json::Null) => &[],
            Some(Json::Array(calls)) => calls.as_slice(),
            Some(_) => return Err(shape("`tool_calls` of a piece is not a list")),
        };
        let function = delta.get("function_call").filter(|call| !call.is_null());
        if delta.get("audio").is_some_and(|audio| !audio.is_null()) {
            return Err(unknown("in a stream, the field", "audio"));
        }
        if self.is_finished && !(content.is_empty() && refusal.is_empty() && calls.is_empty() && function.is_none()) {
            return Err(shape("a choice goes on after its end"));
        }
        for (key, text) in [("content", content), ("refusal", refusal)] {
            // Also an empty piece has its place in line.
            if delta.get(key).and_then(Json::as_str).is_none() {
                continue;
            }
            let unit = *self.words.get_or_insert_with(|| desk.open_text());
            if key == "refusal"
                && !text.is_empty()
                && !std::mem::replace(&mut self.has_refusal, true)
                && !desk.text(unit).is_empty()
            {
                desk.say(unit, "\n");
            }
            let range = desk.say(unit, text);
            taken.said.push(Said { unit, range, at: join(at, [key.into()]) });
        }
        // What is quoted may be what is taken out of the text.
        if delta.get("annotations").is_some_and(|quoted| !quoted.is_null()) && desk.holds_back() {
            taken.waits.push(*self.words.get_or_insert_with(|| desk.open_text()));
        }
        for entry in calls {
            taken.waits.push(self.entry(entry, desk)?);
        }
        if let Some(body) = function {
            let call = self.function.get_or_insert_with(|| Call::new(desk));
            call.take(body)?;
            taken.waits.push(call.unit);
        }
        Ok(())
    }

    /// Takes a piece of a call. Those who read it must agree which call it is and what its name is.
    fn entry(&mut self, entry: &Json, desk: &mut Desk) -> Result<usize, WireRefusal> {
        let Some(index) = entry.get("index").and_then(Json::as_i64).filter(|index| (0..4096).contains(index)) else {
            return Err(shape("a piece of a call without an index"));
        };
        if let Some(kind) = entry.text("type").filter(|kind| !matches!(*kind, "function" | "custom" | "")) {
            return Err(unknown("a call of the type", kind));
        }
        let call = self.calls.entry(index).or_insert_with(|| Call::new(desk));
        let id = known::text(entry, "id", "a call")?;
        if call.id.is_empty() {
            call.id = id.to_owned();
        } else if !id.is_empty() && id != call.id {
            return Err(shape("two calls share an index"));
        }
        for body in ["function", "custom"].into_iter().filter_map(|key| entry.get(key)).filter(|body| !body.is_null()) {
            call.take(body)?;
        }
        Ok(call.unit)
    }

    /// Makes everything whole that has come.
    fn finish(&mut self, index: i64, is_whole: bool, desk: &mut Desk) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        let mut events = self.whole.clone().events(is_whole);
        if index > 0 {
            events.iter_mut().for_each(|event| event.more.insert("choice", index));
        }
        let mut events = events.into_iter().map(|event| if is_whole { event } else { truncated(event) }).peekable();
        let said = events.next_if(|event| event.kind == Kind::AssistantMessage);
        if let Some(unit) = self.words {
            desk.close(unit, said);
        }
        for (_, call) in self.in_order() {
            desk.close(call.unit, events.next());
        }
    }

    /// The calls in the order in which a plain answer has them.
    fn in_order(&self) -> impl Iterator<Item = (Key, &Call)> {
        let calls = self.calls.iter().map(|(&index, call)| (Some(index), call));
        calls.chain(self.function.iter().map(|call| (None, call)))
    }

    /// The edits by which a choice of a chunk says only what was not denied; whether anything is missing from it.
    fn write(&mut self, choice: &Json, at: &Path, desk: &Desk, edits: &mut Vec<(Path, Edit)>) -> bool {
        if self.in_order().all(|(_, call)| desk.is_forward(call.unit)) {
            return false;
        }
        let mut has_lost = false;
        let null = Json::Null;
        let delta = choice.get("delta").unwrap_or(&null);
        if let Some(calls) = delta.get("tool_calls").and_then(Json::as_array).filter(|calls| !calls.is_empty()) {
            let kept: Vec<Json> = calls.iter().filter_map(|entry| self.write_entry(entry, desk)).collect();
            let edit = if kept.is_empty() { Edit::Remove } else { Edit::Set(kept.into()) };
            has_lost |= edit == Edit::Remove;
            edits.push((join(at, at!["delta", "tool_calls"]), edit));
        }
        if let (Some(body), Some(call)) = (delta.get("function_call").filter(|body| !body.is_null()), &self.function) {
            let unit = call.unit;
            let written = self.write_body(None, unit, body, "arguments", desk);
            has_lost |= written.is_none();
            let edit = written.map_or(Edit::Remove, Edit::Set);
            edits.push((join(at, at!["delta", "function_call"]), edit));
        }
        let is_called = matches!(choice.text("finish_reason"), Some("tool_calls" | "function_call"));
        if is_called && self.in_order().all(|(_, call)| desk.is_denied(call.unit)) {
            edits.push((join(at, ["finish_reason".into()]), Edit::Set("stop".into())));
        }
        has_lost
    }

    fn write_entry(&mut self, entry: &Json, desk: &Desk) -> Option<Json> {
        let index = entry.get("index").and_then(Json::as_i64)?;
        let unit = self.calls.get(&index)?.unit;
        let before = self.calls.range(..index).filter(|(_, call)| !desk.is_denied(call.unit)).count();
        let mut written = entry.as_object()?.clone();
        written.insert("index", before as i64);
        let key = if entry.get("custom").is_some() { "custom" } else { "function" };
        let argument = if key == "custom" { "input" } else { "arguments" };
        let body = entry.get(key).cloned().unwrap_or(Json::Object(Object::new()));
        written.insert(key, self.write_body(Some(index), unit, &body, argument, desk)?);
        Some(written.into())
    }

    /// The name and the arguments of a call: as they came, not at all, or all that there is in the first piece.
    fn write_body(&mut self, key: Key, unit: usize, body: &Json, argument: &str, desk: &Desk) -> Option<Json> {
        let is_first = self.begun.insert(key);
        match desk.ruling(unit) {
            Ruling::Forward => Some(body.clone()),
            Ruling::Deny { .. } => None,
            Ruling::Rewrite(_) if !is_first => None,
            Ruling::Rewrite(event) => {
                let mut written = body.as_object()?.clone();
                let (name, args) = (event.tool.clone().unwrap_or_default(), event.args.as_ref());
                written.insert("name", name);
                let free = |value: &Json| value.get("input").and_then(Json::as_str).map(Into::into);
                let text = args.map(|args| match args {
                    lictor_event::Arguments::Unparsed(text) => text.clone(),
                    lictor_event::Arguments::Value(value) if argument == "input" => {
                        free(value).unwrap_or_else(|| value.to_string().into())
                    }
                    lictor_event::Arguments::Value(value) => value.to_string().into(),
                });
                written.insert(argument, text.unwrap_or_default());
                Some(written.into())
            }
        }
    }
}

impl Call {
    fn new(desk: &mut Desk) -> Call {
        Call { unit: desk.open_act(), id: String::new(), name: String::new() }
    }

    fn take(&mut self, body: &Json) -> Result<(), WireRefusal> {
        let name = known::text(body, "name", "a call")?;
        known::text(body, "arguments", "a call")?;
        known::text(body, "input", "a call")?;
        // Some readers add the pieces of a name, others take it as said again.
        if !name.is_empty() && name == self.name {
            return Err(shape("a call says its name twice"));
        }
        self.name.push_str(name);
        Ok(())
    }
}

/// A chunk of our own that says a text.
fn chunk(envelope: &Object, index: i64, text: &str) -> Json {
    let mut delta = Object::new();
    delta.insert("content", text);
    let mut choice = Object::new();
    choice.insert("index", index);
    choice.insert("delta", delta);
    choice.insert("logprobs", Json::Null);
    choice.insert("finish_reason", Json::Null);
    let mut chunk = envelope.clone();
    chunk.insert("choices", vec![choice.into()]);
    chunk.into()
}

/// Whether a chunk says nothing any more.
fn is_hollow(payload: Option<&Json>) -> bool {
    let Some(payload) = payload else { return false };
    let says = |value: Option<&Json>| value.is_some_and(|value| !value.is_null());
    let choices = payload.get("choices").and_then(Json::as_array).unwrap_or_default();
    let is_silent = |choice: &Json| {
        let delta = choice.get("delta").and_then(Json::as_object);
        !says(choice.get("finish_reason")) && delta.is_none_or(|delta| delta.iter().all(|(_, value)| value.is_null()))
    };
    !says(payload.get("usage")) && choices.iter().all(is_silent)
}
