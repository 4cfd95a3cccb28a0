//! Decoders of logs and traces: exact events for files of our own, counts for files of others.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod damage;
mod deliveries;
mod frameworks;
mod golden;
mod histories;
mod mixed_sessions;
mod not_logs;
mod sessions;
mod shared;
mod shuffled;
mod stored_rows;
mod times;
mod unread_calls;
mod windows;
mod wrappers;
