//! Reads and writes the traffic between an agent and its model, as events.
//!
//! A gateway between the two uses this crate to learn which events a message holds, and to carry out decisions on them.
//! The crate opens no connection, has no clock and decides nothing. It knows three interfaces: OpenAI Chat Completions,
//! OpenAI Responses and Anthropic Messages. Each has a folder and one type that implements the trait `Interface`.
//!
//! - A [`Request`] is the body that the client sends, one item for each event. Clients send the whole history with every
//!   request; [`ConversationHistory::fold`] finds the new items. [`Request::rewritten`] returns the body with changes.
//! - A [`Reply`] is the model's whole answer. [`Reply::settle`] returns the body after the rulings on its events.
//! - A [`Stream`] is an answer in pieces. Text is sent as it arrives; calls are held until they are complete and ruled on.
//!
//! ```
//! use lictor_wire::{Api, StreamLimits, StreamAction, Ruling, Stream};
//!
//! let mut stream = Stream::new(Api::Chat, StreamLimits::default());
//! let call = concat!(
//!     "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",",
//!     "\"function\":{\"name\":\"send_mail\",\"arguments\":\"{}\"}}]}}]}\n\n",
//!     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
//! );
//! let actions = stream.push(call.as_bytes());
//! let [StreamAction::Judge(event)] = actions.as_slice() else { panic!() };
//! assert_eq!(event.tool.as_deref(), Some("send_mail"));
//! let actions = stream.rule(Ruling::Deny { text: "No mail today.".into() });
//! let [StreamAction::Release(bytes)] = actions.as_slice() else { panic!() };
//! let text = String::from_utf8_lossy(bytes);
//! assert!(text.contains("No mail today.") && text.contains("stop") && !text.contains("send_mail"));
//! ```
//!
//! # Guarantees
//!
//! - A message without changes is forwarded byte for byte. A change replaces values within the JSON text; all other bytes
//!   stay as they were.
//! - A client gets only fields that the tables under `fields/` name, in the types and the kinds of events they name; see
//!   [`UnknownFields`]. So clients that ignore case, or read fields of their own, read what was judged.
//! - No byte of a call is sent before its ruling, wherever the stream is cut, and no byte of a denied call is ever sent.
//! - A reply gives the same events whether it is streamed or whole, in pieces of any size. The decoders of logs read the
//!   same events.
//! - Unknown types of blocks and items and unknown roles are refused; unknown events of a stream are left out. Ambiguous
//!   input is refused: duplicate keys, pieces that could belong to two calls, a stream that contradicts itself.
//! - Text is remembered as the client got it, so that it is recognized when the client sends it back.
//! - Texts beside the content of a reply, such as citations and search results, are an event with the member `quoted`.
//! - Fields that could leak a changed text or call are emptied: log probabilities, annotations, citations.
//! - Nothing in a message of a client or a vendor counts as an approval by a person.
//! - The memory for held bytes is limited. No text of a model can pass for another event of the stream.
//!
//! # Denials
//!
//! | interface | in place of the call | stop reason |
//! |---|---|---|
//! | Chat Completions | text after the content; the remaining calls are renumbered | `stop`, if no call remains |
//! | Messages | a block of text at the same index | `end_turn`, if no call of the client remains |
//! | Responses | a message at the same place of the output | unchanged |
//!
//! The token counts of the vendor are forwarded unchanged.
//!
//! # Not covered
//!
//! - The model's thinking (reasoning) is no event and is forwarded unchanged: some vendors sign it, so it cannot be changed.
//!   A client that shows it to people shows text that was not judged.
//! - Tools that the vendor runs (search, code, remote servers) have run when their calls are seen. Their events have a
//!   member `executed_by`. A denial removes them from the reply and undoes nothing.
//! - Of a history that the vendor keeps, only the part that passed here is known. The vendor still has a denied call and
//!   waits for its result: [`Request::answered`] sends it.
//! - Audio is refused in streams. In whole replies only its transcript is judged, and it cannot be changed.
//! - A text that is split over two messages, or over content and thinking, counts as two texts.

mod align;
mod answer;
mod api;
mod argument_keys;
mod chat;
mod error_body;
mod fields;
mod history;
mod hop_by_hop;
mod interface;
mod known;
mod messages;
mod name;
mod offered_calls;
mod offered_tool;
mod openai;
mod question;
mod quoted;
mod refusal;
mod reply;
mod reply_terms;
mod request;
mod request_parts;
mod request_path;
mod responses;
mod ruled_reply;
mod ruling;
mod segment;
mod session_hints;
mod shield;
mod split_word;
mod stream;
mod text_file;
mod unread;

pub use answer::says_something;
pub use api::{Api, Route};
pub use argument_keys::find_similar_key;
pub use error_body::holds_reply;
pub use fields::{StrippedFields, UnknownFields};
pub use history::{ConversationHistory, HistoryChange, HistoryDiff, SentItem};
pub use hop_by_hop::HopByHopFields;
pub use offered_calls::{CallFault, OfferedCalls};
pub use offered_tool::{ArgumentChoice, OfferedTool};
pub use refusal::WireRefusal;
pub use reply::{JudgedReply, Reply, ReplyUsage};
pub use reply_terms::ReplyTerms;
pub use request::{Request, RequestItem};
pub use ruling::Ruling;
pub use session_hints::SessionHints;
pub use shield::{ShieldedRequest, ToolRemoval};
pub use stream::{Mask, Stream, StreamAction, StreamLimits};
pub use text_file::{FileBytes, FileLabel};
