//! Histories that are sent again with every request: what of them is new.

use std::collections::BTreeMap;

use lictor::decode::print::Print;
use lictor::event::Event;
use lictor::json::Text;

use crate::Request;

/// What is known of a session's history: hashes of all that was said, in order. Kept by the caller from request to
/// request, as bytes if need be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The tools on offer and the instructions, as they were last.
    preamble: Vec<Print>,
    /// What was said since.
    body: Vec<Print>,
    /// How the last reply may end it, if the model gave several; the client keeps one.
    choices: Vec<Vec<Print>>,
    /// The tools of calls that were not answered yet, by the ids of the calls.
    calls: BTreeMap<Text, Text>,
}

/// What a request adds to a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The items that are new, by their index, with their events. Answers of tools carry the tool's name.
    pub fresh: Vec<(usize, Event)>,
    /// How the history goes on.
    pub change: Change,
    /// What is known once the request has been sent.
    pub known: Known,
}

/// How a history goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// As it was, or it begins.
    Continued,
    /// It was cut back to so many items, and goes on from there; a request that is sent once more looks like this.
    Rewound {
        /// How many items are left of what was known.
        to: usize,
    },
    /// Items from here on stand for more that were known: a summary, or a window that moved on.
    Compacted {
        /// How many items at the beginning are as they were.
        at: usize,
        /// How many that were known are gone.
        dropped: usize,
    },
    /// Items from here on are not as they were.
    Edited {
        /// How many items at the beginning are as they were.
        at: usize,
        /// How many that were known are gone.
        dropped: usize,
    },
}

impl Known {
    /// What a request adds.
    pub fn fold(&self, request: &Request) -> Fold {
        let fresh = request.items.iter().map(|item| item.event.clone()).enumerate().collect();
        Fold { fresh, change: Change::Continued, known: self.clone() }
    }

    /// Takes up what a reply said, as the client got it: the client will send it back. One list for each choice.
    pub fn replied(&mut self, sent: &[Vec<Sent>]) {
        let _ = sent;
    }

    /// How many items are known.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// As bytes, to be kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        Vec::new()
    }

    /// From bytes; none if they are not ours.
    pub fn from_bytes(bytes: &[u8]) -> Option<Known> {
        let _ = bytes;
        None
    }
}

/// Something a reply said, as the client got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The hash of what it says, however it is written.
    pub hash: Print,
    /// The id and the tool, if it is a call.
    pub call: Option<(Text, Text)>,
}

impl Fold {
    /// That the history is not as it was, as an event: `history_edited`, `history_compacted` or `history_rewound`, with
    /// `at`, `to` and `dropped` beside it.
    pub fn event(&self) -> Option<Event> {
        None
    }
}
