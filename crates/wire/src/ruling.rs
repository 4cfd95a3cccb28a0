//! The decision on an event, as the wire carries it out.

use lictor_event::Event;

/// The decision on an event, as the wire carries it out.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq)]
pub enum Ruling {
    /// The event is forwarded unchanged, byte for byte.
    Forward,
    /// The event is forwarded with the arguments, the text or the result of this event. The id and the name of a call
    /// stay. Parts of an event that are not sent, such as labels, change nothing.
    Rewrite(Box<Event>),
    /// The event is not forwarded. This text takes its place, in a form that clients accept.
    Deny {
        /// The text that the client reads instead.
        text: String,
    },
}

impl Ruling {
    /// Whether nothing changes.
    pub fn is_forward(&self) -> bool {
        matches!(self, Ruling::Forward)
    }

    /// Whether the event is not forwarded.
    pub(crate) fn is_denial(&self) -> bool {
        matches!(self, Ruling::Deny { .. })
    }
}
