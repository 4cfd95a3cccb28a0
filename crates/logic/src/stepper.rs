//! Computes one step of a residual that the cache does not have yet.

use crate::dnf::{Dnf, Obligation};
use crate::norm::{Norm, NormNode, Norms, Slot};
use crate::progress::{KnownLetter, Progress};
use crate::satisfiability::Satisfiability;
use crate::skeleton::Skeleton;
use crate::slots::{SlotNumbering, SlotSources, expire_slots};
use crate::state::{Member, Residual};
use crate::verdict::Verdict;

/// The input of a step: a position, or expired deadlines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StepInput {
    /// The bits that are set and those that are unknown; the slots that have reached their lower bound.
    Facts { bits: u64, unknown: u64, ripe: SlotSet },
    /// Slots whose upper bound has passed.
    Expired(SlotSet),
}

/// A set of slots, as words of bits without empty words at the end.
pub(crate) type SlotSet = Box<[u64]>;

/// Computes steps that the cache does not have.
pub(crate) struct Stepper<'a> {
    pub(crate) norms: &'a mut Norms,
    pub(crate) satisfy: &'a mut Satisfiability,
    pub(crate) skeleton: &'a Skeleton,
}

impl Stepper<'_> {
    /// Returns the obligations for the first position, strong or weak like those for any later one. So a formula that a
    /// position leaves unchanged is in its start state again.
    fn first_obligations(&self, norm: Norm) -> Dnf {
        let strong = match self.norms.node(norm) {
            NormNode::And(list) => {
                return list.iter().fold(Dnf::top(), |dnf, part| dnf.and(&self.first_obligations(*part), self.norms));
            }
            NormNode::Or(list) => {
                return list.iter().fold(Dnf::bottom(), |dnf, part| dnf.or(&self.first_obligations(*part), self.norms));
            }
            NormNode::True
            | NormNode::Literal { positive: false, .. }
            | NormNode::WeakNext(_)
            | NormNode::Release { .. }
            | NormNode::TimedRelease { .. }
            | NormNode::Trigger { .. }
            | NormNode::TimedTrigger { .. }
            | NormNode::Previous { was: true, .. } => false,
            _ => true,
        };
        Dnf::from_obligation(Obligation::new(norm, strong), self.norms)
    }

    /// Returns the obligations before the first position, with the value on the empty trace if none comes.
    pub(crate) fn initial(&mut self, norm: Norm, on_empty: bool) -> Dnf {
        let (none, some) = (Obligation::new(Norms::FALSE, false), Obligation::new(Norms::TRUE, true));
        let at_first = self.first_obligations(norm);
        match (at_first.end_value(), on_empty) {
            // If the form has another value at the end, the existence of a position is added as an obligation.
            (Some(false), true) => at_first.or(&Dnf::from_obligation(none, self.norms), self.norms),
            (Some(true), false) => at_first.and(&Dnf::from_obligation(some, self.norms), self.norms),
            _ => at_first,
        }
    }

    pub(crate) fn step(&mut self, residual: &Residual, letter: &StepInput) -> (Residual, Option<SlotSources>) {
        let mut members: Vec<Member> = Vec::new();
        let slots = residual.clocks.len();
        for member in &residual.members {
            if member.formal_verdict().is_definite() {
                members.push(member.clone());
                continue;
            }
            match letter {
                StepInput::Expired(expired) => {
                    let expired = unpack_slots(expired, slots);
                    let mut forget = |norms: &mut Norms, norm: Norm| expire_slots(norm, norms, &expired);
                    let holds = member.holds.rewrite(self.norms, &mut forget);
                    let fails = member.fails.rewrite(self.norms, &mut forget);
                    members.push(self.settle(Member { holds, fails, assured: member.assured }));
                }
                StepInput::Facts { bits, unknown, ripe } => {
                    let ripe = unpack_slots(ripe, slots);
                    // Every resolution of the unknown bits.
                    let mut resolution = 0;
                    loop {
                        let bits = *bits & !unknown | resolution;
                        // Only the resolved bits are compared: irrelevant bits were left out before.
                        if self.skeleton.is_possible(bits, *unknown) {
                            let member = self.read(member, KnownLetter::Full { bits, ripe: &ripe });
                            members.push(self.settle(member));
                        }
                        if resolution == *unknown {
                            break;
                        }
                        resolution = resolution.wrapping_sub(*unknown) & unknown;
                    }
                }
            }
        }
        members.sort_unstable();
        members.dedup();
        self.renumber_slots(members, slots)
    }

    fn read(&mut self, member: &Member, reading: KnownLetter<'_>) -> Member {
        let mut progress = Progress::new(self.norms, &self.skeleton.clocks, reading);
        let mut unfold = |dnf: &Dnf| {
            let Dnf::Clauses(clauses) = dnf else { return Dnf::TooMany };
            let mut result = Dnf::bottom();
            for clause in clauses {
                let mut part = Dnf::top();
                for obligation in clause {
                    let next = progress.unfold(obligation.norm());
                    part = part.and(&next, progress.norms);
                }
                result = result.or(&part, progress.norms);
            }
            result
        };
        Member { holds: unfold(&member.holds), fails: unfold(&member.fails), assured: member.assured }
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
