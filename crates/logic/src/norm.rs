//! Norms: formulas in negation normal form with memory, which the engine works on.
//!
//! A [`Norm`] is a hash-consed formula over numbered letter bits, built from literals, `&`, `|`, next, until and
//! release, and past operators *with their memory*. `Since { left: 0, .. }` has nothing to look back on; after a
//! position it is rewritten with its new memory. So a norm and the later positions decide everything: there are no
//! registers beside it, and two equal norms are one state.
//!
//! Time bounds remember moments, and there are infinitely many. A norm refers to them by [`Slot`], an index into the
//! times that are kept beside the state.
//!
//! INVARIANT: a norm is only ever evaluated at a position that exists, so `F true` is `true` here, while `X true`
//! (there is a next position) stays.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::interval::Span;
use crate::work::Work;

/// The name of a norm in its [`Norms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Norm(pub(crate) u32);

/// An index into the times beside a state.
pub(crate) type Slot = u16;

/// The upper end of an unbounded operator.
pub(crate) const FOREVER: u32 = u32::MAX;

/// The start of a timed obligation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Start {
    /// From the position at which it will be evaluated.
    Unstarted,
    /// From the moment in a slot; `ripe` once its lower bound has been reached.
    At { slot: Slot, ripe: bool },
    /// From the position just read: becomes a slot when the step is finished.
    Now,
}

/// One node of a norm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum NormNode {
    True,
    False,
    Literal {
        bit: u8,
        positive: bool,
    },
    And(Box<[Norm]>),
    Or(Box<[Norm]>),
    Next(Norm),
    WeakNext(Norm),
    /// `family` identifies an until of the formula, independent of the memory of its operands.
    Until {
        family: u8,
        from: u32,
        to: u32,
        f: Norm,
        g: Norm,
    },
    Release {
        from: u32,
        to: u32,
        f: Norm,
        g: Norm,
    },
    TimedUntil {
        family: u8,
        clock: u8,
        start: Start,
        f: Norm,
        g: Norm,
    },
    TimedRelease {
        clock: u8,
        start: Start,
        f: Norm,
        g: Norm,
    },
    /// `was` is the value of `f` at the position before; at the first position, the operator's value without one.
    Previous {
        f: Norm,
        was: bool,
    },
    /// `left` is for how many more positions the last `g` counts (0: none), `span` the number for a new `g`.
    Since {
        span: u32,
        left: u32,
        f: Norm,
        g: Norm,
    },
    /// The dual: `left` counts from the last position without `g`.
    Trigger {
        span: u32,
        left: u32,
        f: Norm,
        g: Norm,
    },
    /// `marks` are the moments of `g` that may still count, oldest first.
    TimedSince {
        clock: u8,
        marks: Box<[Mark]>,
        f: Norm,
        g: Norm,
    },
    /// The dual: `marks` are the moments without `g`.
    TimedTrigger {
        clock: u8,
        marks: Box<[Mark]>,
        f: Norm,
        g: Norm,
    },
}

impl NormNode {
    /// Returns of how many parts it consists, without the parts of its operands.
    fn size(&self) -> usize {
        match self {
            NormNode::And(list) | NormNode::Or(list) => 1 + list.len(),
            NormNode::TimedSince { marks, .. } | NormNode::TimedTrigger { marks, .. } => 1 + marks.len(),
            _ => 1,
        }
    }

    /// Visits the operands, from left to right.
    pub(crate) fn visit_operands(&self, mut visit: impl FnMut(Norm)) {
        match self {
            NormNode::True | NormNode::False | NormNode::Literal { .. } => {}
            NormNode::And(list) | NormNode::Or(list) => list.iter().for_each(|norm| visit(*norm)),
            NormNode::Next(f) | NormNode::WeakNext(f) | NormNode::Previous { f, .. } => visit(*f),
            NormNode::Until { f, g, .. }
            | NormNode::Release { f, g, .. }
            | NormNode::TimedUntil { f, g, .. }
            | NormNode::TimedRelease { f, g, .. }
            | NormNode::Since { f, g, .. }
            | NormNode::Trigger { f, g, .. }
            | NormNode::TimedSince { f, g, .. }
            | NormNode::TimedTrigger { f, g, .. } => {
                visit(*f);
                visit(*g);
            }
        }
    }
}

/// A remembered moment of a timed past operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Mark {
    At { slot: Slot, ripe: bool },
    Now,
}

/// The time bound of one timed operator of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) from: Span,
    pub(crate) to: Option<Span>,
    /// Whether it is that of an operator that looks back.
    pub(crate) is_past: bool,
}

