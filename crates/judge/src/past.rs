//! Which facts earlier policies looked for: a session keeps the facts of its events, not the events. So a property of a
//! new policy is judged over the past as far as an earlier policy has looked for its facts there, in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lictor_event::content_hash;
use lictor_json::Text;
use lictor_logic::Spelling;
use lictor_policy::{History, Policy, Property};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::SavedHistories;
use crate::prepared::PropertyFormula;

/// The facts that a policy looks for and the properties that it follows, as data. A store keeps it by the fingerprint
/// of the policy, so that a later policy knows what the moments of a session tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyScope {
    /// The fingerprints of the definitions of the facts, by name.
    facts: BTreeMap<Text, Text>,
    /// The formulas of the properties, with what is done after a verdict and the histories they are judged over.
    properties: BTreeSet<Text>,
    /// The kinds of histories across sessions, each with a fingerprint of its properties and their facts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    histories: BTreeMap<Text, Text>,
}

/// The scopes of earlier policies, by their fingerprints.
#[derive(Clone, Debug, Default)]
pub struct PastPolicies {
    scopes: BTreeMap<Text, Arc<PolicyScope>>,
}

/// How a session or a history moved to another policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyMove {
    /// The new and changed properties that were judged over its whole past.
    pub rebuilt: Vec<Text>,
    /// The new and changed properties of which its past does not tell everything. Where it matters, their `unknown`
    /// decides.
    pub unknown: Vec<Text>,
}

impl PolicyScope {
    pub(crate) fn new<'a>(
        policy: &Policy,
        names: impl IntoIterator<Item = &'a str>,
        formulas: &[PropertyFormula],
    ) -> PolicyScope {
        let properties = policy.properties.iter().zip(formulas);
        let facts = policy.fact_fingerprints(names);
        let mut histories: BTreeMap<Text, BTreeSet<String>> = BTreeMap::new();
        for (property, parsed) in properties.clone().filter(|(property, _)| property.history != History::Session) {
            let lines = histories.entry(write_kind(property.history)).or_default();
            lines.insert(write_property(property, parsed).to_string());
            let of = |name: Arc<str>| format!("{name} {}", facts.get(&*name).map_or("", Text::as_str));
            lines.extend(parsed.names().into_iter().map(of));
        }
        let describe = |(kind, lines): (Text, BTreeSet<String>)| {
            let lines: Vec<String> = lines.into_iter().collect();
            (kind, Text::new(content_hash::to_hex(&Sha256::digest(lines.join("\n").as_bytes())[..8])))
        };
        let histories = histories.into_iter().map(describe).collect();
        let properties = properties.map(|(property, parsed)| write_property(property, parsed)).collect();
        PolicyScope { facts, properties, histories }
    }

    /// Whether both policies find a fact at the same events.
    pub(crate) fn has_same_fact(&self, other: &PolicyScope, name: &str) -> bool {
        self.facts.get(name).is_some_and(|fact| other.facts.get(name) == Some(fact))
    }

    /// Whether the policy followed properties over histories across sessions.
    pub(crate) fn has_histories(&self) -> bool {
        !self.histories.is_empty()
    }

    /// Whether the policy had a property of this name with this formula, the same behavior after a verdict, and the same
    /// kind of history.
    pub(crate) fn has_property(&self, property: &Property, parsed: &PropertyFormula) -> bool {
        self.properties.contains(&write_property(property, parsed))
    }
}

fn write_kind(history: History) -> Text {
    Text::new(format!("{history:?}"))
}

/// Returns what the state of a property depends on, but for its facts.
fn write_property(property: &Property, parsed: &PropertyFormula) -> Text {
    let (id, history, after) = (&property.id, property.history, parsed.after);
    let risk = property.risk.map(|risk| format!(" risk {risk}")).unwrap_or_default();
    let formula = parsed.arena.show(parsed.formula, Spelling::Ascii);
    Text::new(format!("{id} {history:?} {after:?}{risk} {formula}"))
}

impl PastPolicies {
    /// Adds the scope of a policy by its fingerprint.
    pub fn insert(&mut self, policy: &str, scope: PolicyScope) {
        self.scopes.insert(policy.into(), Arc::new(scope));
    }

    /// Returns the scope of a policy. None if the policy is not known.
    pub(crate) fn scope(&self, policy: &str) -> Option<&Arc<PolicyScope>> {
        self.scopes.get(policy)
    }

    /// Whether a policy followed the same properties over the same kinds of histories across sessions.
    pub fn has_same_histories(&self, policy: &str, other: &PolicyScope) -> bool {
        self.scope(policy).is_some_and(|scope| scope.histories == other.histories)
    }

    /// Whether a policy kept histories of the kinds of saved ones.
    pub fn keeps_histories(&self, policy: &str, saved: &SavedHistories) -> bool {
        let is_kept = |scope: &PolicyScope| saved.kinds().all(|kind| scope.histories.contains_key(&*write_kind(kind)));
        self.scope(policy).is_some_and(|scope| is_kept(scope))
    }

    /// Whether the scope of a policy is known.
    pub fn has(&self, policy: &str) -> bool {
        self.scopes.contains_key(policy)
    }
}
