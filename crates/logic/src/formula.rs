//! The names of formulas, their temporal operators and quantifiers.

use std::hash::{Hash, Hasher};

/// The name of a formula in its [`Arena`]: eight bytes. Equal names are equal formulas.
///
/// It belongs to the arena that made it, and to clones that were made of that arena later.
///
/// [`Arena`]: crate::Arena
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Formula {
    pub(crate) index: u32,
    /// The segment of the arena that made it, so that no other arena takes it for one of its own.
    pub(crate) segment: u32,
}

impl Hash for Formula {
    /// Hashes the index alone: the numbers of segments differ from run to run, and the order of maps must not.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.index.hash(state);
    }
}

/// Temporal operators with one operand.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unary {
    /// `X`: there is a next position and it holds there.
    Next,
    /// `N`: if there is a next position, it holds there.
    WeakNext,
    /// `F`: now or at some later position.
    Eventually,
    /// `G`: now and at every later position.
    Always,
    /// `Y`: there is a position before this one and it held there.
    Previous,
    /// `Z`: if there is a position before this one, it held there.
    WeakPrevious,
    /// `O`: now or at some earlier position.
    Once,
    /// `H`: now and at every earlier position.
    Historically,
}

/// Temporal operators with two operands.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    /// `U`: the right one holds at last, the left one until then.
    Until,
    /// `W`: until, or the left one for ever.
    WeakUntil,
    /// `R`: the right one up to and including where the left one holds, or for ever.
    Release,
    /// `M`: release, and the left one holds at last.
    StrongRelease,
    /// `S`: the right one held once, and the left one ever since.
    Since,
    /// `T`: the right one ever since (and including) the left one held, or from the beginning.
    Trigger,
}

/// `forall` or `exists`.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Quantifier {
    /// For every value.
    Forall,
    /// For some value.
    Exists,
}
