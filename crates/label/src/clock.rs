//! The clock of this crate: labelers wait for others, so they are a door at which time is read.

use std::time::{Duration, Instant};

/// The moment by which something must be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
}

impl Deadline {
    /// Returns the deadline after a duration from now.
    pub(crate) fn begin(duration: Duration) -> Deadline {
        let now = now();
        // A duration that no clock can add is as good as a day.
        Deadline { at: now.checked_add(duration).unwrap_or(now + Duration::from_secs(86_400)) }
    }

    /// Returns the time that is left; none if it is over.
    pub(crate) fn time_left(self) -> Option<Duration> {
        let left = self.at.saturating_duration_since(now());
        (!left.is_zero()).then_some(left)
    }
}

#[expect(clippy::disallowed_methods, reason = "a labeler waits for another process, and only for so long")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_of_nothing_is_over() {
        assert_eq!(Deadline::begin(Duration::ZERO).time_left(), None);
        assert!(Deadline::begin(Duration::from_secs(60)).time_left().is_some());
        assert!(Deadline::begin(Duration::MAX).time_left().is_some());
    }
}
