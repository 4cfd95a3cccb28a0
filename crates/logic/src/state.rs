//! The state of one trace for one formula.
//!
//! A [`Residual`] is the obligation of the formula for the rest of the trace, in canonical form. Usually it has one
//! [`Member`]; with unknown facts it has several, one for each resolution. Inside a cache a residual is a number;
//! outside it is a [`PortableResidual`], which needs no arena.

mod canonical;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::dnf::{Clause, Dnf, Obligation};
use crate::interval::Time;
use crate::norm::{Norm, NormNode, Norms, Slot};
use crate::verdict::Verdict;

/// One possible state of a trace: what must still hold, and what must still hold for the negation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Member {
    pub(crate) holds: Dnf,
    pub(crate) fails: Dnf,
    /// Whether every infinite continuation satisfies the formula, although a finite one may not.
    pub(crate) assured: bool,
    /// Whether it represents many states, because unknown facts had too many resolutions. Then `holds` and `fails` each
    /// ask for no more than any of those states: if one cannot be met, it cannot be met in any of them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) blurred: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Member {
    pub(crate) fn new(holds: Dnf, fails: Dnf) -> Member {
        Member { holds, fails, assured: false, blurred: false }
    }

    pub(crate) fn satisfied() -> Member {
        Member::new(Dnf::top(), Dnf::bottom())
    }

    pub(crate) fn violated() -> Member {
        Member::new(Dnf::bottom(), Dnf::top())
    }

    pub(crate) fn verdict(&self) -> Verdict {
        if self.assured { Verdict::Satisfied } else { self.formal_verdict() }
    }

    /// Returns the verdict by its form alone, without a search for continuations.
    pub(crate) fn formal_verdict(&self) -> Verdict {
        if self.fails.is_bottom() || self.holds.is_top() && !self.blurred {
            Verdict::Satisfied
        } else if self.holds.is_bottom() || self.fails.is_top() && !self.blurred {
            Verdict::Violated
        } else {
            Verdict::Inconclusive
        }
    }

    /// Returns the verdict if the trace ends here.
    pub(crate) fn end_verdict(&self) -> Verdict {
        let (holds, fails) = (self.holds.end_value(), self.fails.end_value());
        let truth = match self.blurred {
            false => holds.or_else(|| fails.map(|fails| !fails)),
            true => holds.filter(|holds| !holds).or_else(|| fails.filter(|fails| !fails).map(|_| true)),
        };
        match self.formal_verdict() {
            Verdict::Inconclusive => Verdict::from_truth(truth),
            definite => definite,
        }
    }

    /// Whether it is violated, or represents a state that is.
    pub(crate) fn may_be_violated(&self) -> bool {
        self.formal_verdict() == Verdict::Violated || self.blurred && self.fails.is_top()
    }

    /// Returns one member for several: it can be met if one of them can.
    pub(crate) fn blur<'a>(members: impl Iterator<Item = &'a Member>, norms: &mut Norms) -> Member {
        let nothing = Member { holds: Dnf::bottom(), fails: Dnf::bottom(), assured: true, blurred: true };
        members.fold(nothing, |all, member| Member {
            holds: all.holds.or(&member.holds, norms),
            fails: all.fails.or(&member.fails, norms),
            assured: all.assured && member.assured,
            blurred: true,
        })
    }

    pub(crate) fn clauses(&self) -> impl Iterator<Item = &Clause> {
        self.holds.clauses().iter().chain(self.fails.clauses())
    }
}

/// The state of a trace without the content of its slots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Residual {
    /// Its possible states: sorted, at least one.
    pub(crate) members: Box<[Member]>,
    /// The clock of each slot.
    pub(crate) clocks: Box<[u8]>,
}

impl Residual {
    pub(crate) fn single(member: Member) -> Residual {
        Residual { members: [member].into(), clocks: [].into() }
    }

    /// Returns the state of a trace for which the formula exceeded a limit: nothing is known of it from then on.
    pub(crate) fn stopped() -> Residual {
        let member = Member { holds: Dnf::TooMany, fails: Dnf::TooMany, assured: false, blurred: true };
        Residual::single(member)
    }

    /// Returns the letter bits that can matter.
    pub(crate) fn support(&self, norms: &Norms) -> u64 {
        let mut seen = FxHashSet::default();
        let obligations = self.members.iter().flat_map(Member::clauses).flatten();
        obligations.fold(0, |bits, obligation| bits | norms.support(obligation.norm(), &mut seen))
    }

    /// Returns how many obligations and moments it has.
    pub(crate) fn size(&self) -> usize {
        count_obligations(&self.members) + self.clocks.len()
    }

    /// Whether it is known too little to tell a violation.
    pub(crate) fn is_stopped(&self) -> bool {
        self.members.iter().any(|member| member.holds == Dnf::TooMany && member.fails == Dnf::TooMany)
    }

