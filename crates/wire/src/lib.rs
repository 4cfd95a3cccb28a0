//! What crosses between a client and a model, as events and back.
//!
//! A gateway stands between an agent and its model. This crate tells it what crosses, and writes what is decided: it reads
//! nothing from a network, has no clock and decides nothing. Three interfaces of vendors are known: OpenAI Chat Completions,
//! OpenAI Responses and Anthropic Messages.
//!
//! - A [`Request`] says what the client sends, one item for each event. [`ConversationHistory::fold`] says which of them are new: clients
//!   send the whole history again and again. [`Request::rewritten`] is the body with some items changed.
//! - A [`Reply`] is what the model answers as a whole; [`Reply::settle`] is the body after the rulings.
//! - A [`Stream`] is what it answers in pieces. Text flows, calls are held until they are whole and ruled on.
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
//! let moves = stream.push(call.as_bytes());
//! let [StreamAction::Judge(event)] = moves.as_slice() else { panic!() };
//! assert_eq!(event.tool.as_deref(), Some("send_mail"));
//! let moves = stream.rule(Ruling::Deny { text: "No mail today.".into() });
//! let [StreamAction::Release(bytes)] = moves.as_slice() else { panic!() };
//! let text = String::from_utf8_lossy(bytes);
//! assert!(text.contains("No mail today.") && text.contains("stop") && !text.contains("send_mail"));
//! ```
//!
//! # What is promised
//!
//! - What needs no change passes byte for byte. What changes is a value within a JSON text, and the bytes around it stay.
//! - No byte of a call leaves before its ruling, however the stream is cut, and none ever leaves of a call that was denied.
//! - The same reply is the same events, streamed or plain, in pieces of any size; and the same as the decoders of logs read.
//! - What is not known is refused: a kind of event, a field of a piece, a block, an item, a role. So is what two readers
//!   could understand differently: repeated keys, calls that share an index, a stream that tells one thing in two ways.
//! - What the client is given is known as it was given, so it is recognised when it comes back.
//! - What is taken out of a text or a call is told nowhere beside it: not by log probabilities, annotations or citations.
//! - Nothing that a client or a vendor says is the approval of a person.
//! - What is held is bounded. Nothing that a model says can look like another event of the stream.
//!
//! # What a denial looks like
//!
//! | interface | in place of the call | why the model stopped |
//! |---|---|---|
//! | Chat Completions | text behind the content; calls that stay are numbered anew | `stop`, if no call stays |
//! | Messages | a block of text at the same index | `end_turn`, if no call of the client's stays |
//! | Responses | a message at the same place of the output | as it was |
//!
//! The tokens that were used are told as they were.
//!
//! # What is not covered
//!
//! - What a model thinks (reasoning, thinking) is no event and passes as it is: it is signed by some vendors and cannot be
//!   changed. Whoever shows thoughts to people shows what nobody judged.
//! - Tools that the vendor runs (searches, code, remote servers) have run when their calls are seen. They are events, with
//!   `executed_by` beside them. To deny one takes its bytes out of the reply and undoes nothing.
//! - Histories that the vendor keeps are seen only as far as they passed here. The vendor still knows of a call that was
//!   denied, and waits for its answer: [`Request::answered`] gives it.
//! - Sound is refused in streams, and in whole replies it is judged by its transcript alone and cannot be changed.
//! - A text that is split between two messages, or between content and thought, is two texts.

mod align;
mod api;
mod history;
mod known;
mod refused;
mod reply;
mod request;
mod ruling;
mod segment;
mod splice;
mod sse;
mod stream;

pub use api::{Api, Route};
pub use history::{ConversationHistory, HistoryChange, HistoryDiff, SentItem};
pub use refused::WireRefusal;
pub use reply::{JudgedReply, Reply};
pub use request::{Request, RequestItem, SessionHints};
pub use ruling::Ruling;
pub use stream::{Mask, Stream, StreamAction, StreamLimits};
