//! One position read: what a norm is now, what it will remember, and what it leaves for the rest of the trace.
//!
//! Progression after Bacchus and Kabanza, with the boolean part kept in canonical form (see `residual.rs`) and past
//! operators rewritten with their new memory (after Havelund and Roşu). The same functions read a full letter, when a
//! trace is followed, and a partial one, when `satisfy.rs` looks for a continuation.

use rustc_hash::FxHashMap;

use crate::normal::{Clock, FOREVER, Mark, Norm, NormNode, Norms, Slot, Start};
use crate::residual::{Dnf, Obligation};

/// What is known of the letter that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading<'a> {
    /// Every bit is known; `ripe` tells for each slot whether its lower bound has been reached.
    Letter { bits: u64, ripe: &'a [bool] },
    /// Only some bits are known; a time is never known. Bit `64 + clock` is a guess whether some mark of a timed past
    /// operator lies within its bound.
    Partial { positive: u128, negative: u128 },
}

/// The first bit whose value would be needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undetermined(pub(crate) u8);

/// The bit of a partial reading that guesses about a clock.
pub(crate) const fn clock_bit(clock: u8) -> u8 {
    64 + clock
}

impl Reading<'_> {
    fn bit(&self, bit: u8) -> Result<bool, Undetermined> {
        match self {
            Reading::Letter { bits, .. } => Ok(bits >> bit & 1 == 1),
            Reading::Partial { positive, negative } => {
                if positive >> bit & 1 == 1 {
                    Ok(true)
                } else if negative >> bit & 1 == 1 {
                    Ok(false)
                } else {
                    Err(Undetermined(bit))
                }
            }
        }
    }

    fn is_ripe(&self, slot: Slot, ripe: bool) -> bool {
        match self {
            Reading::Letter { ripe: slots, .. } => ripe || slots.get(usize::from(slot)).copied().unwrap_or(false),
            Reading::Partial { .. } => ripe,
        }
    }

    /// Does some mark lie within the bound?
    fn within(&self, clock: u8, marks: &[Mark]) -> Result<bool, Undetermined> {
        match self {
            _ if marks.is_empty() => Ok(false),
            Reading::Letter { .. } => {
                Ok(marks.iter().any(|mark| matches!(mark, Mark::At { slot, ripe } if self.is_ripe(*slot, *ripe))))
            }
            Reading::Partial { .. } => self.bit(clock_bit(clock)),
        }
    }
}

