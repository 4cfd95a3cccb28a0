//! Disjunctive normal forms of obligations, in canonical form.
//!
//! After each position a formula has obligations for the next one. A [`Dnf`] is a set of alternatives, each a set of
//! [`Obligation`]s, in which no alternative and no obligation is implied by another. Obligations occur only positively,
//! so this set is unique for a boolean function: residuals that are propositionally equal are equal values, and a
//! formula has finitely many of them.
//!
//! A form with too many alternatives is [packed](Dnf::pack) into one obligation, whose norm is the whole form. It says
//! the same, but equal forms may then be different values.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::norm::{Norm, NormNode, Norms, Start};

/// A norm that must hold at the next position, which must exist (strong) or need not (weak).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Obligation(u32);

impl Obligation {
    pub(crate) fn new(norm: Norm, strong: bool) -> Obligation {
        Obligation(norm.0 << 1 | u32::from(strong))
    }

    pub(crate) fn norm(self) -> Norm {
        Norm(self.0 >> 1)
    }

    pub(crate) fn is_strong(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether this one implies the other.
    fn implies(self, other: Obligation, norms: &Norms) -> bool {
        if self == other {
            return true;
        }
        if other.is_strong() && !self.is_strong() {
            return false;
        }
        norm_implies(self.norm(), other.norm(), norms)
    }
}

/// Whether one norm implies another, by a cheap and sound test; a missed implication only costs space.
fn norm_implies(stronger: Norm, weaker: Norm, norms: &Norms) -> bool {
    if stronger == weaker || stronger == Norms::FALSE || weaker == Norms::TRUE {
        return true;
    }
    match (norms.node(stronger), norms.node(weaker)) {
        // An until with less time left implies it with more; a release is dual.
        (NormNode::Until { from: 0, to: a, f, g, .. }, NormNode::Until { from: 0, to: b, f: f2, g: g2, .. }) => {
            f == f2 && g == g2 && a <= b
        }
        (NormNode::Release { from: 0, to: a, f, g }, NormNode::Release { from: 0, to: b, f: f2, g: g2 }) => {
            f == f2 && g == g2 && a >= b
        }
        // Slots of one clock are numbered from the oldest on.
        (
            NormNode::TimedUntil { clock: c, start: a, f, g, .. },
            NormNode::TimedUntil { clock: c2, start: b, f: f2, g: g2, .. },
        ) => c == c2 && f == f2 && g == g2 && is_older(*a, *b),
        (
            NormNode::TimedRelease { clock: c, start: a, f, g },
            NormNode::TimedRelease { clock: c2, start: b, f: f2, g: g2 },
        ) => c == c2 && f == f2 && g == g2 && is_older(*b, *a),
        _ => false,
    }
}

/// Whether both have reached their lower bound and the first ends no later.
fn is_older(a: Start, b: Start) -> bool {
    match (a, b) {
        (Start::At { slot: a, ripe: true }, Start::At { slot: b, ripe: true }) => a <= b,
        // A new start gets its slot at the end of the step, and is compared again then.
        _ => false,
    }
}

/// Obligations that must hold together, sorted.
pub(crate) type Clause = Box<[Obligation]>;

/// Alternatives of which one must hold, sorted; or too many of them to keep.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Dnf {
    Clauses(Box<[Clause]>),
    /// More than [`MAX_PACKED_NORMS`] even if packed: this side is no longer known.
    TooMany,
}

/// The most alternatives that a conjunction lists before it is packed.
const MAX_PRODUCT: usize = Dnf::MAX_CLAUSES * 16;

/// How many pairs of alternatives are compared in the time of one unit of work: most differ at the first look.
const KEPT_CLAUSES_PER_UNIT: usize = 16;

/// The most norms that a packed form consists of. Packed forms are not canonical, so they can grow with the trace.
const MAX_PACKED_NORMS: usize = 8192;

impl Dnf {
    /// The most alternatives that are kept; see the memory bound in `cache.rs`.
    pub(crate) const MAX_CLAUSES: usize = 256;

    pub(crate) fn top() -> Dnf {
        Dnf::Clauses([Clause::default()].into())
    }

    pub(crate) fn bottom() -> Dnf {
        Dnf::Clauses([].into())
    }

    pub(crate) fn is_top(&self) -> bool {
        self.clauses().iter().any(|clause| clause.is_empty())
    }

    pub(crate) fn is_bottom(&self) -> bool {
        matches!(self, Dnf::Clauses(clauses) if clauses.is_empty())
    }

    pub(crate) fn clauses(&self) -> &[Clause] {
        match self {
            Dnf::Clauses(clauses) => clauses,
            Dnf::TooMany => &[],
        }
    }

