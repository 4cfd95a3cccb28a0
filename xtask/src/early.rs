//! Work that later steps of a long command need, begun before them, at the lowest priority.
//!
//! Tests wait for sockets, disks and single threads. Meanwhile packages of Python are installed, and programs of later steps
//! are compiled.
//!
//! INVARIANT: nothing depends on it. What is missing or failed here is done, and reported, by the step that needs it.

use std::process::{Command, Stdio};
use std::thread::JoinHandle;

/// Work under way.
pub(crate) struct Early(JoinHandle<()>);

impl Early {
    /// Begins some work.
    pub(crate) fn begin(work: impl FnOnce() + Send + 'static) -> Early {
        Early(std::thread::spawn(work))
    }

    /// Waits until it is done.
    pub(crate) fn wait(self) {
        // A panic there has been printed, and the step does the work again.
        let _ = self.0.join();
    }
}

/// Runs a command quietly at the lowest priority. Whether it succeeded.
pub(crate) fn run_quietly(command: &Command) -> bool {
    let mut nice = Command::new("nice");
    nice.args(["-n", "19"]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        nice.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => nice.env(name, value),
            None => nice.env_remove(name),
        };
    }
    nice.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    nice.status().is_ok_and(|status| status.success())
}
