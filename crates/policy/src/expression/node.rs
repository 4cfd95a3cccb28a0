//! Compiled expressions.

use std::sync::Arc;

use lictor_logic::Time;

use super::function::{Function, TextTest};
use super::pattern::{Dynamic, Fixed};
use super::root::{Path, Step};
use super::tables::Constant;
use super::value::{CelValue, Sort};

/// A compiled expression. The last number of a variant is the byte at which it was written.
#[derive(Debug)]
pub(super) enum Node {
    Constant(Arc<Constant>),
    Time(Time),
    Duration(i64),
    Path(Path),
    /// The variable of the loop so many loops further out.
    Local(u32),
    Select(Box<Node>, Step, u32),
    Index(Box<[Node; 2]>, u32),
    /// Whether a value is there.
    Has(Box<Node>),
    Not(Box<Node>, u32),
    Negate(Box<Node>, u32),
    And(Box<[Node]>, u32),
    Or(Box<[Node]>, u32),
    /// Whether it is so that two values are equal, or so that they are not.
    Equal(bool, Box<[Node; 2]>, u32),
    Order(Order, Box<[Node; 2]>, u32),
    In(Box<[Node; 2]>, u32),
    Arithmetic(Operator, Box<[Node; 2]>, u32),
    /// A condition and its two outcomes.
    Choice(Box<[Node; 3]>, u32),
    List(Box<[Node]>),
    Map(Box<[(Node, Node)]>, u32),
    Call(Function, Box<[Node]>, u32),
    TextTest(TextTest, Box<[Node; 2]>, u32),
    MatchesFixed(Box<Node>, Fixed, u32),
    MatchesAny(Box<[Node; 2]>, Dynamic, u32),
    /// A question about the elements of a list.
    Quantify(Quantifier, Box<[Node; 2]>, u32),
    /// A list made of another: the list, which elements, and what of them.
    Collect(Box<(Node, Option<Node>, Node)>, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    AtMost,
    Greater,
    AtLeast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    All,
    Exists,
    One,
}

impl Node {
    /// The sort of its values, where all are of one.
    pub(super) fn sort(&self) -> Option<Sort> {
        match self {
            Node::Constant(constant) => Some(CelValue::from(&constant.json).sort()),
            Node::Time(_) => Some(Sort::Time),
            Node::Duration(_) => Some(Sort::Duration),
            Node::Path(path) if path.steps.is_empty() => path.root.sort(),
            Node::Call(function, ..) => function.sort(),
            Node::List(_) | Node::Collect(..) => Some(Sort::List),
            Node::Map(..) => Some(Sort::Map),
            Node::Path(_)
            | Node::Local(_)
            | Node::Select(..)
            | Node::Index(..)
            | Node::Negate(..)
            | Node::Arithmetic(..)
            | Node::Choice(..) => None,
            _ => Some(Sort::Bool),
        }
    }
}

impl Order {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Order::Less => "<",
            Order::AtMost => "<=",
            Order::Greater => ">",
            Order::AtLeast => ">=",
        }
    }

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
    pub(super) fn name(self) -> &'static str {
        match self {
            Quantifier::All => "all",
            Quantifier::Exists => "exists",
            Quantifier::One => "exists_one",
        }
    }
}
