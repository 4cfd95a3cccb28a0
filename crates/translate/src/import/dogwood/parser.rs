//! Policy files: macros and statements, with the expressions of Cedar in them.

use super::conditions::{condition, sum};
use super::cursor::Cursor;
use super::lexer::{Token, pieces};
use super::refusal::{At, EXTENSION, PROVIDER, Refused, SYNTAX, TEMPLATE, refused};
use super::syntax::{Body, Effect, Entity, Expression, Kind, Macro, Root, Sign, Statement};

/// What a file defines and states.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) macros: Vec<Macro>,
    pub(super) statements: Vec<Statement>,
}

/// Reads a policy file.
pub(super) fn parse(file: usize, text: &str) -> Result<Parsed, Refused> {
    let mut cursor = Cursor::new(file, text)?;
    items(&mut cursor).map_err(|wrong| cursor.mistake(wrong))
}

fn items(cursor: &mut Cursor) -> Result<Parsed, Refused> {
    let mut parsed = Parsed::default();
    while !cursor.is_at_end() {
        let is_definition = cursor.is_name(0, "def") && (cursor.is_name(1, "cedar") || cursor.is_name(1, "temporal"));
        if is_definition {
            parsed.macros.push(definition(cursor)?);
        } else {
            parsed.statements.push(statement(cursor)?);
        }
    }
    Ok(parsed)
}

fn definition(cursor: &mut Cursor) -> Result<Macro, Refused> {
    cursor.expect_name("def")?;
    let is_cedar = cursor.name()? == "cedar";
    let name = cursor.name()?;
    cursor.expect("(")?;
    let parameters = cursor.list(")", |cursor| {
        cursor.expect("?")?;
        cursor.name()
    })?;
    cursor.expect("{")?;
    let body = if is_cedar {
        Body::Expression(expression(cursor)?)
    } else {
        // A number by itself, or a condition; only the closing brace tells.
        let number = cursor.attempt(|cursor| {
            let term = sum(cursor)?;
            if cursor.is_sign(0, "}") { Ok(term) } else { Err(cursor.unexpected("`}`")) }
        });
        match number {
            Some(term) => Body::Term(term),
            None => Body::Condition(condition(cursor)?),
        }
    };
    cursor.expect("}")?;
    cursor.expect(";")?;
    Ok(Macro { name, parameters, body })
}

fn statement(cursor: &mut Cursor) -> Result<Statement, Refused> {
    let mut id = None;
    while cursor.takes("@") {
        let name = cursor.name()?;
        if cursor.takes("(") {
            let text = cursor.text()?;
            cursor.expect(")")?;
            id = if name == "id" { Some(text) } else { id };
        }
    }
    let at = cursor.at();
    let effect = match cursor.name()?.as_str() {
        "permit" => Effect::Permit,
        "forbid" => Effect::Forbid,
        other => return Err(refused(at, SYNTAX, format!("expected `permit` or `forbid`, found `{other}`"))),
    };
    cursor.expect("(")?;
    let scope = cursor.list(")", scope)?;
    let mut conditions: Vec<Expression> = scope.into_iter().flatten().collect();
    while !cursor.takes(";") {
        let at = cursor.at();
        let is_wanted = match cursor.name()?.as_str() {
            "when" => true,
            "unless" => false,
            _ => return Err(refused(at, SYNTAX, "expected `when`, `unless` or `;`")),
        };
        let inner = if cursor.is_name(0, "temporal") && cursor.is_sign(1, "{") {
            primary(cursor)?
        } else {
            // Another spelling of the plain clause, for what providers say.
            cursor.takes_name("guardrails");
            cursor.expect("{")?;
            let inner = expression(cursor)?;
            cursor.expect("}")?;
            inner
        };
        conditions.push(if is_wanted { inner } else { Expression { at, kind: Kind::Not(Box::new(inner)) } });
    }
    Ok(Statement { at, effect, id, conditions })
}

