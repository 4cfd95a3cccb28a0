//! Tests of the real program: its output, and `guard`, `hook`, `mcp`, `serve` and the ledger commands as processes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test says what it could not do")]

mod evidence;
mod guard;
mod hook;
mod labels;
mod learn;
mod ledger;
mod ledger_audit;
mod ledger_questions;
mod mcp;
mod output;
mod policy_files;
mod predict;
mod serve;

use std::time::{Duration, Instant};

/// The longest wait for a condition. Generous, because build machines are slow.
const CONDITION_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until a condition holds; panics with its name after [`CONDITION_TIMEOUT`].
#[expect(clippy::disallowed_methods, reason = "a test waits for another process")]
fn wait_until(name: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < CONDITION_TIMEOUT, "timeout: {name}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
