//! Segments: the pieces of a message that are one event each, with the places in the body that hold their content.
//!
//! The decoders of logs decide what the events are. A segment is the smallest piece of a message that they read as an
//! event: a run of text, a call, a result of a tool. So each segment can be judged and changed separately.

mod definitions;
pub(crate) mod message;
pub(crate) mod text_part;

use lictor_decode::piece;
use lictor_event::content_hash::{self, ContentHash};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, JsonEdit, JsonPath, JsonStep};

use crate::align;
use crate::refusal::WireRefusal;
use crate::split_word::{is_joined, is_split};
pub(crate) use definitions::{definition_paths, server_paths};
use text_part::{TextPart, collect_texts};

/// Edits of a body, each with the path of its value.
pub(crate) type Edits = Vec<(JsonPath, JsonEdit)>;

/// The member of an event that marks a tool which the vendor runs: the call was carried out before it is seen.
pub(crate) const EXECUTED_BY: &str = "executed_by";

/// The member of an event that marks text which no reader of the interface takes.
pub(crate) const UNREAD: &str = "unread";

/// The kind of the event of an `mcp_approval_response`.
pub(crate) const APPROVAL_RESPONSE: &str = "approval_response";

/// The kinds of the events of a stored prompt, and of an item that the vendor keeps.
pub(crate) const PROMPT: &str = "prompt";
pub(crate) const ITEM_REFERENCE: &str = "item_reference";

/// A piece of a message that is one event.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) event: Event,
    /// The path of the message, the block, the call or the item.
    pub(crate) at: JsonPath,
    /// The texts that make up the event's text.
    pub(crate) texts: Vec<TextPart>,
    /// The arguments or the result.
    pub(crate) value: Option<ValuePlace>,
    /// The path of a tool's whole result.
    pub(crate) result_at: Option<JsonPath>,
    /// The hash of attached pictures and files.
    pub(crate) attached: Option<ContentHash>,
    /// The paths of other values that the event has as a whole.
    pub(crate) held: Vec<JsonPath>,
    /// Whether it is beside what the model said, and the client sends it back with that: it has no place of its own in the
    /// order of the history.
    pub(crate) is_sent_back: bool,
}

/// The place of a value in the body, and how it is written there.
#[derive(Clone, Debug)]
pub(crate) struct ValuePlace {
    at: JsonPath,
    form: ValueForm,
}

/// How a value is written.
#[derive(Clone, Copy, Debug)]
enum ValueForm {
    /// As JSON.
    Plain,
    /// As a string that holds its JSON.
    Quoted,
    /// As free text, which is the `input` of the arguments.
    FreeText,
}

impl Segment {
    /// Returns a segment whose content has no place that can be changed.
    pub(crate) fn new(event: Event, at: JsonPath) -> Segment {
        let (texts, held) = (Vec::new(), Vec::new());
        Segment { event, at, texts, value: None, result_at: None, attached: None, held, is_sent_back: false }
    }

    /// Returns the segment of an event about the service itself, which has no place in the body.
    pub(crate) fn without_place(event: Event) -> Segment {
        Segment::new(event, Vec::new())
    }

    /// Returns the segment of instructions beside the messages.
    pub(crate) fn instructions(content: &Json, at: JsonPath) -> Segment {
        let mut segment = Segment::new(piece::instructions(content), at.clone());
        collect_texts(content, at, "\n", &mut segment.texts);
        segment
    }

    /// Returns the segment of the tools on offer; none if there are none.
    pub(crate) fn definitions(tools: &Json, at: JsonPath) -> Option<Segment> {
        tools.as_array().filter(|tools| !tools.is_empty())?;
        let mut event = Event::new(Kind::ToolDefinitions);
        event.more.insert("tools", tools.clone());
        Some(Segment { held: definition_paths(tools, &at), ..Segment::new(event, at) })
    }

    /// Returns the segment of a value that is neither a text nor a call.
    pub(crate) fn other(kind: &str, key: &str, value: &Json, at: JsonPath) -> Segment {
        let mut event = Event::new(Kind::Other(kind.into()));
        event.more.insert(key, value.clone());
        Segment::new(event, at)
    }

