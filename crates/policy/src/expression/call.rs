//! Calls of functions, as they are compiled.

use cel::common::ast::{CallExpr, Expr};

use super::error::ExpressionError;
use super::function::{Form, Function, Signature};
use super::lower::{Lowering, known};
use super::node::Node;
use super::pattern::{Dynamic, Fixed};
use super::time::parse_duration;
use lictor_event::parse_time;
use lictor_json::Json;

/// Compiles a call.
pub(super) fn lower<'t>(lowering: &mut Lowering<'t>, call: &'t CallExpr, at: u32) -> Node {
    let name = call.func_name.as_str();
    let error = |message: String| ExpressionError::new(at as usize, message);
    let Some(signature) = Signature::named(name) else {
        let written = match call.target.as_deref().map(|target| &target.expr) {
            Some(Expr::Ident(space)) if space == "math" || space == "strings" => format!("{space}.{name}"),
            _ => name.to_owned(),
        };
        let error = if ["has", "all", "exists", "exists_one", "map", "filter"].contains(&name) {
            let usage = if name == "has" { "has(args.amount)".to_owned() } else { format!("list.{name}(x, x > 0)") };
            error(format!("`{name}` is not called like this")).hint(format!("write `{usage}`"))
        } else {
            error(format!("unknown function `{written}`")).suggest(name, Signature::names())
        };
        return lowering.refuse(error);
    };
    match (signature.form, &call.target) {
        (Form::Global, Some(_)) => {
            return lowering
                .refuse(error(format!("`{name}` is not called on a value")).hint(format!("write `{name}(x)`")));
        }
        (Form::Member, None) => {
            let arguments = if signature.most > 1 { "…" } else { "" };
            let hint = format!("write `x.{name}({arguments})`");
            return lowering.refuse(error(format!("`{name}` is called on a value")).hint(hint));
        }
        _ => {}
    }
    let parts = call.target.as_deref().into_iter().chain(&call.args);
    let mut parts: Vec<Node> = parts.map(|part| lowering.node(part)).collect();
    if parts.len() < signature.least || parts.len() > signature.most {
        let on = usize::from(call.target.is_some());
        let (least, most) = (signature.least - on, signature.most - on);
        let many = if least == most { format!("{most}") } else { format!("{least} or {most}") };
        return lowering.refuse(error(format!("`{name}` takes {many} arguments, not {}", call.args.len())));
    }
    let literal = parts.last().and_then(known).and_then(Json::as_str);
    match (signature.function, literal) {
        (Function::Timestamp, Some(text)) => match parse_time(text) {
            Some(time) => Node::Time(time),
            None => lowering.refuse(
                error(format!("`{text}` is no time")).hint("write it as in `timestamp(\"2026-05-01T10:00:00Z\")`"),
            ),
        },
        (Function::Duration, Some(text)) => match parse_duration(text) {
            Some(nanoseconds) => Node::Duration(nanoseconds),
            None => {
                lowering.refuse(error(format!("`{text}` is no duration")).hint("write it as in `duration(\"1h30m\")`"))
            }
        },
        (Function::Matches, Some(pattern)) => match Fixed::new(pattern) {
            Ok(pattern) => {
                parts.truncate(1);
                match parts.pop() {
                    Some(text) => Node::MatchesFixed(Box::new(text), pattern, at),
                    None => lowering.refuse(error(format!("`{name}` takes a text"))),
                }
            }
            Err(message) => lowering.refuse(error(message).hint(
                "patterns are written as in RE2, without look-around and back-references; `r\"\\d\"` keeps backslashes",
            )),
        },
        (function, _) => match (function, <[Node; 2]>::try_from(parts)) {
            (Function::Matches, Ok(parts)) => Node::MatchesAny(Box::new(parts), Dynamic::default(), at),
            (Function::Test(test), Ok(parts)) => Node::TextTest(test, Box::new(parts), at),
            (function, Ok(parts)) => Node::Call(function, Box::new(parts), at),
            (function, Err(parts)) => Node::Call(function, parts.into(), at),
        },
    }
}