/// `principal`, `action` or `resource`, and what they must be.
fn scope(cursor: &mut Cursor) -> Result<Vec<Expression>, Refused> {
    let at = cursor.at();
    let root = match cursor.name()?.as_str() {
        "principal" => Root::Principal,
        "action" => Root::Action,
        "resource" => Root::Resource,
        other => {
            return Err(refused(at, SYNTAX, format!("expected `principal`, `action` or `resource`, found `{other}`")));
        }
    };
    let request = || Box::new(Expression { at, kind: Kind::Request(root) });
    let mut found = Vec::new();
    if cursor.takes_name("is") {
        let (kind, _) = cursor.qualified()?;
        found.push(Expression { at, kind: Kind::Is(request(), kind) });
    }
    let sign = if cursor.takes("==") {
        Sign::Equal
    } else if cursor.takes_name("in") {
        Sign::In
    } else {
        return Ok(found);
    };
    let right = add(cursor)?;
    found.push(Expression { at, kind: Kind::Binary(sign, request(), Box::new(right)) });
    Ok(found)
}

fn expression(cursor: &mut Cursor) -> Result<Expression, Refused> {
    cursor.nested(|cursor| {
        let at = cursor.at();
        if cursor.takes_name("if") {
            let condition = expression(cursor)?;
            cursor.expect_name("then")?;
            let yes = expression(cursor)?;
            cursor.expect_name("else")?;
            let no = expression(cursor)?;
            return Ok(Expression { at, kind: Kind::If(Box::new([condition, yes, no])) });
        }
        let mut left = and(cursor)?;
        while cursor.takes("||") {
            let right = and(cursor)?;
            left = Expression { at, kind: Kind::Or(Box::new(left), Box::new(right)) };
        }
        Ok(left)
    })
}

fn and(cursor: &mut Cursor) -> Result<Expression, Refused> {
    let at = cursor.at();
    let mut left = relation(cursor)?;
    while cursor.takes("&&") {
        let right = relation(cursor)?;
        left = Expression { at, kind: Kind::And(Box::new(left), Box::new(right)) };
    }
    Ok(left)
}

fn relation(cursor: &mut Cursor) -> Result<Expression, Refused> {
    let at = cursor.at();
    let left = add(cursor)?;
    if cursor.takes_name("has") {
        let path = match cursor.ahead(0) {
            Token::Text(_) => vec![cursor.text()?],
            _ => cursor.path()?,
        };
        return Ok(Expression { at, kind: Kind::Has(Box::new(left), path) });
    }
    if cursor.takes_name("like") {
        let pattern = match cursor.take() {
            Token::Text(raw) => pieces(&raw, true),
            _ => None,
        };
        let pattern = pattern.ok_or_else(|| refused(at, SYNTAX, "`like` needs a pattern in quotes behind it"))?;
        return Ok(Expression { at, kind: Kind::Like(Box::new(left), pattern) });
    }
    if cursor.takes_name("is") {
        let (kind, _) = cursor.qualified()?;
        let is = Expression { at, kind: Kind::Is(Box::new(left.clone()), kind) };
        if !cursor.takes_name("in") {
            return Ok(is);
        }
        let within = Expression { at, kind: Kind::Binary(Sign::In, Box::new(left), Box::new(add(cursor)?)) };
        return Ok(Expression { at, kind: Kind::And(Box::new(is), Box::new(within)) });
    }
    let sign = match cursor.ahead(0) {
        Token::Sign("==") => Sign::Equal,
        Token::Sign("!=") => Sign::Unequal,
        Token::Sign("<=") => Sign::AtMost,
        Token::Sign(">=") => Sign::AtLeast,
        Token::Sign("<") => Sign::Less,
        Token::Sign(">") => Sign::Greater,
        Token::Name(name) if name == "in" => Sign::In,
        _ => return Ok(left),
    };
    cursor.take();
    let right = add(cursor)?;
    Ok(Expression { at, kind: Kind::Binary(sign, Box::new(left), Box::new(right)) })
}

fn add(cursor: &mut Cursor) -> Result<Expression, Refused> {
    let mut left = multiply(cursor)?;
    loop {
        let sign = match cursor.ahead(0) {
            Token::Sign("+") => Sign::Plus,
            Token::Sign("-") => Sign::Minus,
            _ => return Ok(left),
        };
        cursor.take();
        let at = left.at;
        let right = multiply(cursor)?;
        left = Expression { at, kind: Kind::Binary(sign, Box::new(left), Box::new(right)) };
    }
}

fn multiply(cursor: &mut Cursor) -> Result<Expression, Refused> {
    let mut left = unary(cursor)?;
    while cursor.takes("*") {
        let at = left.at;
        let right = unary(cursor)?;
        left = Expression { at, kind: Kind::Binary(Sign::Times, Box::new(left), Box::new(right)) };
    }
    Ok(left)
}

