//! Metrics, spans and the journal for operators. None of them has content or personal data.
//!
//! Telemetry may be lost, so no exchange waits for it: when a buffer is full, entries are dropped and counted. Records
//! that must not be lost are in the ledger.

mod journal;
mod metrics;
mod spans;

pub use journal::Journal;
pub(crate) use metrics::{Metrics, Outcome};
pub(crate) use spans::{Span, Spans};
