//! Moving quantifiers: outwards, where one binding of values gets one state, and inwards, where the facts of a single
//! position decide.
//!
//! `forall` passes `&`, `G`, `H`, next and previous, the left side of until and since and the right side of release and
//! trigger in both directions; `exists` passes their duals. The domain is every value there is, so nothing depends on
//! when a value is first seen.

use std::sync::Arc;

use crate::formula::{Arena, Binary, Formula, Node, Quantifier, Unary};
use crate::measure::{Aggregate, Measure};
use crate::term::{Atom, Term, Value};

impl Quantifier {
    fn dual(self) -> Quantifier {
        match self {
            Quantifier::Forall => Quantifier::Exists,
            Quantifier::Exists => Quantifier::Forall,
        }
    }
}

/// A formula with the quantifiers of one kind that could be moved to its front.
#[derive(Debug)]
pub(crate) struct Prefixed {
    pub(crate) variables: Vec<Arc<str>>,
    pub(crate) body: Formula,
}

/// Takes the `forall`s off the front of a formula, where each binding is to have a verdict of its own.
pub(crate) fn peel(arena: &mut Arena, f: Formula, taken: &mut Vec<Arc<str>>) -> Prefixed {
    match arena[f].clone() {
        Node::Quantified(Quantifier::Forall, variables, body) => {
            let (mut names, body) = freshly_named(arena, &variables, body, taken);
            let inner = peel(arena, body, taken);
            names.extend(inner.variables);
            Prefixed { variables: names, body: inner.body }
        }
        Node::Unary(operator, interval, g) if passes_unary(operator, Quantifier::Forall) => {
            let inner = peel(arena, g, taken);
            Prefixed { variables: inner.variables, body: arena.insert(Node::Unary(operator, interval, inner.body)) }
        }
        _ => Prefixed { variables: Vec::new(), body: f },
    }
}

fn freshly_named(
    arena: &mut Arena,
    variables: &[Arc<str>],
    mut body: Formula,
    taken: &mut Vec<Arc<str>>,
) -> (Vec<Arc<str>>, Formula) {
    let mut names = Vec::new();
    for variable in variables {
        let fresh = fresh_name(variable, taken);
        body = rename(arena, body, variable, &fresh);
        names.push(fresh);
    }
    (names, body)
}

/// Moves the quantifiers of one kind that one position cannot decide to the front, giving every variable a name that is
/// not taken.
pub(crate) fn lift(arena: &mut Arena, f: Formula, kind: Quantifier, taken: &mut Vec<Arc<str>>) -> Prefixed {
    let plain = |body: Formula| Prefixed { variables: Vec::new(), body };
    match arena[f].clone() {
        Node::True | Node::False | Node::Fact(_) | Node::Compare(..) | Node::Measure(..) | Node::Iff(..) => plain(f),
        Node::Quantified(quantifier, variables, body)
            if quantifier == kind && is_wide(arena, kind, &variables, body) =>
        {
            let (mut names, body) = freshly_named(arena, &variables, body, taken);
            let inner = lift(arena, body, kind, taken);
            names.extend(inner.variables);
            Prefixed { variables: names, body: inner.body }
        }
        Node::Quantified(..) => plain(f),
        Node::Not(g) => {
            let inner = lift(arena, g, kind.dual(), taken);
            Prefixed { variables: inner.variables, body: arena.not(inner.body) }
        }
        Node::And(list) => {
            let parts: Vec<Prefixed> = list.iter().map(|part| lift(arena, *part, kind, taken)).collect();
            let (variables, parts) = join(arena, parts, kind == Quantifier::Forall);
            Prefixed { variables, body: arena.and(parts) }
        }
        Node::Or(list) => {
            let parts: Vec<Prefixed> = list.iter().map(|part| lift(arena, *part, kind, taken)).collect();
            let (variables, parts) = join(arena, parts, kind == Quantifier::Exists);
            Prefixed { variables, body: arena.or(parts) }
        }
        Node::Implies(left, right) => {
            let parts = vec![lift(arena, left, kind.dual(), taken), lift(arena, right, kind, taken)];
            let (variables, parts) = join(arena, parts, kind == Quantifier::Exists);
            Prefixed { variables, body: arena.implies(parts[0], parts[1]) }
        }
        Node::Unary(operator, interval, g) => {
            if !passes_unary(operator, kind) {
                return plain(f);
            }
            let inner = lift(arena, g, kind, taken);
            Prefixed { variables: inner.variables, body: arena.insert(Node::Unary(operator, interval, inner.body)) }
        }
        Node::Binary(operator, interval, left, right) => {
            let through_left = passes_left(operator, kind);
            let inner = lift(arena, if through_left { left } else { right }, kind, taken);
            let (left, right) = if through_left { (inner.body, right) } else { (left, inner.body) };
            Prefixed { variables: inner.variables, body: arena.insert(Node::Binary(operator, interval, left, right)) }
        }
    }
}