fn unary(cursor: &mut Cursor) -> Result<Expression, Refused> {
    let at = cursor.at();
    if cursor.takes("!") {
        let inner = cursor.nested(unary)?;
        return Ok(Expression { at, kind: Kind::Not(Box::new(inner)) });
    }
    if cursor.is_sign(0, "-") {
        if matches!(cursor.ahead(1), Token::Number(_)) {
            return Ok(Expression { at, kind: Kind::Long(cursor.integer()?) });
        }
        cursor.take();
        let inner = cursor.nested(unary)?;
        return Ok(Expression { at, kind: Kind::Minus(Box::new(inner)) });
    }
    member(cursor)
}

/// Something with attributes and methods behind it.
fn member(cursor: &mut Cursor) -> Result<Expression, Refused> {
    let mut left = primary(cursor)?;
    loop {
        let at = left.at;
        let kind = if cursor.takes(".") {
            let name = cursor.name()?;
            if cursor.takes("(") {
                Kind::Method(Box::new(left), name, cursor.list(")", expression)?)
            } else {
                Kind::Attribute(Box::new(left), name)
            }
        } else if cursor.takes("[") {
            let name = cursor.text()?;
            cursor.expect("]")?;
            Kind::Attribute(Box::new(left), name)
        } else {
            return Ok(left);
        };
        left = Expression { at, kind };
    }
}

fn primary(cursor: &mut Cursor) -> Result<Expression, Refused> {
    let at = cursor.at();
    let kind = match cursor.ahead(0).clone() {
        Token::Name(name) => return named(cursor, at, &name),
        Token::Text(_) => Kind::Text(cursor.text()?),
        Token::Number(_) => Kind::Long(cursor.integer()?),
        Token::Sign("?") => {
            cursor.take();
            match cursor.name()?.as_str() {
                slot @ ("principal" | "resource") => {
                    return Err(refused(at, TEMPLATE, format!("`?{slot}` makes this statement a template"))
                        .hint("import the statements that are made from it, with the entity in its place"));
                }
                parameter => Kind::Parameter(parameter.to_owned()),
            }
        }
        Token::Sign("(") => {
            cursor.take();
            let inner = expression(cursor)?;
            cursor.expect(")")?;
            return Ok(inner);
        }
        Token::Sign("[") => {
            cursor.take();
            Kind::Set(cursor.list("]", expression)?)
        }
        Token::Sign("{") => {
            cursor.take();
            Kind::Record(cursor.list("}", |cursor| {
                let name = match cursor.ahead(0) {
                    Token::Text(_) => cursor.text()?,
                    _ => cursor.name()?,
                };
                cursor.expect(":")?;
                Ok((name, expression(cursor)?))
            })?)
        }
        _ => return Err(cursor.unexpected("an expression")),
    };
    Ok(Expression { at, kind })
}

/// An expression that begins with a name.
fn named(cursor: &mut Cursor, at: At, name: &str) -> Result<Expression, Refused> {
    if name == "temporal" && cursor.is_sign(1, "{") {
        cursor.take();
        cursor.take();
        let inner = condition(cursor)?;
        cursor.expect("}")?;
        return Ok(Expression { at, kind: Kind::Temporal(Box::new(inner)) });
    }
    let (kind, id) = cursor.qualified()?;
    let kind = match id {
        Some(id) => Kind::Entity(Entity { kind, id }),
        None if cursor.is_sign(0, "(") && kind.contains("::") => {
            return Err(refused(at, PROVIDER, format!("`{kind}` is an information provider, a program of its own"))
                .hint("have its answer written into the events, as a field of the context, and ask for that"));
        }
        None if cursor.takes("(") => {
            let arguments = cursor.list(")", expression)?;
            if matches!(kind.as_str(), "ip" | "datetime" | "duration") {
                return Err(refused(
                    at,
                    EXTENSION,
                    format!("`{kind}` is a type of Cedar that has no counterpart here"),
                ));
            }
            Kind::Call(kind, arguments)
        }
        None => match kind.as_str() {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "principal" => Kind::Request(Root::Principal),
            "action" => Kind::Request(Root::Action),
            "resource" => Kind::Request(Root::Resource),
            "context" => Kind::Request(Root::Context),
            other => return Err(refused(at, SYNTAX, format!("`{other}` is neither a value nor part of a request"))),
        },
    };
    Ok(Expression { at, kind })
}
