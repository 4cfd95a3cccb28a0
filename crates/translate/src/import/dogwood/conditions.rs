//! The conditions on the history: tokens into a tree.

use super::cursor::Cursor;
use super::lexer::Token;
use super::refusal::{Refused, SYNTAX, refused};
use super::syntax::{
    Argument, Binder, Call, Condition, Field, Gathered, Past, Predicate, Root, Sign, Term, TermKind, Variable, Window,
};

/// The longest window, in seconds; our clock of nanoseconds tells no more than three times that.
const MOST_SECONDS: i64 = 2_900_000_000;

/// Conditions with `&&` between them.
pub(super) fn condition(cursor: &mut Cursor) -> Result<Condition, Refused> {
    cursor.nested(|cursor| {
        let at = cursor.at();
        let mut parts = vec![since(cursor)?];
        while cursor.takes("&&") {
            parts.push(since(cursor)?);
        }
        match parts.len() {
            1 => Ok(parts.swap_remove(0)),
            _ => Ok(Condition { at, kind: Past::And(parts) }),
        }
    })
}

fn since(cursor: &mut Cursor) -> Result<Condition, Refused> {
    let at = cursor.at();
    let left = negated(cursor)?;
    if !cursor.takes_name("since") {
        return Ok(left);
    }
    let window = within(cursor)?;
    let right = atom(cursor)?;
    Ok(Condition { at, kind: Past::Since(Box::new(left), window, Box::new(right)) })
}

fn negated(cursor: &mut Cursor) -> Result<Condition, Refused> {
    let at = cursor.at();
    if cursor.takes("!") {
        let inner = cursor.nested(negated)?;
        return Ok(Condition { at, kind: Past::Not(Box::new(inner)) });
    }
    if let Some(comparison) = cursor.attempt(comparison) {
        return Ok(comparison);
    }
    if cursor.takes("(") {
        let inner = condition(cursor)?;
        cursor.expect(")")?;
        return Ok(inner);
    }
    for (word, make) in
        [("formerly", Past::Formerly as fn(Window, Box<Condition>) -> Past), ("previous", Past::Previous)]
    {
        if cursor.is_name(0, word) {
            cursor.take();
            let window = within(cursor)?;
            return Ok(Condition { at, kind: make(window, Box::new(atom(cursor)?)) });
        }
    }
    if cursor.is_name(0, "exists") && cursor.is_sign(1, "(") {
        cursor.take();
        let binder = binder(cursor)?;
        cursor.expect(".")?;
        return Ok(Condition { at, kind: Past::Exists(binder, Box::new(condition(cursor)?)) });
    }
    simple(cursor)
}

/// What may stand behind a window without parentheses.
fn atom(cursor: &mut Cursor) -> Result<Condition, Refused> {
    if cursor.is_sign(0, "(") {
        if let Some(inner) = cursor.attempt(parenthesized) {
            return Ok(inner);
        }
    } else if let Some(simple) = cursor.attempt(simple) {
        return Ok(simple);
    }
    comparison(cursor)
}

fn parenthesized(cursor: &mut Cursor) -> Result<Condition, Refused> {
    cursor.expect("(")?;
    let inner = condition(cursor)?;
    cursor.expect(")")?;
    Ok(inner)
}

