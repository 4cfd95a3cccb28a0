//! The conditions of Cedar on one request, evaluated while a log is converted.
//!
//! What Cedar cannot compute is an error, and a statement with an error does not apply: here that is `None`. Entities
//! have neither attributes nor parents, except actions, which belong to groups.

use std::collections::{BTreeMap, BTreeSet};

use super::lexer::Piece;
use super::refusal::{EXTENSION, MACRO, Refused, refused};
use super::schema::Groups;
use super::syntax::{Entity, Expression, Kind, Root, Sign};
use super::value::{Record, Value, decimal};

/// A value of Cedar.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Datum {
    Bool(bool),
    Long(i64),
    Text(String),
    /// In ten thousandths.
    Decimal(i64),
    Entity(Entity),
    Set(BTreeSet<Datum>),
    Record(BTreeMap<String, Datum>),
}

/// A request that is to be decided.
#[derive(Debug)]
pub(super) struct Request<'g> {
    principal: Entity,
    action: Entity,
    resource: Entity,
    context: Datum,
    groups: &'g Groups,
}

impl<'g> Request<'g> {
    /// None if it is not well formed; such a request is denied whatever the policy says.
    pub(super) fn new(
        principal: Option<&Value>,
        action: &Entity,
        resource: Option<&Value>,
        context: &Record,
        groups: &'g Groups,
    ) -> Option<Request<'g>> {
        let entity = |value: Option<&Value>| match value {
            Some(Value::Entity(entity)) => Some(entity.clone()),
            _ => None,
        };
        let context = datum(&Value::Record(context.clone()))?;
        Some(Request {
            principal: entity(principal)?,
            action: action.clone(),
            resource: entity(resource)?,
            context,
            groups,
        })
    }

    /// Does a condition hold, if the conditions on the history in it are these? Not if it cannot be computed.
    pub(super) fn holds(&self, expression: &Expression, leaves: &[bool]) -> bool {
        let scene = Scene { request: self, leaves };
        scene.truth(expression) == Some(true)
    }
}

/// A value of a log as Cedar gets it; none if there is none.
fn datum(value: &Value) -> Option<Datum> {
    Some(match value {
        // Dogwood hands Cedar an empty text for nothing.
        Value::Null => Datum::Text(String::new()),
        Value::Bool(value) => Datum::Bool(*value),
        Value::Long(value) => Datum::Long(*value),
        Value::Decimal(text) => Datum::Decimal(decimal(text)?),
        Value::Text(text) => Datum::Text(text.clone()),
        Value::Entity(entity) => Datum::Entity(entity.clone()),
        Value::List(list) => Datum::Set(list.iter().map(datum).collect::<Option<_>>()?),
        Value::Record(members) => {
            let member = |(name, value): (&String, &Value)| Some((name.clone(), datum(value)?));
            Datum::Record(members.iter().map(member).collect::<Option<_>>()?)
        }
    })
}

struct Scene<'r> {
    request: &'r Request<'r>,
    leaves: &'r [bool],
}

