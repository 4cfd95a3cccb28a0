//! A compiled policy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use lictor_logic::{After, Arena, Binary, Formula, Interval, MonitorId, Node, Prover, Quantifier, Span, Unary};

use crate::PolicyScope;
use crate::facts::{NameId, Plan, collect_names};
use crate::identity::Identity;
use crate::text_mask::MaskedTexts;
use lictor_json::Text;
use lictor_policy::{Policy, Property, Steering, Suppression};

/// A compiled policy.
#[derive(Debug)]
pub(crate) struct PreparedPolicy {
    pub(crate) id: Identity,
    pub(crate) name: Text,
    pub(crate) properties: Vec<Arc<Property>>,
    pub(crate) suppressions: Vec<Suppression>,
    pub(crate) steering: Steering,
    /// The policy itself, for properties that sessions get while they run.
    pub(crate) base: Policy,
    pub(crate) formulas: Vec<PropertyFormula>,
    /// The monitor of each property in its monitor group.
    pub(crate) monitors: Vec<MonitorId>,
    pub(crate) plan: Plan,
    /// For each fact name, whether a property over more than the session asks for it.
    pub(crate) wide: Vec<bool>,
    /// For each property, the names of the facts that it asks for.
    pub(crate) asked: Vec<Vec<NameId>>,
    /// The tools whose calls have a fact that the policy defines, by the fact.
    pub(crate) called_by: BTreeMap<Text, Vec<Text>>,
    /// What it looks for and follows, computed at the first use.
    pub(crate) scope: OnceLock<PolicyScope>,
    /// Long texts that were masked before their events are judged.
    pub(crate) masked: MaskedTexts,
}

/// The formula of a property.
#[derive(Debug)]
pub(crate) struct PropertyFormula {
    pub(crate) arena: Arena,
    pub(crate) formula: Formula,
    pub(crate) variables: Vec<Arc<str>>,
    pub(crate) after: After,
    pub(crate) is_timed: bool,
    /// Whether it has a time bound anywhere, even one without a deadline.
    pub(crate) measures_time: bool,
    /// Whether an additional empty position can change its verdict.
    pub(crate) counts_positions: bool,
}

impl PropertyFormula {
    /// Returns the names of the facts it asks for.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        let mut names = BTreeSet::new();
        collect_names(&self.arena, self.formula, &mut names);
        names.into_iter().collect()
    }

    /// Returns how long ago an event can be and still count; none if that has no end, or is not counted in time.
    pub(crate) fn reach(&self) -> Option<Span> {
        let mut formula = self.formula;
        while let Node::Quantified(Quantifier::Forall, _, body) = &self.arena[formula] {
            formula = *body;
        }
        match &self.arena[formula] {
            Node::Unary(Unary::Always, _, body) if self.after == After::Each => reach(&self.arena, *body),
            _ => None,
        }
    }
}

/// Returns how far a formula about the past looks back.
fn reach(arena: &Arena, formula: Formula) -> Option<Span> {
    let node = &arena[formula];
    let own = match node {
        Node::Measure(..) => None,
        Node::Unary(Unary::Once | Unary::Historically, Interval::Time { to, .. }, _)
        | Node::Binary(Binary::Since | Binary::Trigger, Interval::Time { to, .. }, ..) => *to,
        Node::Unary(..) | Node::Binary(..) => None,
        _ => Some(Span(0)),
    }?;
    let inner = node.operands().into_iter().map(|operand| reach(arena, operand));
    let inner = inner.collect::<Option<Vec<Span>>>()?.into_iter().max().unwrap_or(Span(0));
    Some(Span(own.0.saturating_add(inner.0)))
}

impl PreparedPolicy {
    /// The names of the facts that a property asks for.
    pub(crate) fn asked(&self, property: usize) -> &[NameId] {
        &self.asked[property]
    }

    /// Returns the numbers of the properties with those names, without those that it does not have.
    pub(crate) fn places(&self, names: &[Text]) -> Box<[usize]> {
        let known = |name: &Text| self.properties.iter().position(|property| property.id == *name);
        names.iter().filter_map(known).collect()
    }

    /// Returns what the policy looks for and follows.
    pub(crate) fn scope(&self) -> &PolicyScope {
        self.scope
            .get_or_init(|| PolicyScope::new(&self.base, self.plan.names.iter().map(AsRef::as_ref), &self.formulas))
    }

    /// Whether a property is judged as by another policy: it has the same formula over the same facts.
    pub(crate) fn is_same_property(&self, property: usize, other: &PolicyScope) -> bool {
        let is_same_fact = |name: &NameId| self.scope().has_same_fact(other, &self.plan.names[*name as usize]);
        other.has_property(&self.properties[property], &self.formulas[property])
            && self.asked(property).iter().all(is_same_fact)
    }
}

/// The provers that find witnesses, each built on first use.
#[derive(Debug)]
pub(crate) struct Provers {
    pub(crate) prepared: Arc<PreparedPolicy>,
    provers: Vec<Option<Prover>>,
}

impl Provers {
    pub(super) fn new(prepared: Arc<PreparedPolicy>) -> Provers {
        Provers { provers: prepared.formulas.iter().map(|_| None).collect(), prepared }
    }

    /// Returns the prover of a property; `None` if its formula has no witnesses.
    pub(crate) fn of(&mut self, property: usize) -> Option<&mut Prover> {
        let prover = &mut self.provers[property];
        if prover.is_none() {
            let parsed = &self.prepared.formulas[property];
            let found = Prover::with_after(&parsed.arena, parsed.formula, parsed.after);
            *prover = found.ok().map(Prover::without_residuals);
        }
        prover.as_mut()
    }
}
