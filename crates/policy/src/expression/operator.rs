//! Operators of expressions: comparisons, arithmetic, and the macros that quantify over lists.

/// A comparison by order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// A macro that asks a question about all elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    All,
    Exists,
    One,
}

impl Order {
    /// Returns the operator as expressions write it.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Order::Less => "<",
            Order::AtMost => "<=",
            Order::Greater => ">",
            Order::AtLeast => ">=",
        }
    }

    /// Whether two values in this ordering satisfy the comparison.
    pub(super) fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Order::Less => ordering.is_lt(),
            Order::AtMost => ordering.is_le(),
            Order::Greater => ordering.is_gt(),
            Order::AtLeast => ordering.is_ge(),
        }
    }
}

impl Operator {
    /// Returns the operator as expressions write it.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
        }
    }
}

impl Quantifier {
    /// Returns the macro's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Quantifier::All => "all",
            Quantifier::Exists => "exists",
            Quantifier::One => "exists_one",
        }
    }
}
