//! The names of the facts that a formula asks for.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_logic::{Arena, Formula, Node};

/// Adds the names of the facts that a formula asks for.
pub(crate) fn collect_names(arena: &Arena, formula: Formula, names: &mut BTreeSet<Arc<str>>) {
    if let Node::Fact(atom) = &arena[formula] {
        names.insert(Arc::clone(&atom.name));
    }
    for operand in arena[formula].operands() {
        collect_names(arena, operand, names);
    }
}

/// Adds the names of the facts that may make a formula true by holding: those not under a negation.
pub(super) fn collect_excuses(arena: &Arena, formula: Formula, is_positive: bool, names: &mut BTreeSet<Arc<str>>) {
    match &arena[formula] {
        Node::Fact(atom) if is_positive => drop(names.insert(Arc::clone(&atom.name))),
        Node::Not(inner) => collect_excuses(arena, *inner, !is_positive, names),
        Node::Implies(left, right) => {
            collect_excuses(arena, *left, !is_positive, names);
            collect_excuses(arena, *right, is_positive, names);
        }
        node @ (Node::Iff(..) | Node::Measure(..)) => {
            for operand in node.operands() {
                collect_excuses(arena, operand, true, names);
                collect_excuses(arena, operand, false, names);
            }
        }
        node => node.operands().iter().for_each(|operand| collect_excuses(arena, *operand, is_positive, names)),
    }
}
