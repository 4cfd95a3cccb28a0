//! Moves quantifiers: outwards, so that each binding has one state, or inwards, so that the facts of one position
//! decide.
//!
//! `forall` passes `&`, `G`, `H`, next and previous, the left side of until and since and the right side of release and
//! trigger in both directions; `exists` passes their duals. The domain is all values, so the result does not depend on
//! when a value is first seen.

use std::sync::Arc;

use crate::arena::{Arena, Node};
use crate::formula::{Binary, Formula, Quantifier, Unary};
use crate::measure::{Aggregate, Measure};
use crate::term::{Atom, Term};
use crate::value::Value;

impl Quantifier {
    fn dual(self) -> Quantifier {
        match self {
            Quantifier::Forall => Quantifier::Exists,
            Quantifier::Exists => Quantifier::Forall,
        }
    }
}

/// A formula with the variables of one kind of quantifier moved to its front.
#[derive(Debug)]
pub(crate) struct PrefixedFormula {
    pub(crate) variables: Vec<Arc<str>>,
    pub(crate) body: Formula,
}

/// Removes the `forall`s at the front of a formula, for which each binding has its own verdict.
pub(crate) fn peel_foralls(arena: &mut Arena, f: Formula, taken: &mut Vec<Arc<str>>) -> PrefixedFormula {
    match arena[f].clone() {
        Node::Quantified(Quantifier::Forall, variables, body) => {
            let (mut names, body) = rename_fresh(arena, &variables, body, taken);
            let inner = peel_foralls(arena, body, taken);
            names.extend(inner.variables);
            PrefixedFormula { variables: names, body: inner.body }
        }
        Node::Unary(operator, interval, g) if passes_unary(operator, Quantifier::Forall) => {
            let inner = peel_foralls(arena, g, taken);
            PrefixedFormula {
                variables: inner.variables,
                body: arena.insert(Node::Unary(operator, interval, inner.body)),
            }
        }
        _ => PrefixedFormula { variables: Vec::new(), body: f },
    }
}

fn rename_fresh(
    arena: &mut Arena,
    variables: &[Arc<str>],
    mut body: Formula,
    taken: &mut Vec<Arc<str>>,
) -> (Vec<Arc<str>>, Formula) {
    let mut names = Vec::new();
    for variable in variables {
        let fresh = fresh_name(variable, taken);
        body = rename_variable(arena, body, variable, &fresh);
        names.push(fresh);
    }
    (names, body)
}

/// Moves the quantifiers of one kind that one position cannot decide to the front, and gives every variable a fresh
/// name.
pub(crate) fn lift_quantifiers(
    arena: &mut Arena,
    f: Formula,
    kind: Quantifier,
    taken: &mut Vec<Arc<str>>,
) -> PrefixedFormula {
    let plain = |body: Formula| PrefixedFormula { variables: Vec::new(), body };
    match arena[f].clone() {
        Node::True | Node::False | Node::Fact(_) | Node::Compare(..) | Node::Measure(..) | Node::Iff(..) => plain(f),
        Node::Quantified(quantifier, variables, body)
            if quantifier == kind && is_wide(arena, kind, &variables, body) =>
        {
            let (mut names, body) = rename_fresh(arena, &variables, body, taken);
            let inner = lift_quantifiers(arena, body, kind, taken);
            names.extend(inner.variables);
            PrefixedFormula { variables: names, body: inner.body }
        }
        Node::Quantified(..) => plain(f),
        Node::Not(g) => {
            let inner = lift_quantifiers(arena, g, kind.dual(), taken);
            PrefixedFormula { variables: inner.variables, body: arena.not(inner.body) }
        }
        Node::And(list) => {
            let parts: Vec<PrefixedFormula> =
                list.iter().map(|part| lift_quantifiers(arena, *part, kind, taken)).collect();
            let (variables, parts) = join_prefixes(arena, parts, kind == Quantifier::Forall);
            PrefixedFormula { variables, body: arena.and(parts) }
        }
        Node::Or(list) => {
            let parts: Vec<PrefixedFormula> =
                list.iter().map(|part| lift_quantifiers(arena, *part, kind, taken)).collect();
            let (variables, parts) = join_prefixes(arena, parts, kind == Quantifier::Exists);
            PrefixedFormula { variables, body: arena.or(parts) }
        }
        Node::Implies(left, right) => {
            let parts =
                vec![lift_quantifiers(arena, left, kind.dual(), taken), lift_quantifiers(arena, right, kind, taken)];
            let (variables, parts) = join_prefixes(arena, parts, kind == Quantifier::Exists);
            PrefixedFormula { variables, body: arena.implies(parts[0], parts[1]) }
        }
        Node::Unary(operator, interval, g) => {
            if !passes_unary(operator, kind) {
                return plain(f);
            }
            let inner = lift_quantifiers(arena, g, kind, taken);
            PrefixedFormula {
                variables: inner.variables,
                body: arena.insert(Node::Unary(operator, interval, inner.body)),
            }
        }
        Node::Binary(operator, interval, left, right) => {
            let through_left = passes_left(operator, kind);
            let inner = lift_quantifiers(arena, if through_left { left } else { right }, kind, taken);
            let (left, right) = if through_left { (inner.body, right) } else { (left, inner.body) };
            PrefixedFormula {
                variables: inner.variables,
                body: arena.insert(Node::Binary(operator, interval, left, right)),
            }
        }
    }
}