impl Clock {
    /// Whether a moment so long ago has reached the lower bound, if there is one to reach.
    pub(crate) fn is_ripe(self, age: Span) -> bool {
        self.from.0 > 0 && self.from <= age
    }

    /// Whether a moment so long ago has passed the upper bound.
    pub(crate) fn is_over(self, age: Span) -> bool {
        self.to.is_some_and(|to| age > to)
    }

    /// Whether a mark of so long ago still counts when a new mark begins to: then all marks between the two are
    /// redundant.
    pub(crate) fn reaches_new_mark(self, age: Span) -> bool {
        self.is_past && self.from.0 > 0 && self.to.is_some_and(|to| age <= Span(to.0.saturating_sub(self.from.0)))
    }
}

/// Owns norms; simplifies on construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Norms {
    nodes: IndexSet<NormNode, FxBuildHasher>,
    /// For each node, whether anything below it has memory.
    remembers: Vec<bool>,
    /// What the present step has looked at.
    pub(crate) work: Work,
    /// For each node about the present and the past, at most how many alternatives it has; zero for those that look
    /// ahead.
    alternatives: Vec<u32>,
}

/// The most alternatives of a norm about the present that are listed one by one.
const MAX_LISTED_ALTERNATIVES: u32 = 128;

impl Norms {
    pub(crate) const FALSE: Norm = Norm(0);
    pub(crate) const TRUE: Norm = Norm(1);

    pub(crate) fn new() -> Norms {
        let mut norms = Norms {
            nodes: IndexSet::default(),
            remembers: Vec::new(),
            alternatives: Vec::new(),
            work: Work::default(),
        };
        norms.intern(NormNode::False);
        norms.intern(NormNode::True);
        norms
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, norm: Norm) -> &NormNode {
        &self.nodes[norm.0 as usize]
    }

    /// Whether a step changes the memory of this norm.
    pub(crate) fn remembers(&self, norm: Norm) -> bool {
        self.remembers[norm.0 as usize]
    }

    fn intern(&mut self, node: NormNode) -> Norm {
        let below = match &node {
            NormNode::True | NormNode::False | NormNode::Literal { .. } => false,
            NormNode::And(list) | NormNode::Or(list) => list.iter().any(|norm| self.remembers(*norm)),
            NormNode::Next(f) | NormNode::WeakNext(f) => self.remembers(*f),
            NormNode::Until { f, g, .. } | NormNode::Release { f, g, .. } => self.remembers(*f) || self.remembers(*g),
            NormNode::TimedUntil { start, f, g, .. } | NormNode::TimedRelease { start, f, g, .. } => {
                matches!(start, Start::At { .. } | Start::Now) || self.remembers(*f) || self.remembers(*g)
            }
            NormNode::Previous { .. }
            | NormNode::Since { .. }
            | NormNode::Trigger { .. }
            | NormNode::TimedSince { .. }
            | NormNode::TimedTrigger { .. } => true,
        };
        self.work.charge(node.size());
        let alternatives = self.count_alternatives(&node);
        let (index, new) = self.nodes.insert_full(node);
        if new {
            self.remembers.push(below);
            self.alternatives.push(alternatives);
        }
        Norm(index as u32)
    }

    fn count_alternatives(&self, node: &NormNode) -> u32 {
        let count = |norm: &Norm| self.alternatives[norm.0 as usize];
        let looks_ahead = |list: &[Norm]| list.iter().any(|norm| count(norm) == 0);
        match node {
            NormNode::True | NormNode::False | NormNode::Literal { .. } => 1,
            NormNode::And(list) | NormNode::Or(list) if looks_ahead(list) => 0,
            NormNode::And(list) => list.iter().map(count).fold(1, u32::saturating_mul),
            NormNode::Or(list) => list.iter().map(count).fold(0, u32::saturating_add),
            NormNode::Previous { .. } => 1,
            NormNode::Since { f, g, .. } | NormNode::TimedSince { f, g, .. } => count(f).saturating_add(count(g)),
            NormNode::Trigger { f, g, .. } | NormNode::TimedTrigger { f, g, .. } => {
                count(f).saturating_add(1).saturating_mul(count(g))
            }
            _ => 0,
        }
    }

    /// Whether a norm is about the present and the past, and has too many alternatives to list.
    pub(crate) fn is_dense(&self, norm: Norm) -> bool {
        self.alternatives[norm.0 as usize] > MAX_LISTED_ALTERNATIVES
    }

    /// Interns a node of another arena, which has already simplified it.
    pub(crate) fn adopt(&mut self, node: NormNode) -> Norm {
        match node {
            // Sorted by the numbers of another arena.
            NormNode::And(list) => self.and(list),
            NormNode::Or(list) => self.or(list),
            node => self.intern(node),
        }
    }

