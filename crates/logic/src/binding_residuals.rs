//! The residual of a quantified formula: a part for each binding with a state of its own, and one for all others.
//!
//! The part for all others ranges over every value. It names the values that have another duty, unless they have that
//! one as well.

use crate::arena::{Arena, Node};
use crate::bindings::Bindings;
use crate::cache::Cache;
use crate::comparison::Comparison;
use crate::compile::CompiledFormula;
use crate::formula::Formula;
use crate::interval::Time;
use crate::monitor::Monitor;
use crate::scope::is_free;
use crate::sentence::{quantify_open, residual_body, write_note};
use crate::state::Point;
use crate::term::Term;
use crate::value::Value;

/// How many bindings are written; a note stands for the rest.
const MAX_SHOWN_BINDINGS: usize = 5;

/// What must still hold for a binding; variables without a value are free in it.
struct BindingResidual {
    valuation: usize,
    binding: Vec<Option<Value>>,
    body: Formula,
}

/// Returns what must still hold for all bindings together.
pub(crate) fn write_binding_residuals(
    monitor: &Monitor,
    cache: &mut Cache,
    arena: &mut Arena,
    bindings: &Bindings,
    now: Time,
) -> Formula {
    let compiled = &monitor.compiled;
    let (mut named, mut others): (Vec<_>, Vec<_>) = bindings
        .binding_states()
        .filter(|(valuation, binding, _)| binding.is_some() || bindings.is_realised(*valuation))
        .partition(|(_, binding, _)| binding.is_some());
    named.sort_by_key(|(valuation, binding, _)| (*valuation, binding.map(<[_]>::to_vec)));
    others.sort_by_key(|(valuation, _, _)| *valuation);
    let hidden = named.len().saturating_sub(MAX_SHOWN_BINDINGS);
    named.truncate(MAX_SHOWN_BINDINGS);
    let mut write = |(valuation, binding, point): (usize, Option<&[Option<Value>]>, &Point)| {
        let binding = binding.map_or_else(|| vec![None; compiled.prefix.len()], <[_]>::to_vec);
        let body = residual_body(compiled, cache, arena, point, &binding, now);
        BindingResidual { valuation, binding, body }
    };
    let residuals: Vec<BindingResidual> = named.into_iter().chain(others).map(&mut write).collect();
    let unit = arena.truth(!compiled.negated);
    let mut parts = Vec::with_capacity(residuals.len());
    for residual in residuals.iter().filter(|residual| residual.body != unit) {
        parts.push(write_residual(compiled, arena, residual, &residuals));
    }
    if hidden > 0 {
        parts.push(write_note(arena, &format!("and {hidden} more bindings")));
    }
    if compiled.negated { arena.or(parts) } else { arena.and(parts) }
}

/// Returns a part with a quantifier for its open variables, without the values that have another duty.
fn write_residual(
    compiled: &CompiledFormula,
    arena: &mut Arena,
    residual: &BindingResidual,
    all: &[BindingResidual],
) -> Formula {
    let is_open = |arena: &Arena, f: Formula| {
        let mut variables = compiled.prefix.iter().zip(&residual.binding);
        variables.any(|(variable, value)| value.is_none() && is_free(arena, f, variable))
    };
    if !is_open(arena, residual.body) {
        return residual.body;
    }
    let mut guards = Vec::new();
    if !compiled.rigid.is_trivial() {
        for ((comparison, left, right), truth) in compiled.rigid.answers(residual.valuation) {
            let compared = match (comparison, truth) {
                (_, true) => arena.insert(Node::Compare(comparison, left, right)),
                (Comparison::Equal, false) => arena.insert(Node::Compare(Comparison::Unequal, left, right)),
                (Comparison::Unequal, false) => arena.insert(Node::Compare(Comparison::Equal, left, right)),
                (_, false) => {
                    let compared = arena.insert(Node::Compare(comparison, left, right));
                    arena.not(compared)
                }
            };
            let compared = substitute(compiled, arena, compared, &residual.binding);
            if is_open(arena, compared) {
                guards.push(compared);
            }
        }
    }
    for special in all.iter().filter(|special| is_special(special, residual)) {
        let same_duty = substitute(compiled, arena, residual.body, &special.binding);
        let (stronger, weaker) = if compiled.negated { (same_duty, special.body) } else { (special.body, same_duty) };
        if !plainly_implies(arena, stronger, weaker) {
            let values = compiled.prefix.iter().zip(residual.binding.iter().zip(&special.binding));
            let mut differences = Vec::new();
            for (variable, (general, value)) in values {
                if let (None, Some(value)) = (general, value) {
                    let (left, right) = (Term::Var(variable.clone()), Term::Value(value.clone()));
                    differences.push(arena.insert(Node::Compare(Comparison::Unequal, left, right)));
                }
            }
            guards.push(arena.or(differences));
        }
    }
    let body = match (guards.is_empty(), compiled.negated) {
        (true, _) => residual.body,
        (false, true) => arena.and(guards.into_iter().chain([residual.body])),
        (false, false) => {
            let guard = arena.and(guards);
            arena.implies(guard, residual.body)
        }
    };
    quantify_open(compiled, arena, &residual.binding, body)
}

/// Whether a binding is one of those that a part ranges over, with a state of its own.
fn is_special(special: &BindingResidual, general: &BindingResidual) -> bool {
    let pairs = || special.binding.iter().zip(&general.binding);
    special.valuation == general.valuation
        && special.binding != general.binding
        && pairs().all(|(special, general)| general.is_none() || special == general)
}

/// Returns a formula with variables replaced by their values.
fn substitute(compiled: &CompiledFormula, arena: &mut Arena, f: Formula, binding: &[Option<Value>]) -> Formula {
    compiled.prefix.iter().zip(binding).fold(f, |f, (variable, value)| match value {
        Some(value) => arena.substitute(f, variable, value),
        None => f,
    })
}

/// Whether one formula implies another by its parts alone.
fn plainly_implies(arena: &Arena, stronger: Formula, weaker: Formula) -> bool {
    let conjuncts = |f: Formula| match &arena[f] {
        Node::True => Vec::new(),
        Node::And(list) => list.to_vec(),
        _ => vec![f],
    };
    let disjuncts = |f: Formula| match &arena[f] {
        Node::False => Vec::new(),
        Node::Or(list) => list.to_vec(),
        _ => vec![f],
    };
    let (has, asked) = (conjuncts(stronger), conjuncts(weaker));
    let (from, to) = (disjuncts(stronger), disjuncts(weaker));
    asked.iter().all(|part| has.contains(part)) || from.iter().all(|part| to.contains(part))
}
