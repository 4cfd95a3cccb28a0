//! What a run amounts to, and the exit code that tells it to a script.

use lictor_logic::Verdict;

/// The result of a command; the worst of several is their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Nothing was found.
    Compliant,
    /// Something is open, and the caller asked for that to count.
    Inconclusive,
    /// Something is violated, unsatisfiable or in conflict.
    Findings,
    /// Something could not be read, so nothing that was said covers all of it.
    Unjudged,
}

impl Outcome {
    /// The outcome of a verdict; one that is open counts only if the caller is strict.
    pub(crate) fn of(verdict: Verdict, strict: bool) -> Outcome {
        match verdict {
            Verdict::Satisfied => Outcome::Compliant,
            Verdict::Inconclusive if strict => Outcome::Inconclusive,
            Verdict::Inconclusive => Outcome::Compliant,
            Verdict::Violated => Outcome::Findings,
        }
    }

    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Outcome::Compliant => 0,
            Outcome::Findings => 1,
            Outcome::Unjudged => 2,
            Outcome::Inconclusive => 3,
        }
    }
}
