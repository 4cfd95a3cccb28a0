//! The names of formulas, their temporal operators and quantifiers.

/// The name of a formula in its [`Arena`]: four bytes. Equal names are equal formulas.
///
/// [`Arena`]: crate::Arena
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Formula(pub(crate) u32);

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
