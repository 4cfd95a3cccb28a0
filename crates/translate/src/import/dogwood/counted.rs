//! Replaces the names of counted numbers by the numbers.
//!
//! `exists (n: Long). ((count …) == n && n > 5)` is a way to say `(count …) > 5`. We have no variables for numbers that
//! no event brings, so the number is put in the place of its name.

use super::refusal::{Location, MOVED, Refusal, refuse};
use super::syntax::{Binder, Condition, ConditionKind, Operator, Term, TermKind, Variable};

/// Returns the name of a variable.
pub(super) fn variable_name(variable: &Variable) -> &str {
    match variable {
        Variable::Name(name) | Variable::Parameter(name) | Variable::Fresh(name) => name,
    }
}

/// Whether a term counts or sums events.
pub(super) fn is_counted(term: &Term) -> bool {
    match &term.kind {
        TermKind::Aggregation(_) => true,
        TermKind::Computed(_, left, right) => is_counted(left) || is_counted(right),
        _ => false,
    }
}

/// Returns the number, if a part is `x == number` or `number == x` and the number is counted.
pub(super) fn find_counted_number(part: &Condition, variable: &str) -> Option<Term> {
    let ConditionKind::Comparison(Operator::Equal, left, right) = &part.kind else { return None };
    let is_it = |term: &Term| matches!(&term.kind, TermKind::Variable(found) if variable_name(found) == variable);
    if is_it(left) && is_counted(right) && !term_mentions_variable(right, variable) {
        return Some(right.clone());
    }
    (is_it(right) && is_counted(left) && !term_mentions_variable(left, variable)).then(|| left.clone())
}

/// Collects the parts of a conjunction, and the variables that are bound for them.
pub(super) fn flatten_condition(condition: &Condition, binders: &mut Vec<Binder>, list: &mut Vec<Condition>) {
    match &condition.kind {
        ConditionKind::And(parts) => parts.iter().for_each(|part| flatten_condition(part, binders, list)),
        ConditionKind::Exists(binder, body) => {
            binders.push(binder.clone());
            flatten_condition(body, binders, list);
        }
        _ => list.push(condition.clone()),
    }
}

/// Whether an event binds a variable.
pub(super) fn is_bound_by_event(condition: &Condition, variable: &str) -> bool {
    match &condition.kind {
        ConditionKind::And(list) => list.iter().any(|part| is_bound_by_event(part, variable)),
        ConditionKind::Formerly(_, inner) | ConditionKind::Previous(_, inner) | ConditionKind::Exists(_, inner) => {
            is_bound_by_event(inner, variable)
        }
        ConditionKind::Since(_, _, right) => is_bound_by_event(right, variable),
        ConditionKind::Predicate(_) | ConditionKind::Timepoint(_) => mentions_variable(condition, variable),
        _ => false,
    }
}

pub(super) fn mentions_variable(condition: &Condition, variable: &str) -> bool {
    let in_term = |term: &Term| term_mentions_variable(term, variable);
    match &condition.kind {
        ConditionKind::And(list) => list.iter().any(|part| mentions_variable(part, variable)),
        ConditionKind::Not(inner)
        | ConditionKind::Formerly(_, inner)
        | ConditionKind::Previous(_, inner)
        | ConditionKind::Exists(_, inner) => mentions_variable(inner, variable),
        ConditionKind::Since(left, _, right) => mentions_variable(left, variable) || mentions_variable(right, variable),
        ConditionKind::Timepoint(found) => variable_name(found) == variable,
        ConditionKind::Predicate(predicate) => predicate.fields.iter().any(|field| in_term(&field.value)),
        ConditionKind::Comparison(_, left, right) => in_term(left) || in_term(right),
        ConditionKind::Call(_) | ConditionKind::Parameter(..) => false,
    }
}

pub(super) fn term_mentions_variable(term: &Term, variable: &str) -> bool {
    match &term.kind {
        TermKind::Variable(found) => variable_name(found) == variable,
        TermKind::Computed(_, left, right) => {
            term_mentions_variable(left, variable) || term_mentions_variable(right, variable)
        }
        TermKind::Aggregation(gathered) => mentions_variable(&gathered.body, variable),
        _ => false,
    }
}

/// Replaces a name by its number. The number is one of now, so it cannot occur where a condition looks back.
pub(super) fn replace_variable(
    condition: &mut Condition,
    variable: &str,
    number: &Term,
    is_past: bool,
) -> Result<(), Refusal> {
    let (at, is_mentioned) = (condition.at, mentions_variable(condition, variable));
    match &mut condition.kind {
        _ if !is_mentioned => Ok(()),
        ConditionKind::And(list) => {
            list.iter_mut().try_for_each(|part| replace_variable(part, variable, number, is_past))
        }
        ConditionKind::Not(inner) | ConditionKind::Exists(_, inner) => {
            replace_variable(inner, variable, number, is_past)
        }
        ConditionKind::Formerly(_, inner) | ConditionKind::Previous(_, inner) => {
            replace_variable(inner, variable, number, true)
        }
        ConditionKind::Since(left, _, right) => {
            replace_variable(left, variable, number, true)?;
            replace_variable(right, variable, number, true)
        }
        ConditionKind::Comparison(_, left, right) => {
            replace_term(left, variable, number, is_past)?;
            replace_term(right, variable, number, is_past)
        }
        _ => Err(moved_number_refusal(at, variable)),
    }
}

fn replace_term(term: &mut Term, variable: &str, number: &Term, is_past: bool) -> Result<(), Refusal> {
    match &mut term.kind {
        TermKind::Variable(found) if variable_name(found) == variable => {
            if is_past {
                return Err(moved_number_refusal(term.at, variable));
            }
            *term = number.clone();
            Ok(())
        }
        TermKind::Computed(_, left, right) => {
            replace_term(left, variable, number, is_past)?;
            replace_term(right, variable, number, is_past)
        }
        TermKind::Aggregation(gathered) => replace_variable(&mut gathered.body, variable, number, is_past),
        _ => Ok(()),
    }
}

fn moved_number_refusal(at: Location, variable: &str) -> Refusal {
    refuse(at, MOVED, format!("`{variable}` is counted now, and compared here with another time or with an event"))
}
