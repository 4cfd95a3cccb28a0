//! What judging a formula may cost, as far as a policy raises it.

use lictor_logic::CacheLimits;

/// What judging one formula on one history may cost. A policy can only raise the limits: below the usual ones, a formula
/// could become unknown that a person has tested.
// Exhaustive on purpose: a new limit must be read from policies, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormulaLimits {
    /// The most work of one event; none for the usual limit.
    pub work: Option<u64>,
    /// The most rows and bindings that are kept; none for the usual limit.
    pub rows: Option<u64>,
}

impl FormulaLimits {
    /// Returns limits, raised to these.
    pub fn raise(self, mut limits: CacheLimits) -> CacheLimits {
        limits.work = limits.work.max(self.work.unwrap_or_default());
        let rows = usize::try_from(self.rows.unwrap_or_default()).unwrap_or(usize::MAX);
        limits.rows = limits.rows.max(rows);
        limits
    }
}
