//! A streamed reply of a model.

use std::ops::Range;

use lictor::event::Event;

use crate::history::Sent;
use crate::{Api, Refused, Ruling};

/// Bounds on what a stream may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many bytes may be held at most; a stream that needs more is refused.
    pub held: usize,
    /// How many bytes of text stay back, so that what must not be said can be masked before its beginning has left. Zero
    /// lets text flow at once; `usize::MAX` holds every text until it is whole and ruled on.
    pub hold_back: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { held: 16 << 20, hold_back: 0 }
    }
}

/// What a stream wants to be done next. After [`Judge`](Move::Judge) and [`Text`](Move::Text) there are no more moves
/// until they are answered; bytes that come meanwhile are kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// These bytes may go to the client.
    Release(Vec<u8>),
    /// This happened; [`Stream::rule`] is to say what becomes of it.
    Judge(Box<Event>),
    /// Text is about to leave; [`Stream::mask`] is to say what of it must not.
    Text {
        /// Which text: [`Stream::text`] has it, as far as it has come.
        text: usize,
        /// What is about to leave. What comes before it has left, what comes after it stays back.
        leaving: Range<usize>,
    },
    /// The stream cannot be read any further, and what it held is gone. The last move.
    Refuse(Refused),
}

/// A part of a text that must not be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Where it is, in the text so far; what has left already cannot be masked any more.
    pub range: Range<usize>,
    /// What stands in its place.
    pub with: String,
}

/// A streamed reply of a model.
#[derive(Debug)]
pub struct Stream {
    api: Api,
    limits: Limits,
}

impl Stream {
    /// A stream that begins.
    pub fn new(api: Api, limits: Limits) -> Stream {
        Stream { api, limits }
    }

    /// Takes bytes as they come, cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Move> {
        let _ = bytes;
        Vec::new()
    }

    /// Takes the end of the bytes. If that is too early, what has come is judged before it goes on, with `truncated`
    /// beside the events.
    pub fn end(&mut self) -> Vec<Move> {
        Vec::new()
    }

    /// Answers [`Move::Judge`]. Text that has left cannot be changed or denied any more; what has not can.
    pub fn rule(&mut self, ruling: Ruling) -> Vec<Move> {
        let _ = ruling;
        Vec::new()
    }

    /// Answers [`Move::Text`]. Masks are in order and do not overlap; an empty list lets everything leave.
    pub fn mask(&mut self, masks: &[Mask]) -> Vec<Move> {
        let _ = masks;
        Vec::new()
    }

    /// A text as the model said it, as far as it has come.
    pub fn text(&self, text: usize) -> &str {
        let _ = text;
        ""
    }

    /// Whether the model ended its reply, all of it was ruled on, and nothing is held.
    pub fn is_complete(&self) -> bool {
        false
    }

    /// The number that the next event of this stream would have, where the interface numbers them.
    pub fn sequence(&self) -> i64 {
        0
    }

    /// What was said as the client got it, for [`Known::replied`](crate::Known::replied).
    pub fn sent(&self) -> Vec<Vec<Sent>> {
        Vec::new()
    }
}
