//! One choice of a streamed reply, as far as it has arrived.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use lictor_decode::piece::ReplyChoice;
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, JsonEdit, JsonPath, JsonStep, Object, Text, join_path, json_path};

use crate::known::{check_blocks, is_custom_call, read_text};
use crate::refusal::WireRefusal;
use crate::ruling::Ruling;
use crate::segment::Edits;
use crate::stream::frame::{FrameContent, TextPiece};
use crate::stream::refusals::{shape, truncated, unknown};
use crate::stream::units::Units;

/// The first index of a call that is refused.
const MAX_CALLS: i64 = 4096;

/// A choice, as far as it has arrived.
#[derive(Debug, Default)]
pub(super) struct StreamedChoice {
    joined: ReplyChoice,
    /// The unit of its text.
    text: Option<usize>,
    has_refusal: bool,
    has_transcript: bool,
    /// The calls by their index.
    calls: BTreeMap<i64, StreamedCall>,
    /// The call in the old form `function_call`.
    function: Option<StreamedCall>,
    is_finished: bool,
    has_sent_text: bool,
    has_sent_denials: bool,
    /// The calls whose beginning was sent.
    begun: HashSet<CallKey>,
}

/// The index of a call; none is the call in the old form.
type CallKey = Option<i64>;

#[derive(Debug)]
struct StreamedCall {
    unit: usize,
    id: String,
    name: String,
    /// Whether it calls a custom tool, as soon as a piece says so.
    is_custom: Option<bool>,
}

/// Reading.
impl StreamedChoice {
    /// Reads the piece of the message in the choice at `place` of a chunk.
    pub(super) fn read_delta(
        &mut self,
        delta: &Json,
        place: usize,
        units: &mut Units,
        content: &mut FrameContent,
    ) -> Result<(), WireRefusal> {
        let what = "a piece of a message";
        let (texts, refusal) = (read_content(delta)?, read_text(delta, "refusal", what)?);
        let calls = match delta.get("tool_calls") {
            None | Some(Json::Null) => &[],
            Some(Json::Array(calls)) => calls.as_slice(),
            Some(_) => return Err(shape("`tool_calls` of a piece is not a list")),
        };
        let function = delta.get("function_call").filter(|call| !call.is_null());
        let audio = delta.get("audio").unwrap_or(&Json::Null);
        let transcript = read_text(audio, "transcript", "a piece of sound")?;
        let is_unsaid = texts.iter().all(|(text, _)| text.is_empty());
        if self.has_transcript && !is_unsaid || self.has_refusal && !transcript.is_empty() {
            // A whole message has its content, then its transcript, then its refusal.
            return Err(shape("the texts of a message come out of order"));
        }
        let is_silent = is_unsaid && refusal.is_empty() && transcript.is_empty();
        if self.is_finished && !(is_silent && calls.is_empty() && function.is_none()) {
            return Err(shape("a choice continues after its end"));
        }
        let piece_at = json_path!["choices", place, "delta"];
        for (text, at) in texts {
            let unit = self.open_text(units);
            let range = units.append_text(unit, text);
            content.texts.push(TextPiece { unit, range, at: join_path(&piece_at, at) });
        }
        // An empty piece has its place in the order too.
        if audio.text("transcript").is_some() {
            let unit = self.open_text(units);
            let is_first = !transcript.is_empty() && !std::mem::replace(&mut self.has_transcript, true);
            let range = append_after_line(unit, transcript, is_first, units);
            content.texts.push(TextPiece { unit, range, at: join_path(&piece_at, json_path!["audio", "transcript"]) });
        }
        if delta.text("refusal").is_some() {
            let unit = self.open_text(units);
            let is_first = !refusal.is_empty() && !std::mem::replace(&mut self.has_refusal, true);
            let range = append_after_line(unit, refusal, is_first, units);
            content.texts.push(TextPiece { unit, range, at: join_path(&piece_at, ["refusal".into()]) });
        }
        // The sound says what the transcript says.
        if audio.get("data").is_some_and(|data| !data.is_null()) && units.holds_back() {
            content.waits_for.push(self.open_text(units));
        }
        // Annotations may quote text that is masked.
        if delta.get("annotations").is_some_and(|quoted| !quoted.is_null()) && units.holds_back() {
            content.waits_for.push(self.open_text(units));
        }
        for entry in calls {
            content.waits_for.push(self.read_call(entry, units)?);
        }
        if let Some(body) = function {
            let call = self.function.get_or_insert_with(|| StreamedCall::new(units));
            call.read(body)?;
            content.waits_for.push(call.unit);
        }
        Ok(())
    }

    /// Joins the piece with those before it.
    pub(super) fn join(&mut self, choice: &Json) {
        self.joined.take(choice);
    }

