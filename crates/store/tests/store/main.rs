//! Tests of the stores of this crate: the suite of all stores, killed processes, full disks.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod conformance;
mod crash;
#[cfg(target_os = "linux")]
mod full_disk;
mod suite;