    /// Returns the highest letter bit of any norm.
    pub(crate) fn highest_bit(&self) -> Option<u8> {
        let bits = self.nodes.iter().filter_map(|node| match node {
            NormNode::Literal { bit, .. } => Some(*bit),
            _ => None,
        });
        bits.max()
    }

    pub(crate) fn truth(truth: bool) -> Norm {
        if truth { Norms::TRUE } else { Norms::FALSE }
    }

    pub(crate) fn literal(&mut self, bit: u8, positive: bool) -> Norm {
        self.intern(NormNode::Literal { bit, positive })
    }

    pub(crate) fn and(&mut self, norms: impl IntoIterator<Item = Norm>) -> Norm {
        self.junction(norms, true)
    }

    pub(crate) fn or(&mut self, norms: impl IntoIterator<Item = Norm>) -> Norm {
        self.junction(norms, false)
    }

    /// Builds `&` or `|`: flat, sorted, without repetitions, units and contradicting literals folded.
    fn junction(&mut self, norms: impl IntoIterator<Item = Norm>, conjunction: bool) -> Norm {
        let (unit, zero) = (Norms::truth(conjunction), Norms::truth(!conjunction));
        let mut list: Vec<Norm> = Vec::new();
        for norm in norms {
            match self.node(norm) {
                NormNode::And(inner) if conjunction => list.extend_from_slice(inner),
                NormNode::Or(inner) if !conjunction => list.extend_from_slice(inner),
                _ if norm == unit => {}
                _ => list.push(norm),
            }
        }
        list.sort_unstable();
        list.dedup();
        let contradicts = |norm: &Norm| match *self.node(*norm) {
            NormNode::Literal { bit, positive: true } => {
                let opposite = self.nodes.get_index_of(&NormNode::Literal { bit, positive: false });
                opposite.is_some_and(|index| list.binary_search(&Norm(index as u32)).is_ok())
            }
            _ => *norm == zero,
        };
        if list.iter().any(contradicts) {
            return zero;
        }
        match list[..] {
            [] => unit,
            [single] => single,
            _ if conjunction => self.intern(NormNode::And(list.into())),
            _ => self.intern(NormNode::Or(list.into())),
        }
    }

    pub(crate) fn next(&mut self, f: Norm) -> Norm {
        if f == Norms::FALSE { f } else { self.intern(NormNode::Next(f)) }
    }

    pub(crate) fn weak_next(&mut self, f: Norm) -> Norm {
        if f == Norms::TRUE { f } else { self.intern(NormNode::WeakNext(f)) }
    }

    pub(crate) fn until(&mut self, family: u8, from: u32, to: u32, f: Norm, g: Norm) -> Norm {
        match (f, g) {
            (_, Norms::FALSE) => g,
            (_, Norms::TRUE) if from == 0 => g,
            (Norms::FALSE, _) if from == 0 => g,
            (Norms::FALSE, _) => f,
            _ if from == 0 && to == 0 => g,
            _ => self.intern(NormNode::Until { family, from, to, f, g }),
        }
    }

    pub(crate) fn release(&mut self, from: u32, to: u32, f: Norm, g: Norm) -> Norm {
        match (f, g) {
            (_, Norms::TRUE) => g,
            (_, Norms::FALSE) if from == 0 => g,
            (Norms::TRUE, _) if from == 0 => g,
            (Norms::TRUE, _) => f,
            _ if from == 0 && to == 0 => g,
            _ => self.intern(NormNode::Release { from, to, f, g }),
        }
    }

    pub(crate) fn timed_until(&mut self, family: u8, clock: u8, start: Start, f: Norm, g: Norm) -> Norm {
        if g == Norms::FALSE { g } else { self.intern(NormNode::TimedUntil { family, clock, start, f, g }) }
    }

    pub(crate) fn timed_release(&mut self, clock: u8, start: Start, f: Norm, g: Norm) -> Norm {
        if g == Norms::TRUE { g } else { self.intern(NormNode::TimedRelease { clock, start, f, g }) }
    }

    pub(crate) fn previous(&mut self, f: Norm, was: bool) -> Norm {
        // A constant that equals its memory never changes.
        if f == Norms::truth(was) { f } else { self.intern(NormNode::Previous { f, was }) }
    }