    fn open_text(&mut self, units: &mut Units) -> usize {
        *self.text.get_or_insert_with(|| units.open_text())
    }

    /// Reads a piece of a call and returns the call's unit. All readers must agree on which call it is and on its name.
    fn read_call(&mut self, entry: &Json, units: &mut Units) -> Result<usize, WireRefusal> {
        let index = entry.get("index").and_then(Json::as_i64).filter(|index| (0..MAX_CALLS).contains(index));
        let Some(index) = index else { return Err(shape("a piece of a call without an index")) };
        if let Some(kind) = entry.text("type").filter(|kind| !matches!(*kind, "function" | "custom" | "")) {
            return Err(unknown("a call of the type", kind));
        }
        let call = self.calls.entry(index).or_insert_with(|| StreamedCall::new(units));
        let id = read_text(entry, "id", "a call")?;
        if call.id.is_empty() {
            call.id = id.to_owned();
        } else if !id.is_empty() && id != call.id {
            return Err(shape("two calls share an index"));
        }
        let is_custom = is_custom_call(entry)?;
        if let Some(body) = entry.get(if is_custom { "custom" } else { "function" }).filter(|body| !body.is_null()) {
            if *call.is_custom.get_or_insert(is_custom) != is_custom {
                return Err(shape("a call is a function and a custom tool at once"));
            }
            call.read(body)?;
        }
        Ok(call.unit)
    }

    /// Completes the text and the calls.
    pub(super) fn finish(&mut self, index: i64, is_whole: bool, units: &mut Units) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        let mut events = self.joined.clone().events(is_whole);
        if index > 0 {
            events.iter_mut().for_each(|event| event.more.insert("choice", index));
        }
        let mut events = events.into_iter().map(|event| if is_whole { event } else { truncated(event) }).peekable();
        let text = events.next_if(|event| event.kind == Kind::AssistantMessage);
        if let Some(unit) = self.text {
            units.complete(unit, text);
        }
        for (_, call) in self.calls_in_order() {
            units.complete(call.unit, events.next());
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty() || self.function.is_some()
    }

    /// Returns the units of its calls.
    pub(super) fn call_units(&self) -> impl Iterator<Item = usize> {
        self.calls_in_order().map(|(_, call)| call.unit)
    }

    /// Whether a part of its text is changed.
    pub(super) fn is_text_altered(&self, units: &Units) -> bool {
        self.text.is_some_and(|unit| units.is_altered(unit))
    }

    /// Returns the calls in the order in which a plain answer has them.
    fn calls_in_order(&self) -> impl Iterator<Item = (CallKey, &StreamedCall)> {
        let calls = self.calls.iter().map(|(&index, call)| (Some(index), call));
        calls.chain(self.function.iter().map(|call| (None, call)))
    }
}

/// Writing.
impl StreamedChoice {
    /// Takes note of a text that was sent.
    pub(super) fn record_sent_text(&mut self, choice: &Json) {
        let Some(delta) = choice.get("delta").filter(|_| !self.has_sent_text) else { return };
        self.has_sent_text = ["content", "refusal", "audio.transcript"]
            .iter()
            .any(|key| delta.at(key).and_then(Json::as_str).is_some_and(|text| !text.is_empty()));
    }

    /// Returns the text that takes the place of denied calls; none if no call is denied or the text was taken before.
    pub(super) fn take_denials(&mut self, units: &Units) -> Option<String> {
        if std::mem::replace(&mut self.has_sent_denials, true) {
            return None;
        }
        let denial = |(_, call): (CallKey, &StreamedCall)| match units.ruling(call.unit) {
            Ruling::Deny { text } => Some(text.clone()),
            _ => None,
        };
        let denials: Vec<String> = self.calls_in_order().filter_map(denial).collect();
        let joint = if self.has_sent_text { "\n\n" } else { "" };
        (!denials.is_empty()).then(|| format!("{joint}{}", denials.join("\n\n")))
    }

