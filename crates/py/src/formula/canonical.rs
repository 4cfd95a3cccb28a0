//! The canonical form of formulas: Python compares it, and it keeps generated formulas small.
//!
//! Only laws that hold on every trace are used, the empty one included: `F true` stays, because it asks for a position.

use std::collections::HashMap;

use lictor_logic::{Arena, Binary, Formula, Node, Spelling, Unary};

/// Returns the canonical form of a formula, in another arena.
pub(super) fn canonical(from: &Arena, formula: Formula, to: &mut Arena) -> Formula {
    rewrite(from, formula, to, &mut HashMap::new())
}

/// Rewrites a formula recursively; the parser and the constructors bound its depth.
fn rewrite(from: &Arena, formula: Formula, to: &mut Arena, known: &mut HashMap<Formula, Formula>) -> Formula {
    if let Some(done) = known.get(&formula) {
        return *done;
    }
    let node = from[formula].clone();
    let operands: HashMap<Formula, Formula> =
        node.operands().into_iter().map(|operand| (operand, rewrite(from, operand, to, known))).collect();
    let node = node.map(|operand| operands.get(&operand).copied().unwrap_or(operand));
    let done = simplified(to, node);
    known.insert(formula, done);
    done
}

/// Returns the simplified node over canonical operands.
fn simplified(arena: &mut Arena, node: Node) -> Formula {
    match node {
        Node::Not(f) => negated(arena, f),
        Node::And(list) => joined(arena, &list, true),
        Node::Or(list) => joined(arena, &list, false),
        Node::Implies(f, g) => match (&arena[f], &arena[g]) {
            (Node::True, _) => g,
            (Node::False, _) | (_, Node::True) => arena.truth(true),
            (_, Node::False) => negated(arena, f),
            _ if f == g => arena.truth(true),
            _ => arena.implies(f, g),
        },
        Node::Iff(f, g) => match (&arena[f], &arena[g]) {
            _ if f == g => arena.truth(true),
            (Node::True, _) => g,
            (_, Node::True) => f,
            (Node::False, _) => negated(arena, g),
            (_, Node::False) => negated(arena, f),
            _ => {
                let mut pair = [f, g];
                pair.sort_by_cached_key(|f| text(arena, *f));
                arena.iff(pair[0], pair[1])
            }
        },
        Node::Unary(operator, interval, f) => {
            let same = match &arena[f] {
                Node::Unary(inner, bound, _) => *inner == operator && bound.is_unbounded() && interval.is_unbounded(),
                Node::True => {
                    matches!(operator, Unary::Always | Unary::Historically | Unary::WeakNext | Unary::WeakPrevious)
                }
                Node::False => {
                    matches!(operator, Unary::Eventually | Unary::Once | Unary::Next | Unary::Previous)
                }
                _ => false,
            };
            // `next next` is two steps; `always always` is `always`.
            let is_idempotent =
                matches!(operator, Unary::Always | Unary::Eventually | Unary::Once | Unary::Historically);
            let is_constant = matches!(&arena[f], Node::True | Node::False);
            if same && (is_idempotent || is_constant) { f } else { arena.insert(Node::Unary(operator, interval, f)) }
        }
        Node::Binary(Binary::Until, interval, f, g) if matches!(arena[f], Node::True) => {
            simplified(arena, Node::Unary(Unary::Eventually, interval, g))
        }
        Node::Binary(Binary::Since, interval, f, g) if matches!(arena[f], Node::True) => {
            simplified(arena, Node::Unary(Unary::Once, interval, g))
        }
        node => arena.insert(node),
    }
}

fn negated(arena: &mut Arena, f: Formula) -> Formula {
    match arena[f] {
        Node::True => arena.truth(false),
        Node::False => arena.truth(true),
        Node::Not(g) => g,
        _ => arena.not(f),
    }
}

/// Returns the conjunction or disjunction of formulas: flat, sorted, without duplicates.
fn joined(arena: &mut Arena, list: &[Formula], all: bool) -> Formula {
    let mut flat: Vec<Formula> = Vec::new();
    for &f in list {
        match &arena[f] {
            Node::And(inner) if all => flat.extend_from_slice(inner),
            Node::Or(inner) if !all => flat.extend_from_slice(inner),
            _ => flat.push(f),
        }
    }
    let (unit, zero) = if all { (Node::True, Node::False) } else { (Node::False, Node::True) };
    flat.retain(|f| arena[*f] != unit);
    let is_opposite = |f: &Formula| matches!(arena[*f], Node::Not(g) if flat.contains(&g));
    if flat.iter().any(|f| arena[*f] == zero) || flat.iter().any(is_opposite) {
        return arena.truth(!all);
    }
    flat.sort_by_cached_key(|f| text(arena, *f));
    flat.dedup();
    if all { arena.and(flat) } else { arena.or(flat) }
}

fn text(arena: &Arena, f: Formula) -> String {
    arena.show(f, Spelling::Ascii).to_string()
}
