//! Parses conditions on the history.

use super::cursor::Cursor;
use super::lexer::Token;
use super::refusal::{Refusal, SYNTAX, refuse};
use super::syntax::{
    Aggregation, Argument, Binder, Call, Condition, ConditionKind, Field, Operator, Predicate, Root, Term, TermKind,
    Variable, Window,
};

/// The longest window, in seconds: a third of what our clock of nanoseconds spans.
const MAX_WINDOW_SECONDS: i64 = 2_900_000_000;

/// Parses conditions with `&&` between them.
pub(super) fn parse_condition(cursor: &mut Cursor) -> Result<Condition, Refusal> {
    cursor.parse_nested(|cursor| {
        let at = cursor.location();
        let mut parts = vec![parse_since(cursor)?];
        while cursor.take_if("&&") {
            parts.push(parse_since(cursor)?);
        }
        match parts.len() {
            1 => Ok(parts.swap_remove(0)),
            _ => Ok(Condition { at, kind: ConditionKind::And(parts) }),
        }
    })
}

fn parse_since(cursor: &mut Cursor) -> Result<Condition, Refusal> {
    let at = cursor.location();
    let left = parse_negation(cursor)?;
    if !cursor.take_name_if("since") {
        return Ok(left);
    }
    let window = parse_window(cursor)?;
    let right = parse_window_operand(cursor)?;
    Ok(Condition { at, kind: ConditionKind::Since(Box::new(left), window, Box::new(right)) })
}

fn parse_negation(cursor: &mut Cursor) -> Result<Condition, Refusal> {
    let at = cursor.location();
    if cursor.take_if("!") {
        let inner = cursor.parse_nested(parse_negation)?;
        return Ok(Condition { at, kind: ConditionKind::Not(Box::new(inner)) });
    }
    if let Some(comparison) = cursor.attempt(parse_comparison) {
        return Ok(comparison);
    }
    if cursor.take_if("(") {
        let inner = parse_condition(cursor)?;
        cursor.expect(")")?;
        return Ok(inner);
    }
    for (word, make) in [
        ("formerly", ConditionKind::Formerly as fn(Window, Box<Condition>) -> ConditionKind),
        ("previous", ConditionKind::Previous),
    ] {
        if cursor.is_name(0, word) {
            cursor.take();
            let window = parse_window(cursor)?;
            return Ok(Condition { at, kind: make(window, Box::new(parse_window_operand(cursor)?)) });
        }
    }
    if cursor.is_name(0, "exists") && cursor.is_sign(1, "(") {
        cursor.take();
        let binder = parse_binder(cursor)?;
        cursor.expect(".")?;
        return Ok(Condition { at, kind: ConditionKind::Exists(binder, Box::new(parse_condition(cursor)?)) });
    }
    parse_simple_condition(cursor)
}

/// Parses the operand of a window, which needs no parentheses.
fn parse_window_operand(cursor: &mut Cursor) -> Result<Condition, Refusal> {
    if cursor.is_sign(0, "(") {
        if let Some(inner) = cursor.attempt(parse_parentheses) {
            return Ok(inner);
        }
    } else if let Some(simple) = cursor.attempt(parse_simple_condition) {
        return Ok(simple);
    }
    parse_comparison(cursor)
}

fn parse_parentheses(cursor: &mut Cursor) -> Result<Condition, Refusal> {
    cursor.expect("(")?;
    let inner = parse_condition(cursor)?;
    cursor.expect(")")?;
    Ok(inner)
}

/// Parses a time point, a macro, an event, or a parameter for one.
fn parse_simple_condition(cursor: &mut Cursor) -> Result<Condition, Refusal> {
    let at = cursor.location();
    if cursor.is_name(0, "tp") && cursor.is_sign(1, "(") {
        cursor.take();
        cursor.take();
        let variable = parse_variable(cursor)?;
        cursor.expect(")")?;
        return Ok(Condition { at, kind: ConditionKind::Timepoint(variable) });
    }
    if cursor.is_sign(0, "?") {
        cursor.take();
        let name = cursor.take_name()?;
        return Ok(Condition { at, kind: ConditionKind::Parameter(name, parse_field_blocks(cursor)?) });
    }
    if matches!(cursor.peek(0), Token::Name(_)) && cursor.is_sign(1, "(") {
        return Ok(Condition { at, kind: ConditionKind::Call(parse_call(cursor)?) });
    }
    if matches!(cursor.peek(0), Token::Name(_)) && cursor.is_sign(1, "::") {
        let action = cursor.take_entity()?;
        cursor.expect("::")?;
        let kind = cursor.take_name()?;
        if !cursor.is_sign(0, "{") {
            return Err(cursor.unexpected_token("`{` and the fields of the event"));
        }
        return Ok(Condition {
            at,
            kind: ConditionKind::Predicate(Predicate { action, kind, fields: parse_field_blocks(cursor)? }),
        });
    }
    Err(cursor.unexpected_token("a condition"))
}

