//! Parses policy files: macros and statements, with the expressions of Cedar in them.

use super::conditions::{parse_condition, parse_sum as parse_sum_term};
use super::cursor::Cursor;
use super::lexer::{Token, parse_pieces};
use super::refusal::{EXTENSION, Location, PROVIDER, Refusal, SYNTAX, TEMPLATE, refuse};
use super::syntax::{Effect, Entity, Expression, ExpressionKind, Macro, MacroBody, Operator, Root, Statement};

/// The macros and statements of a policy file.
#[derive(Debug, Default)]
pub(super) struct PolicyFile {
    pub(super) macros: Vec<Macro>,
    pub(super) statements: Vec<Statement>,
}

/// Reads a policy file.
pub(super) fn parse_policy(file: usize, text: &str) -> Result<PolicyFile, Refusal> {
    let mut cursor = Cursor::new(file, text)?;
    parse_items(&mut cursor).map_err(|wrong| cursor.furthest_mistake(wrong))
}

fn parse_items(cursor: &mut Cursor) -> Result<PolicyFile, Refusal> {
    let mut parsed = PolicyFile::default();
    while !cursor.is_at_end() {
        let is_definition = cursor.is_name(0, "def") && (cursor.is_name(1, "cedar") || cursor.is_name(1, "temporal"));
        if is_definition {
            parsed.macros.push(parse_definition(cursor)?);
        } else {
            parsed.statements.push(parse_statement(cursor)?);
        }
    }
    Ok(parsed)
}

fn parse_definition(cursor: &mut Cursor) -> Result<Macro, Refusal> {
    cursor.expect_name("def")?;
    let is_cedar = cursor.take_name()? == "cedar";
    let name = cursor.take_name()?;
    cursor.expect("(")?;
    let parameters = cursor.take_list(")", |cursor| {
        cursor.expect("?")?;
        cursor.take_name()
    })?;
    cursor.expect("{")?;
    let body = if is_cedar {
        MacroBody::Expression(parse_expression(cursor)?)
    } else {
        // A number by itself, or a condition; only the closing brace tells.
        let number = cursor.attempt(|cursor| {
            let term = parse_sum_term(cursor)?;
            if cursor.is_sign(0, "}") { Ok(term) } else { Err(cursor.unexpected_token("`}`")) }
        });
        match number {
            Some(term) => MacroBody::Term(term),
            None => MacroBody::Condition(parse_condition(cursor)?),
        }
    };
    cursor.expect("}")?;
    cursor.expect(";")?;
    Ok(Macro { name, parameters, body })
}

fn parse_statement(cursor: &mut Cursor) -> Result<Statement, Refusal> {
    let mut id = None;
    while cursor.take_if("@") {
        let name = cursor.take_name()?;
        if cursor.take_if("(") {
            let text = cursor.take_text()?;
            cursor.expect(")")?;
            id = if name == "id" { Some(text) } else { id };
        }
    }
    let at = cursor.location();
    let effect = match cursor.take_name()?.as_str() {
        "permit" => Effect::Permit,
        "forbid" => Effect::Forbid,
        other => return Err(refuse(at, SYNTAX, format!("expected `permit` or `forbid`, found `{other}`"))),
    };
    cursor.expect("(")?;
    let scope = cursor.take_list(")", parse_scope)?;
    let mut conditions: Vec<Expression> = scope.into_iter().flatten().collect();
    while !cursor.take_if(";") {
        let at = cursor.location();
        let is_wanted = match cursor.take_name()?.as_str() {
            "when" => true,
            "unless" => false,
            _ => return Err(refuse(at, SYNTAX, "expected `when`, `unless` or `;`")),
        };
        let inner = if cursor.is_name(0, "temporal") && cursor.is_sign(1, "{") {
            parse_primary(cursor)?
        } else {
            // Another spelling of the plain clause, for what providers say.
            cursor.take_name_if("guardrails");
            cursor.expect("{")?;
            let inner = parse_expression(cursor)?;
            cursor.expect("}")?;
            inner
        };
        conditions.push(if is_wanted { inner } else { Expression { at, kind: ExpressionKind::Not(Box::new(inner)) } });
    }
    Ok(Statement { at, effect, id, conditions })
}

/// Parses `principal`, `action` or `resource`, and the condition on it.
fn parse_scope(cursor: &mut Cursor) -> Result<Vec<Expression>, Refusal> {
    let at = cursor.location();
    let root = match cursor.take_name()?.as_str() {
        "principal" => Root::Principal,
        "action" => Root::Action,
        "resource" => Root::Resource,
        other => {
            return Err(refuse(at, SYNTAX, format!("expected `principal`, `action` or `resource`, found `{other}`")));
        }
    };
    let request = || Box::new(Expression { at, kind: ExpressionKind::Request(root) });
    let mut found = Vec::new();
    if cursor.take_name_if("is") {
        let (kind, _) = cursor.take_qualified()?;
        found.push(Expression { at, kind: ExpressionKind::Is(request(), kind) });
    }
    let sign = if cursor.take_if("==") {
        Operator::Equal
    } else if cursor.take_name_if("in") {
        Operator::In
    } else {
        return Ok(found);
    };
    let right = parse_sum(cursor)?;
    found.push(Expression { at, kind: ExpressionKind::Binary(sign, request(), Box::new(right)) });
    Ok(found)
}

