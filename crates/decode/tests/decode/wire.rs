//! Logs as they come off the wire: what each format's decoder makes of them.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test fails by panicking, and says why")]

mod golden;
mod shared;
mod strange;
mod streams;