    pub(crate) fn since(&mut self, span: u32, left: u32, f: Norm, g: Norm) -> Norm {
        match (f, g) {
            (_, Norms::TRUE) => g,
            (_, Norms::FALSE) if left == 0 => g,
            (Norms::FALSE, _) => g,
            (Norms::TRUE, _) if span == FOREVER && left > 0 => f,
            _ => self.intern(NormNode::Since { span, left, f, g }),
        }
    }

    pub(crate) fn trigger(&mut self, span: u32, left: u32, f: Norm, g: Norm) -> Norm {
        match (f, g) {
            (_, Norms::FALSE) => g,
            (_, Norms::TRUE) if left == 0 => g,
            (Norms::TRUE, _) => g,
            (Norms::FALSE, _) if span == FOREVER && left > 0 => f,
            _ => self.intern(NormNode::Trigger { span, left, f, g }),
        }
    }

    pub(crate) fn timed_since(&mut self, clock: u8, marks: Vec<Mark>, f: Norm, g: Norm) -> Norm {
        if g == Norms::FALSE && marks.is_empty() {
            return g;
        }
        self.intern(NormNode::TimedSince { clock, marks: marks.into(), f, g })
    }

    pub(crate) fn timed_trigger(&mut self, clock: u8, marks: Vec<Mark>, f: Norm, g: Norm) -> Norm {
        if g == Norms::TRUE && marks.is_empty() {
            return g;
        }
        self.intern(NormNode::TimedTrigger { clock, marks: marks.into(), f, g })
    }

    /// Returns the letter bits that can matter for the value of a norm or for its memory.
    pub(crate) fn support(&self, norm: Norm, seen: &mut rustc_hash::FxHashSet<Norm>) -> u64 {
        if !seen.insert(norm) {
            return 0;
        }
        match self.node(norm) {
            NormNode::Literal { bit, .. } => 1 << bit,
            // The operand of a next is read one position later, but its memory is written now.
            NormNode::Next(f) | NormNode::WeakNext(f) if !self.remembers(*f) => 0,
            node => {
                let mut bits = 0;
                node.visit_operands(|norm| bits |= self.support(norm, seen));
                bits
            }
        }
    }

    /// Returns of how many distinct norms a norm consists; stops counting above a limit.
    pub(crate) fn count_parts(&self, norm: Norm, limit: usize) -> usize {
        let (mut seen, mut open) = (rustc_hash::FxHashSet::default(), vec![norm]);
        while let Some(norm) = open.pop() {
            if seen.len() > limit {
                break;
            }
            if !seen.insert(norm) {
                continue;
            }
            self.node(norm).visit_operands(|operand| open.push(operand));
        }
        seen.len()
    }

    /// Collects the slots of a norm.
    pub(crate) fn slots(&self, norm: Norm, found: &mut Vec<(u8, Option<Slot>)>) {
        self.collect_slots(norm, found, &mut rustc_hash::FxHashSet::default());
    }

    fn collect_slots(&self, norm: Norm, found: &mut Vec<(u8, Option<Slot>)>, seen: &mut rustc_hash::FxHashSet<Norm>) {
        // Norms share parts: without a memory, a chain of equivalences would take exponential time.
        if !self.remembers(norm) || !seen.insert(norm) {
            return;
        }
        match self.node(norm) {
            NormNode::True | NormNode::False | NormNode::Literal { .. } => {}
            NormNode::And(list) | NormNode::Or(list) => {
                for norm in list {
                    self.collect_slots(*norm, found, seen);
                }
            }
            NormNode::Next(f) | NormNode::WeakNext(f) | NormNode::Previous { f, .. } => {
                self.collect_slots(*f, found, seen)
            }
            NormNode::Until { f, g, .. }
            | NormNode::Release { f, g, .. }
            | NormNode::Since { f, g, .. }
            | NormNode::Trigger { f, g, .. } => {
                self.collect_slots(*f, found, seen);
                self.collect_slots(*g, found, seen);
            }
            NormNode::TimedUntil { clock, start, f, g, .. } | NormNode::TimedRelease { clock, start, f, g } => {
                match start {
                    Start::Unstarted => {}
                    Start::At { slot, .. } => found.push((*clock, Some(*slot))),
                    Start::Now => found.push((*clock, None)),
                }
                self.collect_slots(*f, found, seen);
                self.collect_slots(*g, found, seen);
            }
            NormNode::TimedSince { clock, marks, f, g } | NormNode::TimedTrigger { clock, marks, f, g } => {
                found.extend(marks.iter().map(|mark| match mark {
                    Mark::At { slot, .. } => (*clock, Some(*slot)),
                    Mark::Now => (*clock, None),
                }));
                self.collect_slots(*f, found, seen);
                self.collect_slots(*g, found, seen);
            }
        }
    }
}
