//! A compiled policy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lictor_logic::{After, Arena, Formula, MonitorId, Prover};

use crate::facts::{NameId, Plan, collect_names};
use crate::identity::Identity;
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
}

impl PreparedPolicy {
    /// The names of the facts that a property asks for.
    pub(crate) fn asked(&self, property: usize) -> &[NameId] {
        &self.asked[property]
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
