//! Clock skew: verdicts on time bounds that hold however wrong the clocks were.
//!
//! If the clock of each source is wrong by at most so much, the distance of two events is wrong by at most twice as
//! much. Each property with bounds in time is judged twice: loosened by that much, and tightened. A trace that violates
//! the loose one violates the property for all clock errors. A trace that satisfies the tight one satisfies it.
//! Anything else is inconclusive. The order of the events is taken from the log.

use std::collections::HashMap;
use std::sync::Arc;

use lictor_logic::{Arena, Binary, Formula, Interval, Node, Span, Spelling, Unary, Verdict};

use crate::report::Report;
use lictor_json::Text;
use lictor_policy::{Policy, Property};

/// A policy that accounts for clock skew.
#[derive(Clone, Debug)]
pub struct SkewedPolicy {
    /// The policy to judge by: its properties with time bounds loosened, and after them all the tightened ones.
    pub policy: Policy,
    /// The properties as they were written.
    properties: Vec<Arc<Property>>,
    /// For each property the place of the tightened one.
    tight: Vec<Option<usize>>,
    /// The names of properties with bounds in time that are judged as if the clocks agreed: those that count, add or
    /// compare within a bound, or that have one at a `weak_until` or a `strong_release`.
    pub uncovered: Vec<Text>,
}

/// The suffix of the name of a tightened property; no name in a policy has it.
const TIGHT_SUFFIX: &str = "\u{0}tight";

impl SkewedPolicy {
    /// Returns the policy for sources whose clocks are each wrong by at most `skew`.
    pub fn new(policy: &Policy, skew: Span) -> SkewedPolicy {
        let distance = Span(skew.0.saturating_mul(2));
        let mut skewed = SkewedPolicy {
            policy: policy.clone(),
            properties: policy.properties.clone(),
            tight: Vec::new(),
            uncovered: Vec::new(),
        };
        let mut tightened = Vec::new();
        for (place, property) in policy.properties.iter().enumerate() {
            let pair = match skew_formula(&property.formula, distance) {
                SkewedFormula::Untimed => None,
                SkewedFormula::Uncovered => {
                    skewed.uncovered.push(property.id.clone());
                    None
                }
                SkewedFormula::Pair(loose, tight) => Some((loose, tight)),
            };
            skewed.tight.push(pair.as_ref().map(|_| policy.properties.len() + tightened.len()));
            let Some((loose, tight)) = pair else { continue };
            let (id, as_written) = (Text::from(format!("{}{TIGHT_SUFFIX}", property.id)), Property::clone(property));
            skewed.policy.properties[place] = Arc::new(Property { formula: loose.into(), ..as_written.clone() });
            tightened.push(Arc::new(Property { id, formula: tight.into(), ..as_written }));
        }
        skewed.policy.properties.extend(tightened);
        skewed
    }

    /// Turns a report by that policy into a report by the policy as it was written.
    pub fn merge_verdicts(&self, report: &mut Report) {
        let written: HashMap<&str, &Arc<Property>> =
            self.properties.iter().map(|property| (property.id.as_str(), property)).collect();
        report.findings.retain_mut(|finding| match written.get(finding.property.id.as_str()) {
            Some(property) => {
                finding.property = Arc::clone(property);
                true
            }
            None => false,
        });
        for session in &mut report.sessions {
            for (place, tight) in self.tight.iter().enumerate() {
                let tight = tight.and_then(|tight| session.outcomes.get(tight)).copied();
                if let (Some(tight), Some(outcome)) = (tight, session.outcomes.get_mut(place))
                    && !outcome.is_broken()
                {
                    let holds = tight.verdict == Verdict::Satisfied && !tight.is_broken();
                    outcome.verdict = if holds { Verdict::Satisfied } else { Verdict::Inconclusive };
                    outcome.live &= holds;
                }
            }
            session.outcomes.truncate(self.properties.len());
        }
        report.properties.clone_from(&self.properties);
    }
}

/// A formula loosened and tightened.
enum SkewedFormula {
    /// It has no time bound.
    Untimed,
    /// It has a time bound that cannot be shifted.
    Uncovered,
    Pair(String, String),
}