/// `{ a: 1 }{ b: 2 }`: the fields of all the blocks.
fn parse_field_blocks(cursor: &mut Cursor) -> Result<Vec<Field>, Refusal> {
    let mut fields = Vec::new();
    while cursor.take_if("{") {
        fields.extend(cursor.take_list("}", |cursor| {
            let path = cursor.take_path()?;
            cursor.expect(":")?;
            Ok(Field { path, value: parse_term(cursor)? })
        })?);
    }
    Ok(fields)
}

fn parse_window(cursor: &mut Cursor) -> Result<Window, Refusal> {
    cursor.expect_name("within")?;
    if cursor.take_if("?") {
        return Ok(Window::Parameter(cursor.take_name()?));
    }
    parse_interval(cursor).map(Window::Seconds)
}

/// Parses a number with its unit; returns seconds.
fn parse_interval(cursor: &mut Cursor) -> Result<i64, Refusal> {
    let at = cursor.location();
    let number = cursor.take_integer()?;
    let unit = match cursor.peek(0) {
        Token::Name(unit) if unit == "s" => 1,
        Token::Name(unit) if unit == "m" => 60,
        Token::Name(unit) if unit == "h" => 3600,
        Token::Name(unit) if unit == "d" => 86400,
        _ => return Err(cursor.unexpected_token("a unit of time: `s`, `m`, `h` or `d`")),
    };
    cursor.take();
    let seconds = number.checked_mul(unit).filter(|seconds| (0..=MAX_WINDOW_SECONDS).contains(seconds));
    seconds.ok_or_else(|| refuse(at, SYNTAX, format!("a window must be between 0 and {MAX_WINDOW_SECONDS} seconds")))
}

fn parse_variable(cursor: &mut Cursor) -> Result<Variable, Refusal> {
    if cursor.take_if("?") {
        return Ok(Variable::Parameter(cursor.take_name()?));
    }
    if cursor.take_if("$") {
        return Ok(Variable::Fresh(cursor.take_name()?));
    }
    cursor.take_name().map(Variable::Name)
}

fn parse_binder(cursor: &mut Cursor) -> Result<Binder, Refusal> {
    cursor.expect("(")?;
    let variable = parse_variable(cursor)?;
    cursor.expect(":")?;
    let (kind, _) = cursor.take_qualified()?;
    cursor.expect(")")?;
    Ok(Binder { variable, kind })
}

fn parse_comparison(cursor: &mut Cursor) -> Result<Condition, Refusal> {
    let at = cursor.location();
    let left = parse_sum(cursor)?;
    let sign = match cursor.peek(0) {
        Token::Sign("==") => Operator::Equal,
        Token::Sign("!=") => Operator::Unequal,
        Token::Sign("<=") => Operator::AtMost,
        Token::Sign(">=") => Operator::AtLeast,
        Token::Sign("<") => Operator::Less,
        Token::Sign(">") => Operator::Greater,
        _ => return Err(cursor.unexpected_token("a comparison")),
    };
    cursor.take();
    let right = parse_sum(cursor)?;
    Ok(Condition { at, kind: ConditionKind::Comparison(sign, left, right) })
}

/// Parses terms with `+`, `-` and `*` between them; also the whole body of a macro for a number.
pub(super) fn parse_sum(cursor: &mut Cursor) -> Result<Term, Refusal> {
    let mut left = parse_product(cursor)?;
    loop {
        let at = left.at;
        let sign = match cursor.peek(0) {
            Token::Sign("+") => Operator::Plus,
            Token::Sign("-") => Operator::Minus,
            _ => return Ok(left),
        };
        cursor.take();
        let right = parse_product(cursor)?;
        left = Term { at, kind: TermKind::Computed(sign, Box::new(left), Box::new(right)) };
    }
}

