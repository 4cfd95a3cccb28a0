//! Reads one position: the value of a norm, its new memory, and its obligation for the rest of the trace.
//!
//! Progression after Bacchus and Kabanza, with the boolean part kept in canonical form (see `dnf.rs`) and past
//! operators rewritten with their new memory (after Havelund and Roşu). One set of functions reads a full letter, when
//! a trace is followed, and a partial one, when `satisfiability.rs` searches for a continuation.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::dnf::{Dnf, Obligation};
use crate::norm::{Clock, FOREVER, Mark, Norm, NormNode, Norms, Slot, Start};

/// The letter of a position, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KnownLetter<'a> {
    /// Every bit is known.
    Full { bits: u64, ages: SlotAges<'a> },
    /// Some bits are unknown, and a literal holds if it may hold. Norms have no negation but of literals, so every norm
    /// that holds under some resolution of the unknown bits holds here.
    Possible { bits: u64, unknown: u64, ages: SlotAges<'a> },
    /// Only some bits are known; a time is never known. Bit `64 + clock` is a guess whether some mark of a timed past
    /// operator lies within its bound.
    /// Norms with too many alternatives to be decided bit by bit have a truth of their own.
    Partial { positive: u128, negative: u128, truths: &'a [(Norm, bool)] },
}

/// How old the moments in slots are, as far as a step needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotAges<'a> {
    /// For each slot, whether its lower bound has been reached.
    pub(crate) ripe: &'a [bool],
    /// For each slot of a past operator, whether it still counts when a mark of this position begins to.
    pub(crate) near: &'a [bool],
}

impl SlotAges<'_> {
    fn has_flag(flags: &[bool], slot: Slot) -> bool {
        flags.get(usize::from(slot)).copied().unwrap_or(false)
    }
}

/// What an evaluation needs first, and is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undetermined {
    Bit(u8),
    /// A norm about the present with too many alternatives.
    Norm(Norm),
}

/// Returns the bit of a partial letter that guesses about a clock.
pub(crate) const fn clock_bit(clock: u8) -> u8 {
    64 + clock
}

impl KnownLetter<'_> {
    fn literal(&self, bit: u8, positive: bool) -> Result<bool, Undetermined> {
        match self {
            KnownLetter::Possible { unknown, .. } if unknown >> bit & 1 == 1 => Ok(true),
            _ => Ok(self.bit(bit)? == positive),
        }
    }

    fn bit(&self, bit: u8) -> Result<bool, Undetermined> {
        match self {
            KnownLetter::Full { bits, .. } | KnownLetter::Possible { bits, .. } => Ok(bits >> bit & 1 == 1),
            KnownLetter::Partial { positive, negative, .. } => {
                if positive >> bit & 1 == 1 {
                    Ok(true)
                } else if negative >> bit & 1 == 1 {
                    Ok(false)
                } else {
                    Err(Undetermined::Bit(bit))
                }
            }
        }
    }

    fn is_ripe(&self, slot: Slot, ripe: bool) -> bool {
        match self {
            KnownLetter::Full { ages, .. } | KnownLetter::Possible { ages, .. } => {
                ripe || SlotAges::has_flag(ages.ripe, slot)
            }
            KnownLetter::Partial { .. } => ripe,
        }
    }

    /// Whether a mark still counts when a mark of this position begins to.
    fn reaches_new_mark(&self, mark: Mark) -> bool {
        match (self, mark) {
            (KnownLetter::Full { ages, .. } | KnownLetter::Possible { ages, .. }, Mark::At { slot, .. }) => {
                SlotAges::has_flag(ages.near, slot)
            }
            _ => false,
        }
    }

    /// Whether some mark lies within the bound.
    fn has_mark_within(&self, clock: u8, marks: &[Mark]) -> Result<bool, Undetermined> {
        match self {
            _ if marks.is_empty() => Ok(false),
            KnownLetter::Full { .. } | KnownLetter::Possible { .. } => {
                Ok(marks.iter().any(|mark| matches!(mark, Mark::At { slot, ripe } if self.is_ripe(*slot, *ripe))))
            }
            KnownLetter::Partial { .. } => self.bit(clock_bit(clock)),
        }
    }
}