    /// Returns the verdict that all members share, else inconclusive.
    pub(crate) fn verdict(&self) -> Verdict {
        common_verdict(self.members.iter().map(Member::verdict))
    }

    /// Whether some member is violated.
    pub(crate) fn may_be_violated(&self) -> bool {
        self.members.iter().any(Member::may_be_violated)
    }

    /// Returns the residual with a member that is violated.
    pub(crate) fn or_violated(&self) -> Residual {
        let mut members = self.members.to_vec();
        members.push(Member::violated());
        members.sort_unstable();
        members.dedup();
        Residual { members: members.into(), clocks: self.clocks.clone() }
    }

    /// Returns the verdict at the end that all members share, else inconclusive.
    pub(crate) fn end_verdict(&self) -> Verdict {
        common_verdict(self.members.iter().map(Member::end_verdict))
    }
}

/// Returns the verdict if all are equal, else inconclusive.
fn common_verdict(mut verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let first = verdicts.next().unwrap_or(Verdict::Inconclusive);
    if verdicts.all(|verdict| verdict == first) { first } else { Verdict::Inconclusive }
}

/// A residual with its own norms.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct PortableResidual {
    /// Its norms, operands first; a norm refers to its operands by their index in this list.
    nodes: Vec<NormNode>,
    members: Vec<Member>,
    clocks: Vec<u8>,
}

impl PortableResidual {
    pub(crate) fn clocks(&self) -> &[u8] {
        &self.clocks
    }

    /// Returns how many obligations and moments it has, like [`Residual::size`].
    pub(crate) fn size(&self) -> usize {
        count_obligations(&self.members) + self.clocks.len()
    }

    /// Returns how many possible states are open.
    pub(crate) fn open_members(&self) -> usize {
        self.members.iter().filter(|member| !member.formal_verdict().is_definite()).count()
    }

    /// Whether it is known too little to tell a violation, like [`Residual::is_stopped`].
    pub(crate) fn is_stopped(&self) -> bool {
        self.members.iter().any(|member| member.holds == Dnf::TooMany && member.fails == Dnf::TooMany)
    }

    /// Returns the residual with a member that is violated.
    pub(crate) fn or_violated(&self) -> PortableResidual {
        let mut all = self.clone();
        if !all.members.contains(&Member::violated()) {
            all.members.push(Member::violated());
        }
        all
    }

    pub(crate) fn export(residual: &Residual, norms: &Norms) -> PortableResidual {
        let mut export = Exporter { norms, places: FxHashMap::default(), nodes: Vec::new() };
        let members = residual.members.iter().map(|member| export.member(member)).collect();
        PortableResidual { nodes: export.nodes, members, clocks: residual.clocks.to_vec() }
    }

    /// Returns the residual in an arena; none if it is invalid, as in a damaged snapshot.
    pub(crate) fn import(&self, norms: &mut Norms) -> Option<Residual> {
        self.import_with(norms, |node| node)
    }

    /// Returns the residual in an arena, with every node changed on the way, else like [`PortableResidual::import`].
    pub(crate) fn import_with(&self, norms: &mut Norms, change: impl Fn(NormNode) -> NormNode) -> Option<Residual> {
        let mut places: Vec<Norm> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let node = map_operands(node, &mut |norm| places.get(norm.0 as usize).copied())?;
            places.push(norms.adopt(change(node)));
        }
        let members = self.members.iter().map(|member| {
            let place = |dnf: &Dnf| map_dnf(dnf, &mut |norm: Norm| places.get(norm.0 as usize).copied());
            Some(Member { holds: place(&member.holds)?, fails: place(&member.fails)?, ..member.clone() })
        });
        let mut members: Vec<Member> = members.collect::<Option<_>>()?;
        members.sort_unstable();
        let slots_exist = |dnf: &Dnf| {
            let mut found = Vec::new();
            for obligation in dnf.clauses().iter().flatten() {
                norms.slots(obligation.norm(), &mut found);
            }
            found.iter().all(|(_, slot)| slot.is_some_and(|slot: Slot| usize::from(slot) < self.clocks.len()))
        };
        let sound = !members.is_empty()
            && members.iter().all(|member| slots_exist(&member.holds) && slots_exist(&member.fails));
        sound.then(|| Residual { members: members.into(), clocks: self.clocks.clone().into() })
    }
}

fn count_obligations(members: &[Member]) -> usize {
    members.iter().flat_map(Member::clauses).map(|clause| 1 + clause.len()).sum()
}

struct Exporter<'a> {
    norms: &'a Norms,
    places: FxHashMap<Norm, Norm>,
    nodes: Vec<NormNode>,
}

