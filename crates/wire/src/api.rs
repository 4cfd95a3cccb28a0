//! The interfaces of model vendors by name, and the routes to them.

use lictor_json::write_sse_event;

use crate::chat::Chat;
use crate::interface::Interface;
use crate::messages::Messages;
use crate::request_path::{RequestPath, Traffic};
use crate::responses::Responses;

/// An interface by which a client talks to a model.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// OpenAI Chat Completions, and services that are compatible with it.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

/// What a request is about, by its method and its path.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// It talks to a model: body and reply are judged.
    Judged(Api),
    /// It counts the tokens of a conversation: the body is judged, and the reply has nothing to judge.
    Counted(Api),
    /// It carries nothing that an agent says or does: lists of models.
    Harmless(Api),
    /// Lictor does not know the path.
    Unknown,
}

impl Api {
    /// All interfaces.
    pub const ALL: [Api; 3] = [Api::Chat, Api::Responses, Api::Messages];

    /// Returns the code of the interface.
    pub(crate) fn interface(self) -> &'static dyn Interface {
        match self {
            Api::Chat => &Chat,
            Api::Responses => &Responses,
            Api::Messages => &Messages,
        }
    }

    /// Returns what a request is about. The query does not count, and services may put a prefix before the path. It talks
    /// to a model if any reading of the prefix says so.
    pub fn route(method: &str, path: &str) -> Route {
        let find = |path: &RequestPath<'_>| {
            Api::ALL.into_iter().find_map(|api| Some((api, api.interface().route(method, path)?)))
        };
        let path = RequestPath::new(path);
        // With two `/v1`, a service may take either for the one before its own path.
        let found = find(&path)
            .or_else(|| find(&path.with_longest_prefix()).filter(|(_, traffic)| *traffic != Traffic::Harmless));
        match found {
            Some((api, Traffic::Conversation)) => Route::Judged(api),
            Some((api, Traffic::Count)) => Route::Counted(api),
            Some((api, Traffic::Harmless)) => Route::Harmless(api),
            None => Route::Unknown,
        }
    }

    /// Returns the name that decoders of logs use for the format.
    pub fn name(self) -> &'static str {
        self.interface().name()
    }

    /// Returns an error in the vendor's own form: the JSON body of a reply with this status.
    pub fn error(self, status: u16, code: &str, message: &str) -> Vec<u8> {
        self.interface().error_body(status, code, message).to_string().into_bytes()
    }

    /// Returns an error within a stream that has begun: one server-sent event, after which the stream ends. `sequence`
    /// is the result of [`Stream::sequence`](crate::Stream::sequence).
    pub fn error_event(self, status: u16, code: &str, message: &str, sequence: i64) -> Vec<u8> {
        let (name, data) = self.interface().error_event(status, code, message, sequence);
        write_sse_event(name, None, data.to_string().as_bytes(), "\n")
    }
}
