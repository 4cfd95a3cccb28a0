//! Why an expression has no value: absent, or unknown with a reason.

use std::fmt;

use super::function::Function;
use super::operator::{Operator, Order, Quantifier};
use super::value::ValueType;

/// Why the value of an expression is unknown, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The byte of the expression at which it is.
    pub offset: u32,
    cause: UnknownCause,
}

/// The cause of an unknown value; small, since every part of an expression may return one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownCause {
    /// Arguments that are not JSON.
    Unparsed,
    /// Arguments that the log does not have.
    Unrecorded,
    /// An argument of a tool that takes free text.
    FreeText,
    /// An operation on a value of the wrong sort.
    WrongType(Operation, ValueType),
    /// An operation on two values that do not go together.
    WrongTypes(Operation, ValueType, ValueType),
    /// A comparison of values of two types, one of which a tool may read as the other.
    Readings(ValueType, ValueType),
    /// A result beyond what numbers or times can hold.
    Overflow(Operation),
    DivisionByZero,
    /// A remainder or a position that is not whole.
    Fraction,
    /// A conversion of a text that does not say such a thing.
    Unreadable(Function),
    /// A position outside the text.
    Range,
    /// A pattern that is not a regular expression, or too large a one.
    Pattern,
    /// A map that was to have one key twice.
    Key,
    /// Elements of a list that lack a required value.
    Hole,
    /// A missing value where the opposite of a condition is asked for.
    Negated,
    /// A condition that is neither true nor false.
    Condition(ValueType),
    /// More work than an event may cause.
    Work,
    /// A command that runs text of unknown content, or a text with more commands than are read.
    HiddenCommand,
}

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
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
pub(super) enum NoValue {
    Absent,
    Unknown(Reason),
}

impl UnknownCause {
    /// Returns an unknown value with this cause, at an offset of the expression.
    pub(super) fn to_unknown(self, offset: u32) -> NoValue {
        NoValue::Unknown(Reason { offset, cause: self })
    }
}

impl NoValue {
    /// Returns why the opposite of a condition has no value.
    ///
    /// A condition that lacks a value does not hold. Its opposite does not hold either, since some values of what is
    /// missing would refute it: otherwise leaving an argument out would evade `args.country != "DE"`.
    pub(super) fn negate(self, at: u32) -> NoValue {
        match self {
            NoValue::Absent => UnknownCause::Negated.to_unknown(at),
            unknown @ NoValue::Unknown(_) => unknown,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause {
            UnknownCause::Unparsed => f.write_str("the arguments are not JSON"),
            UnknownCause::Unrecorded => f.write_str("the arguments were not recorded"),
            UnknownCause::FreeText => {
                f.write_str("not all arguments are known: they are free text, or some could not be read")
            }
            UnknownCause::WrongType(doing, sort) => write!(f, "{doing} does not work on {sort}"),
            UnknownCause::WrongTypes(doing, left, right) => write!(f, "{doing} does not work on {left} and {right}"),
            UnknownCause::Readings(left, right) => {
                write!(f, "{left} is compared with {right}, and a tool may read one as the other")
            }
            UnknownCause::Overflow(doing) => write!(f, "{doing} goes beyond the largest number"),
            UnknownCause::DivisionByZero => f.write_str("division by zero"),
            UnknownCause::Fraction => f.write_str("a whole number is needed here"),
            UnknownCause::Unreadable(function) => write!(f, "`{}` cannot read this value", function.name()),
            UnknownCause::Range => f.write_str("the text has no such position"),
            UnknownCause::Pattern => f.write_str("the pattern is not a regular expression, or too large"),
            UnknownCause::Key => f.write_str("duplicate key in a map"),
            UnknownCause::Hole => f.write_str("an element of the list lacks what is asked of it"),
            UnknownCause::Negated => f.write_str("a negated condition lacks a value; ask for the value with `has`"),
            UnknownCause::Condition(sort) => write!(f, "a condition is true or false, and this is {sort}"),
            UnknownCause::HiddenCommand => f.write_str("the text runs commands that it does not show"),
            UnknownCause::Work => f.write_str("the expression is over the work limit on this event"),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Select => "taking a field",
            Operation::Index => "taking an element",
            Operation::In => "`in`",
            Operation::Key => "a key",
            Operation::Glob => "`*`",
            Operation::Collect => "a loop",
            Operation::Order(order) => return write!(f, "`{}`", order.symbol()),
            Operation::Arithmetic(operator) => return write!(f, "`{}`", operator.symbol()),
            Operation::Call(function) => return write!(f, "`{}`", function.name()),
            Operation::Loop(quantifier) => return write!(f, "`{}`", quantifier.name()),
        })
    }
}