    /// Returns the segment with the first `from` in the paths of its texts replaced by `to`.
    pub(crate) fn with_key_renamed(mut self, from: &str, to: &str) -> Segment {
        for part in &mut self.texts {
            for step in part.at.iter_mut().filter(|step| **step == from.into()).take(1) {
                *step = to.into();
            }
        }
        self
    }

    /// Returns the hash of its content, attachments included.
    pub(crate) fn hash(&self) -> ContentHash {
        match self.attached {
            Some(attached) => content_hash::extend_hash(&attached, &self.event),
            None => hash_event(&self.event),
        }
    }

    /// Whether a word of a model is split between two parts of its text that are next to each other.
    pub(crate) fn has_split_word(&self) -> bool {
        self.split_words().any(|(before, after)| is_next(&before.at, &after.at))
    }

    /// Returns the edits that end a line where a word of a model is split by a block between two parts of its text, such
    /// as thinking. Then clients that join the parts read the same words as those that do not.
    pub(crate) fn separate_texts(&self) -> Edits {
        let apart = self.split_words().filter(|(before, after)| !is_next(&before.at, &after.at));
        apart.map(|(before, _)| (before.at.clone(), JsonEdit::Set(format!("{}\n", before.text).into()))).collect()
    }

    /// Returns the edit that ends the line of a message before another one of the same reply, if clients that join them read a
    /// word over the boundary.
    pub(crate) fn separate_from(&self, next: &Segment) -> Option<(JsonPath, JsonEdit)> {
        let is_said = |segment: &Segment| segment.event.kind == Kind::AssistantMessage;
        let has_text = |part: &&TextPart| !part.text.is_empty();
        let last = self.texts.iter().rev().find(has_text).filter(|_| is_said(self))?;
        let first = next.texts.iter().find(has_text).filter(|_| is_said(next))?;
        let edit = || (last.at.clone(), JsonEdit::Set(format!("{}\n", last.text).into()));
        is_joined(&last.text, &first.text).then(edit)
    }

    /// Returns the pairs of parts between which a word of a model is split.
    fn split_words(&self) -> impl Iterator<Item = (&TextPart, &TextPart)> {
        let is_said = self.event.kind == Kind::AssistantMessage;
        let mut before: Option<&TextPart> = None;
        let parts = self.texts.iter().filter(move |part| is_said && !part.text.is_empty());
        let pairs = parts.filter_map(move |part| before.replace(part).map(|before| (before, part)));
        pairs.filter(|(before, after)| after.joint.is_empty() && is_split(&before.text, &after.text))
    }

    /// Returns the paths of its texts.
    pub(crate) fn text_paths(&self) -> impl Iterator<Item = &JsonPath> {
        self.texts.iter().map(|part| &part.at)
    }

    /// Returns the paths of the whole values that it has: arguments, a result, definitions of tools.
    pub(crate) fn value_paths(&self) -> impl Iterator<Item = &JsonPath> {
        self.value.iter().map(|place| &place.at).chain(&self.held)
    }

    /// Whether it is a call of a tool.
    pub(crate) fn is_call(&self) -> bool {
        self.event.kind == Kind::ToolCall
    }

    /// Returns the edits that give the body the content of `event`.
    pub(crate) fn rewrite(&self, event: &Event) -> Result<Edits, WireRefusal> {
        let mut edits = Vec::new();
        if event.args != self.event.args
            && let Some(args) = &event.args
        {
            let place = self.value.as_ref().ok_or_else(|| self.unwritable("its arguments"))?;
            edits.push((place.at.clone(), JsonEdit::Set(place.write_arguments(args))));
        }
        if event.result != self.event.result {
            let place = self.value.as_ref().ok_or_else(|| self.unwritable("its result"))?;
            edits.push((place.at.clone(), JsonEdit::Set(event.result.clone().unwrap_or(Json::Null))));
        }
        if event.text != self.event.text {
            edits.extend(self.rewrite_text(event.text.as_deref().unwrap_or_default())?);
        }
        Ok(edits)
    }

