//! The bounds that refuse something, as the metrics name them.

/// A bound under `limits` of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Bytes of a body.
    Body,
    /// Bytes of all bodies in flight.
    BytesInFlight,
    /// Requests in flight.
    Exchanges,
    /// Items of a session.
    Items,
    /// Bytes of text of an event.
    Text,
    /// Calls of a reply.
    Calls,
    /// Buffered bytes of a stream. The highest value is not known.
    Held,
}

impl Bound {
    pub(super) const ALL: [Bound; 7] =
        [Bound::Body, Bound::BytesInFlight, Bound::Exchanges, Bound::Items, Bound::Text, Bound::Calls, Bound::Held];

    /// Returns its name in the configuration.
    pub(super) fn name(self) -> &'static str {
        match self {
            Bound::Body => "body",
            Bound::BytesInFlight => "bytes_in_flight",
            Bound::Exchanges => "exchanges",
            Bound::Items => "items",
            Bound::Text => "text",
            Bound::Calls => "calls",
            Bound::Held => "held",
        }
    }
}
