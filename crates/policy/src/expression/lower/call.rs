//! Calls of functions, as they are compiled.

use cel::common::ast::{CallExpr, Expr};

use super::{Lowering, constant_value};
use crate::expression::error::ExpressionError;
use crate::expression::function::{CallForm, Function, FunctionSignature};
use crate::expression::node::ExprNode;
use crate::expression::pattern::{DynamicPatterns, LiteralPattern, check_pattern};
use crate::expression::time::parse_duration;
use lictor_event::parse_time;
use lictor_json::Json;

impl<'t> Lowering<'t> {
    /// Compiles a call of a function.
    pub(super) fn lower_function_call(&mut self, call: &'t CallExpr, at: u32) -> ExprNode {
        let name = call.func_name.as_str();
        let error = |message: String| ExpressionError::new(at as usize, message);
        let Some(signature) = FunctionSignature::find(name) else {
            let written = match call.target.as_deref().map(|target| &target.expr) {
                Some(Expr::Ident(space)) if space == "math" || space == "strings" => format!("{space}.{name}"),
                _ => name.to_owned(),
            };
            let error = if ["has", "all", "exists", "exists_one", "map", "filter"].contains(&name) {
                let usage =
                    if name == "has" { "has(args.amount)".to_owned() } else { format!("list.{name}(x, x > 0)") };
                error(format!("`{name}` is not called like this")).hint(format!("write `{usage}`"))
            } else {
                error(format!("unknown function `{written}`")).suggest(name, FunctionSignature::names())
            };
            return self.refuse(error);
        };
        match (signature.form, &call.target) {
            (CallForm::Global, Some(_)) => {
                return self
                    .refuse(error(format!("`{name}` is not called on a value")).hint(format!("write `{name}(x)`")));
            }
            (CallForm::Member, None) => {
                let arguments = if signature.most > 1 { "…" } else { "" };
                let hint = format!("write `x.{name}({arguments})`");
                return self.refuse(error(format!("`{name}` is called on a value")).hint(hint));
            }
            _ => {}
        }
        let parts = call.target.as_deref().into_iter().chain(&call.args);
        let mut parts: Vec<ExprNode> = parts.map(|part| self.lower_node(part)).collect();
        if parts.len() < signature.least || parts.len() > signature.most {
            let on = usize::from(call.target.is_some());
            let (least, most) = (signature.least - on, signature.most - on);
            let many = if least == most { format!("{most}") } else { format!("{least} or {most}") };
            return self.refuse(error(format!("`{name}` takes {many} arguments, not {}", call.args.len())));
        }
        let literal = parts.last().and_then(constant_value).and_then(Json::as_str);
        match (signature.function, literal) {
        (Function::Timestamp, Some(text)) => match parse_time(text) {
            Some(time) => ExprNode::Time(time),
            None => self.refuse(
                error(format!("`{text}` is not a time")).hint("write it as in `timestamp(\"2026-05-01T10:00:00Z\")`"),
            ),
        },
        (Function::Duration, Some(text)) => match parse_duration(text) {
            Some(nanoseconds) => ExprNode::Duration(nanoseconds),
            None => {
                self.refuse(error(format!("`{text}` is not a duration")).hint("write it as in `duration(\"1h30m\")`"))
            }
        },
        (Function::Matches, Some(pattern)) => match LiteralPattern::new(pattern) {
            Ok(pattern) => {
                parts.truncate(1);
                match parts.pop() {
                    Some(text) => ExprNode::MatchesFixed(Box::new(text), pattern, at),
                    None => self.refuse(error(format!("`{name}` takes a text"))),
                }
            }
            Err(message) => self.refuse(error(message).hint(
                "patterns are written as in RE2, without look-around and back-references; `r\"\\d\"` keeps backslashes",
            )),
        },
        (function, _) => match (function, <[ExprNode; 2]>::try_from(parts)) {
            (Function::Matches, Ok(parts)) => match self.broken_pattern(&parts[1]) {
                Some(message) => self.refuse(error(message)),
                None => ExprNode::MatchesAny(Box::new(parts), DynamicPatterns::default(), at),
            },
            (Function::Test(test), Ok(parts)) => ExprNode::TextTest(test, Box::new(parts), at),
            (function, Ok(parts)) => ExprNode::Call(function, Box::new(parts), at),
            (function, Err(parts)) => ExprNode::Call(function, parts.into(), at),
        },
    }
    }

    /// Says what is wrong with a pattern that a loop takes from a known list; none if all can be read.
    ///
    /// Without this, a mistake in a table would leave every fact unknown that looks for it, at every event.
    fn broken_pattern(&self, pattern: &ExprNode) -> Option<String> {
        let ExprNode::Local(outward) = pattern else { return None };
        let place = self.locals.len().checked_sub(1 + *outward as usize)?;
        self.locals[place].known_texts().find_map(|written| check_pattern(written).err())
    }
}
