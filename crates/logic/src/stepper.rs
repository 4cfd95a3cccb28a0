//! One step of a residual, computed: what the cache does not know yet.

use crate::normal::{Clock, Norm, NormNode, Norms, Slot};
use crate::progress::{Progress, Reading};
use crate::residual::{Dnf, Obligation};
use crate::satisfy::Satisfy;
use crate::slots::{Numbering, Sources, expire};
use crate::state::{Member, Residual};
use crate::verdict::Verdict;

/// The compiled, quantifier-free part of a formula.
#[derive(Clone, Debug)]
pub(crate) struct Skeleton {
    pub(crate) norms: Norms,
    /// Where traces begin, for each valuation of the rigid comparisons.
    pub(crate) starts: Vec<Beginning>,
    pub(crate) clocks: Vec<Clock>,
    /// Does some clock have a lower bound to wait for?
    pub(crate) waits: bool,
    /// Is it run once for each binding of values?
    pub(crate) quantified: bool,
    /// How many letter bits there are.
    pub(crate) width: u32,
    /// How many families of untils there are.
    pub(crate) families: u32,
    /// For each bit, the bits that are set whenever it is, and the bits that are not unless it is; itself among both.
    pub(crate) generals: Vec<u64>,
    pub(crate) specials: Vec<u64>,
}

impl Skeleton {
    /// Can facts make this letter? A more special question is never answered yes without the more general one, as far
    /// as that is among the bits that count.
    pub(crate) fn is_possible(&self, letter: u64, counting: u64) -> bool {
        let is_set = |bit: usize| letter >> bit & 1 == 1;
        self.generals.iter().enumerate().all(|(bit, generals)| !is_set(bit) || generals & counting & !letter == 0)
    }
}

/// A formula before its first position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    pub(crate) holds: Norm,
    pub(crate) fails: Norm,
    /// Its value on a trace without positions.
    pub(crate) on_empty: bool,
}

/// What is read at a position, or the passing of time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Letter {
    /// Facts that are true and facts nobody could tell; which slots have reached their lower bound.
    Facts { bits: u64, unknown: u64, ripe: Flags },
    /// Slots whose upper bound has passed.
    Expired(Flags),
}

/// A set of slots, as words of bits without empty words at the end.
pub(crate) type Flags = Box<[u64]>;

/// Computes what the cache does not know.
pub(crate) struct Stepper<'a> {
    pub(crate) norms: &'a mut Norms,
    pub(crate) satisfy: &'a mut Satisfy,
    pub(crate) skeleton: &'a Skeleton,
}

impl Stepper<'_> {
    /// A formula at the first position, each part needing that position as it will need any later one: so a formula that
    /// a position leaves as it was begins where it goes on.
    fn at_first(&self, norm: Norm) -> Dnf {
        let strong = match self.norms.node(norm) {
            NormNode::And(list) => {
                return list.iter().fold(Dnf::top(), |dnf, part| dnf.and(&self.at_first(*part), self.norms));
            }
            NormNode::Or(list) => {
                return list.iter().fold(Dnf::bottom(), |dnf, part| dnf.or(&self.at_first(*part), self.norms));
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
        Dnf::of(Obligation::new(norm, strong), self.norms)
    }

    /// A formula before the first position, which may never come: then it has the value it has on an empty trace.
    pub(crate) fn initial(&mut self, norm: Norm, on_empty: bool) -> Dnf {
        let (none, some) = (Obligation::new(Norms::FALSE, false), Obligation::new(Norms::TRUE, true));
        let at_first = self.at_first(norm);
        match (at_first.at_end(), on_empty) {
            // Where simplification has left nothing to say so, it is said: there is no position, or there is one.
            (Some(false), true) => at_first.or(&Dnf::of(none, self.norms), self.norms),
            (Some(true), false) => at_first.and(&Dnf::of(some, self.norms), self.norms),
            _ => at_first,
        }
    }

    pub(crate) fn step(&mut self, residual: &Residual, letter: &Letter) -> (Residual, Option<Sources>) {
        let mut members: Vec<Member> = Vec::new();
        let slots = residual.clocks.len();
        for member in &residual.members {
            if member.form().is_definite() {
                members.push(member.clone());
                continue;
            }
            match letter {
                Letter::Expired(expired) => {
                    let expired = spread(expired, slots);
                    let mut forget = |norms: &mut Norms, norm: Norm| expire(norm, norms, &expired);
                    let holds = member.holds.rewrite(self.norms, &mut forget);
                    let fails = member.fails.rewrite(self.norms, &mut forget);
                    members.push(self.settled(Member { holds, fails, assured: member.assured }));
                }
                Letter::Facts { bits, unknown, ripe } => {
                    let ripe = spread(ripe, slots);
                    // Every way the unknown bits could be.
                    let mut resolution = 0;
                    loop {
                        let bits = *bits & !unknown | resolution;
                        // Only what is being resolved here is compared: bits that do not matter were left out before.
                        if self.skeleton.is_possible(bits, *unknown) {
                            let member = self.read(member, Reading::Letter { bits, ripe: &ripe });
                            members.push(self.settled(member));
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
        self.renumbered(members, slots)
    }

    fn read(&mut self, member: &Member, reading: Reading<'_>) -> Member {
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
    /// A verdict stands even if the trace then ends in a way that finite traces read otherwise. But where each binding
    /// has a member, the verdict is that of all of them together, so a satisfied one goes on to its own end.
    pub(crate) fn settled(&mut self, member: Member) -> Member {
        match member.form() {
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

    /// Gives the slots that are still referred to their places.
    fn renumbered(&mut self, mut members: Vec<Member>, slots: usize) -> (Residual, Option<Sources>) {
        let ripe = |clock: u8| self.skeleton.clocks[usize::from(clock)].from.0 == 0;
        let mut total: Option<Sources> = None;
        loop {
            let mut found: Vec<(u8, Option<Slot>)> = Vec::new();
            for obligation in members.iter().flat_map(Member::clauses).flatten() {
                self.norms.slots(obligation.norm(), &mut found);
            }
            let numbering = Numbering::new(found);
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

fn spread(flags: &Flags, count: usize) -> Vec<bool> {
    (0..count).map(|index| flags.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)).collect()
}