fn parse_expression(cursor: &mut Cursor) -> Result<Expression, Refusal> {
    cursor.parse_nested(|cursor| {
        let at = cursor.location();
        if cursor.take_name_if("if") {
            let condition = parse_expression(cursor)?;
            cursor.expect_name("then")?;
            let yes = parse_expression(cursor)?;
            cursor.expect_name("else")?;
            let no = parse_expression(cursor)?;
            return Ok(Expression { at, kind: ExpressionKind::If(Box::new([condition, yes, no])) });
        }
        let mut left = parse_conjunction(cursor)?;
        while cursor.take_if("||") {
            let right = parse_conjunction(cursor)?;
            left = Expression { at, kind: ExpressionKind::Or(Box::new(left), Box::new(right)) };
        }
        Ok(left)
    })
}

fn parse_conjunction(cursor: &mut Cursor) -> Result<Expression, Refusal> {
    let at = cursor.location();
    let mut left = parse_relation(cursor)?;
    while cursor.take_if("&&") {
        let right = parse_relation(cursor)?;
        left = Expression { at, kind: ExpressionKind::And(Box::new(left), Box::new(right)) };
    }
    Ok(left)
}

fn parse_relation(cursor: &mut Cursor) -> Result<Expression, Refusal> {
    let at = cursor.location();
    let left = parse_sum(cursor)?;
    if cursor.take_name_if("has") {
        let path = match cursor.peek(0) {
            Token::Text(_) => vec![cursor.take_text()?],
            _ => cursor.take_path()?,
        };
        return Ok(Expression { at, kind: ExpressionKind::Has(Box::new(left), path) });
    }
    if cursor.take_name_if("like") {
        let pattern = match cursor.take() {
            Token::Text(raw) => parse_pieces(&raw, true),
            _ => None,
        };
        let pattern = pattern.ok_or_else(|| refuse(at, SYNTAX, "`like` needs a pattern in quotes after it"))?;
        return Ok(Expression { at, kind: ExpressionKind::Like(Box::new(left), pattern) });
    }
    if cursor.take_name_if("is") {
        let (kind, _) = cursor.take_qualified()?;
        let is = Expression { at, kind: ExpressionKind::Is(Box::new(left.clone()), kind) };
        if !cursor.take_name_if("in") {
            return Ok(is);
        }
        let within =
            Expression { at, kind: ExpressionKind::Binary(Operator::In, Box::new(left), Box::new(parse_sum(cursor)?)) };
        return Ok(Expression { at, kind: ExpressionKind::And(Box::new(is), Box::new(within)) });
    }
    let sign = match cursor.peek(0) {
        Token::Sign("==") => Operator::Equal,
        Token::Sign("!=") => Operator::Unequal,
        Token::Sign("<=") => Operator::AtMost,
        Token::Sign(">=") => Operator::AtLeast,
        Token::Sign("<") => Operator::Less,
        Token::Sign(">") => Operator::Greater,
        Token::Name(name) if name == "in" => Operator::In,
        _ => return Ok(left),
    };
    cursor.take();
    let right = parse_sum(cursor)?;
    Ok(Expression { at, kind: ExpressionKind::Binary(sign, Box::new(left), Box::new(right)) })
}

fn parse_sum(cursor: &mut Cursor) -> Result<Expression, Refusal> {
    let mut left = parse_product(cursor)?;
    loop {
        let sign = match cursor.peek(0) {
            Token::Sign("+") => Operator::Plus,
            Token::Sign("-") => Operator::Minus,
            _ => return Ok(left),
        };
        cursor.take();
        let at = left.at;
        let right = parse_product(cursor)?;
        left = Expression { at, kind: ExpressionKind::Binary(sign, Box::new(left), Box::new(right)) };
    }
}

fn parse_product(cursor: &mut Cursor) -> Result<Expression, Refusal> {
    let mut left = parse_unary(cursor)?;
    while cursor.take_if("*") {
        let at = left.at;
        let right = parse_unary(cursor)?;
        left = Expression { at, kind: ExpressionKind::Binary(Operator::Times, Box::new(left), Box::new(right)) };
    }
    Ok(left)
}

