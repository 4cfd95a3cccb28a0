//! Tests of ledgers through their public interface: the life of a ledger, tampering, failing disks.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[cfg(unix)]
mod faults;
mod lifecycle;
mod tamper;
