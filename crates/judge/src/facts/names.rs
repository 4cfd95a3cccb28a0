//! The names of the facts that a formula asks for.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_logic::{Arena, Atom, Formula, Node};
use rustc_hash::FxHashSet;

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
///
/// Both sides of an equivalence may do both, so each part is visited once for each: without that, a chain of
/// equivalences would take exponential time.
pub(crate) fn collect_atoms(arena: &Arena, formula: Formula, is_positive: bool, atoms: &mut Vec<(Atom, bool)>) {
    let mut seen: FxHashSet<(Formula, bool)> = FxHashSet::default();
    let mut open = vec![(formula, is_positive)];
    while let Some((formula, is_positive)) = open.pop() {
        if !seen.insert((formula, is_positive)) {
            continue;
        }
        match &arena[formula] {
            Node::Fact(atom) => atoms.push((atom.clone(), !is_positive)),
            Node::Not(inner) => open.push((*inner, !is_positive)),
            Node::Implies(left, right) => open.extend([(*right, is_positive), (*left, !is_positive)]),
            node @ (Node::Iff(..) | Node::Measure(..)) => {
                open.extend(node.operands().into_iter().rev().flat_map(|side| [(side, false), (side, true)]));
            }
            node => open.extend(node.operands().into_iter().rev().map(|operand| (operand, is_positive))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_equivalence_chain_are_collected_once() {
        let chain: Vec<String> = (0..60).map(|fact| format!("q{fact}")).collect();
        let mut arena = Arena::new();
        let formula = arena.parse(&format!("always ({})", chain.join(" <-> "))).unwrap();
        let mut atoms = Vec::new();
        collect_atoms(&arena, formula, true, &mut atoms);
        assert_eq!(atoms.len(), 2 * chain.len());
    }
}
