//! The conditions of Cedar on one request, evaluated while a log is converted.
//!
//! An expression that Cedar cannot compute is an error, and a statement with an error does not apply: here that is
//! `None`. Entities have neither attributes nor parents, except actions, which belong to groups.

use std::collections::{BTreeMap, BTreeSet};

use super::lexer::PatternPiece;
use super::refusal::{EXTENSION, MACRO, Refusal, refuse};
use super::schema::ActionGroups;
use super::syntax::{Entity, Expression, ExpressionKind, Operator, Root};
use super::value::{Record, Value, parse_decimal};

/// A value of Cedar.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CedarValue {
    Bool(bool),
    Long(i64),
    Text(String),
    /// In ten thousandths.
    Decimal(i64),
    Entity(Entity),
    Set(BTreeSet<CedarValue>),
    Record(BTreeMap<String, CedarValue>),
}

/// A request that is to be decided.
#[derive(Debug)]
pub(super) struct Request<'g> {
    principal: Entity,
    action: Entity,
    resource: Entity,
    context: CedarValue,
    groups: &'g ActionGroups,
}

impl<'g> Request<'g> {
    /// Returns a request; none if it is malformed. Such a request is denied by every policy.
    pub(super) fn new(
        principal: Option<&Value>,
        action: &Entity,
        resource: Option<&Value>,
        context: &Record,
        groups: &'g ActionGroups,
    ) -> Option<Request<'g>> {
        let entity = |value: Option<&Value>| match value {
            Some(Value::Entity(entity)) => Some(entity.clone()),
            _ => None,
        };
        let context = to_cedar_value(&Value::Record(context.clone()))?;
        Some(Request {
            principal: entity(principal)?,
            action: action.clone(),
            resource: entity(resource)?,
            context,
            groups,
        })
    }

    /// Whether a condition holds, given the truth of its conditions on the history. Not if it cannot be computed.
    pub(super) fn holds(&self, expression: &Expression, leaves: &[bool]) -> bool {
        let evaluator = Evaluator { request: self, leaves };
        evaluator.evaluate_bool(expression) == Some(true)
    }
}

/// Returns a value of a log as Cedar gets it; none if Cedar has no such value.
fn to_cedar_value(value: &Value) -> Option<CedarValue> {
    Some(match value {
        // Dogwood hands Cedar an empty text for nothing.
        Value::Null => CedarValue::Text(String::new()),
        Value::Bool(value) => CedarValue::Bool(*value),
        Value::Long(value) => CedarValue::Long(*value),
        Value::Decimal(text) => CedarValue::Decimal(parse_decimal(text)?),
        Value::Text(text) => CedarValue::Text(text.clone()),
        Value::Entity(entity) => CedarValue::Entity(entity.clone()),
        Value::List(list) => CedarValue::Set(list.iter().map(to_cedar_value).collect::<Option<_>>()?),
        Value::Record(members) => {
            let member = |(name, value): (&String, &Value)| Some((name.clone(), to_cedar_value(value)?));
            CedarValue::Record(members.iter().map(member).collect::<Option<_>>()?)
        }
    })
}

/// Evaluates expressions on one request.
struct Evaluator<'r> {
    request: &'r Request<'r>,
    leaves: &'r [bool],
}