/// A name close to the wanted one that no other variable has.
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

/// Does a quantifier pass this operator?
fn passes_unary(operator: Unary, kind: Quantifier) -> bool {
    match operator {
        Unary::Next | Unary::WeakNext | Unary::Previous | Unary::WeakPrevious => true,
        Unary::Always | Unary::Historically => kind == Quantifier::Forall,
        Unary::Eventually | Unary::Once => kind == Quantifier::Exists,
    }
}

/// Each kind passes one side of each binary operator: is it the left one?
fn passes_left(operator: Binary, kind: Quantifier) -> bool {
    match operator {
        Binary::Until | Binary::WeakUntil | Binary::Since => kind == Quantifier::Forall,
        Binary::Release | Binary::StrongRelease | Binary::Trigger => kind == Quantifier::Exists,
    }
}

/// The variables of several parts: shared, where the quantifier distributes over the connective, else side by side.
fn join(arena: &mut Arena, parts: Vec<Prefixed>, shared: bool) -> (Vec<Arc<str>>, Vec<Formula>) {
    let mut variables: Vec<Arc<str>> = Vec::new();
    let mut bodies = Vec::with_capacity(parts.len());
    for part in parts {
        let mut body = part.body;
        for (index, variable) in part.variables.iter().enumerate() {
            match variables.get(index).filter(|_| shared).cloned() {
                Some(name) => body = rename(arena, body, variable, &name),
                None => variables.push(variable.clone()),
            }
        }
        bodies.push(body);
    }
    (variables, bodies)
}

/// Moves the quantifiers inside a formula inwards, as far as they go.
pub(crate) fn narrow(arena: &mut Arena, f: Formula) -> Formula {
    match arena[f].clone() {
        Node::Quantified(quantifier, variables, body) => {
            let body = narrow(arena, body);
            // The innermost variable first.
            variables.iter().rev().fold(body, |body, variable| push(arena, quantifier, variable, body))
        }
        _ => map_operands(arena, f, &mut |arena, operand| narrow(arena, operand)),
    }
}

/// Moves one quantifier into a formula.
pub(crate) fn push(arena: &mut Arena, kind: Quantifier, variable: &Arc<str>, f: Formula) -> Formula {
    if !is_free(arena, f, variable) {
        return f;
    }
    let stuck = |arena: &mut Arena| arena.insert(Node::Quantified(kind, [variable.clone()].into(), f));
    if !is_temporal(arena, f) {
        // What does not have the variable stays outside, so that it keeps a letter bit of its own.
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
            let inner = push(arena, kind.dual(), variable, g);
            arena.not(inner)
        }
        Node::Implies(left, right) => {
            let left = arena.not(left);
            let either = arena.or([left, right]);
            push(arena, kind, variable, either)
        }
        Node::And(list) => push_junction(arena, kind, variable, &list, true).unwrap_or_else(|| stuck(arena)),
        Node::Or(list) => push_junction(arena, kind, variable, &list, false).unwrap_or_else(|| stuck(arena)),
        Node::Unary(operator, interval, g) if passes_unary(operator, kind) => {
            let inner = push(arena, kind, variable, g);
            arena.insert(Node::Unary(operator, interval, inner))
        }
        Node::Binary(operator, interval, left, right) => {
            let through_left = passes_left(operator, kind);
            let (inside, outside) = if through_left { (left, right) } else { (right, left) };
            if is_free(arena, outside, variable) {
                return stuck(arena);
            }
            let inner = push(arena, kind, variable, inside);
            let (left, right) = if through_left { (inner, right) } else { (left, inner) };
            arena.insert(Node::Binary(operator, interval, left, right))
        }
        _ => stuck(arena),
    }
}

