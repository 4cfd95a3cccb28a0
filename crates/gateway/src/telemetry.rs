//! Metrics, spans and the journal for operators. None of them has content or personal data.
//!
//! Telemetry may be lost, so no exchange waits for it: when a buffer is full, entries are dropped and counted. Records
//! that must not be lost are in the ledger.

mod bound;
mod decision_line;
mod histogram;
mod journal;
mod label_metrics;
mod metrics;
mod spans;
mod stripped_log;
mod tenant_counts;

pub(crate) use bound::Bound;
pub(crate) use decision_line::{approval_line, decision_line, drift_line, late_line, shown_line};
pub use journal::Journal;
pub(crate) use label_metrics::write_label_metrics;
pub(crate) use metrics::{Metrics, Outcome, RouteLabel};
pub(crate) use spans::{DecisionSpan, Span, SpanSubject, Spans};
pub(crate) use stripped_log::StrippedLog;