/// Returns a name close to the wanted one that no other variable has.
fn fresh_name(wanted: &Arc<str>, taken: &mut Vec<Arc<str>>) -> Arc<str> {
    let mut name = wanted.clone();
    let mut number = 2;
    while taken.contains(&name) {
        name = format!("{wanted}_{number}").into();
        number += 1;
    }
    taken.push(name.clone());
    name
}

/// Whether a quantifier distributes over this operator.
fn passes_unary(operator: Unary, kind: Quantifier) -> bool {
    match operator {
        Unary::Next | Unary::WeakNext | Unary::Previous | Unary::WeakPrevious => true,
        Unary::Always | Unary::Historically => kind == Quantifier::Forall,
        Unary::Eventually | Unary::Once => kind == Quantifier::Exists,
    }
}

/// Whether a quantifier distributes over the left side of this operator; else it does over the right.
fn passes_left(operator: Binary, kind: Quantifier) -> bool {
    match operator {
        Binary::Until | Binary::WeakUntil | Binary::Since => kind == Quantifier::Forall,
        Binary::Release | Binary::StrongRelease | Binary::Trigger => kind == Quantifier::Exists,
    }
}

/// Joins the variables of several parts: shared if the quantifier distributes over the connective, else side by side.
fn join_prefixes(arena: &mut Arena, parts: Vec<PrefixedFormula>, shared: bool) -> (Vec<Arc<str>>, Vec<Formula>) {
    let mut variables: Vec<Arc<str>> = Vec::new();
    let mut bodies = Vec::with_capacity(parts.len());
    for part in parts {
        let mut body = part.body;
        for (index, variable) in part.variables.iter().enumerate() {
            match variables.get(index).filter(|_| shared).cloned() {
                Some(name) => body = rename_variable(arena, body, variable, &name),
                None => variables.push(variable.clone()),
            }
        }
        bodies.push(body);
    }
    (variables, bodies)
}

/// Moves the quantifiers of a formula inwards as far as possible.
pub(crate) fn narrow_quantifiers(arena: &mut Arena, f: Formula) -> Formula {
    match arena[f].clone() {
        Node::Quantified(quantifier, variables, body) => {
            let body = narrow_quantifiers(arena, body);
            // The innermost variable first.
            variables.iter().rev().fold(body, |body, variable| push_quantifier(arena, quantifier, variable, body))
        }
        _ => map_operands(arena, f, &mut |arena, operand| narrow_quantifiers(arena, operand)),
    }
}

