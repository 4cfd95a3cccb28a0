//! The policies under `examples/`, on the logs they were made for.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod shopper;
mod trac;
mod trac_properties;

use std::path::{Path, PathBuf};

use lictor_audit::report::Report;
use lictor_audit::{AuditOptions, audit};
use lictor_decode::Format;
use lictor_decode::input::{self, Input, InputLimits};
use lictor_judge::Judge;
use lictor_policy::Policy;

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Material that we may not copy is beside the workspace; returns `None`, with a message, if it is missing.
#[expect(clippy::print_stderr, reason = "a test that skips says so")]
fn shared(path: &str) -> Option<PathBuf> {
    let path = root().join("../shared").join(path);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not there", path.display());
    None
}

/// Audits logs by a policy under `examples/`.
fn judged(policy: &str, logs: &[PathBuf], format: Option<Format>) -> Report {
    let paths: Vec<String> = logs.iter().map(|path| path.display().to_string()).collect();
    judged_inputs(policy, &input::find(&paths, &InputLimits::default()).unwrap(), format)
}

/// Audits inputs by a policy under `examples/`.
fn judged_inputs(policy: &str, inputs: &[Input], format: Option<Format>) -> Report {
    let loaded = Policy::load(&root().join("examples").join(policy)).unwrap_or_else(|problems| panic!("{problems}"));
    let mut judge = Judge::new(&loaded.policy).unwrap();
    audit(&mut judge, inputs, &AuditOptions::default().format(format), &()).unwrap()
}
