//! Traces as they are written in cases: a position such as `@5s p consent("alice") ?q`, or `tick @30s`.

use lictor_logic::Facts;

use crate::support::trace::Entry;

/// Reads one entry.
pub(crate) fn read_entry(text: &str) -> Entry {
    let read = |text: &str| Facts::parse(text).unwrap_or_else(|errors| panic!("{errors}"));
    match text.trim().strip_prefix("tick @") {
        Some(moment) => Entry::Tick(read(&format!("@{moment}")).time.unwrap()),
        None => Entry::Position(read(text)),
    }
}
