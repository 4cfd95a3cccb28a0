//! Which conversation a response belongs to, in a log that may not hold its request.
//!
//! A response names the one that it continues. One that names none begins a conversation, unless a request or an item
//! before it tells otherwise. A client that sends the whole history each time names none either: without its requests,
//! such a log does not tell its conversations apart, and a fault says so.

use std::collections::HashMap;

use crate::{Fault, LogRecord};
use lictor_json::{Json, Text};

/// The place of a response.
pub(super) enum ChainPlace {
    /// In a known conversation.
    Known(usize),
    /// In the conversation of the last request.
    Current,
    /// At the beginning of a conversation.
    New,
}

/// The responses of a file.
#[derive(Debug, Default)]
pub(super) struct ResponseChains {
    /// The conversation of each response.
    conversations: HashMap<Text, usize>,
    /// Whether the last record was a response, so that the next one answers no request of the log.
    is_after_response: bool,
    /// Whether some response continues another one.
    has_links: bool,
    /// The responses after others that continue none: the first, and how many.
    roots: Option<(Fault, u64)>,
}

impl ResponseChains {
    /// Returns the conversation of a response by its id.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.conversations.get(id).copied()
    }

    /// Adds a response to its conversation.
    pub(super) fn add(&mut self, id: &str, conversation: usize) {
        self.conversations.insert(id.into(), conversation);
    }

    /// Notes a request or an item, which the next response answers.
    pub(super) fn note_other(&mut self) {
        self.is_after_response = false;
    }

    /// Takes a response, and returns its place. A session that the log names goes before all else.
    pub(super) fn take_response(&mut self, response: &Json, is_named: bool, record: &LogRecord) -> ChainPlace {
        let is_after_response = std::mem::replace(&mut self.is_after_response, true);
        let previous = response.get("previous_response_id");
        let id = previous.and_then(Json::as_str);
        self.has_links |= id.is_some();
        if is_named {
            return ChainPlace::Current;
        }
        match (id.and_then(|id| self.find(id)), previous) {
            (Some(index), _) => ChainPlace::Known(index),
            (None, Some(previous)) if is_after_response => {
                if previous.is_null() {
                    self.note_root(record);
                }
                ChainPlace::New
            }
            _ => ChainPlace::Current,
        }
    }

    fn note_root(&mut self, record: &LogRecord) {
        match &mut self.roots {
            Some((_, count)) => *count += 1,
            None => self.roots = Some((record.fault("decode.no_session", ""), 1)),
        }
    }

    /// Returns the fault of a log whose responses may belong together, but do not say so.
    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        let (fault, count) = self.roots.take().filter(|_| !self.has_links)?;
        let message = format!(
            "{} responses name none that they continue, and the log has no requests: each is judged as a session of its \
             own; log the requests too, or name the member that tells with --session-key",
            count + 1
        );
        Some(Fault { message, ..fault })
    }
}