/// A time point, a macro, an event, or a parameter that stands for one.
fn simple(cursor: &mut Cursor) -> Result<Condition, Refused> {
    let at = cursor.at();
    if cursor.is_name(0, "tp") && cursor.is_sign(1, "(") {
        cursor.take();
        cursor.take();
        let variable = variable(cursor)?;
        cursor.expect(")")?;
        return Ok(Condition { at, kind: Past::Timepoint(variable) });
    }
    if cursor.is_sign(0, "?") {
        cursor.take();
        let name = cursor.name()?;
        return Ok(Condition { at, kind: Past::Parameter(name, blocks(cursor)?) });
    }
    if matches!(cursor.ahead(0), Token::Name(_)) && cursor.is_sign(1, "(") {
        return Ok(Condition { at, kind: Past::Call(call(cursor)?) });
    }
    if matches!(cursor.ahead(0), Token::Name(_)) && cursor.is_sign(1, "::") {
        let action = cursor.entity()?;
        cursor.expect("::")?;
        let kind = cursor.name()?;
        if !cursor.is_sign(0, "{") {
            return Err(cursor.unexpected("`{` and the fields of the event"));
        }
        return Ok(Condition { at, kind: Past::Predicate(Predicate { action, kind, fields: blocks(cursor)? }) });
    }
    Err(cursor.unexpected("a condition"))
}

/// `{ a: 1 }{ b: 2 }`: the fields of all the blocks.
fn blocks(cursor: &mut Cursor) -> Result<Vec<Field>, Refused> {
    let mut fields = Vec::new();
    while cursor.takes("{") {
        fields.extend(cursor.list("}", |cursor| {
            let path = cursor.path()?;
            cursor.expect(":")?;
            Ok(Field { path, value: term(cursor)? })
        })?);
    }
    Ok(fields)
}

fn within(cursor: &mut Cursor) -> Result<Window, Refused> {
    cursor.expect_name("within")?;
    if cursor.takes("?") {
        return Ok(Window::Parameter(cursor.name()?));
    }
    interval(cursor).map(Window::Seconds)
}

/// A number with its unit, in seconds.
fn interval(cursor: &mut Cursor) -> Result<i64, Refused> {
    let at = cursor.at();
    let number = cursor.integer()?;
    let unit = match cursor.ahead(0) {
        Token::Name(unit) if unit == "s" => 1,
        Token::Name(unit) if unit == "m" => 60,
        Token::Name(unit) if unit == "h" => 3600,
        Token::Name(unit) if unit == "d" => 86400,
        _ => return Err(cursor.unexpected("a unit of time: `s`, `m`, `h` or `d`")),
    };
    cursor.take();
    let seconds = number.checked_mul(unit).filter(|seconds| (0..=MOST_SECONDS).contains(seconds));
    seconds.ok_or_else(|| refused(at, SYNTAX, "a window is no shorter than nothing and no longer than ninety years"))
}

fn variable(cursor: &mut Cursor) -> Result<Variable, Refused> {
    if cursor.takes("?") {
        return Ok(Variable::Parameter(cursor.name()?));
    }
    if cursor.takes("$") {
        return Ok(Variable::Fresh(cursor.name()?));
    }
    cursor.name().map(Variable::Name)
}

fn binder(cursor: &mut Cursor) -> Result<Binder, Refused> {
    cursor.expect("(")?;
    let variable = variable(cursor)?;
    cursor.expect(":")?;
    let (kind, _) = cursor.qualified()?;
    cursor.expect(")")?;
    Ok(Binder { variable, kind })
}

fn comparison(cursor: &mut Cursor) -> Result<Condition, Refused> {
    let at = cursor.at();
    let left = sum(cursor)?;
    let sign = match cursor.ahead(0) {
        Token::Sign("==") => Sign::Equal,
        Token::Sign("!=") => Sign::Unequal,
        Token::Sign("<=") => Sign::AtMost,
        Token::Sign(">=") => Sign::AtLeast,
        Token::Sign("<") => Sign::Less,
        Token::Sign(">") => Sign::Greater,
        _ => return Err(cursor.unexpected("a comparison")),
    };
    cursor.take();
    let right = sum(cursor)?;
    Ok(Condition { at, kind: Past::Comparison(sign, left, right) })
}

/// Terms with `+`, `-` and `*` between them; also the whole body of a macro that stands for a number.
pub(super) fn sum(cursor: &mut Cursor) -> Result<Term, Refused> {
    let mut left = product(cursor)?;
    loop {
        let at = left.at;
        let sign = match cursor.ahead(0) {
            Token::Sign("+") => Sign::Plus,
            Token::Sign("-") => Sign::Minus,
            _ => return Ok(left),
        };
        cursor.take();
        let right = product(cursor)?;
        left = Term { at, kind: TermKind::Computed(sign, Box::new(left), Box::new(right)) };
    }
}

