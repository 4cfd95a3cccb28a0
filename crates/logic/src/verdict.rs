//! Verdicts on a trace and all its continuations.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The verdict on a formula after a trace so far.
///
/// Ordered by severity: the worst of several verdicts is their maximum.
/// Not `#[non_exhaustive]`: a caller that misses a verdict should not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every continuation satisfies the formula.
    Satisfied,
    /// Some continuations satisfy it and some do not, or facts that would decide are unknown.
    Inconclusive,
    /// No continuation satisfies it.
    Violated,
}

impl Verdict {
    /// Whether it is satisfied or violated.
    pub fn is_definite(self) -> bool {
        self != Verdict::Inconclusive
    }

    /// Returns the verdict on the negated formula.
    #[must_use]
    pub fn negated(self) -> Verdict {
        match self {
            Verdict::Satisfied => Verdict::Violated,
            Verdict::Inconclusive => Verdict::Inconclusive,
            Verdict::Violated => Verdict::Satisfied,
        }
    }

    /// Returns the definite verdict for a truth value, or inconclusive if there is none.
    pub fn from_truth(truth: Option<bool>) -> Verdict {
        match truth {
            Some(true) => Verdict::Satisfied,
            None => Verdict::Inconclusive,
            Some(false) => Verdict::Violated,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Satisfied => "satisfied",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Violated => "violated",
        })
    }
}
