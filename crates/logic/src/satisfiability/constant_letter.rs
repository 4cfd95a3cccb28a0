//! Looks for a letter that meets all obligations if it is repeated for ever.
//!
//! Most obligations can be met by one, and then no tableau is searched: that of many bounds in steps is as deep as the
//! longest of them. On such a word, future operators say at every position what their operands say there, so a formula
//! without memory is read once. Memory changes from position to position, so a formula with memory is not decided here.

use rustc_hash::FxHashMap;

use crate::dnf::Obligation;
use crate::norm::{Norm, NormNode, Norms};
use crate::skeleton::Skeleton;

/// Returns a letter that meets all obligations of a clause if it is repeated for ever; not every one is found.
pub(crate) fn find_constant_letter(clause: &[Obligation], norms: &Norms, skeleton: &Skeleton) -> Option<u64> {
    let mut wanted = Polarities::default();
    if !clause.iter().all(|obligation| wanted.collect(obligation.norm(), norms)) {
        return None;
    }
    // A fact that is only wanted present is present; one that is wanted both ways is tried both ways, all at once.
    let preferred = [wanted.present & !wanted.absent, wanted.present, 0];
    let letters = preferred.into_iter().map(|letter| close_letter(letter, skeleton));
    let mut tried: Vec<u64> = Vec::with_capacity(preferred.len());
    for letter in letters {
        if tried.contains(&letter) {
            continue;
        }
        tried.push(letter);
        let mut known = FxHashMap::default();
        if clause.iter().all(|obligation| holds(obligation.norm(), letter, norms, &mut known)) {
            return Some(letter);
        }
    }
    None
}

/// Returns a letter with the facts that its facts imply.
fn close_letter(letter: u64, skeleton: &Skeleton) -> u64 {
    let generals = skeleton.generals.iter().enumerate().filter(|(bit, _)| letter >> bit & 1 == 1);
    generals.fold(letter, |letter, (_, generals)| letter | generals)
}

/// The facts that norms ask for, present and absent.
#[derive(Default)]
struct Polarities {
    present: u64,
    absent: u64,
    seen: rustc_hash::FxHashSet<Norm>,
}

impl Polarities {
    /// Adds those of a norm; false if it looks back.
    fn collect(&mut self, norm: Norm, norms: &Norms) -> bool {
        if !self.seen.insert(norm) {
            return true;
        }
        match norms.node(norm) {
            NormNode::Literal { bit, positive: true } => self.present |= 1 << bit,
            NormNode::Literal { bit, positive: false } => self.absent |= 1 << bit,
            NormNode::Previous { .. }
            | NormNode::Since { .. }
            | NormNode::Trigger { .. }
            | NormNode::TimedSince { .. }
            | NormNode::TimedTrigger { .. } => return false,
            _ => {}
        }
        let mut is_future = true;
        norms.node(norm).visit_operands(|operand| is_future = is_future && self.collect(operand, norms));
        is_future
    }
}

/// Whether a norm that does not look back holds on the word that repeats a letter.
fn holds(norm: Norm, letter: u64, norms: &Norms, known: &mut FxHashMap<Norm, bool>) -> bool {
    if let Some(known) = known.get(&norm) {
        return *known;
    }
    let mut read = |norm: Norm| holds(norm, letter, norms, known);
    let result = match norms.node(norm) {
        NormNode::True => true,
        NormNode::Literal { bit, positive } => (letter >> bit & 1 == 1) == *positive,
        NormNode::And(list) => list.iter().all(|norm| read(*norm)),
        NormNode::Or(list) => list.iter().any(|norm| read(*norm)),
        NormNode::Next(f) | NormNode::WeakNext(f) => read(*f),
        NormNode::Until { from: 0, g, .. } | NormNode::Release { from: 0, g, .. } => read(*g),
        // The operand `f` is read at the positions before the bound; with time, there may be such positions.
        NormNode::Until { f, g, .. } | NormNode::TimedUntil { f, g, .. } => read(*g) && read(*f),
        // It may be that no position is within the bound, but one within it needs `g`.
        NormNode::Release { f, g, .. } => read(*g) || read(*f),
        NormNode::TimedRelease { g, .. } => read(*g),
        _ => false,
    };
    known.insert(norm, result);
    result
}
