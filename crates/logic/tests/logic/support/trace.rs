//! Traces: positions and ticks.

use lictor_logic::{Facts, Span, Time};

/// One entry of a trace.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// A position with its facts.
    Position(Facts),
    /// Time passed: every later position is after this moment.
    Tick(Time),
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Entry::Position(facts) => match facts.time {
                Some(time) => write!(f, "@{} {facts}", Span(time.0.unsigned_abs())),
                None => write!(f, "{facts}"),
            },
            Entry::Tick(time) => write!(f, "tick @{}", Span(time.0.unsigned_abs())),
        }
    }
}
