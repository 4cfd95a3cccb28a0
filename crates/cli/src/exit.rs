//! The outcome of a run and its exit code.

use lictor_logic::Verdict;

/// The outcome of a command, ordered: the worst of several is their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// No findings.
    Compliant,
    /// A verdict is inconclusive, and the caller is strict.
    Inconclusive,
    /// A property is violated, unsatisfiable or contradictory.
    Findings,
    /// Some input could not be read, so the result does not cover all of it.
    Unjudged,
    /// The user stopped the command, so the result covers only a part.
    Interrupted,
}

impl Outcome {
    /// Returns the outcome of a verdict; inconclusive counts only if the caller is strict.
    pub(crate) fn from_verdict(verdict: Verdict, strict: bool) -> Outcome {
        match verdict {
            Verdict::Satisfied => Outcome::Compliant,
            Verdict::Inconclusive if strict => Outcome::Inconclusive,
            Verdict::Inconclusive => Outcome::Compliant,
            Verdict::Violated => Outcome::Findings,
        }
    }

    /// Returns the exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Outcome::Compliant => 0,
            Outcome::Findings => 1,
            Outcome::Unjudged => 2,
            Outcome::Inconclusive => 3,
            // As a shell reports a command that Ctrl-C ended: 128 and the number of the signal.
            Outcome::Interrupted => 130,
        }
    }
}
