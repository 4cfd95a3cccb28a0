//! What is done with an event that crosses.

use lictor_event::Event;

/// What is done with an event that crosses.
#[derive(Clone, Debug, PartialEq)]
pub enum Ruling {
    /// It crosses as it is, byte for byte.
    Forward,
    /// It crosses as this event says it: with other arguments, another text or another result. What the event does not
    /// carry on the wire, such as labels, changes nothing; the id and the name of a call stay.
    Rewrite(Box<Event>),
    /// It does not cross. What crosses in its place is this text, in a shape that clients accept.
    Deny {
        /// What is said instead.
        text: String,
    },
}

impl Ruling {
    /// Whether nothing changes.
    pub fn is_forward(&self) -> bool {
        matches!(self, Ruling::Forward)
    }
}