/// Moves one quantifier into a formula.
pub(crate) fn push_quantifier(arena: &mut Arena, kind: Quantifier, variable: &Arc<str>, f: Formula) -> Formula {
    if !is_free(arena, f, variable) {
        return f;
    }
    let stuck = |arena: &mut Arena| arena.insert(Node::Quantified(kind, [variable.clone()].into(), f));
    if !is_temporal(arena, f) {
        // Parts without the variable stay outside, so that they keep a letter bit of their own.
        return match (kind, arena[f].clone()) {
            (Quantifier::Forall, Node::Or(list)) => {
                push_junction(arena, kind, variable, &list, false).unwrap_or_else(|| stuck(arena))
            }
            (Quantifier::Exists, Node::And(list)) => {
                push_junction(arena, kind, variable, &list, true).unwrap_or_else(|| stuck(arena))
            }
            _ => stuck(arena),
        };
    }
    match arena[f].clone() {
        Node::Not(g) => {
            let inner = push_quantifier(arena, kind.dual(), variable, g);
            arena.not(inner)
        }
        Node::Implies(left, right) => {
            let left = arena.not(left);
            let either = arena.or([left, right]);
            push_quantifier(arena, kind, variable, either)
        }
        Node::And(list) => push_junction(arena, kind, variable, &list, true).unwrap_or_else(|| stuck(arena)),
        Node::Or(list) => push_junction(arena, kind, variable, &list, false).unwrap_or_else(|| stuck(arena)),
        Node::Unary(operator, interval, g) if passes_unary(operator, kind) => {
            let inner = push_quantifier(arena, kind, variable, g);
            arena.insert(Node::Unary(operator, interval, inner))
        }
        Node::Binary(operator, interval, left, right) => {
            let through_left = passes_left(operator, kind);
            let (inside, outside) = if through_left { (left, right) } else { (right, left) };
            if is_free(arena, outside, variable) {
                return stuck(arena);
            }
            let inner = push_quantifier(arena, kind, variable, inside);
            let (left, right) = if through_left { (inner, right) } else { (left, inner) };
            arena.insert(Node::Binary(operator, interval, left, right))
        }
        _ => stuck(arena),
    }
}

/// Moves a quantifier over `&` or `|`: into every part if it distributes, else only into the part with the variable.
fn push_junction(
    arena: &mut Arena,
    kind: Quantifier,
    variable: &Arc<str>,
    list: &[Formula],
    conjunction: bool,
) -> Option<Formula> {
    let build = |arena: &mut Arena, parts: Vec<Formula>| if conjunction { arena.and(parts) } else { arena.or(parts) };
    if (kind == Quantifier::Forall) == conjunction {
        let parts = list.iter().map(|part| push_quantifier(arena, kind, variable, *part)).collect();
        return Some(build(arena, parts));
    }
    let (inside, mut outside): (Vec<Formula>, Vec<Formula>) =
        list.iter().partition(|part| is_free(arena, **part, variable));
    let (temporal, rigid): (Vec<Formula>, Vec<Formula>) = inside.iter().partition(|part| is_temporal(arena, **part));
    if temporal.is_empty() {
        let body = build(arena, rigid);
        outside.push(arena.insert(Node::Quantified(kind, [variable.clone()].into(), body)));
        return Some(build(arena, outside));
    }
    // A comparison does not depend on the position, so it may move under the operator of its variable.
    let [single] = temporal[..] else { return None };
    if !rigid.iter().all(|part| is_rigid(arena, *part)) {
        return None;
    }
    let inner = if rigid.is_empty() {
        push_quantifier(arena, kind, variable, single)
    } else {
        let passing = match arena[single].clone() {
            // Weak operators hold without a position, where the comparison would still matter.
            Node::Unary(operator @ (Unary::Eventually | Unary::Once | Unary::Next | Unary::Previous), interval, g)
                if kind == Quantifier::Exists =>
            {
                Some((operator, interval, g))
            }
            Node::Unary(
                operator @ (Unary::Always | Unary::Historically | Unary::WeakNext | Unary::WeakPrevious),
                interval,
                g,
            ) if kind == Quantifier::Forall => Some((operator, interval, g)),
            _ => None,
        };
        let (operator, interval, g) = passing?;
        let body = build(arena, rigid.into_iter().chain([g]).collect());
        let pushed = push_quantifier(arena, kind, variable, body);
        arena.insert(Node::Unary(operator, interval, pushed))
    };
    outside.push(inner);
    Some(build(arena, outside))
}

/// Returns the formula over other operands.
fn map_operands(arena: &mut Arena, f: Formula, map: &mut impl FnMut(&mut Arena, Formula) -> Formula) -> Formula {
    let node = arena[f].clone();
    match node.map(|operand| map(arena, operand)) {
        // The new operands may themselves be conjunctions or disjunctions.
        Node::And(list) => arena.and(list),
        Node::Or(list) => arena.or(list),
        node => arena.insert(node),
    }
}

/// Returns the formula with a free variable renamed; the new name must not be bound in it.
fn rename_variable(arena: &mut Arena, f: Formula, from: &Arc<str>, to: &Arc<str>) -> Formula {
    if from == to { f } else { replace_variable(arena, f, from, &Term::Var(to.clone())) }
}

impl Arena {
    /// Returns the formula with a free variable replaced by a value.
    pub fn substitute(&mut self, f: Formula, variable: &Arc<str>, value: &Value) -> Formula {
        replace_variable(self, f, variable, &Term::Value(value.clone()))
    }
}