impl Scene<'_> {
    fn truth(&self, expression: &Expression) -> Option<bool> {
        match self.value(expression)? {
            Datum::Bool(value) => Some(value),
            _ => None,
        }
    }

    fn long(&self, expression: &Expression) -> Option<i64> {
        match self.value(expression)? {
            Datum::Long(value) => Some(value),
            _ => None,
        }
    }

    fn value(&self, expression: &Expression) -> Option<Datum> {
        Some(match &expression.kind {
            Kind::Bool(value) => Datum::Bool(*value),
            Kind::Long(value) => Datum::Long(*value),
            Kind::Text(text) => Datum::Text(text.clone()),
            Kind::Entity(entity) => Datum::Entity(entity.clone()),
            Kind::Request(Root::Principal) => Datum::Entity(self.request.principal.clone()),
            Kind::Request(Root::Action) => Datum::Entity(self.request.action.clone()),
            Kind::Request(Root::Resource) => Datum::Entity(self.request.resource.clone()),
            Kind::Request(Root::Context) => self.request.context.clone(),
            Kind::Leaf(number) => Datum::Bool(*self.leaves.get(*number)?),
            Kind::Not(inner) => Datum::Bool(!self.truth(inner)?),
            Kind::Minus(inner) => Datum::Long(self.long(inner)?.checked_neg()?),
            Kind::And(left, right) => Datum::Bool(self.truth(left)? && self.truth(right)?),
            Kind::Or(left, right) => Datum::Bool(self.truth(left)? || self.truth(right)?),
            Kind::If(parts) => {
                let [condition, yes, no] = &**parts;
                return self.value(if self.truth(condition)? { yes } else { no });
            }
            Kind::Binary(sign, left, right) => return self.binary(*sign, left, right),
            Kind::Has(inner, path) => Datum::Bool(self.has(self.value(inner)?, path)?),
            Kind::Like(inner, pattern) => match self.value(inner)? {
                Datum::Text(text) => Datum::Bool(fits(pattern, &text)),
                _ => return None,
            },
            Kind::Is(inner, kind) => match self.value(inner)? {
                Datum::Entity(entity) => Datum::Bool(entity.kind == *kind),
                _ => return None,
            },
            Kind::Attribute(inner, name) => match self.value(inner)? {
                Datum::Record(mut members) => return members.remove(name),
                _ => return None,
            },
            Kind::Set(list) => Datum::Set(list.iter().map(|part| self.value(part)).collect::<Option<_>>()?),
            Kind::Record(list) => {
                let member = |(name, value): &(String, Expression)| Some((name.clone(), self.value(value)?));
                Datum::Record(list.iter().map(member).collect::<Option<_>>()?)
            }
            Kind::Method(inner, name, arguments) => {
                let value = self.value(inner)?;
                let arguments: Option<Vec<Datum>> = arguments.iter().map(|part| self.value(part)).collect();
                return method(value, name, &arguments?);
            }
            Kind::Call(_, arguments) => match self.value(arguments.first()?)? {
                Datum::Text(text) => Datum::Decimal(decimal(&text)?),
                _ => return None,
            },
            Kind::Parameter(_) | Kind::Temporal(_) => return None,
        })
    }

    fn binary(&self, sign: Sign, left: &Expression, right: &Expression) -> Option<Datum> {
        Some(match sign {
            Sign::Equal => Datum::Bool(self.value(left)? == self.value(right)?),
            Sign::Unequal => Datum::Bool(self.value(left)? != self.value(right)?),
            Sign::Less => Datum::Bool(self.long(left)? < self.long(right)?),
            Sign::AtMost => Datum::Bool(self.long(left)? <= self.long(right)?),
            Sign::Greater => Datum::Bool(self.long(left)? > self.long(right)?),
            Sign::AtLeast => Datum::Bool(self.long(left)? >= self.long(right)?),
            Sign::Plus => Datum::Long(self.long(left)?.checked_add(self.long(right)?)?),
            Sign::Minus => Datum::Long(self.long(left)?.checked_sub(self.long(right)?)?),
            Sign::Times => Datum::Long(self.long(left)?.checked_mul(self.long(right)?)?),
            Sign::In => {
                let Datum::Entity(member) = self.value(left)? else { return None };
                let within = |group: &Datum| match group {
                    Datum::Entity(group) => Some(self.request.groups.belongs(&member, group)),
                    _ => None,
                };
                match self.value(right)? {
                    Datum::Set(groups) => {
                        let found: Option<Vec<bool>> = groups.iter().map(within).collect();
                        Datum::Bool(found?.contains(&true))
                    }
                    group => Datum::Bool(within(&group)?),
                }
            }
        })
    }

    fn has(&self, value: Datum, path: &[String]) -> Option<bool> {
        let Some((first, rest)) = path.split_first() else { return Some(true) };
        match value {
            Datum::Record(mut members) => match members.remove(first) {
                Some(inner) => self.has(inner, rest),
                None => Some(false),
            },
            Datum::Entity(_) => Some(false),
            _ => None,
        }
    }
}

fn method(value: Datum, name: &str, arguments: &[Datum]) -> Option<Datum> {
    Some(Datum::Bool(match (value, name, arguments) {
        (Datum::Set(set), "contains", [element]) => set.contains(element),
        (Datum::Set(set), "containsAll", [Datum::Set(other)]) => other.is_subset(&set),
        (Datum::Set(set), "containsAny", [Datum::Set(other)]) => !other.is_disjoint(&set),
        (Datum::Set(set), "isEmpty", []) => set.is_empty(),
        (Datum::Decimal(left), "lessThan", [Datum::Decimal(right)]) => left < *right,
        (Datum::Decimal(left), "lessThanOrEqual", [Datum::Decimal(right)]) => left <= *right,
        (Datum::Decimal(left), "greaterThan", [Datum::Decimal(right)]) => left > *right,
        (Datum::Decimal(left), "greaterThanOrEqual", [Datum::Decimal(right)]) => left >= *right,
        _ => return None,
    }))
}

/// Does a text fit a pattern? Where a star took too little, it takes one character more.
fn fits(pattern: &[Piece], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut place, mut from, mut star) = (0, 0, None);
    while from < text.len() {
        match pattern.get(place) {
            Some(Piece::Any) => {
                star = Some((place, from));
                place += 1;
            }
            Some(Piece::Character(character)) if *character == text[from] => {
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
    pattern[place..].iter().all(|piece| *piece == Piece::Any)
}

/// Refuses functions and methods that are not known here.
pub(super) fn check(expression: &Expression) -> Result<(), Refused> {
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
        Kind::Call(name, arguments) => {
            if name != "decimal" {
                return Err(refused(expression.at, MACRO, format!("no function and no macro is called `{name}`"))
                    .hint("give the file that defines it with `--macros`"));
            }
            arguments.iter().try_for_each(check)
        }
        Kind::Method(inner, name, arguments) => {
            if !METHODS.contains(&name.as_str()) {
                return Err(refused(
                    expression.at,
                    EXTENSION,
                    format!("`.{name}()` belongs to a part of Cedar that has no counterpart here"),
                ));
            }
            check(inner)?;
            arguments.iter().try_for_each(check)
        }
        Kind::Not(inner) | Kind::Minus(inner) | Kind::Has(inner, _) | Kind::Like(inner, _) | Kind::Is(inner, _) => {
            check(inner)
        }
        Kind::Attribute(inner, _) => check(inner),
        Kind::And(left, right) | Kind::Or(left, right) | Kind::Binary(_, left, right) => {
            check(left)?;
            check(right)
        }
        Kind::If(parts) => parts.iter().try_for_each(check),
        Kind::Set(list) => list.iter().try_for_each(check),
        Kind::Record(list) => list.iter().try_for_each(|(_, value)| check(value)),
        _ => Ok(()),
    }
}