/// Over `&` and `|`: into every part where the quantifier distributes, else only into the part that has the variable.
fn push_junction(
    arena: &mut Arena,
    kind: Quantifier,
    variable: &Arc<str>,
    list: &[Formula],
    conjunction: bool,
) -> Option<Formula> {
    let build = |arena: &mut Arena, parts: Vec<Formula>| if conjunction { arena.and(parts) } else { arena.or(parts) };
    if (kind == Quantifier::Forall) == conjunction {
        let parts = list.iter().map(|part| push(arena, kind, variable, *part)).collect();
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
    // A comparison does not depend on the position, so it may move under the operator that its variable goes to.
    let [single] = temporal[..] else { return None };
    if !rigid.iter().all(|part| is_rigid(arena, *part)) {
        return None;
    }
    let inner = if rigid.is_empty() {
        push(arena, kind, variable, single)
    } else {
        let passing = match arena[single].clone() {
            // Weak operators hold without a position, where a comparison would have to be looked at all the same.
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
        let pushed = push(arena, kind, variable, body);
        arena.insert(Node::Unary(operator, interval, pushed))
    };
    outside.push(inner);
    Some(build(arena, outside))
}

/// The same formula over other operands.
fn map_operands(arena: &mut Arena, f: Formula, map: &mut impl FnMut(&mut Arena, Formula) -> Formula) -> Formula {
    let node = arena[f].clone();
    match node.map(|operand| map(arena, operand)) {
        // The new operands may themselves be conjunctions or disjunctions.
        Node::And(list) => arena.and(list),
        Node::Or(list) => arena.or(list),
        node => arena.insert(node),
    }
}

/// The formula with a free variable under another name, which must not be bound in it.
fn rename(arena: &mut Arena, f: Formula, from: &Arc<str>, to: &Arc<str>) -> Formula {
    if from == to { f } else { replace(arena, f, from, &Term::Var(to.clone())) }
}

impl Arena {
    /// The formula with a value in place of a free variable.
    pub fn substitute(&mut self, f: Formula, variable: &Arc<str>, value: &Value) -> Formula {
        replace(self, f, variable, &Term::Value(value.clone()))
    }
}

impl Arena {
    /// The formula for one value of the variable that the `forall` in front of it binds; the formula itself if none
    /// does.
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
    /// What every position by itself must satisfy, if that is what a formula says: the `f` of `G f`, about the past and
    /// the present, and the variables of the `forall`s outside and right inside of the `G`.
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

fn replace(arena: &mut Arena, f: Formula, from: &Arc<str>, to: &Term) -> Formula {
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
        _ => map_operands(arena, f, &mut |arena, operand| replace(arena, operand, from, to)),
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
            let body = replace(arena, aggregate.body, from, to);
            Measure::Aggregate(Aggregate { body, ..aggregate.clone() })
        }
    }
}

/// Does a variable occur free?
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

/// Is something counted or computed in it?
pub(crate) fn has_measure(arena: &Arena, f: Formula) -> bool {
    match &arena[f] {
        Node::Measure(..) => true,
        node => node.operands().iter().any(|operand| has_measure(arena, *operand)),
    }
}

/// Does a formula look beyond one position?
pub(crate) fn is_temporal(arena: &Arena, f: Formula) -> bool {
    match &arena[f] {
        Node::Unary(..) | Node::Binary(..) | Node::Measure(..) => true,
        node => node.operands().iter().any(|operand| is_temporal(arena, *operand)),
    }
}

/// Is a formula independent of the position: built from comparisons alone?
fn is_rigid(arena: &Arena, f: Formula) -> bool {
    match &arena[f] {
        Node::Fact(_) | Node::Unary(..) | Node::Binary(..) | Node::Measure(..) => false,
        node => node.operands().iter().all(|operand| is_rigid(arena, *operand)),
    }
}

/// Does a formula look ahead?
pub(crate) fn has_future(arena: &Arena, f: Formula) -> bool {
    match &arena[f] {
        Node::Unary(Unary::Next | Unary::WeakNext | Unary::Eventually | Unary::Always, ..) => true,
        Node::Binary(Binary::Until | Binary::WeakUntil | Binary::Release | Binary::StrongRelease, ..) => true,
        node => node.operands().iter().any(|operand| has_future(arena, *operand)),
    }
}

/// Can the facts of one position not decide a quantifier?
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

/// Can the formula (or, for `wanted` false, its negation) only hold for values of the variable that occur in a fact?
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
            // What must hold for every inner value holds for the fresh ones, which guard nothing.
            (*quantifier == Quantifier::Exists) == wanted
                && !variables.contains(variable)
                && is_guarded(arena, *body, variable, wanted)
        }
        Node::Compare(..) | Node::Measure(..) | Node::Iff(..) | Node::Unary(..) | Node::Binary(..) => false,
    }
}