impl Arena {
    /// Returns the formula for one value of a variable of the `forall` in front; the formula itself if none binds it.
    pub fn instantiate(&mut self, f: Formula, variable: &Arc<str>, value: &Value) -> Formula {
        match self[f].clone() {
            Node::Quantified(Quantifier::Forall, variables, body) if variables.contains(variable) => {
                let rest: Vec<Arc<str>> = variables.iter().filter(|other| *other != variable).cloned().collect();
                let body = self.substitute(body, variable, value);
                if rest.is_empty() {
                    body
                } else {
                    self.insert(Node::Quantified(Quantifier::Forall, rest.into(), body))
                }
            }
            Node::Quantified(Quantifier::Forall, variables, body) => {
                let body = self.instantiate(body, variable, value);
                self.insert(Node::Quantified(Quantifier::Forall, variables, body))
            }
            Node::Unary(operator, interval, g) if passes_unary(operator, Quantifier::Forall) => {
                let g = self.instantiate(g, variable, value);
                self.insert(Node::Unary(operator, interval, g))
            }
            _ => f,
        }
    }
}

impl Arena {
    /// Returns the invariant of a formula `G f` with `f` about the past and the present: `f`, and the variables of the
    /// `forall`s outside and right inside of the `G`. None for other shapes.
    pub fn invariant(&self, formula: Formula) -> Option<(Vec<Arc<str>>, Formula)> {
        let (mut variables, mut body, mut is_inside) = (Vec::new(), formula, false);
        loop {
            match &self[body] {
                Node::Quantified(Quantifier::Forall, names, inner) => {
                    variables.extend(names.iter().cloned());
                    body = *inner;
                }
                Node::Unary(Unary::Always, interval, inner) if interval.is_unbounded() && !is_inside => {
                    is_inside = true;
                    body = *inner;
                }
                _ => return (is_inside && !has_future(self, body)).then_some((variables, body)),
            }
        }
    }
}

fn replace_variable(arena: &mut Arena, f: Formula, from: &Arc<str>, to: &Term) -> Formula {
    if !is_free(arena, f, from) {
        return f;
    }
    let replaced = |term: &Term| match term {
        Term::Var(name) if name == from => to.clone(),
        other => other.clone(),
    };
    match arena[f].clone() {
        Node::Fact(atom) => {
            let terms: Box<[Term]> = atom.terms.iter().map(replaced).collect();
            arena.insert(Node::Fact(Atom { name: atom.name, terms }))
        }
        Node::Compare(comparison, left, right) => {
            arena.insert(Node::Compare(comparison, replaced(&left), replaced(&right)))
        }
        Node::Measure(comparison, left, right) => {
            let left = replace_in_measure(arena, &left, from, to);
            let right = replace_in_measure(arena, &right, from, to);
            arena.insert(Node::Measure(comparison, left, right))
        }
        _ => map_operands(arena, f, &mut |arena, operand| replace_variable(arena, operand, from, to)),
    }
}

fn replace_in_measure(arena: &mut Arena, measure: &Measure, from: &Arc<str>, to: &Term) -> Measure {
    match measure {
        Measure::Term(Term::Var(name)) if name == from => Measure::Term(to.clone()),
        Measure::Term(_) => measure.clone(),
        Measure::Computed(sign, left, right) => {
            let left = replace_in_measure(arena, left, from, to);
            Measure::Computed(*sign, Box::new(left), Box::new(replace_in_measure(arena, right, from, to)))
        }
        Measure::Aggregate(aggregate) if aggregate.variables.contains(from) => measure.clone(),
        Measure::Aggregate(aggregate) => {
            let body = replace_variable(arena, aggregate.body, from, to);
            Measure::Aggregate(Aggregate { body, ..aggregate.clone() })
        }
    }
}

/// Whether a variable occurs free.
pub(crate) fn is_free(arena: &Arena, f: Formula, variable: &Arc<str>) -> bool {
    let is_it = |term: &Term| matches!(term, Term::Var(name) if name == variable);
    match &arena[f] {
        Node::Fact(atom) => atom.terms.iter().any(is_it),
        Node::Compare(_, left, right) => is_it(left) || is_it(right),
        Node::Measure(_, left, right) => {
            is_free_in_measure(arena, left, variable) || is_free_in_measure(arena, right, variable)
        }
        Node::Quantified(_, variables, body) => !variables.contains(variable) && is_free(arena, *body, variable),
        node => node.operands().iter().any(|operand| is_free(arena, *operand, variable)),
    }
}

