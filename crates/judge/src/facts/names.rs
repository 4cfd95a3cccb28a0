//! The names of the facts that a formula asks for.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_logic::{Arena, Atom, Formula, Node};

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
pub(super) fn collect_excuses(arena: &Arena, formula: Formula, names: &mut BTreeSet<Arc<str>>) {
    let mut atoms = Vec::new();
    collect_atoms(arena, formula, true, &mut atoms);
    names.extend(atoms.into_iter().filter(|(_, may_break)| !may_break).map(|(atom, _)| atom.name));
}

/// Adds the facts that a formula asks for, each with whether it may make the formula false by holding. One that may do
/// both is added twice.
pub(crate) fn collect_atoms(arena: &Arena, formula: Formula, is_positive: bool, atoms: &mut Vec<(Atom, bool)>) {
    match &arena[formula] {
        Node::Fact(atom) => atoms.push((atom.clone(), !is_positive)),
        Node::Not(inner) => collect_atoms(arena, *inner, !is_positive, atoms),
        Node::Implies(left, right) => {
            collect_atoms(arena, *left, !is_positive, atoms);
            collect_atoms(arena, *right, is_positive, atoms);
        }
        node @ (Node::Iff(..) | Node::Measure(..)) => {
            for operand in node.operands() {
                collect_atoms(arena, operand, true, atoms);
                collect_atoms(arena, operand, false, atoms);
            }
        }
        node => node.operands().iter().for_each(|operand| collect_atoms(arena, *operand, is_positive, atoms)),
    }
}
