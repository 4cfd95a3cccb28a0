//! Which tools a request offers.

use bytes::Bytes;
use lictor_event::Event;
use lictor_json::Text;
use lictor_wire::{Api, Request};

/// The tools that a request offers.
pub(crate) struct OfferedNames(Vec<Text>);

impl OfferedNames {
    pub(super) fn read(api: Api, request: &Bytes) -> OfferedNames {
        let offered = Request::read(api, request).map(|request| request.offered_tools()).unwrap_or_default();
        OfferedNames(offered.into_iter().map(|tool| tool.name).collect())
    }

    /// Whether all tools that are called are on offer. A request that lists none says nothing about them.
    pub(crate) fn has_all(&self, events: &[Event]) -> bool {
        let is_offered = |event: &Event| event.tool.as_ref().is_none_or(|tool| self.0.contains(tool));
        self.0.is_empty() || events.iter().all(is_offered)
    }
}