impl Exporter<'_> {
    fn member(&mut self, member: &Member) -> Member {
        let mut place = |norm: Norm| Some(self.place(norm));
        // INVARIANT: every norm of a residual is in its arena, so nothing is missing.
        Member {
            holds: map_dnf(&member.holds, &mut place).unwrap_or(Dnf::TooMany),
            fails: map_dnf(&member.fails, &mut place).unwrap_or(Dnf::TooMany),
            assured: member.assured,
            blurred: member.blurred,
        }
    }

    fn place(&mut self, norm: Norm) -> Norm {
        if let Some(place) = self.places.get(&norm) {
            return *place;
        }
        let node = self.norms.node(norm).clone();
        let node = map_operands(&node, &mut |operand| Some(self.place(operand))).unwrap_or(node);
        let place = Norm(self.nodes.len() as u32);
        self.nodes.push(node);
        self.places.insert(norm, place);
        place
    }
}

fn map_dnf(dnf: &Dnf, place: &mut impl FnMut(Norm) -> Option<Norm>) -> Option<Dnf> {
    let Dnf::Clauses(clauses) = dnf else { return Some(Dnf::TooMany) };
    let mut mapped = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let mut obligations = Vec::with_capacity(clause.len());
        for obligation in clause {
            obligations.push(Obligation::new(place(obligation.norm())?, obligation.is_strong()));
        }
        obligations.sort_unstable();
        mapped.push(Clause::from(obligations));
    }
    mapped.sort_unstable();
    Some(Dnf::Clauses(mapped.into()))
}

/// Returns a node over other operands.
fn map_operands(node: &NormNode, place: &mut impl FnMut(Norm) -> Option<Norm>) -> Option<NormNode> {
    let mut node = node.clone();
    match &mut node {
        NormNode::True | NormNode::False | NormNode::Literal { .. } => {}
        NormNode::And(list) | NormNode::Or(list) => {
            for norm in list.iter_mut() {
                *norm = place(*norm)?;
            }
        }
        NormNode::Next(f) | NormNode::WeakNext(f) | NormNode::Previous { f, .. } => *f = place(*f)?,
        NormNode::Until { f, g, .. }
        | NormNode::Release { f, g, .. }
        | NormNode::TimedUntil { f, g, .. }
        | NormNode::TimedRelease { f, g, .. }
        | NormNode::Since { f, g, .. }
        | NormNode::Trigger { f, g, .. }
        | NormNode::TimedSince { f, g, .. }
        | NormNode::TimedTrigger { f, g, .. } => {
            *f = place(*f)?;
            *g = place(*g)?;
        }
    }
    Some(node)
}

/// A residual, by number or by itself.
#[derive(Clone, Debug)]
pub(crate) enum Handle {
    /// In the cache, by its number.
    Cached(u32),
    /// By itself, if the cache is full.
    Loose(Arc<PortableResidual>),
}

/// A residual with the content of its slots: the state of one trace for one ground formula.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) handle: Handle,
    pub(crate) times: Times,
}

/// The content of slots. Most formulas have one or two, stored inline.
#[derive(Clone, Debug)]
pub(crate) enum Times {
    Few(u8, [Time; 2]),
    Many(Box<[Time]>),
}

impl Default for Times {
    fn default() -> Times {
        Times::Few(0, [Time(0); 2])
    }
}

impl std::ops::Deref for Times {
    type Target = [Time];

    fn deref(&self) -> &[Time] {
        match self {
            Times::Few(count, times) => &times[..usize::from(*count)],
            Times::Many(times) => times,
        }
    }
}

impl FromIterator<Time> for Times {
    fn from_iter<I: IntoIterator<Item = Time>>(iterator: I) -> Times {
        let mut iterator = iterator.into_iter();
        let mut few = [Time(0); 2];
        for count in 0..=few.len() {
            match iterator.next() {
                None => return Times::Few(count as u8, few),
                Some(time) if count < few.len() => few[count] = time,
                Some(time) => return Times::Many(few.into_iter().chain([time]).chain(iterator).collect()),
            }
        }
        Times::Few(few.len() as u8, few)
    }
}

impl Point {
    /// Returns the number of its state, if it is cached and has no times.
    pub(crate) fn id(&self) -> Option<u32> {
        match self.handle {
            Handle::Cached(id) if self.times.is_empty() => Some(id),
            _ => None,
        }
    }

    /// Whether two points of one cache are the same; false if that is not known at once.
    pub(crate) fn is_same(&self, other: &Point) -> bool {
        let same_state = match (&self.handle, &other.handle) {
            (Handle::Cached(a), Handle::Cached(b)) => a == b,
            (Handle::Loose(a), Handle::Loose(b)) => a == b,
            _ => false,
        };
        same_state && self.times[..] == other.times[..]
    }

    pub(crate) fn cached(id: u32) -> Point {
        Point { handle: Handle::Cached(id), times: Times::default() }
    }
}
