//! Policies from files: what is read, and what is said about mistakes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod golden;
mod hostile;
mod lint;
mod meaning;
