//! Reads the output of `cargo test` and pytest: how many tests ran, and which were skipped and why.
//!
//! A test skips by printing `SKIPPED: reason` and returning, so its harness counts it as passed. `cargo test` is called
//! with `--show-output`, so that the harness repeats the output of passing tests, under their names. That part is read
//! here and not shown again.

use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};

/// The prefix of the line with which a test reports that it did not run.
const MARK: &str = "SKIPPED: ";

/// A test that did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    /// The name of the test, or the file it is in.
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// How many tests passed and failed, and which were skipped. A skipped test counts as skipped only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: Vec<Skip>,
}

/// Runs a command that runs tests, shows its output, and counts the tests.
///
/// If the command fails although no test did, that counts as one failure, for example a compile error. `when_compiled` is
/// called when cargo names the first file whose tests run: by then it has compiled all of them.
pub(crate) fn run(command: &mut Command, when_compiled: impl FnOnce() + Send) -> io::Result<(ExitStatus, Counts)> {
    if io::stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let transcript = Mutex::new(Transcript::new());
    let locked = || transcript.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut when_compiled = Some(when_compiled);
            each_line(errors, |line| {
                eprintln!("{line}");
                if locked().read_errors(line)
                    && let Some(call) = when_compiled.take()
                {
                    call();
                }
            });
        });
        each_line(output, |line| {
            if locked().read_output(line) {
                println!("{line}");
            }
        });
    });
    let status = child.wait()?;
    let mut counts = transcript.into_inner().unwrap_or_else(PoisonError::into_inner).into_counts();
    if !status.success() {
        counts.failed = counts.failed.max(1);
    }
    Ok((status, counts))
}

/// Calls `read` with each line; invalid UTF-8 is replaced.
pub(crate) fn each_line(source: Option<impl Read>, mut read: impl FnMut(&str)) {
    let Some(source) = source else { return };
    let mut source = BufReader::new(source);
    let mut line = Vec::new();
    while source.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        read(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']));
        line.clear();
    }
}

/// The part of a test binary's output that is being read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// The list of tests, failures, the result.
    Shown,
    /// The output of passing tests, with the name of the present test.
    Successes(String),
}

/// Reads the output of test binaries.
#[derive(Clone, Debug)]
struct Transcript {
    counts: Counts,
    /// How many skipped tests their harness counted as passed.
    counted_twice: usize,
    part: Part,
    /// The file whose tests run, as cargo names it on standard error.
    file: String,
}

impl Transcript {
    fn new() -> Transcript {
        Transcript { counts: Counts::default(), counted_twice: 0, part: Part::Shown, file: String::new() }
    }

    /// Reads a line of standard output. Whether to show it.
    fn read_output(&mut self, line: &str) -> bool {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.part = Part::Shown;
            self.add_result(result);
            return true;
        }
        match &mut self.part {
            Part::Shown if line == "successes:" => self.part = Part::Successes(String::new()),
            Part::Shown => {
                self.read_pytest(line);
                return true;
            }
            Part::Successes(_) if line == "failures:" => {
                self.part = Part::Shown;
                return true;
            }
            Part::Successes(test) => {
                if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
                    name.clone_into(test);
                } else if let Some(reason) = line.strip_prefix(MARK) {
                    let name = test.clone();
                    self.skip_passed(name, reason);
                }
            }
        }
        false
    }

    /// Reads a line of standard error, where cargo names the file whose tests run next. Some tests write there
    /// directly, not through their harness, so that a person sees it at once. Whether a file was named.
    fn read_errors(&mut self, line: &str) -> bool {
        let line = line.trim_start();
        if let Some(file) = line.strip_prefix("Running ") {
            file.split(" (").next().unwrap_or(file).clone_into(&mut self.file);
            return true;
        }
        if let Some(reason) = line.strip_prefix(MARK) {
            self.counts.skipped.push(Skip { name: format!("a test of {}", self.file), reason: reason.to_owned() });
            self.counted_twice += 1;
        }
        false
    }

    /// Reads a line of `pytest -rs`: `SKIPPED [1] tests/test_a.py:147: reason`, or `8 passed, 1 skipped in 2.5s`.
    fn read_pytest(&mut self, line: &str) {
        let skip = line.strip_prefix("SKIPPED [").and_then(|rest| rest.split_once("] "));
        if let Some((name, reason)) = skip.and_then(|(_, rest)| rest.split_once(": ")) {
            let reason = reason.strip_prefix(MARK).unwrap_or(reason);
            self.counts.skipped.push(Skip { name: name.to_owned(), reason: reason.to_owned() });
        } else if line.contains(" passed") && line.contains(" in ") {
            self.add_result(line);
        }
    }

    /// Records a skipped test that its harness counts as passed. A test with several reasons counts once.
    fn skip_passed(&mut self, name: String, reason: &str) {
        if self.counts.skipped.last().is_none_or(|last| last.name != name) {
            self.counts.skipped.push(Skip { name, reason: reason.to_owned() });
            self.counted_twice += 1;
        }
    }

    fn add_result(&mut self, result: &str) {
        self.counts.passed += number_before(result, " passed");
        self.counts.failed += number_before(result, " failed");
    }

    fn into_counts(self) -> Counts {
        Counts { passed: self.counts.passed.saturating_sub(self.counted_twice), ..self.counts }
    }
}

