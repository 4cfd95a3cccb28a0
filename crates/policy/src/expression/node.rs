//! Compiled expressions.

use std::sync::Arc;

use lictor_logic::Time;

use super::function::{Function, TextTest};
use super::operator::{Operator, Order, Quantifier};
use super::pattern::{DynamicPatterns, LiteralPattern};
use super::root::{FieldPath, PathStep};
use super::tables::Constant;
use super::value::{CelValue, ValueType};

/// A compiled expression. The last number of a variant is the byte at which it was written.
#[derive(Debug)]
pub(super) enum ExprNode {
    Constant(Arc<Constant>),
    Time(Time),
    Duration(i64),
    Path(FieldPath),
    /// The variable of the loop so many loops further out.
    Local(u32),
    Select(Box<ExprNode>, PathStep, u32),
    Index(Box<[ExprNode; 2]>, u32),
    /// Whether a value is there.
    Has(Box<ExprNode>),
    Not(Box<ExprNode>, u32),
    Negate(Box<ExprNode>, u32),
    And(Box<[ExprNode]>, u32),
    Or(Box<[ExprNode]>, u32),
    /// Whether it is so that two values are equal, or so that they are not.
    Equal(bool, Box<[ExprNode; 2]>, u32),
    Order(Order, Box<[ExprNode; 2]>, u32),
    In(Box<[ExprNode; 2]>, u32),
    Arithmetic(Operator, Box<[ExprNode; 2]>, u32),
    /// A condition and its two outcomes.
    Choice(Box<[ExprNode; 3]>, u32),
    List(Box<[ExprNode]>),
    Map(Box<[(ExprNode, ExprNode)]>, u32),
    Call(Function, Box<[ExprNode]>, u32),
    TextTest(TextTest, Box<[ExprNode; 2]>, u32),
    MatchesFixed(Box<ExprNode>, LiteralPattern, u32),
    MatchesAny(Box<[ExprNode; 2]>, DynamicPatterns, u32),
    /// A question about the elements of a list.
    Quantify(Quantifier, Box<[ExprNode; 2]>, u32),
    /// A list made of another: the list, which elements, and what of them.
    Collect(Box<(ExprNode, Option<ExprNode>, ExprNode)>, u32),
}

impl ExprNode {
    /// Returns the type of its values, if all have one type.
    pub(super) fn value_type(&self) -> Option<ValueType> {
        match self {
            ExprNode::Constant(constant) => Some(CelValue::from(&constant.json).value_type()),
            ExprNode::Time(_) => Some(ValueType::Time),
            ExprNode::Duration(_) => Some(ValueType::Duration),
            ExprNode::Path(path) if path.steps.is_empty() => path.root.value_type(),
            ExprNode::Call(function, ..) => function.value_type(),
            ExprNode::List(_) | ExprNode::Collect(..) => Some(ValueType::List),
            ExprNode::Map(..) => Some(ValueType::Map),
            ExprNode::Path(_)
            | ExprNode::Local(_)
            | ExprNode::Select(..)
            | ExprNode::Index(..)
            | ExprNode::Negate(..)
            | ExprNode::Arithmetic(..)
            | ExprNode::Choice(..) => None,
            _ => Some(ValueType::Bool),
        }
    }

    /// Whether it is a test, which is true or false by itself.
    pub(super) fn is_test(&self) -> bool {
        !matches!(self, ExprNode::Constant(_) | ExprNode::Path(_) | ExprNode::Call(..))
            && self.value_type() == Some(ValueType::Bool)
    }
}
