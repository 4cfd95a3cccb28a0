//! Disjunctive normal forms of obligations, in canonical form.
//!
//! After each position a formula has obligations for the next one. A [`Dnf`] is a set of alternatives, each a set of
//! [`Obligation`]s, in which no alternative and no obligation is implied by another. Obligations occur only positively,
//! so this set is unique for a boolean function: residuals that are propositionally equal are equal values, and a
//! formula has finitely many of them.

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
    /// More alternatives than [`Dnf::MAX_CLAUSES`]: this side is no longer known.
    TooMany,
}

impl Dnf {
    /// The most alternatives that are kept; see the memory bound in `cache.rs`.
    pub(crate) const MAX_CLAUSES: usize = 1024;

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
    pub(crate) fn from_obligation(obligation: Obligation, norms: &Norms) -> Dnf {
        let strong = obligation.is_strong();
        match norms.node(obligation.norm()) {
            NormNode::True if !strong => Dnf::top(),
            NormNode::False if strong => Dnf::bottom(),
            NormNode::And(list) => list.iter().fold(Dnf::top(), |dnf, norm| {
                dnf.and(&Dnf::from_obligation(Obligation::new(*norm, strong), norms), norms)
            }),
            NormNode::Or(list) => list.iter().fold(Dnf::bottom(), |dnf, norm| {
                dnf.or(&Dnf::from_obligation(Obligation::new(*norm, strong), norms), norms)
            }),
            _ => Dnf::Clauses([[obligation].into()].into()),
        }
    }

    pub(crate) fn or(&self, other: &Dnf, norms: &Norms) -> Dnf {
        match (self, other) {
            // An alternative without obligations makes all others redundant, even those not kept.
            _ if self.is_top() || other.is_top() => Dnf::top(),
            (Dnf::TooMany, _) | (_, Dnf::TooMany) => Dnf::TooMany,
            (Dnf::Clauses(a), Dnf::Clauses(b)) => Dnf::from_clauses(a.iter().chain(b).cloned().collect(), norms),
        }
    }

    pub(crate) fn and(&self, other: &Dnf, norms: &Norms) -> Dnf {
        match (self, other) {
            _ if self.is_bottom() || other.is_bottom() => Dnf::bottom(),
            (Dnf::TooMany, _) | (_, Dnf::TooMany) => Dnf::TooMany,
            (Dnf::Clauses(a), Dnf::Clauses(b)) => {
                if a.len().saturating_mul(b.len()) > Dnf::MAX_CLAUSES * 16 {
                    return Dnf::TooMany;
                }
                let mut product = Vec::with_capacity(a.len() * b.len());
                for left in a {
                    for right in b {
                        product.extend(join_clauses(left, right, norms));
                    }
                }
                Dnf::from_clauses(product, norms)
            }
        }
    }

    /// Returns the form of clauses, without redundant ones.
    fn from_clauses(mut clauses: Vec<Clause>, norms: &Norms) -> Dnf {
        clauses.sort_unstable_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        clauses.dedup();
        let mut kept: Vec<Clause> = Vec::with_capacity(clauses.len());
        for clause in clauses {
            if kept.iter().any(|other| covers(other, &clause, norms)) {
                continue;
            }
            kept.retain(|other| !covers(&clause, other, norms));
            kept.push(clause);
        }
        if kept.len() > Dnf::MAX_CLAUSES {
            return Dnf::TooMany;
        }
        kept.sort_unstable();
        Dnf::Clauses(kept.into())
    }

    /// Returns the value if the trace ends here: strong obligations fail, weak ones are met.
    pub(crate) fn end_value(&self) -> Option<bool> {
        match self {
            Dnf::Clauses(clauses) => {
                Some(clauses.iter().any(|clause| clause.iter().all(|obligation| !obligation.is_strong())))
            }
            Dnf::TooMany => None,
        }
    }

    /// Returns this form with every norm rewritten.
    pub(crate) fn rewrite(&self, norms: &mut Norms, rewrite: &mut impl FnMut(&mut Norms, Norm) -> Norm) -> Dnf {
        let Dnf::Clauses(clauses) = self else { return Dnf::TooMany };
        let mut result = Dnf::bottom();
        for clause in clauses {
            let mut part = Dnf::top();
            for obligation in clause {
                let norm = rewrite(norms, obligation.norm());
                part = part.and(&Dnf::from_obligation(Obligation::new(norm, obligation.is_strong()), norms), norms);
            }
            result = result.or(&part, norms);
        }
        result
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
    if all.contains(&last) {
        // There must be no next position: every weak obligation is met, no strong one can be.
        return if all.iter().any(|obligation| obligation.is_strong()) { None } else { Some([last].into()) };
    }
    if all.len() > 1 && all.iter().any(|obligation| obligation.is_strong() && *obligation != exists) {
        all.retain(|obligation| *obligation != exists);
    }
    let mut index = 0;
    while index < all.len() {
        let obligation = all[index];
        let implied = all.iter().enumerate().any(|(other, given)| other != index && given.implies(obligation, norms));
        if implied {
            all.remove(index);
        } else {
            index += 1;
        }
    }
    Some(all.into())
}
