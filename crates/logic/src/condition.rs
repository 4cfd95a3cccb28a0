//! Conditions on the letter of one position, as reduced ordered decision diagrams (Bryant 1986).
//!
//! A formula about the present can have very many alternatives: a chain of thirty equivalences has half a billion. As a
//! decision diagram it has sixty nodes. `satisfiability.rs` keeps such formulas as conditions, and lists alternatives
//! for all others.

use rustc_hash::FxHashMap;

use crate::norm::{Norm, NormNode, Norms};
use crate::progress::clock_bit;
use crate::skeleton::Skeleton;

/// A condition on the bits of a letter, by its number. Equal conditions have one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Condition(u32);

impl Condition {
    pub(crate) const NEVER: Condition = Condition(0);
    pub(crate) const ALWAYS: Condition = Condition(1);
}

/// A decision: the condition if a bit is not set, and if it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Decision {
    bit: u8,
    unset: Condition,
    set: Condition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Connective {
    And,
    Or,
    /// The first and not the second.
    Without,
}

/// The bit of a condition that asks for none, after all others.
const NO_BIT: u8 = u8::MAX;

/// The most decisions of all conditions together.
const MAX_DECISIONS: usize = 1 << 16;

/// Owns conditions.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    decisions: Vec<Decision>,
    numbers: FxHashMap<Decision, Condition>,
    joined: FxHashMap<(Connective, Condition, Condition), Condition>,
    described: FxHashMap<Norm, Condition>,
    /// Which letters facts can make.
    possible: Option<Condition>,
    /// Whether a condition was left out because there are too many decisions.
    pub(crate) is_partial: bool,
}

impl Default for Conditions {
    fn default() -> Conditions {
        let constant = |number: u32| Decision { bit: NO_BIT, unset: Condition(number), set: Condition(number) };
        Conditions {
            decisions: vec![constant(0), constant(1)],
            numbers: FxHashMap::default(),
            joined: FxHashMap::default(),
            described: FxHashMap::default(),
            possible: None,
            is_partial: false,
        }
    }
}

impl Conditions {
    /// Returns the number of decisions and results that are kept.
    pub(crate) fn len(&self) -> usize {
        self.decisions.len() + self.joined.len()
    }

    fn decision(&self, condition: Condition) -> Decision {
        self.decisions[condition.0 as usize]
    }

    /// Returns the condition of a decision; none if there are too many.
    fn decide(&mut self, bit: u8, unset: Condition, set: Condition) -> Option<Condition> {
        if unset == set {
            return Some(set);
        }
        let decision = Decision { bit, unset, set };
        if let Some(known) = self.numbers.get(&decision) {
            return Some(*known);
        }
        if self.decisions.len() >= MAX_DECISIONS {
            return None;
        }
        let condition = Condition(self.decisions.len() as u32);
        self.decisions.push(decision);
        self.numbers.insert(decision, condition);
        Some(condition)
    }

    /// Returns the condition that a bit is set.
    fn bit(&mut self, bit: u8) -> Option<Condition> {
        self.decide(bit, Condition::NEVER, Condition::ALWAYS)
    }

