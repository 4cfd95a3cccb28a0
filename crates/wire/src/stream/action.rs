//! The limits of a stream, and the actions that it asks for.

use std::ops::Range;

use lictor_event::Event;

use crate::fields::UnknownFields;
use crate::refusal::WireRefusal;

/// The limits of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// The most bytes that may be held, and the most bytes of text in a reply. A stream that needs more is refused.
    pub held: usize,
    /// How many bytes of text are held back at most, so that a long match can be masked before its beginning is sent.
    /// Zero sends text at once; `usize::MAX` holds every text until it is complete and ruled on.
    pub hold_back: usize,
    /// Whether the caller is asked about text as soon as it arrives, and then
    /// [says](crate::Stream::wait_from) how much of it must wait. Otherwise `hold_back` bytes always wait.
    pub asks_early: bool,
    /// What happens to fields that no table names.
    pub unknown_fields: UnknownFields,
}

impl Default for StreamLimits {
    fn default() -> StreamLimits {
        StreamLimits { held: 16 << 20, hold_back: 0, asks_early: false, unknown_fields: UnknownFields::default() }
    }
}

/// The next action that a stream asks for. After [`Judge`](StreamAction::Judge) and [`Text`](StreamAction::Text) there is
/// no further action until they are answered; bytes that arrive meanwhile are buffered.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamAction {
    /// Send these bytes to the client.
    Release(Vec<u8>),
    /// Judge this event and answer with [`Stream::rule`](crate::Stream::rule). Errors that the service reports about
    /// itself are forwarded whatever the ruling.
    Judge(Box<Event>),
    /// Preview text that is about to be sent, and answer with [`Stream::mask`](crate::Stream::mask).
    Text {
        /// The number of the text; [`Stream::text`](crate::Stream::text) returns it as far as it has arrived.
        text: usize,
        /// The part that is about to be sent. The text before it was sent, the text after it is held back. It may be
        /// empty if the caller is asked early.
        leaving: Range<usize>,
    },
    /// Close the stream: it cannot be read any further, and held frames are discarded. The last action.
    Refuse(WireRefusal),
}
