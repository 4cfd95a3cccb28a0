//! One block of a streamed message, as far as it has arrived.

use lictor_decode::piece::Block;
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{self as json, Json, Object, Text, edit_text};

use crate::refusal::WireRefusal;
use crate::segment::message::read_message;
use crate::stream::refusals::shape;

/// A block, as far as it has arrived.
#[derive(Debug)]
pub(super) struct StreamedBlock {
    pub(super) joined: Block,
    pub(super) kind: BlockKind,
    pub(super) is_closed: bool,
    /// Whether it is a call, the arguments of which come in pieces.
    pub(super) takes_arguments: bool,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// A part of a text, by its unit.
    Text(usize),
    /// A call or a result, and whether the client carries it out.
    Call { unit: usize, is_clients: bool },
    /// Thinking, which is no event.
    Thinking,
}

impl StreamedBlock {
    /// Returns the unit of the text that it is a part of.
    pub(super) fn text_unit(&self) -> Option<usize> {
        match self.kind {
            BlockKind::Text(unit) => Some(unit),
            _ => None,
        }
    }

    /// Returns the unit of the call or result that it is.
    pub(super) fn call_unit(&self) -> Option<usize> {
        match self.kind {
            BlockKind::Call { unit, .. } => Some(unit),
            _ => None,
        }
    }

    /// Returns the event of a call or result, as far as it has arrived.
    pub(super) fn read_event(&self) -> Result<Option<Event>, WireRefusal> {
        let message = assistant_message(vec![self.joined.clone().json()]);
        let mut event = read_message(&message.into(), &[])?.into_iter().next().map(|segment| segment.event);
        if let Some(event) = event.as_mut().filter(|event| event.kind == Kind::ToolCall && self.joined.is_silent()) {
            event.args = Some(Arguments::Unparsed(Text::default()));
        }
        Ok(event)
    }

    /// Returns the event of a call or result that has arrived whole. Refuses arguments that are no object, as in a
    /// whole reply.
    pub(super) fn read_whole_event(&self) -> Result<Option<Event>, WireRefusal> {
        let event = self.read_event()?;
        let args = event.as_ref().filter(|event| event.kind == Kind::ToolCall).and_then(|event| event.args.as_ref());
        match args.and_then(Arguments::value) {
            Some(value) if value.as_object().is_none() => Err(shape("`input` of a call is not an object")),
            _ => Ok(event),
        }
    }
}

/// Returns a block with the content of `event`.
pub(super) fn rewrite_block(block: &Json, event: &Event) -> Result<Json, WireRefusal> {
    let message = Json::from(assistant_message(vec![block.clone()]));
    let mut edits = Vec::new();
    for segment in read_message(&message, &[])? {
        edits.extend(segment.rewrite(event)?);
    }
    let changed = edit_text(&message.to_string(), &edits).and_then(|text| json::parse_str(&text).ok());
    let block = changed.as_ref().and_then(|changed| changed.at("content.0"));
    block.cloned().ok_or_else(|| shape("a change cannot be written back"))
}

/// Returns a message of the assistant with these blocks.
pub(super) fn assistant_message(blocks: Vec<Json>) -> Object {
    Object::from([("role", "assistant".into()), ("content", blocks.into())])
}
