//! Why an expression has no value.

use std::fmt;

use super::function::Function;
use super::node::{Operator, Order, Quantifier};
use super::value::Sort;

/// Why it cannot be told what an expression comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The byte of the expression at which it is.
    pub offset: u32,
    why: Cause,
}

/// The reason itself; small, since every part of an expression may return one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Arguments that are not JSON.
    Unparsed,
    /// An operation on a value of the wrong sort.
    Sort(Doing, Sort),
    /// An operation on two values that do not go together.
    Sorts(Doing, Sort, Sort),
    /// A result beyond what numbers or times can hold.
    Overflow(Doing),
    DivisionByZero,
    /// A remainder or a position that is not whole.
    Fraction,
    /// A conversion of a text that does not say such a thing.
    Unreadable(Function),
    /// A position in a text that is not there.
    Range,
    /// A pattern that is not a regular expression, or too large a one.
    Pattern,
    /// A map that was to have one key twice.
    Key,
    /// Elements of a list that lack what is asked of them.
    Hole,
    /// A condition that is neither true nor false.
    Condition(Sort),
    /// More work than an event may cause.
    Work,
}

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Select,
    Index,
    In,
    Key,
    Glob,
    Collect,
    Order(Order),
    Arithmetic(Operator),
    Call(Function),
    Loop(Quantifier),
}

/// Why an expression, or a part of it, has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Absent,
    Unknown(Reason),
}

impl Cause {
    /// The same, at a place.
    pub(super) fn at(self, offset: u32) -> Missing {
        Missing::Unknown(Reason { offset, why: self })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why {
            Cause::Unparsed => f.write_str("the arguments are not JSON"),
            Cause::Sort(doing, sort) => write!(f, "{doing} does not work on {sort}"),
            Cause::Sorts(doing, left, right) => write!(f, "{doing} does not work on {left} and {right}"),
            Cause::Overflow(doing) => write!(f, "{doing} goes beyond the largest number"),
            Cause::DivisionByZero => f.write_str("division by zero"),
            Cause::Fraction => f.write_str("a whole number is needed here"),
            Cause::Unreadable(function) => write!(f, "`{}` cannot read this value", function.name()),
            Cause::Range => f.write_str("the text has no such position"),
            Cause::Pattern => f.write_str("the pattern is not a regular expression, or too large"),
            Cause::Key => f.write_str("a key stands twice in a map"),
            Cause::Hole => f.write_str("an element of the list lacks what is asked of it"),
            Cause::Condition(sort) => write!(f, "a condition is true or false, and this is {sort}"),
            Cause::Work => f.write_str("the expression takes too much work on this event"),
        }
    }
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doing::Select => "taking a field",
            Doing::Index => "taking an element",
            Doing::In => "`in`",
            Doing::Key => "a key",
            Doing::Glob => "`*`",
            Doing::Collect => "a loop",
            Doing::Order(order) => return write!(f, "`{}`", order.symbol()),
            Doing::Arithmetic(operator) => return write!(f, "`{}`", operator.symbol()),
            Doing::Call(function) => return write!(f, "`{}`", function.name()),
            Doing::Loop(quantifier) => return write!(f, "`{}`", quantifier.name()),
        })
    }
}