    /// Returns the form of one obligation, with conjunctions and disjunctions taken apart.
    pub(crate) fn from_obligation(obligation: Obligation, norms: &mut Norms) -> Dnf {
        match norms.node(obligation.norm()) {
            // Norms share parts: without a memory, a chain of equivalences would take exponential time.
            NormNode::And(_) | NormNode::Or(_) => Dnf::take_apart(obligation, norms, &mut FxHashMap::default()),
            _ => Dnf::from_single(obligation),
        }
    }

    fn from_single(obligation: Obligation) -> Dnf {
        match (obligation.norm(), obligation.is_strong()) {
            (Norms::TRUE, false) => Dnf::top(),
            (Norms::FALSE, true) => Dnf::bottom(),
            _ => Dnf::Clauses([[obligation].into()].into()),
        }
    }

    fn take_apart(obligation: Obligation, norms: &mut Norms, known: &mut FxHashMap<Norm, Dnf>) -> Dnf {
        let (norm, strong) = (obligation.norm(), obligation.is_strong());
        let (list, is_conjunction) = match norms.node(norm) {
            NormNode::And(list) => (list.clone(), true),
            NormNode::Or(list) => (list.clone(), false),
            _ => return Dnf::from_single(obligation),
        };
        if let Some(known) = known.get(&norm) {
            return known.clone();
        }
        let mut result = if is_conjunction { Dnf::top() } else { Dnf::bottom() };
        for part in list {
            let part = Dnf::take_apart(Obligation::new(part, strong), norms, known);
            result = if is_conjunction { result.and(&part, norms) } else { result.or(&part, norms) };
        }
        known.insert(norm, result.clone());
        result
    }

    pub(crate) fn or(&self, other: &Dnf, norms: &mut Norms) -> Dnf {
        match (self, other) {
            // An alternative without obligations makes all others redundant, even those not kept.
            _ if self.is_top() || other.is_top() => Dnf::top(),
            (Dnf::TooMany, _) | (_, Dnf::TooMany) => Dnf::TooMany,
            _ if norms.work.is_exceeded() => Dnf::TooMany,
            (Dnf::Clauses(a), Dnf::Clauses(b)) => match keep_weakest(a.iter().chain(b).cloned().collect(), norms) {
                kept if kept.len() > Dnf::MAX_CLAUSES => {
                    let (norm, at_end) = Dnf::to_norm(&kept, norms);
                    Dnf::pack(norm, at_end, norms)
                }
                kept => Dnf::Clauses(kept.into()),
            },
        }
    }

    /// Returns the conjunction of several forms. Those of one alternative, which most are, are joined at once.
    pub(crate) fn all(parts: impl IntoIterator<Item = Dnf>, norms: &mut Norms) -> Dnf {
        let mut single: Vec<Obligation> = Vec::new();
        let mut others: Vec<Dnf> = Vec::new();
        for part in parts {
            match &part {
                Dnf::Clauses(clauses) => match &clauses[..] {
                    [] => return Dnf::bottom(),
                    [clause] => single.extend_from_slice(clause),
                    _ => others.push(part),
                },
                Dnf::TooMany => others.push(part),
            }
        }
        norms.work.charge(single.len());
        let Some(clause) = join_clauses(&single, &[], norms) else { return Dnf::bottom() };
        let joined = Dnf::Clauses([clause].into());
        others.iter().fold(joined, |all, part| all.and(part, norms))
    }

    /// Returns the disjunction of several forms. Few alternatives are compared once, not after each form.
    pub(crate) fn any(parts: impl IntoIterator<Item = Dnf>, norms: &mut Norms) -> Dnf {
        let mut gathered: Vec<Clause> = Vec::new();
        let mut result = Dnf::bottom();
        for part in parts {
            match part {
                Dnf::Clauses(clauses) if gathered.len() + clauses.len() <= Dnf::MAX_CLAUSES => {
                    gathered.extend(clauses);
                }
                part => result = result.or(&part, norms),
            }
        }
        let gathered = Dnf::Clauses(keep_weakest(gathered, norms).into());
        result.or(&gathered, norms)
    }

    pub(crate) fn and(&self, other: &Dnf, norms: &mut Norms) -> Dnf {
        match (self, other) {
            _ if self.is_bottom() || other.is_bottom() => Dnf::bottom(),
            (Dnf::TooMany, _) | (_, Dnf::TooMany) => Dnf::TooMany,
            _ if norms.work.is_exceeded() => Dnf::TooMany,
            (Dnf::Clauses(a), Dnf::Clauses(b)) => {
                if a.len().saturating_mul(b.len()) > MAX_PRODUCT {
                    return Dnf::pack_both(a, b, norms);
                }
                let mut product = Vec::with_capacity(a.len() * b.len());
                for left in a {
                    for right in b {
                        norms.work.charge(left.len() + right.len());
                        product.extend(join_clauses(left, right, norms));
                    }
                }
                match keep_weakest(product, norms) {
                    kept if kept.len() > Dnf::MAX_CLAUSES => Dnf::pack_both(a, b, norms),
                    kept => Dnf::Clauses(kept.into()),
                }
            }
        }
    }

