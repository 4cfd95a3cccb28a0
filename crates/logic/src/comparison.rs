//! Comparisons of values: `=`, `!=`, `<`, `<=`, `>`, `>=`.

use std::cmp::Ordering;

use crate::value::Value;

/// How two terms are compared.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// Every comparison with its spelling.
    pub const ALL: [(Comparison, &'static str); 6] = [
        (Comparison::Equal, "="),
        (Comparison::Unequal, "!="),
        (Comparison::Less, "<"),
        (Comparison::AtMost, "<="),
        (Comparison::Greater, ">"),
        (Comparison::AtLeast, ">="),
    ];

    /// Whether it holds between two values. Values of different kinds are unequal and in no order.
    pub fn holds(self, left: &Value, right: &Value) -> bool {
        self.fits(left.order(right))
    }

    /// Whether it holds between values in this order; none for values in no order.
    pub(crate) fn fits(self, order: Option<Ordering>) -> bool {
        match self {
            Comparison::Equal => order == Some(Ordering::Equal),
            Comparison::Unequal => order != Some(Ordering::Equal),
            Comparison::Less => order == Some(Ordering::Less),
            Comparison::AtMost => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Comparison::Greater => order == Some(Ordering::Greater),
            Comparison::AtLeast => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }

    /// Whether it asks for more than equality.
    pub(crate) fn is_order(self) -> bool {
        !matches!(self, Comparison::Equal | Comparison::Unequal)
    }

    /// Returns the comparison for exchanged sides.
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Equal | Comparison::Unequal => self,
            Comparison::Less => Comparison::Greater,
            Comparison::AtMost => Comparison::AtLeast,
            Comparison::Greater => Comparison::Less,
            Comparison::AtLeast => Comparison::AtMost,
        }
    }

    /// Returns its spelling.
    pub fn symbol(self) -> &'static str {
        Comparison::ALL.iter().find(|(comparison, _)| *comparison == self).map_or("", |(_, symbol)| symbol)
    }
}
