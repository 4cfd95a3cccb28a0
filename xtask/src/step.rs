//! Steps of a longer command: a heading for each, and the count at the end.
//!
//! INVARIANT: [`Tally::finish`] is true only if no step failed. A step that could not run at all counts as
//! failed. A step or a test that was skipped is listed with its reason and does not count as passed; on a build server a
//! skipped step counts as failed.

use std::time::Instant;

use crate::cargo::{Cargo, is_ci};
use crate::transcript::Counts;

/// The result of a step that could run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its check passed.
    Passed,
    /// It could not check anything, for this reason.
    Skipped(String),
    /// It ran tests; it failed if one of them failed.
    Tested(Counts),
}

impl Outcome {
    /// Returns an error if the step was skipped or a test failed, for a command that runs only this step.
    pub(crate) fn or_failure(self) -> Result<(), String> {
        match self {
            Outcome::Passed => Ok(()),
            Outcome::Skipped(reason) => Err(reason),
            Outcome::Tested(counts) if counts.failed > 0 => Err("tests failed".into()),
            Outcome::Tested(counts) => {
                counts.skipped.iter().for_each(|skip| println!("skipped: {}: {}", skip.name, skip.reason));
                Ok(())
            }
        }
    }
}

/// The counts of the steps so far. A step that runs tests counts as its tests, any other as one.
#[derive(Debug)]
pub(crate) struct Tally {
    is_ci: bool,
    passed: usize,
    failed: usize,
    broken: Vec<String>,
    skipped: Vec<String>,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally { is_ci: is_ci(), passed: 0, failed: 0, broken: Vec::new(), skipped: Vec::new() }
    }

    /// Runs a call of cargo as a step.
    pub(crate) fn cargo(&mut self, name: &str, call: Cargo) {
        self.step(&format!("{name}: {call}"), || call.run().map(|()| Outcome::Passed));
    }

    /// Runs `cargo test` as a step and counts its tests.
    pub(crate) fn tests(&mut self, name: &str, call: Cargo) {
        self.step(&format!("{name}: {call}"), || call.run_tests().map(Outcome::Tested));
    }

    /// Runs a step, and prints how long it took.
    #[expect(clippy::disallowed_methods, reason = "times of steps are for people, and nothing depends on them")]
    pub(crate) fn step(&mut self, name: &str, body: impl FnOnce() -> Result<Outcome, String>) {
        println!("\n== {name}");
        let begun = Instant::now();
        let result = body();
        println!("took {} s", begun.elapsed().as_secs());
        match result {
            Ok(Outcome::Passed) => self.passed += 1,
            Ok(Outcome::Skipped(reason)) if self.is_ci => self.fail(name, 1, &format!("skipped: {reason}")),
            Ok(Outcome::Skipped(reason)) => {
                println!("skipped: {reason}");
                self.skipped.push(format!("{name}: {reason}"));
            }
            Ok(Outcome::Tested(counts)) => {
                self.passed += counts.passed;
                self.skipped.extend(counts.skipped.iter().map(|skip| format!("{}: {}", skip.name, skip.reason)));
                if counts.failed > 0 {
                    self.fail(name, counts.failed, "tests failed, see above");
                }
            }
            Err(message) => self.fail(name, 1, &message),
        }
    }

    fn fail(&mut self, name: &str, count: usize, message: &str) {
        println!("FAILED: {message}");
        self.failed += count;
        self.broken.push(name.into());
    }

    /// Prints skipped and failed steps and the counts. Whether nothing failed.
    pub(crate) fn finish(self) -> bool {
        println!();
        for skipped in &self.skipped {
            println!("skipped: {skipped}");
        }
        for step in &self.broken {
            println!("FAILED: {step}");
        }
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped.len());
        self.broken.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Skip;

    fn tally(is_ci: bool) -> Tally {
        Tally { is_ci, ..Tally::new() }
    }

    fn figures(tally: &Tally) -> (usize, usize, usize) {
        (tally.passed, tally.failed, tally.skipped.len())
    }

    #[test]
    fn failed_step_fails_the_whole_run() {
        let mut tally = tally(false);
        tally.step("first", || Err("broken".into()));
        tally.step("second", || Ok(Outcome::Passed));
        assert_eq!(figures(&tally), (1, 1, 0));
        assert!(!tally.finish());
    }

    #[test]
    fn skipped_step_fails_only_on_build_server() {
        for (is_ci, expected) in [(false, (0, 0, 1)), (true, (0, 1, 0))] {
            let mut tally = tally(is_ci);
            tally.step("only", || Ok(Outcome::Skipped("nothing there".into())));
            assert_eq!(figures(&tally), expected);
            assert_eq!(tally.finish(), !is_ci);
        }
    }

    #[test]
    fn tests_are_counted_and_skips_are_listed() {
        let skip = Skip { name: "a".into(), reason: "no formats".into() };
        let mut tally = tally(true);
        tally.step("good", || Ok(Outcome::Tested(Counts { passed: 7, failed: 0, skipped: vec![skip] })));
        assert_eq!((figures(&tally), tally.skipped[0].as_str()), ((7, 0, 1), "a: no formats"));
        tally.step("bad", || Ok(Outcome::Tested(Counts { passed: 1, failed: 2, skipped: Vec::new() })));
        assert_eq!(figures(&tally), (8, 2, 1));
        assert!(!tally.finish());
    }

    #[test]
    fn failing_cargo_call_is_a_failed_step() {
        let mut tally = tally(false);
        tally.cargo("nonsense", Cargo::new(["--no-such-flag"]));
        tally.tests("nonsense", Cargo::new(["--no-such-flag"]));
        assert_eq!(figures(&tally), (0, 2, 0));
    }
}
