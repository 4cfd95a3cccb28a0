//! Finds gaps in records and in the decisions of each session.

use std::collections::HashMap;

use anyhow::bail;

/// The expected next record and decisions.
#[derive(Debug, Default)]
pub(crate) struct Continuity {
    /// The index of the next record.
    next: u64,
    /// Whether records are missing or unreadable so far.
    pub(crate) is_broken: bool,
    /// The sessions, by their names in records.
    runs: HashMap<String, SessionProgress>,
}

/// The progress of a session.
#[derive(Debug, Default)]
struct SessionProgress {
    /// The number of its last readable decision.
    number: u64,
    /// Whether an earlier decision is missing.
    is_torn: bool,
}

impl Continuity {
    /// Records an index, and returns the missing range before it.
    pub(crate) fn note(&mut self, index: u64) -> anyhow::Result<Option<(u64, u64)>> {
        if index < self.next {
            bail!(
                "record {index} follows record {}: the files are out of order\nhint: `lictor verify` names the \
                 first bad place",
                self.next - 1
            );
        }
        let first = self.next;
        self.next = index + 1;
        if index == first {
            return Ok(None);
        }
        self.is_broken = true;
        Ok(Some((first, index - 1)))
    }

    /// Records a readable decision by its number, and returns how many before it are missing. Each of them may have
    /// been on an event that another policy would forward.
    pub(crate) fn count_missing(&mut self, run: &str, number: u64) -> Option<u64> {
        if !self.runs.contains_key(run) {
            self.runs.insert(run.to_owned(), SessionProgress::default());
        }
        let run = self.runs.get_mut(run)?;
        let missing = number.saturating_sub(run.number + 1);
        run.number = run.number.max(number);
        run.is_torn |= missing > 0;
        (missing > 0).then_some(missing)
    }

    /// Whether decisions of a session are missing.
    pub(crate) fn has_gap(&self, run: &str) -> bool {
        self.runs.get(run).is_some_and(|run| run.is_torn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_in_decision_numbers_is_found() -> anyhow::Result<()> {
        let mut continuity = Continuity::default();
        assert_eq!(continuity.note(0)?, None);
        assert_eq!(continuity.count_missing("a", 1), None);
        assert_eq!(continuity.count_missing("b", 1), None);
        assert!(!continuity.is_broken);
        assert_eq!(continuity.note(9)?, Some((1, 8)));
        assert!(continuity.is_broken);
        assert_eq!(continuity.count_missing("a", 2), None);
        assert_eq!(continuity.count_missing("b", 5), Some(3));
        // A repeated number is not a gap.
        assert_eq!(continuity.count_missing("b", 5), None);
        assert_eq!(continuity.count_missing("b", 6), None);
        assert_eq!(continuity.count_missing("new", 1), None);
        assert_eq!(continuity.count_missing("begun meanwhile", 3), Some(2));
        assert_eq!(["a", "b", "new"].map(|run| continuity.has_gap(run)), [false, true, false]);
        assert!(continuity.note(4).is_err());
        Ok(())
    }
}