    /// Adds the edits that remove or rewrite the calls in a choice of a chunk; returns whether a call is removed.
    pub(super) fn edit_calls(&mut self, choice: &Json, at: &[JsonStep], units: &Units, edits: &mut Edits) -> bool {
        if self.calls_in_order().all(|(_, call)| units.is_forwarded(call.unit)) {
            return false;
        }
        let mut has_removed_call = false;
        let delta = choice.get("delta").unwrap_or(&Json::Null);
        if let Some(calls) = delta.get("tool_calls").and_then(Json::as_array).filter(|calls| !calls.is_empty()) {
            let kept: Vec<Json> = calls.iter().filter_map(|entry| self.write_call(entry, units)).collect();
            has_removed_call |= kept.is_empty();
            let edit = if kept.is_empty() { JsonEdit::Remove } else { JsonEdit::Set(kept.into()) };
            edits.push((join_path(at, json_path!["delta", "tool_calls"]), edit));
        }
        if let (Some(body), Some(call)) = (delta.get("function_call").filter(|body| !body.is_null()), &self.function) {
            let unit = call.unit;
            let written = self.write_body(None, unit, body, "arguments", units);
            has_removed_call |= written.is_none();
            let edit = written.map_or(JsonEdit::Remove, JsonEdit::Set);
            edits.push((join_path(at, json_path!["delta", "function_call"]), edit));
        }
        let ends_with_call = matches!(choice.text("finish_reason"), Some("tool_calls" | "function_call"));
        if ends_with_call && self.calls_in_order().all(|(_, call)| units.is_denied(call.unit)) {
            edits.push((join_path(at, ["finish_reason".into()]), JsonEdit::Set("stop".into())));
        }
        has_removed_call
    }

    /// Returns a piece of a call as it is sent; none if it is not. Calls after a denied one get a lower index.
    fn write_call(&mut self, entry: &Json, units: &Units) -> Option<Json> {
        let index = entry.get("index").and_then(Json::as_i64)?;
        let unit = self.calls.get(&index)?.unit;
        let before = self.calls.range(..index).filter(|(_, call)| !units.is_denied(call.unit)).count();
        let mut written = entry.as_object()?.clone();
        written.insert("index", before as i64);
        let key = if entry.get("custom").is_some() { "custom" } else { "function" };
        let argument = if key == "custom" { "input" } else { "arguments" };
        let body = entry.get(key).cloned().unwrap_or(Json::Object(Object::new()));
        written.insert(key, self.write_body(Some(index), unit, &body, argument, units)?);
        Some(written.into())
    }

    /// Returns the name and the arguments of a piece: unchanged, not at all, or all that there is in the first piece.
    fn write_body(&mut self, key: CallKey, unit: usize, body: &Json, argument: &str, units: &Units) -> Option<Json> {
        let is_first = self.begun.insert(key);
        match units.ruling(unit) {
            Ruling::Forward => Some(body.clone()),
            Ruling::Deny { .. } => None,
            Ruling::Rewrite(_) if !is_first => None,
            Ruling::Rewrite(event) => {
                let mut written = body.as_object()?.clone();
                written.insert("name", event.tool.clone().unwrap_or_default());
                written.insert(argument, write_arguments(event, argument == "input"));
                Some(written.into())
            }
        }
    }
}

/// Appends a piece to a text, and returns its place there. The first piece begins a line.
fn append_after_line(unit: usize, piece: &str, is_first: bool, units: &mut Units) -> Range<usize> {
    if is_first && !units.text(unit).is_empty() {
        units.append_text(unit, "\n");
    }
    units.append_text(unit, piece)
}

/// Returns the texts in the content of a piece, and their places in it. The content is a text or a list of parts.
fn read_content(delta: &Json) -> Result<Vec<(&str, JsonPath)>, WireRefusal> {
    match delta.get("content") {
        Some(Json::String(text)) => Ok(vec![(text.as_str(), json_path!["content"])]),
        Some(Json::Array(parts)) => {
            check_blocks(parts)?;
            let text = |(place, part): (usize, &'_ Json)| {
                let key = ["text", "refusal"].into_iter().find(|key| part.text(key).is_some())?;
                Some((place, key))
            };
            let found: Vec<(usize, &str)> = parts.iter().enumerate().filter_map(text).collect();
            Ok(found
                .into_iter()
                .map(|(place, key)| (parts[place].text(key).unwrap_or_default(), json_path!["content", place, key]))
                .collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// Returns the arguments of a call as a text; those of a custom tool are free text.
fn write_arguments(event: &Event, is_custom: bool) -> Text {
    match &event.args {
        None => Text::default(),
        Some(Arguments::Unparsed(text)) => text.clone(),
        Some(Arguments::Value(value)) => {
            let input = value.get("input").and_then(Json::as_str).filter(|_| is_custom);
            input.map_or_else(|| value.to_string().into(), Text::from)
        }
    }
}

impl StreamedCall {
    fn new(units: &mut Units) -> StreamedCall {
        StreamedCall { unit: units.open_call(), id: String::new(), name: String::new(), is_custom: None }
    }

    fn read(&mut self, body: &Json) -> Result<(), WireRefusal> {
        let name = read_text(body, "name", "a call")?;
        read_text(body, "arguments", "a call")?;
        read_text(body, "input", "a call")?;
        // Some readers join the pieces of a name, others take the first or the last.
        if !name.is_empty() && !self.name.is_empty() {
            return Err(shape("a call has a second name"));
        }
        self.name.push_str(name);
        Ok(())
    }
}