fn is_free_in_measure(arena: &Arena, measure: &Measure, variable: &Arc<str>) -> bool {
    match measure {
        Measure::Term(term) => matches!(term, Term::Var(name) if name == variable),
        Measure::Computed(_, left, right) => {
            is_free_in_measure(arena, left, variable) || is_free_in_measure(arena, right, variable)
        }
        Measure::Aggregate(aggregate) => {
            !aggregate.variables.contains(variable) && is_free(arena, aggregate.body, variable)
        }
    }
}

/// Whether a formula counts or computes.
pub(crate) fn has_measure(arena: &Arena, f: Formula) -> bool {
    match &arena[f] {
        Node::Measure(..) => true,
        node => node.operands().iter().any(|operand| has_measure(arena, *operand)),
    }
}

/// Whether a formula looks beyond one position.
pub(crate) fn is_temporal(arena: &Arena, f: Formula) -> bool {
    match &arena[f] {
        Node::Unary(..) | Node::Binary(..) | Node::Measure(..) => true,
        node => node.operands().iter().any(|operand| is_temporal(arena, *operand)),
    }
}

/// Whether a formula is independent of the position: built from comparisons alone.
fn is_rigid(arena: &Arena, f: Formula) -> bool {
    match &arena[f] {
        Node::Fact(_) | Node::Unary(..) | Node::Binary(..) | Node::Measure(..) => false,
        node => node.operands().iter().all(|operand| is_rigid(arena, *operand)),
    }
}

/// Whether a formula looks ahead.
pub(crate) fn has_future(arena: &Arena, f: Formula) -> bool {
    match &arena[f] {
        Node::Unary(Unary::Next | Unary::WeakNext | Unary::Eventually | Unary::Always, ..) => true,
        Node::Binary(Binary::Until | Binary::WeakUntil | Binary::Release | Binary::StrongRelease, ..) => true,
        node => node.operands().iter().any(|operand| has_future(arena, *operand)),
    }
}

/// Whether the facts of one position cannot decide a quantifier.
pub(crate) fn is_wide(arena: &Arena, kind: Quantifier, variables: &[Arc<str>], body: Formula) -> bool {
    let wanted = kind == Quantifier::Exists;
    is_temporal(arena, body)
        || !variables.iter().all(|variable| is_guarded(arena, body, variable, wanted))
        || has_wide_inside(arena, body)
}

fn has_wide_inside(arena: &Arena, f: Formula) -> bool {
    match &arena[f] {
        Node::Quantified(kind, variables, body) => is_wide(arena, *kind, variables, *body),
        node => node.operands().iter().any(|operand| has_wide_inside(arena, *operand)),
    }
}

/// Whether the formula (or, for `wanted` false, its negation) holds only for values of the variable that occur in a
/// fact.
pub(crate) fn is_guarded(arena: &Arena, f: Formula, variable: &Arc<str>, wanted: bool) -> bool {
    match &arena[f] {
        Node::True => !wanted,
        Node::False => wanted,
        Node::Fact(atom) => wanted && atom.terms.iter().any(|term| matches!(term, Term::Var(name) if name == variable)),
        Node::Not(g) => is_guarded(arena, *g, variable, !wanted),
        Node::And(list) if wanted => list.iter().any(|part| is_guarded(arena, *part, variable, wanted)),
        Node::And(list) => list.iter().all(|part| is_guarded(arena, *part, variable, wanted)),
        Node::Or(list) if wanted => list.iter().all(|part| is_guarded(arena, *part, variable, wanted)),
        Node::Or(list) => list.iter().any(|part| is_guarded(arena, *part, variable, wanted)),
        Node::Implies(left, right) => {
            let (left, right) =
                (is_guarded(arena, *left, variable, !wanted), is_guarded(arena, *right, variable, wanted));
            if wanted { left && right } else { left || right }
        }
        Node::Quantified(quantifier, variables, body) => {
            // A universal inner quantifier includes fresh values, which guard nothing.
            (*quantifier == Quantifier::Exists) == wanted
                && !variables.contains(variable)
                && is_guarded(arena, *body, variable, wanted)
        }
        Node::Compare(..) | Node::Measure(..) | Node::Iff(..) | Node::Unary(..) | Node::Binary(..) => false,
    }
}