    /// Returns two conditions as one; none if there are too many decisions, or `budget` ends.
    fn join(
        &mut self,
        connective: Connective,
        left: Condition,
        right: Condition,
        budget: &mut usize,
    ) -> Option<Condition> {
        use Condition as C;
        match (connective, left, right) {
            (Connective::And, C::NEVER, _)
            | (Connective::And | Connective::Without, _, C::NEVER)
            | (Connective::And, _, C::ALWAYS)
            | (Connective::Or, C::ALWAYS, _)
            | (Connective::Or, _, C::NEVER) => {
                let takes_right = connective == Connective::And && right == C::NEVER;
                return Some(if takes_right { right } else { left });
            }
            (Connective::And, C::ALWAYS, _) | (Connective::Or, C::NEVER, _) | (Connective::Or, _, C::ALWAYS) => {
                return Some(right);
            }
            (Connective::Without, C::NEVER, _) | (Connective::Without, _, C::ALWAYS) => return Some(C::NEVER),
            (Connective::And | Connective::Or, left, right) if left == right => return Some(left),
            (Connective::Without, left, right) if left == right => return Some(C::NEVER),
            _ => {}
        }
        if let Some(known) = self.joined.get(&(connective, left, right)) {
            return Some(*known);
        }
        *budget = budget.checked_sub(1)?;
        let (one, other) = (self.decision(left), self.decision(right));
        let bit = one.bit.min(other.bit);
        let branches = |decision: Decision, whole: Condition| {
            if decision.bit == bit { (decision.unset, decision.set) } else { (whole, whole) }
        };
        let ((left_unset, left_set), (right_unset, right_set)) = (branches(one, left), branches(other, right));
        let unset = self.join(connective, left_unset, right_unset, budget)?;
        let set = self.join(connective, left_set, right_set, budget)?;
        let result = self.decide(bit, unset, set)?;
        self.joined.insert((connective, left, right), result);
        Some(result)
    }

    /// Returns the condition under which a norm about the present and the past has a truth, among letters that facts can
    /// make; none if it has too many decisions, or `budget` ends.
    pub(crate) fn describe(
        &mut self,
        (norm, truth): (Norm, bool),
        norms: &Norms,
        skeleton: &Skeleton,
        budget: &mut usize,
    ) -> Option<Condition> {
        let condition = self.describe_norm(norm, norms, skeleton, budget)?;
        let possible = self.possible_letters(skeleton, budget)?;
        match truth {
            true => self.join(Connective::And, possible, condition, budget),
            false => self.join(Connective::Without, possible, condition, budget),
        }
    }

    /// Returns the condition that a more special bit implies the more general one.
    fn possible_letters(&mut self, skeleton: &Skeleton, budget: &mut usize) -> Option<Condition> {
        if let Some(known) = self.possible {
            return Some(known);
        }
        let mut possible = Condition::ALWAYS;
        for (bit, generals) in skeleton.generals.iter().enumerate() {
            let special = self.bit(bit as u8)?;
            for general in (0..64).filter(|general| generals & !(1 << bit) & 1 << general != 0) {
                let general = self.bit(general)?;
                let without = self.join(Connective::Without, special, general, budget)?;
                possible = self.join(Connective::Without, possible, without, budget)?;
            }
        }
        self.possible = Some(possible);
        Some(possible)
    }

    fn describe_norm(
        &mut self,
        norm: Norm,
        norms: &Norms,
        skeleton: &Skeleton,
        budget: &mut usize,
    ) -> Option<Condition> {
        if let Some(known) = self.described.get(&norm) {
            return Some(*known);
        }
        let at_once = |clock: u8| skeleton.clocks[usize::from(clock)].from.0 == 0;
        let part = |conditions: &mut Conditions, norm: Norm, budget: &mut usize| {
            conditions.describe_norm(norm, norms, skeleton, budget)
        };
        let result = match norms.node(norm) {
            NormNode::Literal { bit, positive: true } => self.bit(*bit)?,
            NormNode::Literal { bit, positive: false } => self.decide(*bit, Condition::ALWAYS, Condition::NEVER)?,
            NormNode::And(list) | NormNode::Or(list) => {
                let is_conjunction = matches!(norms.node(norm), NormNode::And(_));
                let (mut result, connective) = match is_conjunction {
                    true => (Condition::ALWAYS, Connective::And),
                    false => (Condition::NEVER, Connective::Or),
                };
                for norm in list {
                    let part = part(self, *norm, budget)?;
                    result = self.join(connective, result, part, budget)?;
                }
                result
            }
            NormNode::Previous { was, .. } => {
                if *was {
                    Condition::ALWAYS
                } else {
                    Condition::NEVER
                }
            }
            NormNode::Since { left, f, g, .. } => {
                let now = part(self, *g, budget)?;
                let before = if *left > 0 { part(self, *f, budget)? } else { Condition::NEVER };
                self.join(Connective::Or, now, before, budget)?
            }
            NormNode::Trigger { left, f, g, .. } => {
                let now = part(self, *g, budget)?;
                let before = if *left > 0 { part(self, *f, budget)? } else { Condition::ALWAYS };
                self.join(Connective::And, now, before, budget)?
            }
            NormNode::TimedSince { clock, marks, f, g } => {
                let now = if at_once(*clock) { part(self, *g, budget)? } else { Condition::NEVER };
                let held = if marks.is_empty() { Condition::NEVER } else { self.bit(clock_bit(*clock))? };
                let condition = part(self, *f, budget)?;
                let before = self.join(Connective::And, held, condition, budget)?;
                self.join(Connective::Or, now, before, budget)?
            }
            NormNode::TimedTrigger { clock, marks, f, g } => {
                let now = if at_once(*clock) { part(self, *g, budget)? } else { Condition::ALWAYS };
                let broken = if marks.is_empty() { Condition::NEVER } else { self.bit(clock_bit(*clock))? };
                let condition = part(self, *f, budget)?;
                let unmended = self.join(Connective::Without, broken, condition, budget)?;
                self.join(Connective::Without, now, unmended, budget)?
            }
            NormNode::True => Condition::ALWAYS,
            // INVARIANT: only norms about the present and the past are described.
            _ => Condition::NEVER,
        };
        self.described.insert(norm, result);
        Some(result)
    }

