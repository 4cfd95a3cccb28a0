//! `cargo xtask peers`: other engines judge what we export and verify our ledgers, and must agree with us.
//!
//! Our side is two example programs of this workspace, whose crates the tests have compiled. They write policies,
//! traces, verdicts and ledgers; the tests in `peers/`, a workspace without our crates, read them.

use std::path::Path;
use std::process::{Child, Command};

use crate::cargo::{Cargo, target};
use crate::early;
use crate::step::Outcome;

/// The variable that names the folder of what was written.
const CASES: &str = "LICTOR_PEER_CASES";

/// The programs that write.
const WRITERS: [&str; 2] = ["write_peer_cases", "write_peer_ledgers"];

/// Writes the cases, while the other engines compile, and runs the tests.
pub(crate) fn test() -> Result<Outcome, String> {
    // With the whole workspace and the profile of tests, so that nothing is compiled that the tests have compiled.
    let build = ["build", "--workspace", "--profile", "test", "--example", WRITERS[0], "--example", WRITERS[1]];
    Cargo::new(build).run()?;
    let cases = target().join("peers");
    // What an older writer left must not be taken for what this one writes.
    if cases.exists() {
        std::fs::remove_dir_all(&cases).map_err(|error| format!("{}: {error}", cases.display()))?;
    }
    let writers = WRITERS.map(|name| start(name, &cases));
    let compiled = call(&cases, &["--no-run"]).run();
    let ends = writers.map(|writer| writer.and_then(|mut child| child.wait()));
    for (name, end) in WRITERS.iter().zip(ends) {
        let status = end.map_err(|error| format!("{name}: {error}"))?;
        if !status.success() {
            return Err(format!("{name} failed ({status})"));
        }
    }
    compiled?;
    call(&cases, &["--no-fail-fast", "--", "--show-output"]).run_tests().map(Outcome::Tested)
}

/// Compiles the other engines in advance, quietly.
pub(crate) fn prepare() {
    early::run_quietly(&call(&target().join("peers"), &["--no-run"]).command());
}

fn start(writer: &str, cases: &Path) -> std::io::Result<Child> {
    let program = target().join("debug/examples").join(format!("{writer}{}", std::env::consts::EXE_SUFFIX));
    Command::new(program).arg(cases).spawn()
}

fn call(cases: &Path, arguments: &[&str]) -> Cargo {
    let tests = ["test", "--manifest-path", "peers/Cargo.toml"];
    // One target folder for both workspaces, so that they share compiled code.
    Cargo::new(tests.iter().chain(arguments).copied())
        .variable("CARGO_TARGET_DIR", &target().to_string_lossy())
        .variable(CASES, &cases.to_string_lossy())
}
