//! The names by which a request may say which session it belongs to.

use lictor_event::content_hash::ContentHash;
use lictor_json::{Json, Object, Text};

/// The members of `metadata` that name a session, the first that is present.
const SESSION_METADATA: [&str; 4] = ["lictor_session", "session_id", "conversation_id", "thread_id"];

/// The names in a body by which a session may be known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionHints {
    /// The end user: `user` or `safety_identifier` with OpenAI, `metadata.user_id` with Anthropic.
    pub user: Option<Text>,
    /// The client's notes on the request, which the vendor does not interpret.
    pub metadata: Object,
    /// The response that this request continues; the vendor keeps its history.
    pub previous_response: Option<Text>,
    /// The conversation that the vendor keeps.
    pub conversation: Option<Text>,
    /// The hash of the first message of the user: a client sends it again with each request of the conversation.
    pub opening: Option<ContentHash>,
}

impl SessionHints {
    /// Returns the hints that all interfaces have in common.
    pub(crate) fn from_metadata(body: &Json) -> SessionHints {
        let metadata = body.get("metadata").and_then(Json::as_object).cloned().unwrap_or_default();
        SessionHints { metadata, ..SessionHints::default() }
    }

    /// Returns the id by which the body names its session: in its metadata, or else the conversation that the vendor keeps.
    pub fn session_id(&self) -> Option<String> {
        let named = SESSION_METADATA.iter().find_map(|key| match self.metadata.get(key)? {
            Json::String(id) => Some(id.to_string()),
            number @ Json::Number(_) => Some(number.to_string()),
            _ => None,
        });
        named.or_else(|| self.conversation.as_ref().map(ToString::to_string))
    }
}
