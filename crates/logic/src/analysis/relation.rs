//! Relations between two formulas, and vacuity of one formula on a trace.

use rustc_hash::FxHashSet;

use super::weakening::is_weakening;
use super::{Analysis, Lasso};
use crate::arena::{Arena, Node};
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
    /// Whether a search ended before it knew: a relation may hold that is not reported.
    pub is_partial: bool,
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
    let mut is_partial = false;
    let mut joint = |left: Formula, right: Formula| -> Result<(bool, Option<Lasso>), CompileError> {
        let both = arena.and([left, right]);
        let mut analysis = Analysis::new(&arena, both)?;
        is_partial |= analysis.is_partial();
        Ok((analysis.initial_verdict() == Verdict::Violated, analysis.satisfying()))
    };
    let (contradict, both) = joint(f, g)?;
    let (implies, left_only) = joint(f, not_g)?;
    let (implied, right_only) = joint(g, not_f)?;
    let implies = implies || is_weakening(&arena, f, g);
    let implied = implied || is_weakening(&arena, g, f);
    Ok(Relation { contradict, implies, implied, is_partial, both, left_only, right_only })
}

/// Whether a formula follows from another by its structure alone: parts are the same, left out, or have a wider bound
/// where that asks for less. It is quick, and sees bounds in time that a search does not.
///
/// ```
/// use lictor_logic::{Arena, is_weaker};
/// let mut arena = Arena::new();
/// let soon = arena.parse("G(a -> O[0,30m] b)").unwrap();
/// let late = arena.parse("G(a -> O[0,1h] b)").unwrap();
/// assert!(is_weaker(&arena, late, soon));
/// assert!(!is_weaker(&arena, soon, late));
/// ```
///
/// # Panics
///
/// Panics if a formula belongs to another arena.
pub fn is_weaker(arena: &Arena, weaker: Formula, stronger: Formula) -> bool {
    arena.assert_contains(weaker);
    arena.assert_contains(stronger);
    is_weakening(arena, stronger, weaker)
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

/// Collects each atom with its polarities: whether it makes the formula true or false. Both sides of an equivalence
/// have both, so each part is visited once for each polarity: without that, a chain would take exponential time.
fn collect_occurrences(arena: &Arena, f: Formula, polarity: bool, found: &mut Vec<(Atom, bool)>) {
    let mut seen: FxHashSet<(Formula, bool)> = FxHashSet::default();
    let mut open = vec![(f, polarity)];
    while let Some((f, polarity)) = open.pop() {
        if !seen.insert((f, polarity)) {
            continue;
        }
        match &arena[f] {
            Node::Fact(atom) => found.push((atom.clone(), polarity)),
            Node::Not(g) => open.push((*g, !polarity)),
            Node::Implies(left, right) => open.extend([(*right, polarity), (*left, !polarity)]),
            Node::Iff(left, right) => {
                open.extend([right, left].into_iter().flat_map(|side| [(*side, !polarity), (*side, polarity)]));
            }
            node => open.extend(node.operands().into_iter().rev().map(|operand| (operand, polarity))),
        }
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