/// Returns the number before a word; 0 if there is none.
fn number_before(text: &str, word: &str) -> usize {
    let before = text.split(word).next().filter(|before| before.len() < text.len()).unwrap_or_default();
    before.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSED: &str = "\
running 2 tests
test a ... ok
test b ... ok

successes:

---- a stdout ----
SKIPPED: no formats
SKIPPED: no traces

---- b stdout ----
hello

successes:
    a
    b

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s";

    fn read(text: &str) -> (Vec<&str>, Transcript) {
        let mut transcript = Transcript::new();
        let shown = text.lines().filter(|line| transcript.read_output(line)).collect();
        (shown, transcript)
    }

    fn skip(name: &str, reason: &str) -> Skip {
        Skip { name: name.into(), reason: reason.into() }
    }

    #[test]
    fn skipped_test_is_not_counted_as_passed() {
        let (shown, transcript) = read(PASSED);
        let expected = Counts { passed: 1, failed: 0, skipped: vec![skip("a", "no formats")] };
        assert_eq!(transcript.into_counts(), expected);
        assert!(shown.iter().all(|line| !line.contains("hello") && !line.contains("SKIPPED")), "{shown:?}");
        assert!(shown.contains(&"test a ... ok") && shown.iter().any(|line| line.starts_with("test result")));
    }

    #[test]
    fn failures_are_shown_and_counted() {
        let text = "successes:\n    a\n\nfailures:\n\n---- c stdout ----\nleft: 1\n\ntest result: FAILED. 1 passed; 2 failed; 0 ignored";
        let (shown, transcript) = read(text);
        assert!(shown.contains(&"left: 1"), "{shown:?}");
        assert_eq!(transcript.into_counts(), Counts { passed: 1, failed: 2, skipped: Vec::new() });
    }

    #[test]
    fn skip_on_standard_error_names_its_file() {
        let mut transcript = read("test result: ok. 3 passed; 0 failed").1;
        assert!(transcript.read_errors("     Running tests/serve/main.rs (target/debug/deps/serve-1)"));
        assert!(!transcript.read_errors("SKIPPED: no server"));
        let expected = vec![skip("a test of tests/serve/main.rs", "no server")];
        assert_eq!(transcript.into_counts(), Counts { passed: 2, failed: 0, skipped: expected });
    }

    #[test]
    fn pytest_summary_is_counted() {
        let text =
            "SKIPPED [1] tests/test_a.py:147: SKIPPED: ../shared is missing\n1 failed, 8 passed, 1 skipped in 2.51s";
        let expected = vec![skip("tests/test_a.py:147", "../shared is missing")];
        assert_eq!(read(text).1.into_counts(), Counts { passed: 8, failed: 1, skipped: expected });
    }
}
