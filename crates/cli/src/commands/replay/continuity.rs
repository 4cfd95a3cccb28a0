//! Whether records follow one another, and the events of each session.

use std::collections::HashMap;

use anyhow::bail;
use lictor::json::Text;

/// Where records and sessions stand.
#[derive(Debug, Default)]
pub(super) struct Continuity {
    /// The index of the next record.
    next: u64,
    /// How many times records were missing so far, and how many there were the last time.
    gaps: u32,
    last_gap: u64,
    sessions: HashMap<Text, Progress>,
}

/// How far a session has come.
#[derive(Debug, Default)]
struct Progress {
    /// The step of its last event that went on.
    step: u64,
    /// Up to which gap it was compared.
    gaps: u32,
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
        self.gaps += 1;
        self.last_gap = index - first;
        Ok(Some((first, index - 1)))
    }

    /// Notes a decision of a session, by the step of its event if that went on; gives how many events of the session are
    /// missing before it.
    pub(super) fn missing(&mut self, session: &Text, step: Option<u64>) -> Option<u64> {
        let progress = self.sessions.entry(session.clone()).or_default();
        let mut missing = 0;
        if progress.gaps < self.gaps {
            // Only an event that went on has a step. Of one that did not, all that is known is how many records are gone.
            missing = step.map_or(self.last_gap, |step| step.saturating_sub(progress.step + 1));
            progress.gaps = self.gaps;
            progress.is_torn |= missing > 0;
        }
        progress.step = step.unwrap_or(progress.step);
        (missing > 0).then_some(missing)
    }

    /// Whether events of a session are missing.
    pub(super) fn is_torn(&self, session: &Text) -> bool {
        self.sessions.get(session).is_some_and(|progress| progress.is_torn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_tell_whether_a_session_lost_events() -> anyhow::Result<()> {
        let (mut continuity, of) = (Continuity::default(), |name: &str| Text::new(name));
        assert_eq!(continuity.note(0)?, None);
        assert_eq!(continuity.missing(&of("a"), Some(1)), None);
        assert_eq!(continuity.missing(&of("b"), Some(1)), None);
        assert_eq!(continuity.note(9)?, Some((1, 8)));
        assert_eq!(continuity.missing(&of("a"), Some(2)), None);
        assert_eq!(continuity.missing(&of("b"), Some(5)), Some(3));
        assert_eq!(continuity.missing(&of("b"), Some(6)), None);
        assert_eq!(continuity.missing(&of("new"), Some(1)), None);
        assert_eq!(continuity.missing(&of("begun meanwhile"), Some(3)), Some(2));
        assert_eq!(["a", "b", "new"].map(|name| continuity.is_torn(&of(name))), [false, true, false]);
        assert!(continuity.note(4).is_err());
        Ok(())
    }
}
