//! The atoms of a formula.

use lictor_logic::{Arena, Atom, Formula, Node as FormulaNode};

/// Returns the atoms of a formula, in the order of the text.
pub(crate) fn collect_atoms(arena: &Arena, formula: Formula) -> Vec<Atom> {
    let mut found = Vec::new();
    push_atoms(arena, formula, &mut found);
    found
}

fn push_atoms(arena: &Arena, formula: Formula, found: &mut Vec<Atom>) {
    if let FormulaNode::Fact(atom) = &arena[formula] {
        found.push(atom.clone());
    }
    arena[formula].operands().into_iter().for_each(|operand| push_atoms(arena, operand, found));
}