impl Evaluator<'_> {
    fn evaluate_bool(&self, expression: &Expression) -> Option<bool> {
        match self.evaluate(expression)? {
            CedarValue::Bool(value) => Some(value),
            _ => None,
        }
    }

    fn evaluate_long(&self, expression: &Expression) -> Option<i64> {
        match self.evaluate(expression)? {
            CedarValue::Long(value) => Some(value),
            _ => None,
        }
    }

    fn evaluate(&self, expression: &Expression) -> Option<CedarValue> {
        Some(match &expression.kind {
            ExpressionKind::Bool(value) => CedarValue::Bool(*value),
            ExpressionKind::Long(value) => CedarValue::Long(*value),
            ExpressionKind::Text(text) => CedarValue::Text(text.clone()),
            ExpressionKind::Entity(entity) => CedarValue::Entity(entity.clone()),
            ExpressionKind::Request(Root::Principal) => CedarValue::Entity(self.request.principal.clone()),
            ExpressionKind::Request(Root::Action) => CedarValue::Entity(self.request.action.clone()),
            ExpressionKind::Request(Root::Resource) => CedarValue::Entity(self.request.resource.clone()),
            ExpressionKind::Request(Root::Context) => self.request.context.clone(),
            ExpressionKind::Leaf(number) => CedarValue::Bool(*self.leaves.get(*number)?),
            ExpressionKind::Not(inner) => CedarValue::Bool(!self.evaluate_bool(inner)?),
            ExpressionKind::Minus(inner) => CedarValue::Long(self.evaluate_long(inner)?.checked_neg()?),
            ExpressionKind::And(left, right) => {
                CedarValue::Bool(self.evaluate_bool(left)? && self.evaluate_bool(right)?)
            }
            ExpressionKind::Or(left, right) => {
                CedarValue::Bool(self.evaluate_bool(left)? || self.evaluate_bool(right)?)
            }
            ExpressionKind::If(parts) => {
                let [condition, yes, no] = &**parts;
                return self.evaluate(if self.evaluate_bool(condition)? { yes } else { no });
            }
            ExpressionKind::Binary(sign, left, right) => return self.evaluate_binary(*sign, left, right),
            ExpressionKind::Has(inner, path) => CedarValue::Bool(self.has_path(self.evaluate(inner)?, path)?),
            ExpressionKind::Like(inner, pattern) => match self.evaluate(inner)? {
                CedarValue::Text(text) => CedarValue::Bool(matches_pattern(pattern, &text)),
                _ => return None,
            },
            ExpressionKind::Is(inner, kind) => match self.evaluate(inner)? {
                CedarValue::Entity(entity) => CedarValue::Bool(entity.kind == *kind),
                _ => return None,
            },
            ExpressionKind::Attribute(inner, name) => match self.evaluate(inner)? {
                CedarValue::Record(mut members) => return members.remove(name),
                _ => return None,
            },
            ExpressionKind::Set(list) => {
                CedarValue::Set(list.iter().map(|part| self.evaluate(part)).collect::<Option<_>>()?)
            }
            ExpressionKind::Record(list) => {
                let member = |(name, value): &(String, Expression)| Some((name.clone(), self.evaluate(value)?));
                CedarValue::Record(list.iter().map(member).collect::<Option<_>>()?)
            }
            ExpressionKind::Method(inner, name, arguments) => {
                let value = self.evaluate(inner)?;
                let arguments: Option<Vec<CedarValue>> = arguments.iter().map(|part| self.evaluate(part)).collect();
                return call_method(value, name, &arguments?);
            }
            ExpressionKind::Call(_, arguments) => match self.evaluate(arguments.first()?)? {
                CedarValue::Text(text) => CedarValue::Decimal(parse_decimal(&text)?),
                _ => return None,
            },
            ExpressionKind::Parameter(_) | ExpressionKind::Temporal(_) => return None,
        })
    }

    fn evaluate_binary(&self, sign: Operator, left: &Expression, right: &Expression) -> Option<CedarValue> {
        Some(match sign {
            Operator::Equal => CedarValue::Bool(self.evaluate(left)? == self.evaluate(right)?),
            Operator::Unequal => CedarValue::Bool(self.evaluate(left)? != self.evaluate(right)?),
            Operator::Less => CedarValue::Bool(self.evaluate_long(left)? < self.evaluate_long(right)?),
            Operator::AtMost => CedarValue::Bool(self.evaluate_long(left)? <= self.evaluate_long(right)?),
            Operator::Greater => CedarValue::Bool(self.evaluate_long(left)? > self.evaluate_long(right)?),
            Operator::AtLeast => CedarValue::Bool(self.evaluate_long(left)? >= self.evaluate_long(right)?),
            Operator::Plus => CedarValue::Long(self.evaluate_long(left)?.checked_add(self.evaluate_long(right)?)?),
            Operator::Minus => CedarValue::Long(self.evaluate_long(left)?.checked_sub(self.evaluate_long(right)?)?),
            Operator::Times => CedarValue::Long(self.evaluate_long(left)?.checked_mul(self.evaluate_long(right)?)?),
            Operator::In => {
                let CedarValue::Entity(member) = self.evaluate(left)? else { return None };
                let within = |group: &CedarValue| match group {
                    CedarValue::Entity(group) => Some(self.request.groups.is_member(&member, group)),
                    _ => None,
                };
                match self.evaluate(right)? {
                    CedarValue::Set(groups) => {
                        let found: Option<Vec<bool>> = groups.iter().map(within).collect();
                        CedarValue::Bool(found?.contains(&true))
                    }
                    group => CedarValue::Bool(within(&group)?),
                }
            }
        })
    }

    fn has_path(&self, value: CedarValue, path: &[String]) -> Option<bool> {
        let Some((first, rest)) = path.split_first() else { return Some(true) };
        match value {
            CedarValue::Record(mut members) => match members.remove(first) {
                Some(inner) => self.has_path(inner, rest),
                None => Some(false),
            },
            CedarValue::Entity(_) => Some(false),
            _ => None,
        }
    }
}

