//! What operators see of a gateway: figures, spans, and lines of a log. None of it holds what was said, or about whom.
//!
//! All of it may be lost without harm, so nothing here makes an exchange wait: what cannot be taken is dropped and
//! counted. The ledger, which may not be lost, is elsewhere.

mod journal;
mod metrics;
mod spans;

pub use journal::Journal;
pub(crate) use metrics::{Metrics, Outcome};
pub(crate) use spans::{Span, Spans};
