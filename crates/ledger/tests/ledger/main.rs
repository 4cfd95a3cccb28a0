//! Tests of ledgers through their public interface: the life of a ledger, tampering, failing disks.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[cfg(unix)]
mod faults;
mod lifecycle;
mod tamper;

/// Returns a number of cases for an ordinary run, multiplied by `LICTOR_CASES` for a long one.
fn cases(ordinary: u64) -> u64 {
    let factor = std::env::var("LICTOR_CASES").ok().and_then(|text| text.parse::<u64>().ok());
    ordinary * factor.unwrap_or(1)
}
