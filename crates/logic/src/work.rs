//! Counts the work of a step, so that a limit on it does not depend on the machine.
//!
//! A unit is a part of a formula, an obligation, a binding or a row that a step looks at: some tens of nanoseconds. Only
//! what the state before and the position say is counted, never what a cache saves. So the count of a step is the same
//! on every machine, in every thread, and after a restart.

/// The work of one step, and the most that it may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    spent: u64,
    limit: u64,
}

impl Default for Work {
    fn default() -> Work {
        Work { spent: 0, limit: u64::MAX }
    }
}

impl Work {
    /// Returns no work yet, of so much.
    pub(crate) fn within(limit: u64) -> Work {
        Work { spent: 0, limit }
    }

    /// Counts units.
    #[inline]
    pub(crate) fn charge(&mut self, units: usize) {
        self.spent = self.spent.saturating_add(units as u64);
    }

    /// Counts more than the limit.
    pub(crate) fn exceed(&mut self) {
        self.spent = u64::MAX;
    }

    /// Whether more was counted than the limit.
    #[inline]
    pub(crate) fn is_exceeded(self) -> bool {
        self.spent > self.limit || self.spent == u64::MAX
    }

    /// Returns how many units were counted.
    pub(crate) fn spent(self) -> u64 {
        self.spent
    }
}
