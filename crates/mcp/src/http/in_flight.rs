//! A request that waits for the response of the server, as long as its HTTP exchange lasts.
//!
//! INVARIANT: no request stays in flight after its exchange, unless its response can arrive on another stream. Otherwise a
//! retry with the same id would be refused as a duplicate for the rest of the session.

use std::sync::Arc;

use lictor_json::{Json, Text};

use super::{SharedSession, lock};

/// A request in flight. It ends when it is dropped, also if the client disconnects.
pub(super) struct InFlightRequest {
    session: SharedSession,
    id: Json,
    /// The id of its events: another request may have its id by the end.
    event: Option<Text>,
    /// Whether the client can resume the stream that carries the response.
    can_resume: bool,
}

impl InFlightRequest {
    /// Returns the request with this id, which is about to be forwarded.
    pub(super) fn new(session: &SharedSession, id: &Json) -> InFlightRequest {
        let event = lock(session).relay.find_in_flight(id);
        InFlightRequest { session: Arc::clone(session), id: id.clone(), event, can_resume: false }
    }

    /// Ends it with the stream of its response.
    pub(super) fn end(mut self, can_resume: bool) {
        self.can_resume = can_resume;
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        if let Some(event) = &self.event {
            lock(&self.session).relay.end_transport(&self.id, event, self.can_resume);
        }
    }
}
