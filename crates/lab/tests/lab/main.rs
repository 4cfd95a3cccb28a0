//! Tests of whole runs: the oracle against the engine, repeatability, and sums.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agreement;
mod repeat;
