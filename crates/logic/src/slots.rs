//! Slots: the moments that the norms of a state refer to, renumbered after every step.
//!
//! Slots are numbered by clock and, within a clock, from the oldest on. So their order is that of the deadlines of one
//! operator, and states that differ only in *when* something happened are one state.

use rustc_hash::FxHashMap;

use crate::norm::{Mark, Norm, NormNode, Norms, Slot, Start};

/// The content of each new slot: that of an old slot, or the time of the position just read.
pub(crate) type SlotSources = Box<[Option<Slot>]>;

/// A new numbering of the slots that are referred to.
#[derive(Debug)]
pub(crate) struct SlotNumbering {
    /// The clock of each new slot.
    pub(crate) clocks: Box<[u8]>,
    pub(crate) sources: SlotSources,
    old: FxHashMap<Slot, Slot>,
    fresh: FxHashMap<u8, Slot>,
}

impl SlotNumbering {
    /// Numbers the references that were found; an old slot is referred to by number, `None` is the position just read.
    pub(crate) fn new(mut found: Vec<(u8, Option<Slot>)>) -> SlotNumbering {
        // A new start is the youngest of its clock.
        found.sort_unstable_by_key(|(clock, slot)| (*clock, slot.is_none(), *slot));
        found.dedup();
        let mut numbering = SlotNumbering {
            clocks: found.iter().map(|(clock, _)| *clock).collect(),
            sources: found.iter().map(|(_, slot)| *slot).collect(),
            old: FxHashMap::default(),
            fresh: FxHashMap::default(),
        };
        for (index, (clock, slot)) in found.into_iter().enumerate() {
            let index = index as Slot;
            match slot {
                Some(slot) => numbering.old.insert(slot, index),
                None => numbering.fresh.insert(clock, index),
            };
        }
        numbering
    }

    /// Whether all slots keep their numbers and none is new.
    pub(crate) fn is_identity(&self, old_count: usize) -> bool {
        self.sources.len() == old_count
            && self.sources.iter().enumerate().all(|(index, source)| *source == Some(index as Slot))
    }

    /// Returns a norm with renumbered slots. `ripe` returns for a clock whether its bound starts at zero.
    pub(crate) fn apply(&self, norm: Norm, norms: &mut Norms, ripe: impl Fn(u8) -> bool) -> Norm {
        let slot_of = |clock: u8, slot: Option<Slot>| match slot {
            Some(slot) => self.old.get(&slot).copied().unwrap_or(slot),
            None => self.fresh.get(&clock).copied().unwrap_or(0),
        };
        let mut start = |clock: u8, start: Start| {
            Some(match start {
                Start::Unstarted => start,
                Start::At { slot, ripe } => Start::At { slot: slot_of(clock, Some(slot)), ripe },
                Start::Now => Start::At { slot: slot_of(clock, None), ripe: ripe(clock) },
            })
        };
        let mut marks = |clock: u8, marks: &[Mark]| {
            marks
                .iter()
                .map(|mark| match *mark {
                    Mark::At { slot, ripe } => Mark::At { slot: slot_of(clock, Some(slot)), ripe },
                    Mark::Now => Mark::At { slot: slot_of(clock, None), ripe: ripe(clock) },
                })
                .collect()
        };
        rewrite_times(norm, norms, &mut start, &mut marks)
    }
}

/// Returns a norm without expired slots: an until fails, a release holds, a mark is dropped.
pub(crate) fn expire_slots(norm: Norm, norms: &mut Norms, expired: &[bool]) -> Norm {
    let is_expired = |slot: Slot| expired.get(usize::from(slot)).copied().unwrap_or(false);
    let mut start = |_: u8, start: Start| match start {
        Start::At { slot, .. } if is_expired(slot) => None,
        _ => Some(start),
    };
    let mut marks = |_: u8, marks: &[Mark]| {
        marks.iter().copied().filter(|mark| !matches!(mark, Mark::At { slot, .. } if is_expired(*slot))).collect()
    };
    rewrite_times(norm, norms, &mut start, &mut marks)
}