    /// Returns clauses as one norm for the next position, and their value if there is none.
    pub(crate) fn to_norm(clauses: &[Clause], norms: &mut Norms) -> (Norm, bool) {
        let mut alternatives = Vec::with_capacity(clauses.len());
        for clause in clauses {
            alternatives.push(norms.and(clause.iter().map(|obligation| obligation.norm())));
        }
        (norms.or(alternatives), end_value(clauses))
    }

    /// Returns a packed form, taken apart if few norms are left of it.
    pub(crate) fn repack(norm: Norm, at_end: bool, norms: &mut Norms) -> Dnf {
        const MAX_UNPACKED_NORMS: usize = 64;
        match norms.count_parts(norm, MAX_UNPACKED_NORMS) > MAX_UNPACKED_NORMS {
            true => Dnf::pack(norm, at_end, norms),
            false => Dnf::from_obligation(Obligation::new(norm, !at_end), norms),
        }
    }

    /// Returns the conjunction of two forms without multiplying them out.
    fn pack_both(left: &[Clause], right: &[Clause], norms: &mut Norms) -> Dnf {
        let (left, left_at_end) = Dnf::to_norm(left, norms);
        let (right, right_at_end) = Dnf::to_norm(right, norms);
        let both = norms.and([left, right]);
        Dnf::pack(both, left_at_end && right_at_end, norms)
    }

    /// Returns a form of one obligation: the norm at the next position, and a value if there is none.
    pub(crate) fn pack(norm: Norm, at_end: bool, norms: &Norms) -> Dnf {
        if norms.count_parts(norm, MAX_PACKED_NORMS) > MAX_PACKED_NORMS {
            return Dnf::TooMany;
        }
        Dnf::from_single(Obligation::new(norm, !at_end))
    }

    /// Returns the value if the trace ends here: strong obligations fail, weak ones are met.
    pub(crate) fn end_value(&self) -> Option<bool> {
        match self {
            Dnf::Clauses(clauses) => Some(end_value(clauses)),
            Dnf::TooMany => None,
        }
    }

    /// Returns this form with every norm rewritten.
    pub(crate) fn rewrite(&self, norms: &mut Norms, rewrite: &mut impl FnMut(&mut Norms, Norm) -> Norm) -> Dnf {
        let replace = |norms: &mut Norms, obligation: Obligation| {
            let norm = rewrite(norms, obligation.norm());
            Dnf::from_obligation(Obligation::new(norm, obligation.is_strong()), norms)
        };
        self.map_obligations(norms, |norms| norms, replace)
    }

    /// Returns this form with every obligation replaced by a form. `norms` returns the arena of the context.
    pub(crate) fn map_obligations<C>(
        &self,
        context: &mut C,
        norms: impl Fn(&mut C) -> &mut Norms,
        mut replace: impl FnMut(&mut C, Obligation) -> Dnf,
    ) -> Dnf {
        let Dnf::Clauses(clauses) = self else { return Dnf::TooMany };
        let mut alternatives = Vec::with_capacity(clauses.len());
        for clause in clauses {
            let parts: Vec<Dnf> = clause.iter().map(|obligation| replace(context, *obligation)).collect();
            alternatives.push(Dnf::all(parts, norms(context)));
        }
        Dnf::any(alternatives, norms(context))
    }
}

/// Returns the clauses that no other one covers, sorted.
fn keep_weakest(mut clauses: Vec<Clause>, norms: &mut Norms) -> Vec<Clause> {
    if let [] | [_] = clauses[..] {
        return clauses;
    }
    clauses.sort_unstable_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    clauses.dedup();
    norms.work.charge(clauses.len() + clauses.len() * clauses.len() / KEPT_CLAUSES_PER_UNIT);
    let mut kept: Vec<(ClauseMask, Clause)> = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let mask = ClauseMask::new(&clause, norms);
        if kept.iter().any(|(other, weaker)| other.may_cover(mask) && covers(weaker, &clause, norms)) {
            continue;
        }
        kept.retain(|(other, stronger)| !(mask.may_cover(*other) && covers(&clause, stronger, norms)));
        kept.push((mask, clause));
    }
    let mut kept: Vec<Clause> = kept.into_iter().map(|(_, clause)| clause).collect();
    kept.sort_unstable();
    kept
}

