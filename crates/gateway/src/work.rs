//! Long work away from the threads that all requests share, in a fair order.
//!
//! A body may take a second to read, to search and to edit. Such work runs on threads of its own with a lower priority,
//! and few at once. [`FairGate`] lets the clients in by turns: by what their earlier work has cost, not by when they came.
//! Short work never waits for long work.

mod fair_gate;
mod fair_queue;
mod pool;

pub(crate) use fair_gate::{FairGate, GatePlace};
pub(crate) use fair_queue::Flow;
pub(crate) use pool::WorkPool;

/// How many bytes of a body, or of texts to judge, are long work: they take about a millisecond.
pub(crate) const LONG_WORK_BYTES: usize = 64 << 10;
