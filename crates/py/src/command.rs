//! The command `lictor`, called from Python.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, the first being its own name; data goes to standard output. Gives the exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| lictor_cli::main(arguments, std::io::stdout().lock()))
}

/// The same, with what it prints as bytes beside the exit code.
#[pyfunction]
pub(crate) fn command_output(py: Python<'_>, arguments: Vec<OsString>) -> (u8, Vec<u8>) {
    py.detach(|| {
        let mut out = Vec::new();
        let code = lictor_cli::main(arguments, &mut out);
        (code, out)
    })
}
