//! `cargo xtask deny`: checks our dependencies with cargo-deny by deny.toml.
//!
//! cargo-deny takes long to compile, so this is not part of `cargo xtask test`, whose tidy tests have a cheap check of
//! the licences. The list of published vulnerabilities is downloaded; if that fails, the step reports that it skipped
//! this part.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::cargo::{Cargo, root, target};
use crate::step::Outcome;
use crate::transcript::{Counts, Skip};

/// The version that is installed if there is none.
const VERSION: &str = "0.20.2";

/// Checks licences, bans and sources, then advisories.
pub(crate) fn check() -> Result<Outcome, String> {
    let program = program()?;
    run(&program, &["check", "bans", "licenses", "sources"])?;
    if run(&program, &["fetch", "db"]).is_err() {
        let reason = "the list of published vulnerabilities cannot be reached";
        println!("\nskipped: advisories: {reason}");
        // The rest was checked, so this does not fail the step.
        let skipped = vec![Skip { name: "advisories of dependencies".into(), reason: reason.into() }];
        return Ok(Outcome::Tested(Counts { passed: 1, failed: 0, skipped }));
    }
    run(&program, &["check", "--disable-fetch", "advisories"]).map(|()| Outcome::Passed)
}

/// Returns the path of cargo-deny: the installed one, or our own under the target folder.
fn program() -> Result<PathBuf, String> {
    let installed = PathBuf::from("cargo-deny");
    let own = target().join("tools/bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    for program in [installed, own.clone()] {
        let mut version = Command::new(&program);
        version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if version.status().is_ok_and(|status| status.success()) {
            return Ok(program);
        }
    }
    println!("installing cargo-deny {VERSION} under the target folder, which takes some minutes");
    let folder = target().join("tools");
    let folder = folder.to_string_lossy();
    Cargo::new(["install", "cargo-deny", "--version", VERSION, "--locked", "--root", &folder]).run()?;
    Ok(own)
}

fn run(program: &PathBuf, arguments: &[&str]) -> Result<(), String> {
    let shown = format!("cargo deny {}", arguments.join(" "));
    println!("{shown}");
    let mut command = Command::new(program);
    command.current_dir(root()).args(arguments).stdin(Stdio::null());
    let status = command.status().map_err(|error| format!("could not start `{shown}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed ({status})")) }
}
