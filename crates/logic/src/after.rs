//! The behavior of a monitor after a definite verdict.

/// The behavior of a monitor after a definite verdict.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum After {
    /// Keeps the verdict for the rest of the trace.
    #[default]
    Latch,
    /// Counts the verdict and restarts the formula after the deciding position. Where unknown facts leave the verdict
    /// open, the formula restarts under those resolutions that decide it, and nothing is counted.
    Reset,
    /// Reports every position that breaks the formula and keeps the past. Only for formulas of the shape `G f`, with
    /// `f` about the past and the present; [`Monitor::with_after`](crate::Monitor::with_after) refuses others.
    Each,
}
