//! The compiled, quantifier-free part of a formula: everything that a step needs to know of it.

use crate::norm::{Clock, Norm, Norms};

/// The compiled, quantifier-free part of a formula.
#[derive(Clone, Debug)]
pub(crate) struct Skeleton {
    pub(crate) norms: Norms,
    /// The start norms, for each valuation of the rigid comparisons.
    pub(crate) starts: Vec<StartNorms>,
    pub(crate) clocks: Vec<Clock>,
    /// Whether some clock has a lower bound.
    pub(crate) waits: bool,
    /// Whether it runs once for each binding of values.
    pub(crate) quantified: bool,
    /// How many letter bits there are.
    pub(crate) width: u32,
    /// How many families of untils there are.
    pub(crate) families: u32,
    /// For each bit, the bits that are set whenever it is, and the bits that are not unless it is; itself among both.
    pub(crate) generals: Vec<u64>,
    pub(crate) specials: Vec<u64>,
}

impl Skeleton {
    /// Whether facts can make this letter: a more special bit implies the more general one, among the bits that count.
    pub(crate) fn is_possible(&self, letter: u64, counting: u64) -> bool {
        let is_set = |bit: usize| letter >> bit & 1 == 1;
        self.generals.iter().enumerate().all(|(bit, generals)| !is_set(bit) || generals & counting & !letter == 0)
    }
}

/// A formula before its first position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartNorms {
    pub(crate) holds: Norm,
    pub(crate) fails: Norm,
    /// Its value on a trace without positions.
    pub(crate) on_empty: bool,
}
