//! Messages, items and streamed pieces one by one, for those who have them in hand rather than in a log.
//!
//! These are the readers that the decoders of logs use, so whoever stands on the wire and whoever reads the log
//! afterwards see the same events.

pub use super::anthropic::Block;
use super::content::Content;
pub use super::openai_chat::Choice;
pub use super::openai_responses::Piece;
use super::{anthropic, chat, content, openai_chat, openai_responses};
use lictor_event::{Event, Kind};
use lictor_json::Json;

/// The events of a message of a chat, as OpenAI and Anthropic have it; none if its role is not known.
pub fn message(message: &Json) -> Option<Vec<Event>> {
    chat::events_of(message)
}

/// The events of a whole answer of Anthropic's, which says beside its content why it stopped.
pub fn answer(answer: &Json) -> Option<Vec<Event>> {
    anthropic::response_events(answer)
}

/// The events of an item of the Responses interface; none if its kind is not known.
pub fn item(item: &Json) -> Option<Vec<Event>> {
    openai_responses::item_events(item)
}

/// Where a part of a content says something before what it holds, in the order in which it is read.
pub fn beside(part: &Json) -> &'static [&'static str] {
    content::beside(part)
}

/// Instructions, as a text or as parts.
pub fn instructions(content: &Json) -> Event {
    chat::said(Kind::SystemMessage, Content::of(content, "\n"))
}

/// A failure that the service reports.
pub fn failure(error: &Json) -> Event {
    openai_chat::failure(error)
}
