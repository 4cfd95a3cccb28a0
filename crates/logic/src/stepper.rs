//! Computes one step of a residual that the cache does not have yet.

use rustc_hash::FxHashMap;

use crate::dnf::{Dnf, Obligation};
use crate::norm::{Norm, NormNode, Norms, Slot};
use crate::progress::{KnownLetter, Progress, SlotAges};
use crate::satisfiability::Satisfiability;
use crate::skeleton::Skeleton;
use crate::slots::{SlotNumbering, SlotSources, expire_slots};
use crate::state::{Member, Residual};
use crate::verdict::Verdict;

/// The input of a step: a position, or expired deadlines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StepInput {
    /// The bits that are set and those that are unknown; the slots that have reached their lower bound, and those that
    /// still count when a mark of this position begins to.
    Facts { bits: u64, unknown: u64, ripe: SlotSet, near: SlotSet },
    /// Slots whose upper bound has passed.
    Expired(SlotSet),
}

impl StepInput {
    /// Leaves out all other bits of a letter.
    pub(crate) fn keep_bits(&mut self, support: u64) {
        if let StepInput::Facts { bits, unknown, .. } = self {
            *bits &= support;
            *unknown &= support;
        }
    }
}

/// A set of slots, as words of bits without empty words at the end.
pub(crate) type SlotSet = Box<[u64]>;

/// Computes steps that the cache does not have.
pub(crate) struct Stepper<'a> {
    pub(crate) norms: &'a mut Norms,
    pub(crate) satisfy: &'a mut Satisfiability,
    pub(crate) skeleton: &'a Skeleton,
    /// The most resolutions of unknown facts that are followed one by one.
    pub(crate) max_resolutions: usize,
}

