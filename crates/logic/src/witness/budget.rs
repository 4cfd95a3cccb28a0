//! The work that a search for a witness may take.

/// The work that searches for witnesses may take, counted in steps: a position that is read is one, a step that is
/// computed for the first time is several. A search that uses it up returns a witness by its
/// [changes](super::WitnessBasis::Changes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WitnessBudget {
    left: u64,
}

impl WitnessBudget {
    /// The budget of one witness, if the caller has none of its own.
    pub const DEFAULT: WitnessBudget = WitnessBudget::new(20_000_000);

    /// A budget of so many steps.
    pub const fn new(steps: u64) -> WitnessBudget {
        WitnessBudget { left: steps }
    }

    /// How many steps are left.
    pub fn left(self) -> u64 {
        self.left
    }

    /// Adds steps, up to a limit.
    pub fn add(&mut self, steps: u64, limit: u64) {
        self.left = self.left.saturating_add(steps).min(limit.max(self.left));
    }

    /// Takes steps away.
    pub fn spend(&mut self, steps: u64) {
        self.left = self.left.saturating_sub(steps);
    }

    /// Whether nothing is left.
    pub fn is_exhausted(self) -> bool {
        self.left == 0
    }
}

impl Default for WitnessBudget {
    fn default() -> WitnessBudget {
        WitnessBudget::DEFAULT
    }
}