fn skew_formula(text: &str, distance: Span) -> SkewedFormula {
    let mut arena = Arena::new();
    // A formula that the policy loader accepts can be parsed.
    let Ok(formula) = arena.parse(text) else { return SkewedFormula::Untimed };
    let mut bounds = BoundShift { arena, distance, is_timed: false, is_uncovered: false };
    let (loose, tight) = (bounds.shift(formula, true), bounds.shift(formula, false));
    match bounds {
        BoundShift { is_uncovered: true, .. } => SkewedFormula::Uncovered,
        BoundShift { is_timed: false, .. } => SkewedFormula::Untimed,
        BoundShift { arena, .. } => {
            let show = |formula| arena.show(formula, Spelling::Ascii).to_string();
            SkewedFormula::Pair(show(loose), show(tight))
        }
    }
}

struct BoundShift {
    arena: Arena,
    distance: Span,
    is_timed: bool,
    is_uncovered: bool,
}

impl BoundShift {
    /// Returns a formula that holds wherever `f` holds by some clocks (`loose`), or only where it holds by all.
    fn shift(&mut self, f: Formula, loose: bool) -> Formula {
        let node = self.arena[f].clone();
        match node {
            Node::True | Node::False | Node::Fact(_) | Node::Compare(..) => f,
            Node::Measure(..) => {
                self.is_uncovered |= node.measures_time();
                // The body of an aggregate may have bounds of its own.
                for operand in node.operands() {
                    let was_timed = std::mem::take(&mut self.is_timed);
                    self.shift(operand, loose);
                    self.is_uncovered |= self.is_timed;
                    self.is_timed = was_timed;
                }
                f
            }
            Node::Not(g) => {
                let g = self.shift(g, !loose);
                self.arena.not(g)
            }
            Node::Implies(g, h) => {
                let (g, h) = (self.shift(g, !loose), self.shift(h, loose));
                self.arena.implies(g, h)
            }
            Node::Iff(g, h) => {
                let (there, back) = (self.arena.implies(g, h), self.arena.implies(h, g));
                let whole = [self.shift(there, loose), self.shift(back, loose)];
                self.arena.and(whole)
            }
            Node::Unary(operator, interval, g) => {
                let is_some = matches!(operator, Unary::Eventually | Unary::Once);
                let g = self.shift(g, loose);
                match self.shift_interval(interval, is_some == loose) {
                    Some(interval) => self.arena.insert(Node::Unary(operator, interval, g)),
                    None => self.arena.truth(!is_some),
                }
            }
            Node::Binary(operator, interval, g, h) => {
                let is_some = matches!(operator, Binary::Until | Binary::Since);
                self.is_uncovered |=
                    interval.is_time() && matches!(operator, Binary::WeakUntil | Binary::StrongRelease);
                let (g, h) = (self.shift(g, loose), self.shift(h, loose));
                match self.shift_interval(interval, is_some == loose) {
                    Some(interval) => self.arena.insert(Node::Binary(operator, interval, g, h)),
                    None => self.arena.truth(!is_some),
                }
            }
            Node::And(list) => {
                let list: Vec<Formula> = list.iter().map(|g| self.shift(*g, loose)).collect();
                self.arena.and(list)
            }
            Node::Or(list) => {
                let list: Vec<Formula> = list.iter().map(|g| self.shift(*g, loose)).collect();
                self.arena.or(list)
            }
            Node::Quantified(quantifier, variables, g) => {
                let g = self.shift(g, loose);
                self.arena.insert(Node::Quantified(quantifier, variables, g))
            }
        }
    }

    /// Returns a bound made wider or narrower; none if nothing is left of it.
    fn shift_interval(&mut self, interval: Interval, wider: bool) -> Option<Interval> {
        let Interval::Time { from, to } = interval else { return Some(interval) };
        self.is_timed = true;
        let by = self.distance.0;
        let (from, to) = match (wider, to) {
            (true, to) => (from.0.saturating_sub(by), to.map(|to| to.0.saturating_add(by))),
            // In the order of the log, two events are never less than nothing apart.
            (false, to) => {
                let to = match to {
                    Some(to) => Some(to.0.checked_sub(by)?),
                    None => None,
                };
                (if from.0 == 0 { 0 } else { from.0.saturating_add(by) }, to)
            }
        };
        to.is_none_or(|to| from <= to).then_some(Interval::Time { from: Span(from), to: to.map(Span) })
    }
}
