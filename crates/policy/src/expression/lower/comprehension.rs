//! Compiles macros: `all`, `exists`, `exists_one`, `map` and `filter`.

use std::sync::Arc;

use cel::common::ast::{ComprehensionExpr, Expr, IdedExpr, LiteralValue, operators};

use super::{LoopVariable, Lowering};
use crate::expression::error::ExpressionError;
use crate::expression::node::ExprNode;
use crate::expression::operator::Quantifier;
use crate::expression::value::ValueType;

impl<'t> Lowering<'t> {
    /// Compiles a macro. The parser expands it to a loop with an accumulator; its first value and its step identify it.
    pub(super) fn lower_comprehension(&mut self, loop_: &'t ComprehensionExpr, at: u32) -> ExprNode {
        let list = self.lower_node(&loop_.iter_range);
        if list.value_type().is_some_and(|sort| !matches!(sort, ValueType::List | ValueType::Map)) {
            let error = ExpressionError::new(at as usize, "only lists and maps have elements");
            return self.refuse(error);
        }
        let Expr::Call(step) = &loop_.loop_step.expr else { return self.unknown_macro(at) };
        let range = match &list {
            ExprNode::Constant(constant) => Some(Arc::clone(constant)),
            _ => None,
        };
        self.locals.push(LoopVariable { name: &loop_.iter_var, range });
        let node = match (&loop_.accu_init.expr, step.func_name.as_str(), step.args.as_slice()) {
            (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_AND, [_, condition]) => {
                ExprNode::Quantify(Quantifier::All, Box::new([list, self.lower_node(condition)]), at)
            }
            (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_OR, [_, condition]) => {
                ExprNode::Quantify(Quantifier::Exists, Box::new([list, self.lower_node(condition)]), at)
            }
            (Expr::Literal(LiteralValue::Int(_)), operators::CONDITIONAL, [condition, ..]) => {
                ExprNode::Quantify(Quantifier::One, Box::new([list, self.lower_node(condition)]), at)
            }
            (Expr::List(_), operators::CONDITIONAL, [condition, taken, _]) => {
                let (condition, element) = (self.lower_node(condition), self.lower_taken(taken, at));
                ExprNode::Collect(Box::new((list, Some(condition), element)), at)
            }
            (Expr::List(_), operators::ADD, _) => {
                let element = self.lower_taken(&loop_.loop_step, at);
                ExprNode::Collect(Box::new((list, None, element)), at)
            }
            _ => self.unknown_macro(at),
        };
        self.locals.pop();
        node
    }

    /// Compiles the element in `accumulator + [element]`.
    fn lower_taken(&mut self, tree: &'t IdedExpr, at: u32) -> ExprNode {
        if let Expr::Call(call) = &tree.expr
            && let [_, list] = call.args.as_slice()
            && let Expr::List(list) = &list.expr
            && let [element] = list.elements.as_slice()
        {
            return self.lower_node(element);
        }
        self.unknown_macro(at)
    }

    fn unknown_macro(&mut self, at: u32) -> ExprNode {
        self.refuse(ExpressionError::new(at as usize, "unknown macro"))
    }
}
