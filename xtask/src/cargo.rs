//! Calls of cargo.
//!
//! They use the cargo that started this process, in the root of the repository.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::transcript::{self, Counts};

/// Returns the root of the repository.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Returns the target folder of cargo.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Whether this runs on a build server.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// A call of cargo; `Display` shows it as it would be typed.
#[derive(Clone, Debug)]
pub(crate) struct Cargo {
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Cargo {
    /// Returns a call with these arguments.
    pub(crate) fn new<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Cargo {
        Cargo { arguments: arguments.into_iter().map(String::from).collect(), variables: Vec::new() }
    }

    /// Adds an environment variable.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Cargo {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Makes the call; its output goes to our output.
    pub(crate) fn run(&self) -> Result<(), String> {
        let status = self.command().status().map_err(|error| format!("could not start `{self}`: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("`{self}` failed ({status})")) }
    }

    /// Makes a call that runs tests, and counts them.
    pub(crate) fn run_tests(&self) -> Result<Counts, String> {
        self.run_tests_and(|| ())
    }

    /// Makes a call that runs tests like [`run_tests`](Cargo::run_tests), and calls a function once they are compiled.
    pub(crate) fn run_tests_and(&self, when_compiled: impl FnOnce() + Send) -> Result<Counts, String> {
        let result = transcript::run(&mut self.command(), when_compiled);
        result.map(|(_, counts)| counts).map_err(|error| format!("could not start `{self}`: {error}"))
    }

    /// Returns the call as a command, for callers that read its output.
    pub(crate) fn command(&self) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.current_dir(root()).args(&self.arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl fmt::Display for Cargo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(f, "{name}={value:?} ")?;
        }
        write!(f, "cargo {}", self.arguments.join(" "))
    }
}
