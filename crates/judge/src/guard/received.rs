//! The time at which an event is received, against the time that it gives.
//!
//! The caller's clock is trusted, the time of an event is not: one event from the year 2100 would let every deadline of
//! its session and its histories pass, and end every block that lasts for a time.

use lictor_logic::{Span, Time};

use super::{Decider, Guard};
use lictor_event::Event;

/// How far ahead of its receipt an event may be dated, unless the caller says otherwise: five minutes.
const DEFAULT_MAX_AHEAD: Span = Span(300_000_000_000);

impl Guard {
    /// Sets how far the time of an event may be from the time at which it is received, both ways. Beyond that, the event
    /// is judged at the time of its receipt.
    ///
    /// Without it, an event may be dated five minutes ahead, and any time back: logs may be played back.
    #[must_use]
    pub fn within_skew(mut self, skew: Option<Span>) -> Guard {
        self.decider.skew = skew;
        self
    }
}

impl Decider {
    /// Replaces a time that is too far from the receipt, and returns it.
    pub(super) fn replace_far_time(&self, event: &mut Event, received: Option<Time>) -> Option<Time> {
        let (claimed, received) = event.time.zip(received)?;
        let distance = claimed.0.abs_diff(received.0);
        let is_far = match self.skew {
            Some(skew) => distance > skew.0,
            None => claimed > received && distance > DEFAULT_MAX_AHEAD.0,
        };
        if !is_far {
            return None;
        }
        event.time = Some(received);
        Some(claimed)
    }
}
