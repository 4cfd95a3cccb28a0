//! The versions of the policy over one store, in the order in which processes activated them.
//!
//! Several processes may have different policies over one store: while a new policy is rolled out, or because of a
//! mistake. A session moves forward only, to a policy that was activated later. A process with an earlier policy refuses
//! it. To return to an earlier policy is to activate it again: it is the latest then.

use std::collections::BTreeMap;

use lictor_json::Text;
use lictor_judge::PastPolicies;
use serde::{Deserialize, Serialize};

/// How many activations the store remembers.
pub(crate) const MAX_ACTIVATIONS: usize = 64;

/// The policy of a process among those of its store.
#[derive(Debug, Default)]
pub(crate) struct PolicyVersions {
    /// The number of its activation.
    pub(crate) number: u64,
    /// The latest activations, the last one first: their numbers and policies.
    pub(crate) latest: Vec<(u64, String)>,
    /// What the policies that judged earlier look for.
    pub(crate) past: PastPolicies,
}

/// The latest activations of policies over a store, the last one first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct KeptActivations {
    pub(crate) latest: Vec<(u64, String)>,
}

/// How the sessions in memory move to another policy. Sessions in the store move with their next event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyMoves {
    /// How many sessions there are in memory.
    pub sessions: usize,
    /// For each new or changed property, in how many of them its whole past is judged anew, and in how many it is unknown.
    pub properties: BTreeMap<Text, (usize, usize)>,
}

impl PolicyMoves {
    /// Adds the moves of another warden.
    pub fn add(&mut self, other: &PolicyMoves) {
        self.sessions += other.sessions;
        for (property, (rebuilt, unknown)) in &other.properties {
            let counts = self.properties.entry(property.clone()).or_default();
            *counts = (counts.0 + rebuilt, counts.1 + unknown);
        }
    }

    /// Returns a sentence for each property.
    pub fn describe(&self) -> Vec<String> {
        let sentence = |(property, (rebuilt, unknown)): (&Text, &(usize, usize))| {
            format!("{property} is rebuilt in {rebuilt} of {} sessions, unknown in {unknown}", self.sessions)
        };
        self.properties.iter().map(sentence).collect()
    }
}