fn end_value(clauses: &[Clause]) -> bool {
    clauses.iter().any(|clause| clause.iter().all(|obligation| !obligation.is_strong()))
}

/// A quick test whether one clause may cover another, which most pairs fail.
#[derive(Clone, Copy, Debug)]
struct ClauseMask {
    /// A bit for each obligation that a covered clause must have a like of.
    needed: u64,
    /// A bit for each obligation that the clause has.
    given: u64,
}

impl ClauseMask {
    fn new(clause: &[Obligation], norms: &Norms) -> ClauseMask {
        let mut mask = ClauseMask { needed: 0, given: 0 };
        for obligation in clause {
            let key = match norms.node(obligation.norm()) {
                // Any strong obligation implies that there is a next position.
                NormNode::True => continue,
                // "There is no next position" implies every weak obligation.
                NormNode::False => {
                    mask.given = u64::MAX;
                    obligation.norm().0
                }
                // INVARIANT: obligations of which one implies the other have the same operands.
                NormNode::Until { f, g, .. }
                | NormNode::Release { f, g, .. }
                | NormNode::TimedUntil { f, g, .. }
                | NormNode::TimedRelease { f, g, .. } => f.0.wrapping_mul(31).wrapping_add(g.0),
                _ => obligation.norm().0,
            };
            // Fibonacci hashing spreads neighboring numbers.
            let bit = 1 << (key.wrapping_mul(0x9e37_79b9) >> 26);
            mask.needed |= bit;
            mask.given |= bit;
        }
        mask
    }

    fn may_cover(self, stronger: ClauseMask) -> bool {
        self.needed & !stronger.given == 0
    }
}

/// Whether the weaker alternative holds wherever the stronger one does.
fn covers(weaker: &[Obligation], stronger: &[Obligation], norms: &Norms) -> bool {
    weaker.iter().all(|needed| stronger.iter().any(|given| given.implies(*needed, norms)))
}

/// Returns two sets of obligations as one clause; none if they exclude each other.
pub(crate) fn join_clauses(left: &[Obligation], right: &[Obligation], norms: &Norms) -> Option<Clause> {
    let mut all: Vec<Obligation> = left.iter().chain(right).copied().collect();
    all.sort_unstable();
    all.dedup();
    let last = Obligation::new(Norms::FALSE, false);
    let exists = Obligation::new(Norms::TRUE, true);
    if all.contains(&last) || has_contradiction(&all, norms) {
        // There must be no next position: every weak obligation is met, no strong one can be.
        return if all.iter().any(|obligation| obligation.is_strong()) { None } else { Some([last].into()) };
    }
    if all.len() > 1 && all.iter().any(|obligation| obligation.is_strong() && *obligation != exists) {
        all.retain(|obligation| *obligation != exists);
    }
    // A strong obligation is sorted right after the weak one of its norm, which it implies.
    all.dedup_by(|strong, weak| {
        let is_same = strong.norm() == weak.norm();
        if is_same {
            *weak = *strong;
        }
        is_same
    });
    drop_implied(&mut all, norms);
    Some(all.into())
}

/// Leaves out obligations that another one of the same operands implies. Long clauses mostly have none that could.
fn drop_implied(obligations: &mut Vec<Obligation>, norms: &Norms) {
    let may_imply = |obligation: &Obligation| match norms.node(obligation.norm()) {
        NormNode::Until { from, .. } | NormNode::Release { from, .. } => *from == 0,
        NormNode::TimedUntil { start, .. } | NormNode::TimedRelease { start, .. } => {
            matches!(start, Start::At { ripe: true, .. })
        }
        _ => false,
    };
    let mut candidates: Vec<Obligation> = obligations.iter().copied().filter(may_imply).collect();
    if candidates.len() < 2 {
        return;
    }
    let mut implied: Vec<Obligation> = Vec::new();
    let mut index = 0;
    while index < candidates.len() {
        let obligation = candidates[index];
        let others = candidates.iter().enumerate().filter(|(other, _)| *other != index);
        if others.map(|(_, given)| given).any(|given| given.implies(obligation, norms)) {
            implied.push(candidates.remove(index));
        } else {
            index += 1;
        }
    }
    obligations.retain(|obligation| !implied.contains(obligation));
}

/// Whether a fact must hold and must not hold.
fn has_contradiction(obligations: &[Obligation], norms: &Norms) -> bool {
    let (mut positives, mut negatives) = (0u128, 0u128);
    for obligation in obligations {
        match norms.node(obligation.norm()) {
            NormNode::Literal { bit, positive: true } => positives |= 1 << bit,
            NormNode::Literal { bit, positive: false } => negatives |= 1 << bit,
            _ => {}
        }
    }
    positives & negatives != 0
}
