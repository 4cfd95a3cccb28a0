//! Refusals of streams, and the mark of events that are incomplete.

use lictor_event::Event;

use crate::refusal::WireRefusal;

/// How many characters of an unknown name a message shows.
const MAX_SHOWN_CHARS: usize = 80;

/// Returns the refusal of a stream with a wrong shape.
pub(crate) fn shape(message: impl Into<String>) -> WireRefusal {
    WireRefusal::new("stream.shape", message)
}

/// Returns the refusal of an unknown name in a stream.
pub(crate) fn unknown(what: &str, name: &str) -> WireRefusal {
    let name: String = name.chars().take(MAX_SHOWN_CHARS).collect();
    WireRefusal::new("stream.unknown", format!("{what} `{name}` is not known, so Lictor cannot judge it"))
}

/// The code of an event that is not known. Such an event can be left out, because none that follows needs it.
pub(super) const UNKNOWN_EVENT: &str = "stream.event";

/// Returns the refusal of an unknown event of a stream.
pub(crate) fn unknown_event(name: &str) -> WireRefusal {
    WireRefusal { code: UNKNOWN_EVENT, ..unknown("an event of the type", name) }
}

/// Returns the refusal of a stream that needs more memory than allowed.
pub(super) fn too_large() -> WireRefusal {
    WireRefusal::new("stream.too_large", "the reply needs more memory than is allowed; raise the limit on held bytes")
}

/// Returns the event with the mark that its end is missing.
pub(crate) fn truncated(mut event: Event) -> Event {
    event.more.insert("truncated", true);
    event
}