    /// Returns the edits that give the body another text.
    fn rewrite_text(&self, new: &str) -> Result<Edits, WireRefusal> {
        let (mut old, mut ranges) = (String::new(), Vec::new());
        for part in &self.texts {
            if !old.is_empty() {
                old.push_str(part.joint);
            }
            ranges.push(old.len()..old.len() + part.text.len());
            old.push_str(&part.text);
        }
        if old != self.event.text.as_deref().unwrap_or_default() || self.texts.is_empty() {
            return Err(self.unwritable("its text"));
        }
        let pieces = align::replace_in_pieces(&old, &ranges, &align::find_replacements(&old, new));
        let changed = self.texts.iter().zip(pieces).filter(|(part, piece)| part.text != *piece);
        Ok(changed.map(|(part, piece)| (part.at.clone(), JsonEdit::Set(piece.into()))).collect())
    }

    /// Returns the edits that put the text of a denial in the place of a text or a result.
    pub(crate) fn deny(&self, text: &str) -> Result<Edits, WireRefusal> {
        // The whole result: pictures, files and titles go with its text.
        if let Some(result_at) = &self.result_at {
            return Ok(vec![(result_at.clone(), JsonEdit::Set(text.into()))]);
        }
        // A denial in the place of a setting or a name would make another request of it.
        if self.event.more.get(UNREAD).is_some() {
            return Err(self.unwritable("itself"));
        }
        let Some((first, rest)) = self.texts.split_first() else { return Err(self.unwritable("itself")) };
        let mut edits = vec![(first.at.clone(), JsonEdit::Set(text.into()))];
        edits.extend(rest.iter().map(|part| (part.at.clone(), JsonEdit::Set("(withheld)".into()))));
        Ok(edits)
    }

    /// Returns the refusal of a change that cannot be written.
    fn unwritable(&self, what: &str) -> WireRefusal {
        let kind = &self.event.kind;
        let message = format!("a {kind} cannot be changed in place: {what} is not in a form that can be written back");
        WireRefusal::new("wire.rewrite", message)
    }
}

impl ValuePlace {
    /// Returns the place of arguments, by how they are written now.
    pub(crate) fn of_arguments(at: JsonPath, value: Option<&Json>, is_free_text: bool) -> ValuePlace {
        let form = match value {
            _ if is_free_text => ValueForm::FreeText,
            Some(Json::String(_)) => ValueForm::Quoted,
            _ => ValueForm::Plain,
        };
        ValuePlace { at, form }
    }

    /// Returns the place of a result.
    pub(crate) fn of_result(at: JsonPath) -> ValuePlace {
        ValuePlace { at, form: ValueForm::Plain }
    }

    fn write_arguments(&self, args: &Arguments) -> Json {
        match (args, self.form) {
            (Arguments::Unparsed(text), _) => Json::String(text.clone()),
            (Arguments::Value(value), ValueForm::FreeText) => {
                value.get("input").cloned().unwrap_or_else(|| value.to_string().into())
            }
            (Arguments::Value(value), ValueForm::Quoted) => value.to_string().into(),
            (Arguments::Value(value), ValueForm::Plain) => value.clone(),
        }
    }
}

/// Whether no block is between two parts of a content.
fn is_next(before: &[JsonStep], after: &[JsonStep]) -> bool {
    let apart = before.iter().zip(after).find(|(one, other)| one != other);
    match apart {
        Some((JsonStep::Index(one), JsonStep::Index(other))) => other.saturating_sub(*one) <= 1,
        _ => true,
    }
}

/// Returns the hash of an event's content.
pub(crate) fn hash_event(event: &Event) -> ContentHash {
    match event.kind {
        // The content of these is beside their texts.
        Kind::ToolDefinitions | Kind::Other(_) => {
            content_hash::extend_hash(&content_hash::hash_json(&Json::Object(event.more.clone())), event)
        }
        _ => content_hash::extend_hash(&[0; 32], event),
    }
}

/// Returns the event with an approval turned into an event of another kind. A client or a vendor that reports an
/// approval did not ask a reviewer here, so its report must allow nothing.
pub(crate) fn without_approval(mut event: Event) -> Event {
    if matches!(event.kind, Kind::Approval | Kind::Denial) {
        event.more.insert("approve", event.kind == Kind::Approval);
        event.kind = Kind::Other(APPROVAL_RESPONSE.into());
    }
    event
}
