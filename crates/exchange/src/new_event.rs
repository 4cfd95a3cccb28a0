//! The new events of a request, and the numbers by which a retry of it is recognised.

use lictor_event::Event;
use lictor_wire::{HistoryDiff, Request};

use crate::exchange::{Life, number};
use crate::memory::SessionMemory;

/// A new event of a request.
#[derive(Debug)]
pub(crate) struct NewEvent {
    pub(crate) event: Event,
    /// The place of its item; none for an event that is derived from the request as a whole.
    pub(crate) place: Option<usize>,
    /// Identifies the event if it is sent again.
    pub(crate) content: i64,
}

impl Life {
    /// Takes the new events out of what a request adds. If the history was changed, the first is the event of that.
    pub(crate) fn take_new_events(
        &self,
        memory: &SessionMemory,
        request: &Request,
        diff: &mut HistoryDiff,
    ) -> Vec<NewEvent> {
        // Equal items at the same place after the same history are one event: retries are not judged twice. After the
        // request was sent, or the item was refused, an equal item is a new event.
        let mut before = blake3::Hasher::new();
        before.update(&memory.place());
        let content = |place: usize, hash: &[u8]| {
            let mut content = before.clone();
            content.update(&(place as u64).to_be_bytes());
            content.update(hash);
            number(content.finalize())
        };
        let new = |event: Event, place: Option<usize>, content: i64| {
            let attempt = [content.to_be_bytes(), i64::from(memory.refusals(content)).to_be_bytes()].concat();
            NewEvent { event: self.stamp(event, number(blake3::hash(&attempt))), place, content }
        };
        let changed = diff.event().map(|event| {
            self.count(|counts| counts.history_changed = true);
            let all: Vec<u8> = request.items.iter().flat_map(|item| item.hash).collect();
            new(event, None, content(usize::MAX, &all))
        });
        let items = std::mem::take(&mut diff.fresh).into_iter().filter_map(|(place, event)| {
            let item = request.items.get(place)?;
            Some(new(event, Some(place), content(place, &item.hash)))
        });
        changed.into_iter().chain(items).collect()
    }
}