fn call_method(value: CedarValue, name: &str, arguments: &[CedarValue]) -> Option<CedarValue> {
    Some(CedarValue::Bool(match (value, name, arguments) {
        (CedarValue::Set(set), "contains", [element]) => set.contains(element),
        (CedarValue::Set(set), "containsAll", [CedarValue::Set(other)]) => other.is_subset(&set),
        (CedarValue::Set(set), "containsAny", [CedarValue::Set(other)]) => !other.is_disjoint(&set),
        (CedarValue::Set(set), "isEmpty", []) => set.is_empty(),
        (CedarValue::Decimal(left), "lessThan", [CedarValue::Decimal(right)]) => left < *right,
        (CedarValue::Decimal(left), "lessThanOrEqual", [CedarValue::Decimal(right)]) => left <= *right,
        (CedarValue::Decimal(left), "greaterThan", [CedarValue::Decimal(right)]) => left > *right,
        (CedarValue::Decimal(left), "greaterThanOrEqual", [CedarValue::Decimal(right)]) => left >= *right,
        _ => return None,
    }))
}

/// Whether a text matches a pattern. Where a star took too little, it takes one character more.
fn matches_pattern(pattern: &[PatternPiece], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut place, mut from, mut star) = (0, 0, None);
    while from < text.len() {
        match pattern.get(place) {
            Some(PatternPiece::Any) => {
                star = Some((place, from));
                place += 1;
            }
            Some(PatternPiece::Character(character)) if *character == text[from] => {
                place += 1;
                from += 1;
            }
            _ => match star {
                Some((before, taken)) => {
                    star = Some((before, taken + 1));
                    (place, from) = (before + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[place..].iter().all(|piece| *piece == PatternPiece::Any)
}

/// Refuses unknown functions and methods.
pub(super) fn check_expression(expression: &Expression) -> Result<(), Refusal> {
    const METHODS: [&str; 8] = [
        "contains",
        "containsAll",
        "containsAny",
        "isEmpty",
        "lessThan",
        "lessThanOrEqual",
        "greaterThan",
        "greaterThanOrEqual",
    ];
    match &expression.kind {
        ExpressionKind::Call(name, arguments) => {
            if name != "decimal" {
                return Err(refuse(expression.at, MACRO, format!("unknown function or macro `{name}`"))
                    .with_hint("give the file that defines it with `--macros`"));
            }
            arguments.iter().try_for_each(check_expression)
        }
        ExpressionKind::Method(inner, name, arguments) => {
            if !METHODS.contains(&name.as_str()) {
                return Err(refuse(
                    expression.at,
                    EXTENSION,
                    format!("`.{name}()` belongs to a part of Cedar that has no counterpart here"),
                ));
            }
            check_expression(inner)?;
            arguments.iter().try_for_each(check_expression)
        }
        ExpressionKind::Not(inner)
        | ExpressionKind::Minus(inner)
        | ExpressionKind::Has(inner, _)
        | ExpressionKind::Like(inner, _)
        | ExpressionKind::Is(inner, _) => check_expression(inner),
        ExpressionKind::Attribute(inner, _) => check_expression(inner),
        ExpressionKind::And(left, right) | ExpressionKind::Or(left, right) | ExpressionKind::Binary(_, left, right) => {
            check_expression(left)?;
            check_expression(right)
        }
        ExpressionKind::If(parts) => parts.iter().try_for_each(check_expression),
        ExpressionKind::Set(list) => list.iter().try_for_each(check_expression),
        ExpressionKind::Record(list) => list.iter().try_for_each(|(_, value)| check_expression(value)),
        _ => Ok(()),
    }
}
