//! The limits of a stream, and the actions that it asks for.

use std::ops::Range;

use lictor_event::Event;

use crate::fields::UnknownFields;
use crate::refusal::WireRefusal;

/// The most choices of a stream.
const MAX_CHOICES: usize = 1024;

/// The limits of a stream. Limits that are not set keep their defaults.
///
/// ```
/// let limits = lictor_wire::StreamLimits::default().hold_back(256);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamLimits {
    pub(crate) held: usize,
    pub(crate) hold_back: usize,
    pub(crate) asks_early: bool,
    pub(crate) unknown_fields: UnknownFields,
    pub(crate) choices: usize,
    pub(crate) separates_texts: bool,
}

impl StreamLimits {
    /// Sets the most bytes that may be held, and the most bytes of text in a reply; 16 MiB by default. A stream that needs
    /// more is refused.
    #[must_use]
    pub fn held(self, held: usize) -> StreamLimits {
        StreamLimits { held, ..self }
    }

    /// Sets how many bytes of text are held back at most, so that a long match can be masked before its beginning is
    /// sent. Zero, the default, sends text at once; `usize::MAX` holds every text until it is complete and ruled on.
    #[must_use]
    pub fn hold_back(self, hold_back: usize) -> StreamLimits {
        StreamLimits { hold_back, ..self }
    }

    /// Sets whether the caller is asked about text as soon as it arrives, and then
    /// [says](crate::Stream::wait_from) how much of it must wait. Otherwise, the default, `hold_back` bytes always wait.
    #[must_use]
    pub fn asks_early(self, asks_early: bool) -> StreamLimits {
        StreamLimits { asks_early, ..self }
    }

    /// Sets what happens to fields that no table names.
    #[must_use]
    pub fn unknown_fields(self, unknown_fields: UnknownFields) -> StreamLimits {
        StreamLimits { unknown_fields, ..self }
    }

    /// Sets whether a block, such as thinking, that splits a word also ends the line; see
    /// [`Reply::separate_texts`](crate::Reply::separate_texts). By default it does not.
    #[must_use]
    pub fn separates_texts(self, separates_texts: bool) -> StreamLimits {
        StreamLimits { separates_texts, ..self }
    }

    /// Sets how many choices the client [asked for](crate::Request::choices); 1024 by default. A stream with a further
    /// choice is refused: clients that asked for one join the texts of all of them.
    #[must_use]
    pub fn choices(self, choices: usize) -> StreamLimits {
        StreamLimits { choices: choices.min(MAX_CHOICES), ..self }
    }
}

impl Default for StreamLimits {
    fn default() -> StreamLimits {
        StreamLimits {
            held: 16 << 20,
            hold_back: 0,
            asks_early: false,
            unknown_fields: UnknownFields::default(),
            choices: MAX_CHOICES,
            separates_texts: false,
        }
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