fn parse_unary(cursor: &mut Cursor) -> Result<Expression, Refusal> {
    let at = cursor.location();
    if cursor.take_if("!") {
        let inner = cursor.parse_nested(parse_unary)?;
        return Ok(Expression { at, kind: ExpressionKind::Not(Box::new(inner)) });
    }
    if cursor.is_sign(0, "-") {
        if matches!(cursor.peek(1), Token::Number(_)) {
            return Ok(Expression { at, kind: ExpressionKind::Long(cursor.take_integer()?) });
        }
        cursor.take();
        let inner = cursor.parse_nested(parse_unary)?;
        return Ok(Expression { at, kind: ExpressionKind::Minus(Box::new(inner)) });
    }
    parse_member(cursor)
}

/// Parses an expression with attributes and methods after it.
fn parse_member(cursor: &mut Cursor) -> Result<Expression, Refusal> {
    let mut left = parse_primary(cursor)?;
    loop {
        let at = left.at;
        let kind = if cursor.take_if(".") {
            let name = cursor.take_name()?;
            if cursor.take_if("(") {
                ExpressionKind::Method(Box::new(left), name, cursor.take_list(")", parse_expression)?)
            } else {
                ExpressionKind::Attribute(Box::new(left), name)
            }
        } else if cursor.take_if("[") {
            let name = cursor.take_text()?;
            cursor.expect("]")?;
            ExpressionKind::Attribute(Box::new(left), name)
        } else {
            return Ok(left);
        };
        left = Expression { at, kind };
    }
}

fn parse_primary(cursor: &mut Cursor) -> Result<Expression, Refusal> {
    let at = cursor.location();
    let kind = match cursor.peek(0).clone() {
        Token::Name(name) => return parse_named_expression(cursor, at, &name),
        Token::Text(_) => ExpressionKind::Text(cursor.take_text()?),
        Token::Number(_) => ExpressionKind::Long(cursor.take_integer()?),
        Token::Sign("?") => {
            cursor.take();
            match cursor.take_name()?.as_str() {
                slot @ ("principal" | "resource") => {
                    return Err(refuse(at, TEMPLATE, format!("`?{slot}` makes this statement a template"))
                        .with_hint("import the statements that are made from it, with the entity in its place"));
                }
                parameter => ExpressionKind::Parameter(parameter.to_owned()),
            }
        }
        Token::Sign("(") => {
            cursor.take();
            let inner = parse_expression(cursor)?;
            cursor.expect(")")?;
            return Ok(inner);
        }
        Token::Sign("[") => {
            cursor.take();
            ExpressionKind::Set(cursor.take_list("]", parse_expression)?)
        }
        Token::Sign("{") => {
            cursor.take();
            ExpressionKind::Record(cursor.take_list("}", |cursor| {
                let name = match cursor.peek(0) {
                    Token::Text(_) => cursor.take_text()?,
                    _ => cursor.take_name()?,
                };
                cursor.expect(":")?;
                Ok((name, parse_expression(cursor)?))
            })?)
        }
        _ => return Err(cursor.unexpected_token("an expression")),
    };
    Ok(Expression { at, kind })
}

/// Parses an expression that begins with a name.
fn parse_named_expression(cursor: &mut Cursor, at: Location, name: &str) -> Result<Expression, Refusal> {
    if name == "temporal" && cursor.is_sign(1, "{") {
        cursor.take();
        cursor.take();
        let inner = parse_condition(cursor)?;
        cursor.expect("}")?;
        return Ok(Expression { at, kind: ExpressionKind::Temporal(Box::new(inner)) });
    }
    let (kind, id) = cursor.take_qualified()?;
    let kind = match id {
        Some(id) => ExpressionKind::Entity(Entity { kind, id }),
        None if cursor.is_sign(0, "(") && kind.contains("::") => {
            return Err(refuse(at, PROVIDER, format!("`{kind}` is an information provider, a program of its own"))
                .with_hint("have its answer written into the events, as a field of the context, and ask for that"));
        }
        None if cursor.take_if("(") => {
            let arguments = cursor.take_list(")", parse_expression)?;
            if matches!(kind.as_str(), "ip" | "datetime" | "duration") {
                return Err(refuse(at, EXTENSION, format!("`{kind}` is a type of Cedar that has no counterpart here")));
            }
            ExpressionKind::Call(kind, arguments)
        }
        None => match kind.as_str() {
            "true" => ExpressionKind::Bool(true),
            "false" => ExpressionKind::Bool(false),
            "principal" => ExpressionKind::Request(Root::Principal),
            "action" => ExpressionKind::Request(Root::Action),
            "resource" => ExpressionKind::Request(Root::Resource),
            "context" => ExpressionKind::Request(Root::Context),
            other => return Err(refuse(at, SYNTAX, format!("`{other}` is neither a value nor part of a request"))),
        },
    };
    Ok(Expression { at, kind })
}
