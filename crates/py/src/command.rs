//! The command `lictor`, called from Python.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command and returns its exit code. The first argument is its own name; data goes to standard output.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| lictor_cli::main(arguments, std::io::stdout().lock()))
}

/// Runs the command like [`run_command`], and returns the exit code and the output as bytes.
#[pyfunction]
pub(crate) fn command_output(py: Python<'_>, arguments: Vec<OsString>) -> (u8, Vec<u8>) {
    py.detach(|| {
        let mut out = Vec::new();
        let code = lictor_cli::main(arguments, &mut out);
        (code, out)
    })
}