/// Reads one position.
pub(crate) struct Progress<'a> {
    pub(crate) norms: &'a mut Norms,
    pub(crate) clocks: &'a [Clock],
    pub(crate) letter: KnownLetter<'a>,
    updated: FxHashMap<Norm, Norm>,
    unfolded: FxHashMap<Norm, Dnf>,
    packed: FxHashMap<Norm, Option<(Norm, bool)>>,
    /// The truths of norms with many alternatives: they share parts.
    truths: RefCell<FxHashMap<Norm, bool>>,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(norms: &'a mut Norms, clocks: &'a [Clock], letter: KnownLetter<'a>) -> Progress<'a> {
        let (updated, unfolded, packed) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        Progress { norms, clocks, letter, updated, unfolded, packed, truths: RefCell::default() }
    }

    /// Returns the truth of a norm without future operators.
    pub(crate) fn evaluate(&self, norm: Norm) -> Result<bool, Undetermined> {
        if !self.norms.is_dense(norm) {
            return self.evaluate_node(norm);
        }
        if let KnownLetter::Partial { truths, .. } = self.letter {
            let known = truths.iter().find(|(other, _)| *other == norm);
            return known.map(|(_, truth)| *truth).ok_or(Undetermined::Norm(norm));
        }
        let known = self.truths.borrow().get(&norm).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let truth = self.evaluate_node(norm)?;
        self.truths.borrow_mut().insert(norm, truth);
        Ok(truth)
    }

    fn evaluate_node(&self, norm: Norm) -> Result<bool, Undetermined> {
        match self.norms.node(norm) {
            NormNode::True => Ok(true),
            NormNode::False => Ok(false),
            NormNode::Literal { bit, positive } => self.letter.literal(*bit, *positive),
            NormNode::And(list) => self.evaluate_all(list, true),
            NormNode::Or(list) => self.evaluate_all(list, false),
            NormNode::Previous { was, .. } => Ok(*was),
            NormNode::Since { left, f, g, .. } => self.evaluate_since(*left > 0, *f, Some(*g)),
            NormNode::Trigger { left, f, g, .. } => self.evaluate_trigger(*left > 0, *f, Some(*g)),
            NormNode::TimedSince { clock, marks, f, g } => self.evaluate_since_within(
                self.letter.has_mark_within(*clock, marks),
                *f,
                self.starts_at_once(*clock).then_some(*g),
            ),
            NormNode::TimedTrigger { clock, marks, f, g } => self.evaluate_trigger_within(
                self.letter.has_mark_within(*clock, marks),
                *f,
                self.starts_at_once(*clock).then_some(*g),
            ),
            // INVARIANT: a compiled formula has no future operator below a past one.
            _ => Ok(false),
        }
    }

    /// Whether the bound of a clock has no upper end.
    fn is_endless(&self, clock: u8) -> bool {
        self.clocks[usize::from(clock)].to.is_none()
    }

    /// Whether a mark of a bound without upper end counts at every later position. Where time is not known, no mark is
    /// known to.
    fn counts_for_good(&self, clock: u8, marks: &[Mark]) -> bool {
        !matches!(self.letter, KnownLetter::Partial { .. })
            && self.is_endless(clock)
            && marks.iter().any(|mark| matches!(mark, Mark::At { ripe: true, .. }))
    }

    /// Whether the bound of a clock includes a distance of zero.
    fn starts_at_once(&self, clock: u8) -> bool {
        self.clocks[usize::from(clock)].from.0 == 0
    }

    /// Evaluates `&` (or, with `unit` false, `|`): a deciding operand decides even if others are undetermined.
    fn evaluate_all(&self, list: &[Norm], unit: bool) -> Result<bool, Undetermined> {
        let mut undetermined = None;
        for norm in list {
            match self.evaluate(*norm) {
                Ok(truth) if truth != unit => return Ok(!unit),
                Ok(_) => {}
                Err(bit) => undetermined = undetermined.or(Some(bit)),
            }
        }
        undetermined.map_or(Ok(unit), Err)
    }

    /// Evaluates a since: `g`, or `f` and a `g` in memory.
    fn evaluate_since(&self, held: bool, f: Norm, g: Option<Norm>) -> Result<bool, Undetermined> {
        self.evaluate_since_within(Ok(held), f, g)
    }

    fn evaluate_since_within(
        &self,
        held: Result<bool, Undetermined>,
        f: Norm,
        g: Option<Norm>,
    ) -> Result<bool, Undetermined> {
        let now = g.map_or(Ok(false), |g| self.evaluate(g));
        if let Ok(true) = now {
            return Ok(true);
        }
        let before = and_lazily(held, || self.evaluate(f));
        match (now, before) {
            (_, Ok(true)) => Ok(true),
            (Err(bit), _) | (_, Err(bit)) => Err(bit),
            _ => Ok(false),
        }
    }

    /// Evaluates a trigger: `g`, and `f` or no break in memory.
    fn evaluate_trigger(&self, broken: bool, f: Norm, g: Option<Norm>) -> Result<bool, Undetermined> {
        self.evaluate_trigger_within(Ok(broken), f, g)
    }

    fn evaluate_trigger_within(
        &self,
        broken: Result<bool, Undetermined>,
        f: Norm,
        g: Option<Norm>,
    ) -> Result<bool, Undetermined> {
        let now = g.map_or(Ok(true), |g| self.evaluate(g));
        if let Ok(false) = now {
            return Ok(false);
        }
        let before = and_lazily(broken, || self.evaluate(f).map(|truth| !truth));
        match (now, before) {
            (_, Ok(true)) => Ok(false),
            (Err(bit), _) | (_, Err(bit)) => Err(bit),
            _ => Ok(true),
        }
    }

    /// Returns a norm with its memory after this position.
    pub(crate) fn update(&mut self, norm: Norm) -> Result<Norm, Undetermined> {
        if !self.norms.remembers(norm) {
            return Ok(norm);
        }
        if let Some(known) = self.updated.get(&norm) {
            return Ok(*known);
        }
        let result = match self.norms.node(norm).clone() {
            NormNode::True | NormNode::False | NormNode::Literal { .. } => norm,
            NormNode::And(list) => {
                let list = self.update_all(&list)?;
                self.norms.and(list)
            }
            NormNode::Or(list) => {
                let list = self.update_all(&list)?;
                self.norms.or(list)
            }
            NormNode::Next(f) => {
                let f = self.update(f)?;
                self.norms.next(f)
            }
            NormNode::WeakNext(f) => {
                let f = self.update(f)?;
                self.norms.weak_next(f)
            }
            NormNode::Until { family, from, to, f, g } => {
                let (f, g) = (self.update(f)?, self.update(g)?);
                self.norms.until(family, from, to, f, g)
            }
            NormNode::Release { from, to, f, g } => {
                let (f, g) = (self.update(f)?, self.update(g)?);
                self.norms.release(from, to, f, g)
            }
            NormNode::TimedUntil { family, clock, start, f, g } => {
                let (f, g) = (self.update(f)?, self.update(g)?);
                match self.ripen_start(clock, start) {
                    None => self.norms.until(family, 0, FOREVER, f, g),
                    Some(start) => self.norms.timed_until(family, clock, start, f, g),
                }
            }
            NormNode::TimedRelease { clock, start, f, g } => {
                let (f, g) = (self.update(f)?, self.update(g)?);
                match self.ripen_start(clock, start) {
                    None => self.norms.release(0, FOREVER, f, g),
                    Some(start) => self.norms.timed_release(clock, start, f, g),
                }
            }
            NormNode::Previous { f, .. } => {
                let was = self.evaluate(f)?;
                let f = self.update(f)?;
                self.norms.previous(f, was)
            }
            NormNode::Since { span, left, f, g } => {
                let left = self.count_remaining(span, left, self.evaluate(g), self.evaluate(f))?;
                let (f, g) = (self.update(f)?, self.update(g)?);
                self.norms.since(span, left, f, g)
            }
            NormNode::Trigger { span, left, f, g } => {
                let (breaks, stays) = (self.evaluate(g).map(|g| !g), self.evaluate(f).map(|f| !f));
                let left = self.count_remaining(span, left, breaks, stays)?;
                let (f, g) = (self.update(f)?, self.update(g)?);
                self.norms.trigger(span, left, f, g)
            }
            NormNode::TimedSince { clock, marks, f, g } => {
                let marks = self.update_marks(clock, &marks, self.evaluate(g)?, || self.evaluate(f))?;
                let (f, g) = (self.update(f)?, self.update(g)?);
                match f {
                    Norms::TRUE if self.counts_for_good(clock, &marks) => f,
                    _ => self.norms.timed_since(clock, marks, f, g),
                }
            }
            NormNode::TimedTrigger { clock, marks, f, g } => {
                let marks = self.update_marks(clock, &marks, !self.evaluate(g)?, || self.evaluate(f).map(|f| !f))?;
                let (f, g) = (self.update(f)?, self.update(g)?);
                match f {
                    Norms::FALSE if self.counts_for_good(clock, &marks) => f,
                    _ => self.norms.timed_trigger(clock, marks, f, g),
                }
            }
        };
        self.updated.insert(norm, result);
        Ok(result)
    }

    fn update_all(&mut self, list: &[Norm]) -> Result<Vec<Norm>, Undetermined> {
        list.iter().map(|norm| self.update(*norm)).collect()
    }

    /// Returns for how many more positions a mark counts: renewed by a new mark, one fewer while it stays, else zero.
    fn count_remaining(
        &self,
        span: u32,
        left: u32,
        marks: Result<bool, Undetermined>,
        stays: Result<bool, Undetermined>,
    ) -> Result<u32, Undetermined> {
        let older = match left {
            0 => 0,
            FOREVER => FOREVER,
            left => left - 1,
        };
        if marks? {
            // `span` positions may follow this one within the bound.
            return Ok(span);
        }
        Ok(if older > 0 && stays? { older } else { 0 })
    }

    /// Returns the marks that may still count after this position, oldest first.
    fn update_marks(
        &self,
        clock: u8,
        marks: &[Mark],
        fresh: bool,
        stays: impl Fn() -> Result<bool, Undetermined>,
    ) -> Result<Vec<Mark>, Undetermined> {
        let at_once = self.starts_at_once(clock);
        if fresh && at_once {
            // The newest mark outlives all older ones.
            return Ok(self.abstract_marks(vec![Mark::Now]));
        }
        let mut kept = if !marks.is_empty() && stays()? { marks.to_vec() } else { Vec::new() };
        for mark in &mut kept {
            if let Mark::At { slot, ripe } = mark {
                *ripe = self.letter.is_ripe(*slot, *ripe);
            }
        }
        if self.is_endless(clock) {
            // Without an upper bound, the oldest mark counts whenever a later one does.
            kept.truncate(1);
            if fresh && kept.is_empty() {
                kept.push(Mark::Now);
            }
            return Ok(self.abstract_marks(kept));
        }
        // Of those whose lower bound has been reached, the newest outlives the others.
        let ripe = kept.iter().filter(|mark| matches!(mark, Mark::At { ripe: true, .. })).count();
        kept.drain(..ripe.saturating_sub(1));
        if fresh {
            // A mark between two of which one always counts is redundant. So few marks are kept, however many there were.
            while let [.., before, _] = kept[..]
                && self.letter.reaches_new_mark(before)
            {
                kept.pop();
            }
            kept.push(Mark::Now);
        }
        Ok(self.abstract_marks(kept))
    }

    /// Returns one mark for any number of them, if time is not known.
    fn abstract_marks(&self, marks: Vec<Mark>) -> Vec<Mark> {
        match self.letter {
            KnownLetter::Partial { .. } if !marks.is_empty() => vec![Mark::At { slot: 0, ripe: true }],
            _ => marks,
        }
    }

    /// Returns the start of a timed obligation after this position; none if its bound no longer matters.
    fn ripen_start(&self, clock: u8, start: Start) -> Option<Start> {
        let Start::At { slot, ripe } = start else { return Some(start) };
        let ripe = self.letter.is_ripe(slot, ripe);
        if ripe && self.is_endless(clock) { None } else { Some(Start::At { slot, ripe }) }
    }

    /// Returns the obligations of an obligation for the positions after this one: like [`Progress::unfold`], but without
    /// multiplying out what `dnf.rs` has packed.
    pub(crate) fn unfold_obligation(&mut self, norm: Norm) -> Dnf {
        // INVARIANT: a conjunction or disjunction is taken apart, unless it is packed.
        match self.norms.node(norm) {
            NormNode::And(_) | NormNode::Or(_) => match self.unfold_packed(norm) {
                Some((next, at_end)) => Dnf::repack(next, at_end, self.norms),
                None => Dnf::TooMany,
            },
            _ => self.unfold(norm),
        }
    }

    /// Returns what must hold at the next position as one norm, and the value if there is none.
    fn unfold_packed(&mut self, norm: Norm) -> Option<(Norm, bool)> {
        let (list, is_conjunction) = match self.norms.node(norm) {
            NormNode::And(list) => (list.clone(), true),
            NormNode::Or(list) => (list.clone(), false),
            _ => {
                let Dnf::Clauses(clauses) = self.unfold(norm) else { return None };
                return Some(Dnf::to_norm(&clauses, self.norms));
            }
        };
        if let Some(known) = self.packed.get(&norm) {
            return *known;
        }
        let parts: Option<Vec<(Norm, bool)>> = list.iter().map(|part| self.unfold_packed(*part)).collect();
        let result = parts.map(|parts| {
            let next = parts.iter().map(|(next, _)| *next);
            match is_conjunction {
                true => (self.norms.and(next), parts.iter().all(|(_, at_end)| *at_end)),
                false => (self.norms.or(next), parts.iter().any(|(_, at_end)| *at_end)),
            }
        });
        self.packed.insert(norm, result);
        result
    }

    /// Returns the obligations of a norm for the positions after this one.
    ///
    /// Not for a partial letter: nothing may be undetermined.
    pub(crate) fn unfold(&mut self, norm: Norm) -> Dnf {
        if let Some(known) = self.unfolded.get(&norm) {
            return known.clone();
        }
        let result = match self.norms.node(norm).clone() {
            NormNode::And(list) => {
                let mut result = Dnf::top();
                for norm in list {
                    let part = self.unfold(norm);
                    result = result.and(&part, self.norms);
                }
                result
            }
            NormNode::Or(list) => {
                let mut result = Dnf::bottom();
                for norm in list {
                    let part = self.unfold(norm);
                    result = result.or(&part, self.norms);
                }
                result
            }
            NormNode::Next(f) => self.oblige_next(f, true),
            NormNode::WeakNext(f) => self.oblige_next(f, false),
            NormNode::Until { family, from, to, f, g } => {
                let now = if from == 0 { self.unfold(g) } else { Dnf::bottom() };
                if to == 0 {
                    now
                } else {
                    let rest = self.norms.until(family, from.saturating_sub(1), shorten_bound(to), f, g);
                    self.postpone(now, f, rest)
                }
            }
            NormNode::Release { from, to, f, g } => {
                let now = if from == 0 { self.unfold(g) } else { Dnf::top() };
                if to == 0 {
                    now
                } else {
                    let rest = self.norms.release(from.saturating_sub(1), shorten_bound(to), f, g);
                    self.keep_up(now, f, rest)
                }
            }
            NormNode::TimedUntil { family, clock, start, f, g } => {
                let now = if self.is_within(clock, start) { self.unfold(g) } else { Dnf::bottom() };
                let rest = self.norms.timed_until(family, clock, start_clock(start), f, g);
                self.postpone(now, f, rest)
            }
            NormNode::TimedRelease { clock, start, f, g } => {
                let now = if self.is_within(clock, start) { self.unfold(g) } else { Dnf::top() };
                let rest = self.norms.timed_release(clock, start_clock(start), f, g);
                self.keep_up(now, f, rest)
            }
            _ => match self.evaluate(norm) {
                Ok(true) => Dnf::top(),
                // INVARIANT: nothing is undetermined in a full letter.
                Ok(false) | Err(_) => Dnf::bottom(),
            },
        };
        self.unfolded.insert(norm, result.clone());
        result
    }

    /// Whether this position is within the bound of a timed obligation. Past deadlines were expired before.
    fn is_within(&self, clock: u8, start: Start) -> bool {
        match start {
            Start::At { slot, ripe } => self.letter.is_ripe(slot, ripe),
            Start::Unstarted | Start::Now => self.starts_at_once(clock),
        }
    }

    /// Returns `now`, or `f` and the rest at a next position that must exist.
    fn postpone(&mut self, now: Dnf, f: Norm, rest: Norm) -> Dnf {
        let later = self.oblige_next(rest, true);
        let later = self.unfold(f).and(&later, self.norms);
        now.or(&later, self.norms)
    }

    /// Returns `now`, and `f` or the rest at a next position if there is one.
    fn keep_up(&mut self, now: Dnf, f: Norm, rest: Norm) -> Dnf {
        let later = self.oblige_next(rest, false);
        let later = self.unfold(f).or(&later, self.norms);
        now.and(&later, self.norms)
    }

    fn oblige_next(&mut self, norm: Norm, strong: bool) -> Dnf {
        // INVARIANT: nothing is undetermined in a full letter, so the update is always there.
        let updated = self.update(norm).unwrap_or(norm);
        Dnf::from_obligation(Obligation::new(updated, strong), self.norms)
    }
}

/// Returns the upper end of a bound, one position shorter.
pub(crate) fn shorten_bound(to: u32) -> u32 {
    if to == FOREVER { FOREVER } else { to.saturating_sub(1) }
}

/// Returns the start of an obligation at the next position: now, unless it has already begun.
pub(crate) fn start_clock(start: Start) -> Start {
    if start == Start::Unstarted { Start::Now } else { start }
}

/// Returns the conjunction of two, evaluating the second only if needed.
fn and_lazily(
    first: Result<bool, Undetermined>,
    second: impl FnOnce() -> Result<bool, Undetermined>,
) -> Result<bool, Undetermined> {
    match first {
        Ok(false) => Ok(false),
        Ok(true) => second(),
        Err(bit) => match second() {
            Ok(false) => Ok(false),
            _ => Err(bit),
        },
    }
}
