//! Statements taken apart: what one request decides, and what the history does.

use super::cedar;
use super::refusal::{LOGIC, Refused, refused};
use super::syntax::{Condition, Effect, Expression, Kind, Statement};

/// How many conditions on the history may stand in one expression of Cedar.
const MOST_MIXED: usize = 5;

/// A statement; it applies if all of its parts hold.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) statement: Statement,
    /// The fact that says that the plain parts hold: `permit.1`.
    pub(super) fact: String,
    /// What one request decides.
    pub(super) plain: Vec<Expression>,
    /// What the history decides, and whether it must hold or must not.
    pub(super) leaves: Vec<(bool, Condition)>,
    pub(super) mixed: Vec<Mixed>,
}

/// An expression that asks for the history in some of its parts. What it comes to for each way in which those can turn
/// out is a fact of the request.
#[derive(Debug)]
pub(super) struct Mixed {
    /// Its name: `permit.1.if.1`, with a value for each condition.
    pub(super) fact: String,
    pub(super) expression: Expression,
    pub(super) leaves: Vec<Condition>,
}

/// Takes statements apart, whose macros are written out.
pub(super) fn prepare(statements: Vec<Statement>) -> Result<Vec<Prepared>, Refused> {
    let (mut permits, mut forbids) = (0, 0);
    let prepared = statements.into_iter().map(|statement| {
        let (word, count) = match statement.effect {
            Effect::Permit => ("permit", &mut permits),
            Effect::Forbid => ("forbid", &mut forbids),
        };
        *count += 1;
        let fact = format!("{word}.{count}");
        let mut prepared =
            Prepared { fact, plain: Vec::new(), leaves: Vec::new(), mixed: Vec::new(), statement: statement.clone() };
        for condition in statement.conditions {
            prepared.part(condition, true)?;
        }
        Ok(prepared)
    });
    prepared.collect()
}

impl Prepared {
    /// Adds a part that must hold, or must not. Either way it must be possible to compute it, so that the order of the
    /// parts makes no difference.
    fn part(&mut self, expression: Expression, positive: bool) -> Result<(), Refused> {
        match (expression.kind, positive) {
            (Kind::Not(inner), _) => self.part(*inner, !positive),
            (Kind::And(left, right), true) | (Kind::Or(left, right), false) => {
                self.part(*left, positive)?;
                self.part(*right, positive)
            }
            (Kind::Temporal(condition), _) => {
                self.leaves.push((positive, *condition));
                Ok(())
            }
            (kind, _) => {
                let at = expression.at;
                let expression = Expression { at, kind };
                let mut expression =
                    if positive { expression } else { Expression { at, kind: Kind::Not(Box::new(expression)) } };
                cedar::check(&expression)?;
                let mut leaves = Vec::new();
                number(&mut expression, &mut leaves);
                if leaves.is_empty() {
                    self.plain.push(expression);
                    return Ok(());
                }
                if leaves.len() > MOST_MIXED {
                    return Err(refused(
                        at,
                        LOGIC,
                        format!("more than {MOST_MIXED} conditions on the history in one expression"),
                    )
                    .hint("split it into several statements"));
                }
                let fact = format!("{}.if.{}", self.fact, self.mixed.len() + 1);
                self.mixed.push(Mixed { fact, expression, leaves });
                Ok(())
            }
        }
    }
}

/// Takes the conditions on the history out of an expression and leaves their numbers there.
fn number(expression: &mut Expression, leaves: &mut Vec<Condition>) {
    match &mut expression.kind {
        Kind::Temporal(_) => {
            let found = std::mem::replace(&mut expression.kind, Kind::Leaf(leaves.len()));
            if let Kind::Temporal(condition) = found {
                leaves.push(*condition);
            }
        }
        Kind::Not(inner) | Kind::Minus(inner) | Kind::Has(inner, _) | Kind::Like(inner, _) | Kind::Is(inner, _) => {
            number(inner, leaves);
        }
        Kind::Attribute(inner, _) => number(inner, leaves),
        Kind::And(left, right) | Kind::Or(left, right) | Kind::Binary(_, left, right) => {
            number(left, leaves);
            number(right, leaves);
        }
        Kind::If(parts) => parts.iter_mut().for_each(|part| number(part, leaves)),
        Kind::Set(list) | Kind::Call(_, list) => list.iter_mut().for_each(|part| number(part, leaves)),
        Kind::Method(inner, _, list) => {
            number(inner, leaves);
            list.iter_mut().for_each(|part| number(part, leaves));
        }
        Kind::Record(list) => list.iter_mut().for_each(|(_, part)| number(part, leaves)),
        _ => {}
    }
}

/// Every way in which so many conditions can turn out.
pub(super) fn ways(count: usize) -> impl Iterator<Item = Vec<bool>> {
    (0..1_usize << count).map(move |way| (0..count).map(|place| way & (1 << place) != 0).collect())
}
