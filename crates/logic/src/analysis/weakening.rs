//! Whether a formula follows from another by its structure alone.
//!
//! The search for continuations does not know how far apart two moments are, so it cannot see that `once[0,1h] a` follows
//! from `once[0,30m] a`. Two formulas that differ only in such parts are compared part by part.

use rustc_hash::FxHashMap;

use crate::arena::{Arena, Node};
use crate::formula::{Binary, Formula, Unary};
use crate::interval::Interval;

/// Whether every word that satisfies a formula at a position satisfies another one there, as far as their structure
/// shows: parts are the same, left out, or have a bound that is wider where that asks for less.
pub(super) fn is_weakening(arena: &Arena, stronger: Formula, weaker: Formula) -> bool {
    Weakening { arena, known: FxHashMap::default() }.follows(stronger, weaker)
}

struct Weakening<'a> {
    arena: &'a Arena,
    known: FxHashMap<(Formula, Formula), bool>,
}

impl Weakening<'_> {
    fn follows(&mut self, f: Formula, g: Formula) -> bool {
        if f == g {
            return true;
        }
        if let Some(known) = self.known.get(&(f, g)) {
            return *known;
        }
        let follows = self.follows_by_parts(f, g);
        self.known.insert((f, g), follows);
        follows
    }

    fn follows_by_parts(&mut self, f: Formula, g: Formula) -> bool {
        let arena = self.arena;
        match (&arena[f], &arena[g]) {
            (Node::False, _) | (_, Node::True) => return true,
            (_, Node::And(list)) => return list.iter().all(|part| self.follows(f, *part)),
            (Node::Or(list), _) => return list.iter().all(|part| self.follows(*part, g)),
            _ => {}
        }
        let by_part = match (&arena[f], &arena[g]) {
            (Node::And(list), _) if list.iter().any(|part| self.follows(*part, g)) => true,
            (_, Node::Or(list)) => list.iter().any(|part| self.follows(f, *part)),
            _ => false,
        };
        by_part
            || match (&arena[f], &arena[g]) {
                (Node::Not(f), Node::Not(g)) => self.follows(*g, *f),
                (Node::Implies(a, b), Node::Implies(c, d)) => self.follows(*c, *a) && self.follows(*b, *d),
                (Node::Quantified(kind, variables, f), Node::Quantified(other, others, g)) => {
                    kind == other && variables == others && self.follows(*f, *g)
                }
                (Node::Unary(operator, mine, f), Node::Unary(other, theirs, g)) => {
                    operator == other
                        && match operator {
                            Unary::Eventually | Unary::Once => is_within(*mine, *theirs),
                            Unary::Always | Unary::Historically => is_within(*theirs, *mine),
                            Unary::Next | Unary::WeakNext | Unary::Previous | Unary::WeakPrevious => true,
                        }
                        && self.follows(*f, *g)
                }
                (Node::Binary(operator, mine, a, b), Node::Binary(other, theirs, c, d)) => {
                    operator == other
                        && match operator {
                            Binary::Until | Binary::Since => is_within(*mine, *theirs),
                            Binary::Release | Binary::Trigger => is_within(*theirs, *mine),
                            Binary::WeakUntil | Binary::StrongRelease => mine == theirs,
                        }
                        && self.follows(*a, *c)
                        && self.follows(*b, *d)
                }
                _ => false,
            }
    }
}

/// Whether each distance within one bound is within another.
fn is_within(inner: Interval, outer: Interval) -> bool {
    match (inner, outer) {
        (Interval::Steps { from: a, to: b }, Interval::Steps { from: c, to: d }) => a >= c && ends_within(b, d),
        (Interval::Time { from: a, to: b }, Interval::Time { from: c, to: d }) => a >= c && ends_within(b, d),
        // A bound in time excludes positions, none includes them all.
        (Interval::Time { .. }, outer) => outer.is_unbounded(),
        _ => false,
    }
}

fn ends_within<T: Ord>(inner: Option<T>, outer: Option<T>) -> bool {
    outer.is_none_or(|outer| inner.is_some_and(|inner| inner <= outer))
}
