//! The position and time of an occurrence in a trace.

use serde::{Deserialize, Serialize};

use crate::interval::{Interval, Time};

/// The position and time of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) position: u64,
    pub(super) time: Time,
}

impl Stamp {
    /// Whether it is within a bound, seen from a later stamp.
    pub(super) fn is_within(self, interval: Interval, now: Stamp) -> bool {
        let steps = u32::try_from(now.position - self.position).unwrap_or(u32::MAX);
        interval.contains(steps, now.time.since(self.time))
    }

    /// Whether it will never be within a bound again.
    pub(super) fn is_over(self, interval: Interval, now: Stamp) -> bool {
        match interval {
            Interval::Steps { to: Some(to), .. } => now.position - self.position > u64::from(to),
            Interval::Time { to: Some(to), .. } => now.time.since(self.time) > to,
            Interval::Steps { to: None, .. } | Interval::Time { to: None, .. } => false,
        }
    }
}
