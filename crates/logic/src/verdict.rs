//! Verdicts: what is true of a trace and all its continuations.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a trace so far says about a formula.
///
/// The order is that of badness: the worst of several verdicts is their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every continuation satisfies the formula.
    Satisfied,
    /// Some continuations satisfy it and some do not, or facts are missing that would tell.
    Inconclusive,
    /// No continuation satisfies it.
    Violated,
}

impl Verdict {
    /// Satisfied or violated.
    pub fn is_definite(self) -> bool {
        self != Verdict::Inconclusive
    }

    /// The verdict on the negated formula.
    #[must_use]
    pub fn negated(self) -> Verdict {
        match self {
            Verdict::Satisfied => Verdict::Violated,
            Verdict::Inconclusive => Verdict::Inconclusive,
            Verdict::Violated => Verdict::Satisfied,
        }
    }

    /// The definite verdict for a truth value, or inconclusive where there is none.
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
