//! Compiles our own crates with counters for the fuzz targets: cargo calls `xtask` in the place of the compiler.
//!
//! The counters show libFuzzer which code an input reaches. Code of others needs none, so it is compiled as for the tests,
//! and both share it.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use crate::cargo::Cargo;

/// The variable by which a call of cargo tells its compiler to count.
const MARK: &str = "LICTOR_COUNTERS";

/// The flags that make the compiler count, so that libFuzzer sees which code an input reaches and what it is compared with.
const FLAGS: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Returns a call of cargo that compiles our crates with counters.
pub(crate) fn count(call: Cargo) -> Result<Cargo, String> {
    let compiler = std::env::current_exe().map_err(|error| format!("the path of xtask is unknown: {error}"))?;
    Ok(call.variable("RUSTC_WRAPPER", &compiler.to_string_lossy()).variable(MARK, "1"))
}

/// Compiles what cargo asks for, if cargo called this process as a compiler; none if it did not. The first argument is
/// then the path of the compiler itself.
pub(crate) fn compile() -> Option<ExitCode> {
    std::env::var_os(MARK)?;
    let mut arguments = std::env::args_os().skip(1);
    let mut compiler = Command::new(arguments.next()?);
    let arguments: Vec<OsString> = arguments.collect();
    let flags = if is_ours(&arguments) { FLAGS.as_slice() } else { &[] };
    let status = compiler.args(&arguments).args(flags).status();
    Some(if status.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether a call of the compiler is about a crate of ours.
fn is_ours(arguments: &[OsString]) -> bool {
    let name = arguments.iter().skip_while(|argument| *argument != "--crate-name").nth(1);
    name.and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("lictor_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_crates_get_counters() {
        let call = |name: &str| ["--crate-name", name, "--edition=2024"].map(OsString::from);
        assert!(is_ours(&call("lictor_json")));
        assert!(!is_ours(&call("serde_json")) && !is_ours(&call("build_script_build")));
        assert!(!is_ours(&["-vV".into()]));
    }
}