/// Reads one position.
pub(crate) struct Progress<'a> {
    pub(crate) norms: &'a mut Norms,
    pub(crate) clocks: &'a [Clock],
    pub(crate) reading: Reading<'a>,
    updated: FxHashMap<Norm, Norm>,
    unfolded: FxHashMap<Norm, Dnf>,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(norms: &'a mut Norms, clocks: &'a [Clock], reading: Reading<'a>) -> Progress<'a> {
        Progress { norms, clocks, reading, updated: FxHashMap::default(), unfolded: FxHashMap::default() }
    }

    /// The truth of a norm without future operators.
    pub(crate) fn evaluate(&self, norm: Norm) -> Result<bool, Undetermined> {
        match self.norms.node(norm) {
            NormNode::True => Ok(true),
            NormNode::False => Ok(false),
            NormNode::Literal { bit, positive } => Ok(self.reading.bit(*bit)? == *positive),
            NormNode::And(list) => self.all(list, true),
            NormNode::Or(list) => self.all(list, false),
            NormNode::Previous { was, .. } => Ok(*was),
            NormNode::Since { left, f, g, .. } => self.since(*left > 0, *f, Some(*g)),
            NormNode::Trigger { left, f, g, .. } => self.trigger(*left > 0, *f, Some(*g)),
            NormNode::TimedSince { clock, marks, f, g } => {
                self.since_within(self.reading.within(*clock, marks), *f, self.at_once(*clock).then_some(*g))
            }
            NormNode::TimedTrigger { clock, marks, f, g } => {
                self.trigger_within(self.reading.within(*clock, marks), *f, self.at_once(*clock).then_some(*g))
            }
            // INVARIANT: a compiled formula has no future operator below a past one.
            _ => Ok(false),
        }
    }

    /// Does the bound of a clock hold a distance of zero?
    fn at_once(&self, clock: u8) -> bool {
        self.clocks[usize::from(clock)].from.0 == 0
    }

    /// `&` (or, with `unit` false, `|`): a deciding operand decides even where others are undetermined.
    fn all(&self, list: &[Norm], unit: bool) -> Result<bool, Undetermined> {
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

    /// `g`, or `f` and something to look back on.
    fn since(&self, held: bool, f: Norm, g: Option<Norm>) -> Result<bool, Undetermined> {
        self.since_within(Ok(held), f, g)
    }

    fn since_within(&self, held: Result<bool, Undetermined>, f: Norm, g: Option<Norm>) -> Result<bool, Undetermined> {
        let now = g.map_or(Ok(false), |g| self.evaluate(g));
        if let Ok(true) = now {
            return Ok(true);
        }
        let before = both(held, || self.evaluate(f));
        match (now, before) {
            (_, Ok(true)) => Ok(true),
            (Err(bit), _) | (_, Err(bit)) => Err(bit),
            _ => Ok(false),
        }
    }

    /// `g`, and `f` or nothing that broke it.
    fn trigger(&self, broken: bool, f: Norm, g: Option<Norm>) -> Result<bool, Undetermined> {
        self.trigger_within(Ok(broken), f, g)
    }

    fn trigger_within(
        &self,
        broken: Result<bool, Undetermined>,
        f: Norm,
        g: Option<Norm>,
    ) -> Result<bool, Undetermined> {
        let now = g.map_or(Ok(true), |g| self.evaluate(g));
        if let Ok(false) = now {
            return Ok(false);
        }
        let before = both(broken, || self.evaluate(f).map(|truth| !truth));
        match (now, before) {
            (_, Ok(true)) => Ok(false),
            (Err(bit), _) | (_, Err(bit)) => Err(bit),
            _ => Ok(true),
        }
    }

    /// The same norm with what it remembers after this position.
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
                match self.ripened(clock, start) {
                    None => self.norms.until(family, 0, FOREVER, f, g),
                    Some(start) => self.norms.timed_until(family, clock, start, f, g),
                }
            }
            NormNode::TimedRelease { clock, start, f, g } => {
                let (f, g) = (self.update(f)?, self.update(g)?);
                match self.ripened(clock, start) {
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
                let left = self.remaining(span, left, self.evaluate(g), self.evaluate(f))?;
                let (f, g) = (self.update(f)?, self.update(g)?);
                self.norms.since(span, left, f, g)
            }
            NormNode::Trigger { span, left, f, g } => {
                let (breaks, stays) = (self.evaluate(g).map(|g| !g), self.evaluate(f).map(|f| !f));
                let left = self.remaining(span, left, breaks, stays)?;
                let (f, g) = (self.update(f)?, self.update(g)?);
                self.norms.trigger(span, left, f, g)
            }
            NormNode::TimedSince { clock, marks, f, g } => {
                let marks = self.marked(clock, &marks, self.evaluate(g)?, || self.evaluate(f))?;
                let (f, g) = (self.update(f)?, self.update(g)?);
                self.norms.timed_since(clock, marks, f, g)
            }
            NormNode::TimedTrigger { clock, marks, f, g } => {
                let marks = self.marked(clock, &marks, !self.evaluate(g)?, || self.evaluate(f).map(|f| !f))?;
                let (f, g) = (self.update(f)?, self.update(g)?);
                self.norms.timed_trigger(clock, marks, f, g)
            }
        };
        self.updated.insert(norm, result);
        Ok(result)
    }

    fn update_all(&mut self, list: &[Norm]) -> Result<Vec<Norm>, Undetermined> {
        list.iter().map(|norm| self.update(*norm)).collect()
    }

    /// How many more positions may look back: renewed by a mark, one fewer while it stays, none otherwise.
    fn remaining(
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

    /// The moments that may still count after this position, oldest first.
    fn marked(
        &self,
        clock: u8,
        marks: &[Mark],
        fresh: bool,
        stays: impl Fn() -> Result<bool, Undetermined>,
    ) -> Result<Vec<Mark>, Undetermined> {
        let at_once = self.at_once(clock);
        if fresh && at_once {
            // The newest mark outlives all older ones.
            return Ok(self.abstracted(vec![Mark::Now]));
        }
        let mut kept = if !marks.is_empty() && stays()? { marks.to_vec() } else { Vec::new() };
        for mark in &mut kept {
            if let Mark::At { slot, ripe } = mark {
                *ripe = self.reading.is_ripe(*slot, *ripe);
            }
        }
        // Of those whose lower bound has been reached, the newest outlives the others.
        let ripe = kept.iter().filter(|mark| matches!(mark, Mark::At { ripe: true, .. })).count();
        kept.drain(..ripe.saturating_sub(1));
        if fresh {
            kept.push(Mark::Now);
        }
        Ok(self.abstracted(kept))
    }

    /// Where time is not known, one mark stands for any number of them.
    fn abstracted(&self, marks: Vec<Mark>) -> Vec<Mark> {
        match self.reading {
            Reading::Partial { .. } if !marks.is_empty() => vec![Mark::At { slot: 0, ripe: true }],
            _ => marks,
        }
    }

    /// The start of a timed obligation after this position; none if only its operands matter from now on.
    fn ripened(&self, clock: u8, start: Start) -> Option<Start> {
        let Start::At { slot, ripe } = start else { return Some(start) };
        let ripe = self.reading.is_ripe(slot, ripe);
        let endless = self.clocks[usize::from(clock)].to.is_none();
        if ripe && endless { None } else { Some(Start::At { slot, ripe }) }
    }

    /// What a norm leaves for the positions after this one.
    ///
    /// Only for a full letter, for which nothing is undetermined.
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
            NormNode::Next(f) => self.later(f, true),
            NormNode::WeakNext(f) => self.later(f, false),
            NormNode::Until { family, from, to, f, g } => {
                let now = if from == 0 { self.unfold(g) } else { Dnf::bottom() };
                if to == 0 {
                    now
                } else {
                    let rest = self.norms.until(family, from.saturating_sub(1), shorter(to), f, g);
                    self.postponed(now, f, rest)
                }
            }
            NormNode::Release { from, to, f, g } => {
                let now = if from == 0 { self.unfold(g) } else { Dnf::top() };
                if to == 0 {
                    now
                } else {
                    let rest = self.norms.release(from.saturating_sub(1), shorter(to), f, g);
                    self.kept_up(now, f, rest)
                }
            }
            NormNode::TimedUntil { family, clock, start, f, g } => {
                let now = if self.is_within(clock, start) { self.unfold(g) } else { Dnf::bottom() };
                let rest = self.norms.timed_until(family, clock, started(start), f, g);
                self.postponed(now, f, rest)
            }
            NormNode::TimedRelease { clock, start, f, g } => {
                let now = if self.is_within(clock, start) { self.unfold(g) } else { Dnf::top() };
                let rest = self.norms.timed_release(clock, started(start), f, g);
                self.kept_up(now, f, rest)
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

    /// Is this position within the bound of a timed obligation? What is past it has been expired before.
    fn is_within(&self, clock: u8, start: Start) -> bool {
        match start {
            Start::At { slot, ripe } => self.reading.is_ripe(slot, ripe),
            Start::Unstarted | Start::Now => self.at_once(clock),
        }
    }

    /// `now`, or `f` and the rest at a next position that must exist.
    fn postponed(&mut self, now: Dnf, f: Norm, rest: Norm) -> Dnf {
        let later = self.later(rest, true);
        let later = self.unfold(f).and(&later, self.norms);
        now.or(&later, self.norms)
    }

    /// `now`, and `f` or the rest at a next position if there is one.
    fn kept_up(&mut self, now: Dnf, f: Norm, rest: Norm) -> Dnf {
        let later = self.later(rest, false);
        let later = self.unfold(f).or(&later, self.norms);
        now.and(&later, self.norms)
    }

    fn later(&mut self, norm: Norm, strong: bool) -> Dnf {
        // INVARIANT: nothing is undetermined in a full letter, so the update is always there.
        let updated = self.update(norm).unwrap_or(norm);
        Dnf::of(Obligation::new(updated, strong), self.norms)
    }
}

/// A shorter upper end by one position.
pub(crate) fn shorter(to: u32) -> u32 {
    if to == FOREVER { FOREVER } else { to.saturating_sub(1) }
}

/// An obligation once begun stays at the moment of its beginning.
pub(crate) fn started(start: Start) -> Start {
    if start == Start::Unstarted { Start::Now } else { start }
}

/// A conjunction of two, the second looked at only if needed.
fn both(
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