impl Stepper<'_> {
    /// Returns the obligations for the first position, strong or weak like those for any later one. So a formula that a
    /// position leaves unchanged is in its start state again.
    fn first_obligations(&mut self, norm: Norm, known: &mut FxHashMap<Norm, Dnf>) -> Dnf {
        let (list, is_conjunction) = match self.norms.node(norm) {
            NormNode::And(list) => (list.clone(), true),
            NormNode::Or(list) => (list.clone(), false),
            node => {
                let weak = matches!(
                    node,
                    NormNode::True
                        | NormNode::Literal { positive: false, .. }
                        | NormNode::WeakNext(_)
                        | NormNode::Release { .. }
                        | NormNode::TimedRelease { .. }
                        | NormNode::Trigger { .. }
                        | NormNode::TimedTrigger { .. }
                        | NormNode::Previous { was: true, .. }
                );
                return Dnf::from_obligation(Obligation::new(norm, !weak), self.norms);
            }
        };
        if let Some(known) = known.get(&norm) {
            return known.clone();
        }
        let mut result = if is_conjunction { Dnf::top() } else { Dnf::bottom() };
        for part in list {
            let part = self.first_obligations(part, known);
            result = if is_conjunction { result.and(&part, self.norms) } else { result.or(&part, self.norms) };
        }
        known.insert(norm, result.clone());
        result
    }

    /// Returns the obligations before the first position, with the value on the empty trace if none comes.
    pub(crate) fn initial(&mut self, norm: Norm, on_empty: bool) -> Dnf {
        let (none, some) = (Obligation::new(Norms::FALSE, false), Obligation::new(Norms::TRUE, true));
        let at_first = self.first_obligations(norm, &mut FxHashMap::default());
        match (at_first.end_value(), on_empty) {
            // If the form has another value at the end, the existence of a position is added as an obligation.
            (Some(false), true) => {
                let none = Dnf::from_obligation(none, self.norms);
                at_first.or(&none, self.norms)
            }
            (Some(true), false) => {
                let some = Dnf::from_obligation(some, self.norms);
                at_first.and(&some, self.norms)
            }
            _ => at_first,
        }
    }

    pub(crate) fn step(&mut self, residual: &Residual, letter: &StepInput) -> (Residual, Option<SlotSources>) {
        let slots = residual.clocks.len();
        let is_open = |member: &&Member| !member.formal_verdict().is_definite();
        let mut members: Vec<Member> = residual.members.iter().filter(|member| !is_open(member)).cloned().collect();
        match letter {
            StepInput::Expired(expired) => {
                let expired = unpack_slots(expired, slots);
                let mut forget = |norms: &mut Norms, norm: Norm| expire_slots(norm, norms, &expired);
                for member in residual.members.iter().filter(is_open) {
                    let holds = member.holds.rewrite(self.norms, &mut forget);
                    let fails = member.fails.rewrite(self.norms, &mut forget);
                    members.push(self.settle(Member { holds, fails, ..member.clone() }));
                }
            }
            StepInput::Facts { bits, unknown, ripe, near } => {
                let (ripe, near) = (unpack_slots(ripe, slots), unpack_slots(near, slots));
                let ages = SlotAges { ripe: &ripe, near: &near };
                let count = residual.members.iter().filter(is_open).count();
                let resolutions = 1usize.checked_shl(unknown.count_ones()).unwrap_or(usize::MAX);
                if *unknown != 0 && count.saturating_mul(resolutions) > self.max_resolutions {
                    let blurred = Member::blur(residual.members.iter().filter(is_open), self.norms);
                    let letter = KnownLetter::Possible { bits: *bits & !unknown, unknown: *unknown, ages };
                    let member = self.read(&blurred, letter);
                    members.push(self.settle(member));
                } else {
                    for member in residual.members.iter().filter(is_open) {
                        self.read_resolutions(member, (*bits, *unknown), ages, &mut members);
                    }
                }
            }
        }
        members.sort_unstable();
        members.dedup();
        let (residual, sources) = self.renumber_slots(members, slots);
        match self.norms.work.is_exceeded() {
            true => (Residual::stopped(), Some([].into())),
            false => (residual, sources),
        }
    }

    /// Reads a letter under every resolution of its unknown bits.
    fn read_resolutions(
        &mut self,
        member: &Member,
        (bits, unknown): (u64, u64),
        ages: SlotAges<'_>,
        members: &mut Vec<Member>,
    ) {
        let mut resolution = 0;
        loop {
            let bits = bits & !unknown | resolution;
            // Only the resolved bits are compared: irrelevant bits were left out before.
            if self.skeleton.is_possible(bits, unknown) {
                let member = self.read(member, KnownLetter::Full { bits, ages });
                members.push(self.settle(member));
            }
            if resolution == unknown {
                return;
            }
            if self.norms.work.is_exceeded() {
                return;
            }
            resolution = resolution.wrapping_sub(unknown) & unknown;
        }
    }

    fn read(&mut self, member: &Member, reading: KnownLetter<'_>) -> Member {
        let mut progress = Progress::new(self.norms, &self.skeleton.clocks, reading);
        let mut unfold = |dnf: &Dnf| {
            let next =
                |progress: &mut Progress<'_>, obligation: Obligation| progress.unfold_obligation(obligation.norm());
            dnf.map_obligations(&mut progress, |progress| progress.norms, next)
        };
        Member { holds: unfold(&member.holds), fails: unfold(&member.fails), ..member.clone() }
    }

    /// A member that no continuation can satisfy is violated, one that every continuation satisfies is satisfied.
    ///
    /// A verdict is kept even if the finite trace would have another value. But with bindings, the verdict is that of
    /// all of them together, so a satisfied member continues to its own end.
    pub(crate) fn settle(&mut self, member: Member) -> Member {
        match member.formal_verdict() {
            Verdict::Satisfied => return Member::satisfied(),
            Verdict::Violated => return Member::violated(),
            Verdict::Inconclusive if member.assured => return member,
            Verdict::Inconclusive => {}
        }
        if self.norms.work.is_exceeded() {
            return member;
        }
        self.satisfy.begin_search();
        if !self.can_be_met(&member.holds) {
            Member::violated()
        } else if self.can_be_met(&member.fails) {
            member
        } else if self.skeleton.quantified {
            Member { assured: true, ..member }
        } else {
            Member::satisfied()
        }
    }

    fn can_be_met(&mut self, dnf: &Dnf) -> bool {
        match dnf {
            Dnf::Clauses(clauses) => {
                clauses.iter().any(|clause| self.satisfy.can_be_met(clause, self.norms, self.skeleton))
            }
            Dnf::TooMany => {
                self.satisfy.is_partial = true;
                true
            }
        }
    }

    /// Renumbers the slots that are still used.
    fn renumber_slots(&mut self, mut members: Vec<Member>, slots: usize) -> (Residual, Option<SlotSources>) {
        let ripe = |clock: u8| self.skeleton.clocks[usize::from(clock)].from.0 == 0;
        let mut total: Option<SlotSources> = None;
        loop {
            let mut found: Vec<(u8, Option<Slot>)> = Vec::new();
            for obligation in members.iter().flat_map(Member::clauses).flatten() {
                self.norms.slots(obligation.norm(), &mut found);
            }
            if found.len() > usize::from(Slot::MAX) {
                self.norms.work.exceed();
            }
            if self.norms.work.is_exceeded() {
                return (Residual::stopped(), Some([].into()));
            }
            let numbering = SlotNumbering::new(found);
            if numbering.is_identity(total.as_ref().map_or(slots, |sources| sources.len())) {
                return (Residual { members: members.into(), clocks: numbering.clocks }, total);
            }
            let mut renumber = |norms: &mut Norms, norm: Norm| numbering.apply(norm, norms, ripe);
            for member in &mut members {
                member.holds = member.holds.rewrite(self.norms, &mut renumber);
                member.fails = member.fails.rewrite(self.norms, &mut renumber);
            }
            members.sort_unstable();
            members.dedup();
            // Renaming can make one obligation imply another and so free a slot: number once more.
            total = Some(match total {
                None => numbering.sources,
                Some(before) => {
                    let through = |slot: &Option<Slot>| slot.and_then(|slot| before[usize::from(slot)]);
                    numbering.sources.iter().map(through).collect()
                }
            });
        }
    }
}

fn unpack_slots(flags: &SlotSet, count: usize) -> Vec<bool> {
    (0..count).map(|index| flags.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)).collect()
}
