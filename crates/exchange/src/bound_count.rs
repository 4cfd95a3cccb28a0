//! Counts what a bound refuses, so that an operator can set it by what is seen.

/// How often a bound refused something, and the highest value that was compared with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoundCount {
    /// What was over the bound.
    pub refused: u64,
    /// The highest value, refused ones included.
    pub highest: u64,
}

impl BoundCount {
    /// Counts a value, and returns whether it is over the bound.
    pub(crate) fn check(&mut self, value: usize, most: usize) -> bool {
        self.highest = self.highest.max(value as u64);
        self.refused += u64::from(value > most);
        value > most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_count_keeps_highest_value() {
        let mut count = BoundCount::default();
        assert!(!count.check(10, 10) && count.check(12, 10) && !count.check(3, 10));
        assert_eq!(count, BoundCount { refused: 1, highest: 12 });
    }
}
