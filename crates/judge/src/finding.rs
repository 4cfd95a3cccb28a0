//! A violated property, and the events that prove it.

mod view;

use std::sync::Arc;

use lictor_logic::{ChanceRange, Time, Value, WitnessBasis};
use sha2::{Digest, Sha256};

use lictor_event::labeler::name_of;
use lictor_event::{Kind, Source};
use lictor_json::Text;
use lictor_policy::Property;

pub use view::{FindingView, as_object, values};

/// A property that a session violates.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The property.
    pub property: Arc<Property>,
    /// The session.
    pub session: Text,
    /// When in the session it was decided.
    pub decided: DecidedBy,
    /// The number of the deciding event in its session, from one; for [`DecidedBy::End`], of the last event.
    pub step: u32,
    /// Where that event was read.
    pub source: Source,
    /// Its kind.
    pub kind: Kind,
    /// Its tool.
    pub tool: Option<Text>,
    /// The values for which the property is violated.
    pub binding: Vec<(Text, Value)>,
    /// The events that prove it, in order; the deciding one is the last, unless it is decided by the end.
    pub witness: Vec<WitnessEvent>,
    /// Whether these events prove it, or are the last ones at which the residual changed, because a proof would have
    /// taken too long.
    pub basis: WitnessBasis,
    /// The risk by which it counts as violated, for a property that has one.
    pub risk: Option<ChanceRange>,
    /// The answers of labelers that carry the risk, the weightiest first, if they were [looked
    /// for](crate::Judge::add_grounds).
    pub grounds: Vec<FindingGround>,
    /// What still had to happen, in words, if an obligation was never met.
    pub owed: Option<String>,
    /// Why the policy accepts it.
    pub suppressed: Option<Text>,
    /// Identifies the finding in every run, independent of other findings: for baselines.
    pub fingerprint: String,
}

/// An answer of a labeler that carries a finding with a risk.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FindingGround {
    /// The step of its event, from one.
    pub step: u32,
    /// The fact.
    pub fact: Text,
    /// The labeler and its version.
    pub by: Option<Text>,
    /// The chance that the fact holds.
    pub chance: f64,
}

impl std::fmt::Display for FindingGround {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let by = self.by.as_deref().map(|by| format!("{}, ", name_of(by))).unwrap_or_default();
        write!(f, "{} at step {} ({by}{:.2})", self.fact, self.step, self.chance)
    }
}

/// When a finding was decided.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// By an event.
    Event,
    /// By time that passed before the next event.
    Deadline,
    /// By the end of the session: something owed never came.
    End,
}

impl DecidedBy {
    /// Its name, as reports write it.
    pub fn name(self) -> &'static str {
        match self {
            DecidedBy::Event => "event",
            DecidedBy::Deadline => "deadline",
            DecidedBy::End => "end",
        }
    }
}

/// An event that matters for a finding.
#[derive(Clone, Debug)]
pub struct WitnessEvent {
    /// Its session, if it is not the finding's.
    pub session: Option<Text>,
    /// Its number in the session, from one.
    pub step: u32,
    /// Where it was read.
    pub source: Source,
    /// Its kind.
    pub kind: Kind,
    /// Its tool.
    pub tool: Option<Text>,
    /// When it happened.
    pub time: Option<Time>,
    /// The facts that matter and held: `processes("marketing")`.
    pub present: Vec<String>,
    /// The facts that matter by not holding.
    pub absent: Vec<String>,
    /// Its text or arguments, shortened; only if the user asked for content.
    pub content: Option<String>,
}

impl Finding {
    /// Merges a finding of the same property at the same event for other values.
    pub(crate) fn join(&mut self, other: Finding) {
        for bound in other.binding {
            if !self.binding.contains(&bound) {
                self.binding.push(bound);
            }
        }
        if other.basis != WitnessBasis::Proof {
            self.basis = other.basis;
        }
        for proof in other.witness {
            let is_same = |known: &&mut WitnessEvent| known.session == proof.session && known.step == proof.step;
            match self.witness.iter_mut().find(is_same) {
                Some(known) => {
                    merge(&mut known.present, proof.present);
                    merge(&mut known.absent, proof.absent);
                }
                None => self.witness.push(proof),
            }
        }
        // Steps of different sessions are not ordered: they stay in order of discovery.
        if self.witness.iter().all(|proof| proof.session.is_none()) {
            self.witness.sort_by_key(|proof| proof.step);
        }
    }

    /// Returns a note on the witness if it is no proof, for people who read it.
    pub fn basis_note(&self) -> Option<&'static str> {
        match self.basis {
            WitnessBasis::Proof => None,
            _ if self.risk.is_some() => Some("by its risk: taken literally, the answers of labelers do not prove it"),
            _ => Some("incomplete: the search reached its budget; earlier events may matter too"),
        }
    }

    /// Returns a note on the risk by which it counts as violated, for people who read it.
    pub fn risk_note(&self) -> Option<String> {
        let (risk, allowed) = (self.risk?, self.property.risk?);
        let (least, most) = (risk.least.to_f64(), risk.most.to_f64());
        let range = match format!("{least:.3}") == format!("{most:.3}") {
            true => format!("{least:.3}"),
            false => format!("between {least:.3} and {most:.3}"),
        };
        let grounds: Vec<String> = self.grounds.iter().map(ToString::to_string).collect();
        let rests = if grounds.is_empty() { String::new() } else { format!("; rests on {}", grounds.join(", ")) };
        Some(format!("{range}; from {allowed} on it counts as violated{rests}"))
    }

    /// Returns the fingerprint: a hash of the property, the session, the event and the values.
    pub(crate) fn print(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            hash.update(part.as_bytes());
            hash.update([0]);
        };
        add(&self.property.id);
        add(&self.session);
        add(&self.step.to_string());
        for (name, value) in &self.binding {
            add(name);
            add(&value.to_string());
        }
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

fn merge(facts: &mut Vec<String>, more: Vec<String>) {
    for fact in more {
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }
}
