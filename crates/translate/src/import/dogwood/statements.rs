//! Splits statements into conditions on the request and conditions on the history.

use super::cedar;
use super::refusal::{LOGIC, Refusal, refuse};
use super::syntax::{Condition, Effect, Expression, ExpressionKind, Statement};

/// How many conditions on the history one expression of Cedar may have.
const MAX_MIXED_CONDITIONS: usize = 5;

/// A statement; it applies if all of its parts hold.
#[derive(Debug)]
pub(super) struct PreparedStatement {
    pub(super) statement: Statement,
    /// The fact that says that the plain parts hold: `permit.1`.
    pub(super) fact: String,
    /// The conditions on the request alone.
    pub(super) plain: Vec<Expression>,
    /// The conditions on the history, and whether each must hold or must not.
    pub(super) leaves: Vec<(bool, Condition)>,
    pub(super) mixed: Vec<MixedCondition>,
}

/// An expression with conditions on the history in some of its parts. Its value for each assignment of those is a fact
/// of the request.
#[derive(Debug)]
pub(super) struct MixedCondition {
    /// Its name: `permit.1.if.1`, with a value for each condition.
    pub(super) fact: String,
    pub(super) expression: Expression,
    pub(super) leaves: Vec<Condition>,
}

/// Splits statements whose macros are expanded.
pub(super) fn prepare(statements: Vec<Statement>) -> Result<Vec<PreparedStatement>, Refusal> {
    let (mut permits, mut forbids) = (0, 0);
    let prepared = statements.into_iter().map(|statement| {
        let (word, count) = match statement.effect {
            Effect::Permit => ("permit", &mut permits),
            Effect::Forbid => ("forbid", &mut forbids),
        };
        *count += 1;
        let fact = format!("{word}.{count}");
        let mut prepared = PreparedStatement {
            fact,
            plain: Vec::new(),
            leaves: Vec::new(),
            mixed: Vec::new(),
            statement: statement.clone(),
        };
        for condition in statement.conditions {
            prepared.add_part(condition, true)?;
        }
        Ok(prepared)
    });
    prepared.collect()
}

impl PreparedStatement {
    /// Adds a part that must hold, or must not. Either way it must be possible to compute it, so that the order of the
    /// parts makes no difference.
    fn add_part(&mut self, expression: Expression, positive: bool) -> Result<(), Refusal> {
        match (expression.kind, positive) {
            (ExpressionKind::Not(inner), _) => self.add_part(*inner, !positive),
            (ExpressionKind::And(left, right), true) | (ExpressionKind::Or(left, right), false) => {
                self.add_part(*left, positive)?;
                self.add_part(*right, positive)
            }
            (ExpressionKind::Temporal(condition), _) => {
                self.leaves.push((positive, *condition));
                Ok(())
            }
            (kind, _) => {
                let at = expression.at;
                let expression = Expression { at, kind };
                let mut expression = if positive {
                    expression
                } else {
                    Expression { at, kind: ExpressionKind::Not(Box::new(expression)) }
                };
                cedar::check_expression(&expression)?;
                let mut leaves = Vec::new();
                number_conditions(&mut expression, &mut leaves);
                if leaves.is_empty() {
                    self.plain.push(expression);
                    return Ok(());
                }
                if leaves.len() > MAX_MIXED_CONDITIONS {
                    return Err(refuse(
                        at,
                        LOGIC,
                        format!(
                            "the expression has {} conditions on the history, more than {MAX_MIXED_CONDITIONS}",
                            leaves.len()
                        ),
                    )
                    .with_hint("split it into several statements"));
                }
                let fact = format!("{}.if.{}", self.fact, self.mixed.len() + 1);
                self.mixed.push(MixedCondition { fact, expression, leaves });
                Ok(())
            }
        }
    }
}

/// Takes the conditions on the history out of an expression and leaves their numbers.
fn number_conditions(expression: &mut Expression, leaves: &mut Vec<Condition>) {
    match &mut expression.kind {
        ExpressionKind::Temporal(_) => {
            let found = std::mem::replace(&mut expression.kind, ExpressionKind::Leaf(leaves.len()));
            if let ExpressionKind::Temporal(condition) = found {
                leaves.push(*condition);
            }
        }
        ExpressionKind::Not(inner)
        | ExpressionKind::Minus(inner)
        | ExpressionKind::Has(inner, _)
        | ExpressionKind::Like(inner, _)
        | ExpressionKind::Is(inner, _) => {
            number_conditions(inner, leaves);
        }
        ExpressionKind::Attribute(inner, _) => number_conditions(inner, leaves),
        ExpressionKind::And(left, right) | ExpressionKind::Or(left, right) | ExpressionKind::Binary(_, left, right) => {
            number_conditions(left, leaves);
            number_conditions(right, leaves);
        }
        ExpressionKind::If(parts) => parts.iter_mut().for_each(|part| number_conditions(part, leaves)),
        ExpressionKind::Set(list) | ExpressionKind::Call(_, list) => {
            list.iter_mut().for_each(|part| number_conditions(part, leaves))
        }
        ExpressionKind::Method(inner, _, list) => {
            number_conditions(inner, leaves);
            list.iter_mut().for_each(|part| number_conditions(part, leaves));
        }
        ExpressionKind::Record(list) => list.iter_mut().for_each(|(_, part)| number_conditions(part, leaves)),
        _ => {}
    }
}

/// Returns every assignment of truth values to so many conditions.
pub(super) fn assignments(count: usize) -> impl Iterator<Item = Vec<bool>> {
    (0..1_usize << count).map(move |way| (0..count).map(|place| way & (1 << place) != 0).collect())
}
