//! Numbers that are counted, and the names that comparisons give them.
//!
//! `exists (n: Long). ((count …) == n && n > 5)` is a way to say `(count …) > 5`. We have no variables for numbers that
//! no event brings, so the number is put in the place of its name.

use super::refusal::{At, MOVED, Refused, refused};
use super::syntax::{Binder, Condition, Past, Sign, Term, TermKind, Variable};

/// The name of a variable.
pub(super) fn name(variable: &Variable) -> &str {
    match variable {
        Variable::Name(name) | Variable::Parameter(name) | Variable::Fresh(name) => name,
    }
}

/// Does a term count or add up what happened?
pub(super) fn counts(term: &Term) -> bool {
    match &term.kind {
        TermKind::Gathered(_) => true,
        TermKind::Computed(_, left, right) => counts(left) || counts(right),
        _ => false,
    }
}

/// The number, if a part is `x == number` or `number == x` and the number is counted.
pub(super) fn counted(part: &Condition, variable: &str) -> Option<Term> {
    let Past::Comparison(Sign::Equal, left, right) = &part.kind else { return None };
    let is_it = |term: &Term| matches!(&term.kind, TermKind::Variable(found) if name(found) == variable);
    if is_it(left) && counts(right) && !term_mentions(right, variable) {
        return Some(right.clone());
    }
    (is_it(right) && counts(left) && !term_mentions(left, variable)).then(|| left.clone())
}

/// The parts of a condition that hold together, and the variables that are chosen for them.
pub(super) fn flatten(condition: &Condition, binders: &mut Vec<Binder>, list: &mut Vec<Condition>) {
    match &condition.kind {
        Past::And(parts) => parts.iter().for_each(|part| flatten(part, binders, list)),
        Past::Exists(binder, body) => {
            binders.push(binder.clone());
            flatten(body, binders, list);
        }
        _ => list.push(condition.clone()),
    }
}

/// Does an event give a variable its value?
pub(super) fn is_given(condition: &Condition, variable: &str) -> bool {
    match &condition.kind {
        Past::And(list) => list.iter().any(|part| is_given(part, variable)),
        Past::Formerly(_, inner) | Past::Previous(_, inner) | Past::Exists(_, inner) => is_given(inner, variable),
        Past::Since(_, _, right) => is_given(right, variable),
        Past::Predicate(_) | Past::Timepoint(_) => mentions(condition, variable),
        _ => false,
    }
}

pub(super) fn mentions(condition: &Condition, variable: &str) -> bool {
    let in_term = |term: &Term| term_mentions(term, variable);
    match &condition.kind {
        Past::And(list) => list.iter().any(|part| mentions(part, variable)),
        Past::Not(inner) | Past::Formerly(_, inner) | Past::Previous(_, inner) | Past::Exists(_, inner) => {
            mentions(inner, variable)
        }
        Past::Since(left, _, right) => mentions(left, variable) || mentions(right, variable),
        Past::Timepoint(found) => name(found) == variable,
        Past::Predicate(predicate) => predicate.fields.iter().any(|field| in_term(&field.value)),
        Past::Comparison(_, left, right) => in_term(left) || in_term(right),
        Past::Call(_) | Past::Parameter(..) => false,
    }
}

pub(super) fn term_mentions(term: &Term, variable: &str) -> bool {
    match &term.kind {
        TermKind::Variable(found) => name(found) == variable,
        TermKind::Computed(_, left, right) => term_mentions(left, variable) || term_mentions(right, variable),
        TermKind::Gathered(gathered) => mentions(&gathered.body, variable),
        _ => false,
    }
}

/// Puts a number in the place of its name. The number is one of now, so it cannot stand where a condition looks back.
pub(super) fn replace(condition: &mut Condition, variable: &str, number: &Term, is_past: bool) -> Result<(), Refused> {
    let (at, is_mentioned) = (condition.at, mentions(condition, variable));
    match &mut condition.kind {
        _ if !is_mentioned => Ok(()),
        Past::And(list) => list.iter_mut().try_for_each(|part| replace(part, variable, number, is_past)),
        Past::Not(inner) | Past::Exists(_, inner) => replace(inner, variable, number, is_past),
        Past::Formerly(_, inner) | Past::Previous(_, inner) => replace(inner, variable, number, true),
        Past::Since(left, _, right) => {
            replace(left, variable, number, true)?;
            replace(right, variable, number, true)
        }
        Past::Comparison(_, left, right) => {
            replace_term(left, variable, number, is_past)?;
            replace_term(right, variable, number, is_past)
        }
        _ => Err(moved(at, variable)),
    }
}

fn replace_term(term: &mut Term, variable: &str, number: &Term, is_past: bool) -> Result<(), Refused> {
    match &mut term.kind {
        TermKind::Variable(found) if name(found) == variable => {
            if is_past {
                return Err(moved(term.at, variable));
            }
            *term = number.clone();
            Ok(())
        }
        TermKind::Computed(_, left, right) => {
            replace_term(left, variable, number, is_past)?;
            replace_term(right, variable, number, is_past)
        }
        TermKind::Gathered(gathered) => replace(&mut gathered.body, variable, number, is_past),
        _ => Ok(()),
    }
}

fn moved(at: At, variable: &str) -> Refused {
    refused(at, MOVED, format!("`{variable}` is counted now, and compared here with another time or with an event"))
}
