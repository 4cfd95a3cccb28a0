//! The examples that a sample lacks for the calibration of a fact.

use std::fmt;

use super::confusion::{ConfusionCounts, MIN_EXAMPLES};
use super::reliability::MIN_CHECKED;

/// The examples of a fact with too few of them, in each half of the sample. It prints what is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExampleShortage {
    /// The true and the false examples in the half that is fitted.
    pub fitted: (u64, u64),
    /// Those in the half that checks.
    pub checked: (u64, u64),
    /// The sessions in the half that checks.
    pub sessions: u64,
}

impl ExampleShortage {
    /// The fewest true, and the fewest false, examples in the half that is fitted.
    pub const MIN_FITTED: u64 = MIN_EXAMPLES;

    /// The fewest true, and the fewest false, examples in the half that checks.
    pub const MIN_CHECKED: u64 = MIN_CHECKED;

    /// The fewest sessions in the half that checks. The answers of one session hang together: from fewer sessions, how far
    /// the rate of a sample may be from the true one cannot be estimated.
    pub const MIN_SESSIONS: u64 = 5;

    pub(super) fn new(fitted: &ConfusionCounts, checked: &ConfusionCounts, sessions: u64) -> ExampleShortage {
        let pair = |counts: &ConfusionCounts| (counts.positives(), counts.negatives());
        ExampleShortage { fitted: pair(fitted), checked: pair(checked), sessions }
    }

    /// Returns the number of examples.
    pub fn examples(&self) -> u64 {
        let counts = [self.fitted.0, self.fitted.1, self.checked.0, self.checked.1];
        counts.into_iter().fold(0, u64::saturating_add)
    }

    /// Whether any are missing.
    pub(super) fn is_short(&self) -> bool {
        self.missing() != [0; 5]
    }

    /// What is missing: true and false examples to fit, true and false ones to check, sessions to check.
    fn missing(&self) -> [u64; 5] {
        let (fit, check) = (Self::MIN_FITTED, Self::MIN_CHECKED);
        let wanted = [
            (fit, self.fitted.0),
            (fit, self.fitted.1),
            (check, self.checked.0),
            (check, self.checked.1),
            (Self::MIN_SESSIONS, self.sessions),
        ];
        wanted.map(|(least, found)| least.saturating_sub(found))
    }
}

impl fmt::Display for ExampleShortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [fit_true, fit_false, check_true, check_false, sessions] = self.missing();
        let parts = [
            (fit_true, "true to fit"),
            (fit_false, "false to fit"),
            (check_true, "true to check"),
            (check_false, "false to check"),
            (sessions, "sessions to check"),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        write!(f, "missing: {}", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortage_counts_missing_examples_by_half() {
        let shortage = ExampleShortage { fitted: (3, 900), checked: (49, 0), sessions: 3 };
        assert!(shortage.is_short());
        assert_eq!(
            (shortage.examples(), shortage.to_string().as_str()),
            (952, "missing: 7 true to fit, 1 true to check, 50 false to check, 2 sessions to check")
        );
        assert!(!ExampleShortage { fitted: (10, 10), checked: (50, 50), sessions: 5 }.is_short());
    }
}
