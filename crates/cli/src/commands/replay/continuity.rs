//! Whether records follow one another, and the decisions on each session.

use std::collections::HashMap;

use anyhow::bail;

/// Where records and sessions stand.
#[derive(Debug, Default)]
pub(super) struct Continuity {
    /// The index of the next record.
    next: u64,
    /// Whether records are missing or unreadable so far.
    pub(super) is_broken: bool,
    /// Sessions, by the names that records have for them.
    runs: HashMap<String, Run>,
}

/// How far a session has come.
#[derive(Debug, Default)]
struct Run {
    /// The number of the last decision on it that could be read.
    number: u64,
    /// Whether one before it could not.
    is_torn: bool,
}

impl Continuity {
    /// Notes a record; gives the indices that are missing before it.
    pub(super) fn note(&mut self, index: u64) -> anyhow::Result<Option<(u64, u64)>> {
        if index < self.next {
            bail!(
                "record {index} comes behind record {}: the files are not in their order\nhint: `lictor verify` names the \
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

    /// Notes a decision that can be read, by its number; gives how many before it cannot. Each of them may have been on an
    /// event that another policy lets go on.
    pub(super) fn missing(&mut self, run: &str, number: u64) -> Option<u64> {
        if !self.runs.contains_key(run) {
            self.runs.insert(run.to_owned(), Run::default());
        }
        let run = self.runs.get_mut(run)?;
        let missing = number.saturating_sub(run.number + 1);
        run.number = run.number.max(number);
        run.is_torn |= missing > 0;
        (missing > 0).then_some(missing)
    }

    /// Whether decisions on a session are missing.
    pub(super) fn is_torn(&self, run: &str) -> bool {
        self.runs.get(run).is_some_and(|run| run.is_torn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_tell_whether_a_session_lost_decisions() -> anyhow::Result<()> {
        let mut continuity = Continuity::default();
        assert_eq!(continuity.note(0)?, None);
        assert_eq!(continuity.missing("a", 1), None);
        assert_eq!(continuity.missing("b", 1), None);
        assert!(!continuity.is_broken);
        assert_eq!(continuity.note(9)?, Some((1, 8)));
        assert!(continuity.is_broken);
        assert_eq!(continuity.missing("a", 2), None);
        assert_eq!(continuity.missing("b", 5), Some(3));
        // A number that comes again is nothing missing.
        assert_eq!(continuity.missing("b", 5), None);
        assert_eq!(continuity.missing("b", 6), None);
        assert_eq!(continuity.missing("new", 1), None);
        assert_eq!(continuity.missing("begun meanwhile", 3), Some(2));
        assert_eq!(["a", "b", "new"].map(|run| continuity.is_torn(run)), [false, true, false]);
        assert!(continuity.note(4).is_err());
        Ok(())
    }
}
