//! Reads messages, items and streamed pieces one by one, for callers on the wire.
//!
//! The decoders of logs use the same readers, so a proxy on the wire and an audit of the log see the same events.

pub use super::anthropic::Block;
use super::content::Content;
pub use super::openai_chat::ReplyChoice;
pub use super::openai_responses::Piece;
use super::{anthropic, chat, content, openai_responses};
use lictor_event::{Event, Kind};
use lictor_json::Json;

/// Returns the events of a chat message of OpenAI or Anthropic; none if its role is unknown.
pub fn message(message: &Json) -> Option<Vec<Event>> {
    chat::read_message(message)
}

/// Returns the events of a whole Anthropic response, its stop reason included.
pub fn answer(answer: &Json) -> Option<Vec<Event>> {
    anthropic::read_response(answer)
}

/// Returns the events of an item of the Responses API; none if its type is unknown.
pub fn item(item: &Json) -> Option<Vec<Event>> {
    openai_responses::read_item(item)
}

/// Returns the keys of texts that come before the content of a part, in reading order.
pub fn leading_fields(part: &Json) -> &'static [&'static str] {
    content::leading_fields(part)
}

/// Returns the event of instructions, given as a text or as parts.
pub fn instructions(content: &Json) -> Event {
    chat::message_event(Kind::SystemMessage, Content::from_json(content, "\n"))
}

/// Returns the event of a failure that the service reports.
pub fn failure(error: &Json) -> Event {
    chat::failure_event(error)
}