fn product(cursor: &mut Cursor) -> Result<Term, Refused> {
    let mut left = term(cursor)?;
    while cursor.takes("*") {
        let at = left.at;
        let right = term(cursor)?;
        left = Term { at, kind: TermKind::Computed(Sign::Times, Box::new(left), Box::new(right)) };
    }
    Ok(left)
}

fn term(cursor: &mut Cursor) -> Result<Term, Refused> {
    let at = cursor.at();
    let kind = match cursor.ahead(0).clone() {
        Token::Text(_) => TermKind::Text(cursor.text()?),
        Token::Number(_) | Token::Sign("-") => TermKind::Long(cursor.integer()?),
        Token::Sign("*") => {
            cursor.take();
            TermKind::Any
        }
        Token::Sign("?" | "$") => TermKind::Variable(variable(cursor)?),
        Token::Sign("(") => {
            cursor.take();
            let inner = cursor.nested(sum)?;
            cursor.expect(")")?;
            return Ok(inner);
        }
        Token::Sign("[") => {
            return Err(refused(at, SYNTAX, "a list of values has no meaning in a condition on the history"));
        }
        Token::Name(name) => return Ok(Term { at, kind: named(cursor, &name)? }),
        _ => return Err(cursor.unexpected("a value")),
    };
    Ok(Term { at, kind })
}

/// A term that begins with a name.
fn named(cursor: &mut Cursor, name: &str) -> Result<TermKind, Refused> {
    if cursor.is_sign(1, "::") {
        return cursor.entity().map(TermKind::Entity);
    }
    if cursor.is_sign(1, "(") {
        if name == "decimal" && matches!(cursor.ahead(2), Token::Text(_)) {
            cursor.take();
            cursor.take();
            let text = cursor.text()?;
            cursor.expect(")")?;
            return Ok(TermKind::Decimal(text));
        }
        return call(cursor).map(TermKind::Call);
    }
    let gathers = (name == "count" && cursor.is_name(1, "for"))
        || (name == "sum" && !cursor.is_sign(1, ")") && !cursor.is_sign(1, ","));
    if gathers {
        cursor.take();
        let summed = if name == "sum" { Some(variable(cursor)?) } else { None };
        cursor.expect_name("for")?;
        let mut binders = vec![binder(cursor)?];
        while cursor.takes(",") {
            binders.push(binder(cursor)?);
        }
        cursor.expect(".")?;
        cursor.expect_name("where")?;
        let body = condition(cursor)?;
        return Ok(TermKind::Gathered(Box::new(Gathered { summed, binders, body })));
    }
    cursor.take();
    Ok(match name {
        // Any value, and not the same one where it stands twice.
        "_" => TermKind::Any,
        "true" => TermKind::Bool(true),
        "false" => TermKind::Bool(false),
        "context" | "principal" | "resource" => {
            let mut path = Vec::new();
            while cursor.takes(".") {
                path.push(cursor.name()?);
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

fn call(cursor: &mut Cursor) -> Result<Call, Refused> {
    let name = cursor.name()?;
    cursor.expect("(")?;
    let arguments = cursor.nested(|cursor| cursor.list(")", argument))?;
    Ok(Call { name, arguments })
}

fn argument(cursor: &mut Cursor) -> Result<Argument, Refused> {
    if let Some(seconds) = cursor.attempt(interval) {
        return Ok(Argument::Window(seconds));
    }
    // A parameter by itself is whatever the macro around it was given.
    if let Some(condition) = cursor.attempt(condition) {
        return Ok(Argument::Condition(condition));
    }
    sum(cursor).map(Argument::Term)
}