fn parse_product(cursor: &mut Cursor) -> Result<Term, Refusal> {
    let mut left = parse_term(cursor)?;
    while cursor.take_if("*") {
        let at = left.at;
        let right = parse_term(cursor)?;
        left = Term { at, kind: TermKind::Computed(Operator::Times, Box::new(left), Box::new(right)) };
    }
    Ok(left)
}

fn parse_term(cursor: &mut Cursor) -> Result<Term, Refusal> {
    let at = cursor.location();
    let kind = match cursor.peek(0).clone() {
        Token::Text(_) => TermKind::Text(cursor.take_text()?),
        Token::Number(_) | Token::Sign("-") => TermKind::Long(cursor.take_integer()?),
        Token::Sign("*") => {
            cursor.take();
            TermKind::Any
        }
        Token::Sign("?" | "$") => TermKind::Variable(parse_variable(cursor)?),
        Token::Sign("(") => {
            cursor.take();
            let inner = cursor.parse_nested(parse_sum)?;
            cursor.expect(")")?;
            return Ok(inner);
        }
        Token::Sign("[") => {
            return Err(refuse(at, SYNTAX, "a condition on the history cannot have a list of values"));
        }
        Token::Name(name) => return Ok(Term { at, kind: parse_named_term(cursor, &name)? }),
        _ => return Err(cursor.unexpected_token("a value")),
    };
    Ok(Term { at, kind })
}

/// Parses a term that begins with a name.
fn parse_named_term(cursor: &mut Cursor, name: &str) -> Result<TermKind, Refusal> {
    if cursor.is_sign(1, "::") {
        return cursor.take_entity().map(TermKind::Entity);
    }
    if cursor.is_sign(1, "(") {
        if name == "decimal" && matches!(cursor.peek(2), Token::Text(_)) {
            cursor.take();
            cursor.take();
            let text = cursor.take_text()?;
            cursor.expect(")")?;
            return Ok(TermKind::Decimal(text));
        }
        return parse_call(cursor).map(TermKind::Call);
    }
    let gathers = (name == "count" && cursor.is_name(1, "for"))
        || (name == "sum" && !cursor.is_sign(1, ")") && !cursor.is_sign(1, ","));
    if gathers {
        cursor.take();
        let summed = if name == "sum" { Some(parse_variable(cursor)?) } else { None };
        cursor.expect_name("for")?;
        let mut binders = vec![parse_binder(cursor)?];
        while cursor.take_if(",") {
            binders.push(parse_binder(cursor)?);
        }
        cursor.expect(".")?;
        cursor.expect_name("where")?;
        let body = parse_condition(cursor)?;
        return Ok(TermKind::Aggregation(Box::new(Aggregation { summed, binders, body })));
    }
    cursor.take();
    Ok(match name {
        // Any value, not the same one at two places.
        "_" => TermKind::Any,
        "true" => TermKind::Bool(true),
        "false" => TermKind::Bool(false),
        "context" | "principal" | "resource" => {
            let mut path = Vec::new();
            while cursor.take_if(".") {
                path.push(cursor.take_name()?);
            }
            match name {
                "principal" => TermKind::Request(Root::Principal, path),
                "resource" => TermKind::Request(Root::Resource, path),
                _ if path.is_empty() => TermKind::Variable(Variable::Name(name.to_owned())),
                _ => TermKind::Request(Root::Context, path),
            }
        }
        _ => TermKind::Variable(Variable::Name(name.to_owned())),
    })
}

fn parse_call(cursor: &mut Cursor) -> Result<Call, Refusal> {
    let name = cursor.take_name()?;
    cursor.expect("(")?;
    let arguments = cursor.parse_nested(|cursor| cursor.take_list(")", parse_argument))?;
    Ok(Call { name, arguments })
}

fn parse_argument(cursor: &mut Cursor) -> Result<Argument, Refusal> {
    if let Some(seconds) = cursor.attempt(parse_interval) {
        return Ok(Argument::Window(seconds));
    }
    // A parameter alone is the argument of the macro around it.
    if let Some(condition) = cursor.attempt(parse_condition) {
        return Ok(Argument::Condition(condition));
    }
    parse_sum(cursor).map(Argument::Term)
}
