//! The risk that a trace violates a formula by ending.

use super::{Belief, BeliefMonitor};
use crate::chance::ChanceRange;

impl BeliefMonitor {
    /// Returns the risk of the end: the probability that the formula is violated if the trace ends now, given that it
    /// was not violated before.
    pub fn risk_at_end(&self, belief: &Belief) -> ChanceRange {
        self.violated_at_end(belief).beyond(belief.violated())
    }
}
