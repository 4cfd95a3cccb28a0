//! What a client sends to a model.

use lictor::decode::print::Print;
use lictor::event::Event;
use lictor::json::{Object, Text};

use crate::{Api, Refused, Ruling};

/// The body of a request, read strictly.
#[derive(Clone, Debug)]
pub struct Request {
    /// The interface.
    pub api: Api,
    /// Whether the reply is to be streamed.
    pub streams: bool,
    /// The model that is asked for.
    pub model: Option<Text>,
    /// Everything the request says, old and new, one item for each event: first the tools on offer and the
    /// instructions, then the messages in their order. The answer of a tool carries the name of the tool where the
    /// request holds the call too.
    pub items: Vec<Item>,
    /// By what the session may be known.
    pub hints: Hints,
}

/// One thing that a request says.
#[derive(Clone, Debug)]
pub struct Item {
    /// The hash of what it says, however it is written.
    pub hash: Print,
    /// What it is.
    pub event: Event,
}

/// By what a session may be known, as far as the body says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    /// The end user: `user`, `safety_identifier`, or `metadata.user_id` with Anthropic.
    pub user: Option<Text>,
    /// What the client says about the request, free of meaning for the vendor.
    pub metadata: Object,
    /// The response that this goes on from, whose history the vendor keeps.
    pub previous_response: Option<Text>,
    /// The conversation that the vendor keeps.
    pub conversation: Option<Text>,
}

impl Request {
    /// Reads a body. What two readers could understand differently is refused, and so is a message of a kind that is not
    /// known.
    pub fn read(api: Api, body: &[u8]) -> Result<Request, Refused> {
        let _ = (api, body);
        Err(Refused::new("request.shape", "not yet"))
    }

    /// Whether the request carries the whole history, rather than go on from one that the vendor keeps.
    pub fn carries_history(&self) -> bool {
        self.hints.previous_response.is_none() && self.hints.conversation.is_none()
    }

    /// The body with some items changed, by their index: nothing but the values concerned differs from the body that
    /// was read. An item that is denied says the text of the denial instead; that a call or the tools on offer cannot,
    /// so denying those is refused: refuse the request.
    pub fn rewritten(&self, changes: &[(usize, Ruling)]) -> Result<Vec<u8>, Refused> {
        let _ = changes;
        Err(Refused::new("request.shape", "not yet"))
    }
}
