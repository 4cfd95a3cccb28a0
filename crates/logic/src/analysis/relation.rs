//! Relations between two formulas, and vacuity of one formula on a trace.

use super::{Analysis, Lasso};
use crate::arena::{Arena, Node};
use crate::cache::{SATISFIED_STATE, VIOLATED_STATE};
use crate::compile_error::CompileError;
use crate::facts::Facts;
use crate::formula::Formula;
use crate::monitor::Monitor;
use crate::term::Atom;
use crate::verdict::Verdict;

/// The relation of two formulas.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Relation {
    /// No infinite trace satisfies both.
    pub contradict: bool,
    /// Every word that satisfies the first satisfies the second.
    pub implies: bool,
    /// Every word that satisfies the second satisfies the first.
    pub implied: bool,
    /// A trace that satisfies both.
    pub both: Option<Lasso>,
    /// A trace that satisfies the first alone.
    pub left_only: Option<Lasso>,
    /// A trace that satisfies the second alone.
    pub right_only: Option<Lasso>,
}

/// Compares two formulas of one arena.
pub fn relate(arena: &Arena, f: Formula, g: Formula) -> Result<Relation, CompileError> {
    arena.require(f)?;
    arena.require(g)?;
    let mut arena = arena.clone();
    let (not_f, not_g) = (arena.not(f), arena.not(g));
    let mut joint = |left: Formula, right: Formula| -> Result<(bool, Option<Lasso>), CompileError> {
        let both = arena.and([left, right]);
        let mut analysis = Analysis::new(&arena, both)?;
        let start = analysis.cache.start(&analysis.monitor.compiled.skeleton, analysis.valuation);
        let bottom = if analysis.monitor.compiled.negated { SATISFIED_STATE } else { VIOLATED_STATE };
        Ok((start.id() == Some(bottom), analysis.satisfying()))
    };
    let (contradict, both) = joint(f, g)?;
    let (implies, left_only) = joint(f, not_g)?;
    let (implied, right_only) = joint(g, not_f)?;
    Ok(Relation { contradict, implies, implied, both, left_only, right_only })
}

/// Returns the atoms that a formula requires but that a trace never exercised: it would hold without them. Empty if it
/// does not hold at the end.
///
/// # Panics
///
/// Panics if the formula belongs to another arena.
pub fn vacuity(arena: &Arena, f: Formula, trace: &[Facts]) -> Vec<Formula> {
    arena.assert_contains(f);
    let mut arena = arena.clone();
    if !holds_at_end(&arena, f, trace) {
        return Vec::new();
    }
    let mut atoms = Vec::new();
    collect_occurrences(&arena, f, true, &mut atoms);
    let mut vacuous = Vec::new();
    for (atom, polarity) in &atoms {
        // An atom that the formula forbids somewhere is no duty.
        if !polarity || atoms.contains(&(atom.clone(), false)) {
            continue;
        }
        let never = arena.truth(false);
        let adverse = replace_atom(&mut arena, f, atom, never);
        if holds_at_end(&arena, adverse, trace) {
            vacuous.push(arena.insert(Node::Fact(atom.clone())));
        }
    }
    vacuous
}

fn holds_at_end(arena: &Arena, f: Formula, trace: &[Facts]) -> bool {
    let Ok(monitor) = Monitor::new(arena, f) else { return false };
    let mut run = monitor.run();
    for facts in trace {
        run.step(facts);
    }
    run.end() == Verdict::Satisfied
}

/// Collects each atom with its polarities: whether it makes the formula true or false.
fn collect_occurrences(arena: &Arena, f: Formula, polarity: bool, found: &mut Vec<(Atom, bool)>) {
    match &arena[f] {
        Node::Fact(atom) => {
            if !found.contains(&(atom.clone(), polarity)) {
                found.push((atom.clone(), polarity));
            }
        }
        Node::Not(g) => collect_occurrences(arena, *g, !polarity, found),
        Node::Implies(left, right) => {
            collect_occurrences(arena, *left, !polarity, found);
            collect_occurrences(arena, *right, polarity, found);
        }
        Node::Iff(left, right) => {
            for side in [left, right] {
                collect_occurrences(arena, *side, polarity, found);
                collect_occurrences(arena, *side, !polarity, found);
            }
        }
        node => node.operands().iter().for_each(|operand| collect_occurrences(arena, *operand, polarity, found)),
    }
}

/// Returns the formula with an atom replaced by another formula.
fn replace_atom(arena: &mut Arena, f: Formula, atom: &Atom, by: Formula) -> Formula {
    if matches!(&arena[f], Node::Fact(other) if other == atom) {
        return by;
    }
    let node = arena[f].clone();
    match node.map(|operand| replace_atom(arena, operand, atom, by)) {
        Node::And(list) => arena.and(list),
        Node::Or(list) => arena.or(list),
        node => arena.insert(node),
    }
}
