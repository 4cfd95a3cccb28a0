//! Steps of a longer command: a heading for each, and the count at the end.
//!
//! INVARIANT: [`Tally::finish`] is true only if no step failed. A step that could not run at all counts as
//! failed; one that had nothing to run on is named as skipped and is not counted among those that passed.

use crate::cargo::Cargo;

/// How a step ended, if it did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// What it checks holds.
    Passed,
    /// There was nothing to check, for this reason.
    Skipped(String),
}

impl Outcome {
    /// A failure where nothing was checked: for a command that was asked for just this.
    pub(crate) fn or_failure(self) -> Result<(), String> {
        match self {
            Outcome::Passed => Ok(()),
            Outcome::Skipped(reason) => Err(reason),
        }
    }
}

/// How the steps so far have ended.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    passed: usize,
    failed: Vec<String>,
    skipped: Vec<String>,
}

impl Tally {
    /// Runs a call of cargo as a step.
    pub(crate) fn cargo(&mut self, name: &str, call: Cargo) {
        self.step(&format!("{name}: {call}"), || call.run().map(|()| Outcome::Passed));
    }

    /// Runs a step.
    pub(crate) fn step(&mut self, name: &str, body: impl FnOnce() -> Result<Outcome, String>) {
        println!("\n== {name}");
        match body() {
            Ok(Outcome::Passed) => self.passed += 1,
            Ok(Outcome::Skipped(reason)) => {
                println!("SKIPPED: {reason}");
                self.skipped.push(format!("{name}: {reason}"));
            }
            Err(message) => {
                println!("FAILED: {message}");
                self.failed.push(name.into());
            }
        }
    }

    /// Names what failed and what was skipped, then counts; true if nothing failed.
    pub(crate) fn finish(self) -> bool {
        println!();
        for step in &self.skipped {
            println!("SKIPPED: {step}");
        }
        for step in &self.failed {
            println!("FAILED: {step}");
        }
        let skipped = if self.skipped.is_empty() { String::new() } else { format!(", {} skipped", self.skipped.len()) };
        println!("{} passed, {} failed{skipped}", self.passed, self.failed.len());
        self.failed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_fails_the_whole_however_many_pass_after_it() {
        let mut tally = Tally::default();
        tally.step("first", || Err("broken".into()));
        tally.step("second", || Ok(Outcome::Passed));
        assert_eq!((tally.passed, tally.failed.len()), (1, 1));
        assert!(!tally.finish());
    }

    #[test]
    fn a_skipped_step_is_not_counted_as_passed() {
        let mut tally = Tally::default();
        tally.step("only", || Ok(Outcome::Skipped("nothing there".into())));
        assert_eq!((tally.passed, tally.failed.len(), tally.skipped.len()), (0, 0, 1));
        assert!(tally.finish());
    }

    #[test]
    fn a_call_that_cannot_succeed_is_a_failed_step() {
        let mut tally = Tally::default();
        tally.cargo("nonsense", Cargo::new(["--no-such-flag"]));
        assert_eq!(tally.failed.len(), 1);
    }
}
