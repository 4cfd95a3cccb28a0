//! Checks that the workspace compiles with the oldest toolchain it promises, the `rust-version` of its manifest.

use std::process::{Command, Stdio};

use crate::cargo::{root, target};
use crate::step::Outcome;

/// Compiles the workspace with the oldest toolchain, which rustup installs if it can.
pub(crate) fn check() -> Result<Outcome, String> {
    let version = promised_version()?;
    let mut install = Command::new("rustup");
    install.args(["toolchain", "install", &version, "--profile", "minimal", "--no-self-update"]);
    if !install.stdin(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return Ok(Outcome::Skipped(format!("rustup cannot install the toolchain {version}")));
    }
    let mut call = Command::new("rustup");
    call.args(["run", &version, "cargo", "check", "--workspace", "--locked"]).current_dir(root());
    // Compiled code of another toolchain cannot be shared.
    call.env("CARGO_TARGET_DIR", target().join("oldest")).env_remove("RUSTUP_TOOLCHAIN");
    let status = call.status().map_err(|error| format!("could not start rustup: {error}"))?;
    match status.success() {
        true => Ok(Outcome::Passed),
        false => Err(format!("the workspace does not compile with Rust {version}, its `rust-version`")),
    }
}

fn promised_version() -> Result<String, String> {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).map_err(|error| format!("Cargo.toml: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("rust-version = "));
    line.map(|version| version.trim_matches('"').to_owned())
        .ok_or_else(|| "Cargo.toml has no `rust-version`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::promised_version;

    #[test]
    fn oldest_toolchain_is_read_from_manifest() {
        let version = promised_version().unwrap_or_default();
        assert!(version.starts_with("1."), "{version}");
    }
}