    /// Returns two conditions as one, where some bits are known. If it has too many decisions, the second is left out.
    pub(crate) fn and(
        &mut self,
        left: Condition,
        right: Condition,
        (positive, negative): (u128, u128),
        budget: &mut usize,
    ) -> Condition {
        let both = match self.join(Connective::And, left, right, budget) {
            Some(both) => both,
            None => {
                self.is_partial = true;
                left
            }
        };
        self.restrict(both, positive, negative, &mut FxHashMap::default())
    }

    /// Returns a condition where some bits are known.
    fn restrict(
        &mut self,
        condition: Condition,
        positive: u128,
        negative: u128,
        known: &mut FxHashMap<Condition, Condition>,
    ) -> Condition {
        let Decision { bit, unset, set } = self.decision(condition);
        if bit == NO_BIT {
            return condition;
        }
        if let Some(known) = known.get(&condition) {
            return *known;
        }
        let result = if positive >> bit & 1 == 1 {
            self.restrict(set, positive, negative, known)
        } else if negative >> bit & 1 == 1 {
            self.restrict(unset, positive, negative, known)
        } else {
            let unset = self.restrict(unset, positive, negative, known);
            let set = self.restrict(set, positive, negative, known);
            self.decide(bit, unset, set).unwrap_or_else(|| {
                self.is_partial = true;
                Condition::ALWAYS
            })
        };
        known.insert(condition, result);
        result
    }

    /// Returns the bits that are set in a letter of the fewest bits that meets a condition.
    pub(crate) fn least_letter(&self, condition: Condition) -> u128 {
        let mut counts: FxHashMap<Condition, u32> = FxHashMap::default();
        self.count_bits(condition, &mut counts);
        let (mut at, mut letter) = (condition, 0);
        while self.decision(at).bit != NO_BIT {
            let Decision { bit, unset, set } = self.decision(at);
            let cost = |condition: Condition| counts.get(&condition).copied().unwrap_or(u32::MAX);
            let is_set = cost(set).saturating_add(1) <= cost(unset);
            letter |= u128::from(is_set) << bit;
            at = if is_set { set } else { unset };
        }
        letter
    }

    /// Returns how many bits must be set at least to meet a condition.
    fn count_bits(&self, condition: Condition, counts: &mut FxHashMap<Condition, u32>) -> u32 {
        if let Some(known) = counts.get(&condition) {
            return *known;
        }
        let count = match (condition, self.decision(condition)) {
            (Condition::NEVER, _) => u32::MAX,
            (Condition::ALWAYS, _) => 0,
            (_, Decision { unset, set, .. }) => {
                let set = self.count_bits(set, counts).saturating_add(1);
                self.count_bits(unset, counts).min(set)
            }
        };
        counts.insert(condition, count);
        count
    }
}
