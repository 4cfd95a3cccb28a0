//! Which calls a request allows in replies that may be taken instead of another, and in plans.

use bytes::Bytes;
use lictor_event::Event;
use lictor_wire::{Api, OfferedCalls, Request};

/// The calls that a request allows; none if it cannot be read.
pub(crate) struct AllowedCalls(Option<OfferedCalls>);

impl AllowedCalls {
    pub(super) fn read(api: Api, request: &Bytes) -> AllowedCalls {
        AllowedCalls(Request::read(api, request).ok().map(|request| OfferedCalls::read(&request)))
    }

    /// Whether the request allows all calls among events.
    pub(crate) fn has_all(&self, events: &[Event]) -> bool {
        self.0.as_ref().is_none_or(|offered| events.iter().all(|event| offered.find_fault(event).is_none()))
    }
}
