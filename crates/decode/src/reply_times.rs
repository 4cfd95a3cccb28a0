//! When an exchange with a model was, if only its reply says so: `created` or `created_at` of a response.
//!
//! Such a record holds the history of its conversation. So the opening of the history tells its conversation, also
//! without a session, and the length of the history tells which of two replies of one second was first.

use super::envelope;
use lictor_event::content_hash::{self, ContentHash};
use lictor_event::find_time;
use lictor_json::Json;
use lictor_logic::Time;

/// The shortest opening that two conversations hardly share, in bytes.
const MIN_TELLING_OPENING_BYTES: usize = 60;

/// A request with its reply, in one record that has no time of its own.
#[derive(Debug)]
pub(super) struct TimedReply {
    /// The hash of the first message of the user.
    pub(super) opening: ContentHash,
    /// Whether hardly another conversation begins so.
    pub(super) is_telling: bool,
    /// How many messages the history has.
    pub(super) length: usize,
    /// When the reply was made.
    pub(super) time: Option<Time>,
}

impl TimedReply {
    /// Reads a record; none if it is no exchange with a history.
    pub(super) fn from_record(value: &Json) -> Option<TimedReply> {
        let exchange = envelope::open_envelope(value)?;
        let request = exchange.request?;
        let messages = ["messages", "input", "contents"].iter().find_map(|key| request.get(key)?.as_array());
        let messages = messages.or_else(|| request.as_array())?;
        let opening = messages.iter().find(|message| message.text("role") == Some("user")).or(messages.first())?;
        let reply = exchange.response.map(|reply| reply.as_array().and_then(<[Json]>::first).unwrap_or(reply));
        // The first event of a recorded stream may hold the response.
        let parts = [reply, reply.and_then(|reply| reply.get("response"))];
        let time = parts.into_iter().flatten().find_map(|part| part.as_object().and_then(find_time));
        let is_telling = opening.to_string().len() >= MIN_TELLING_OPENING_BYTES;
        Some(TimedReply { opening: content_hash::hash_json(opening), is_telling, length: messages.len(), time })
    }
}