/// Rebuilds a norm with other references to times. A missing start (`None`) decides its operator.
pub(crate) fn rewrite_times(
    norm: Norm,
    norms: &mut Norms,
    start: &mut impl FnMut(u8, Start) -> Option<Start>,
    marks: &mut impl FnMut(u8, &[Mark]) -> Vec<Mark>,
) -> Norm {
    rewrite_shared(norm, norms, start, marks, &mut FxHashMap::default())
}

fn rewrite_shared(
    norm: Norm,
    norms: &mut Norms,
    start: &mut impl FnMut(u8, Start) -> Option<Start>,
    marks: &mut impl FnMut(u8, &[Mark]) -> Vec<Mark>,
    known: &mut FxHashMap<Norm, Norm>,
) -> Norm {
    if !norms.remembers(norm) {
        return norm;
    }
    // Norms share parts: without a memory, a chain of equivalences would take exponential time.
    if let Some(known) = known.get(&norm) {
        return *known;
    }
    let result = match norms.node(norm).clone() {
        NormNode::True | NormNode::False | NormNode::Literal { .. } => norm,
        NormNode::And(list) => {
            let list: Vec<Norm> = list.iter().map(|norm| rewrite_shared(*norm, norms, start, marks, known)).collect();
            norms.and(list)
        }
        NormNode::Or(list) => {
            let list: Vec<Norm> = list.iter().map(|norm| rewrite_shared(*norm, norms, start, marks, known)).collect();
            norms.or(list)
        }
        NormNode::Next(f) => {
            let f = rewrite_shared(f, norms, start, marks, known);
            norms.next(f)
        }
        NormNode::WeakNext(f) => {
            let f = rewrite_shared(f, norms, start, marks, known);
            norms.weak_next(f)
        }
        NormNode::Previous { f, was } => {
            let f = rewrite_shared(f, norms, start, marks, known);
            norms.previous(f, was)
        }
        NormNode::Until { family, from, to, f, g } => {
            let (f, g) = (rewrite_shared(f, norms, start, marks, known), rewrite_shared(g, norms, start, marks, known));
            norms.until(family, from, to, f, g)
        }
        NormNode::Release { from, to, f, g } => {
            let (f, g) = (rewrite_shared(f, norms, start, marks, known), rewrite_shared(g, norms, start, marks, known));
            norms.release(from, to, f, g)
        }
        NormNode::Since { span, left, f, g } => {
            let (f, g) = (rewrite_shared(f, norms, start, marks, known), rewrite_shared(g, norms, start, marks, known));
            norms.since(span, left, f, g)
        }
        NormNode::Trigger { span, left, f, g } => {
            let (f, g) = (rewrite_shared(f, norms, start, marks, known), rewrite_shared(g, norms, start, marks, known));
            norms.trigger(span, left, f, g)
        }
        NormNode::TimedUntil { family, clock, start: begun, f, g } => match start(clock, begun) {
            None => Norms::FALSE,
            Some(begun) => {
                let (f, g) =
                    (rewrite_shared(f, norms, start, marks, known), rewrite_shared(g, norms, start, marks, known));
                norms.timed_until(family, clock, begun, f, g)
            }
        },
        NormNode::TimedRelease { clock, start: begun, f, g } => match start(clock, begun) {
            None => Norms::TRUE,
            Some(begun) => {
                let (f, g) =
                    (rewrite_shared(f, norms, start, marks, known), rewrite_shared(g, norms, start, marks, known));
                norms.timed_release(clock, begun, f, g)
            }
        },
        NormNode::TimedSince { clock, marks: list, f, g } => {
            let list = marks(clock, &list);
            let (f, g) = (rewrite_shared(f, norms, start, marks, known), rewrite_shared(g, norms, start, marks, known));
            norms.timed_since(clock, list, f, g)
        }
        NormNode::TimedTrigger { clock, marks: list, f, g } => {
            let list = marks(clock, &list);
            let (f, g) = (rewrite_shared(f, norms, start, marks, known), rewrite_shared(g, norms, start, marks, known));
            norms.timed_trigger(clock, list, f, g)
        }
    };
    known.insert(norm, result);
    result
}
