//! Properties: what must hold, how bad a violation is, and what to do about it.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_json::Text;
use lictor_logic::{After, Arena, Chance};

use crate::atoms::collect_atoms;
use crate::place::Place;

/// A property: a formula that must hold, and the response when it does not.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Its name, unique in the policy; with its pack in front, as in `gdpr/consent-before-processing`.
    pub id: Text,
    /// What it requires, in a sentence.
    pub says: Text,
    /// Its formula.
    pub formula: Text,
    /// Where it comes from: law, contract, handbook.
    pub source: Option<Text>,
    /// What to do instead, in a sentence for the agent that violated it.
    pub remedy: Option<Text>,
    /// How bad a violation is.
    pub severity: Severity,
    /// The response to a step that violates it.
    pub respond: Response,
    /// The response if it is unknown whether a step violates it.
    pub unknown: Response,
    /// What happens after a violation: it is final, it is counted and the property starts anew, or each is counted.
    pub after: After,
    /// Whose events it is judged over.
    pub history: History,
    /// Whether it decides anything, or only reports.
    pub mode: Mode,
    /// The risk of a step from which on it is answered as if it violated the property. With one, answers of labelers
    /// count by their chances; without one, as they were said.
    pub risk: Option<Chance>,
    /// Evidence that it cannot be judged without: facts of which an audit must see at least one, anywhere in the logs.
    pub needs: Vec<Text>,
    /// Its place in the policy.
    pub place: Place,
}

impl Property {
    /// Returns the names of the facts that its formula asks for.
    pub fn fact_names(&self) -> BTreeSet<Arc<str>> {
        let mut arena = Arena::new();
        let atoms = arena.parse(&self.formula).map(|formula| collect_atoms(&arena, formula));
        atoms.unwrap_or_default().into_iter().map(|atom| atom.name).collect()
    }
}

/// How bad a violation is.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Should be looked at some day.
    Low,
    /// Should be looked at.
    Medium,
    /// Must be looked at.
    High,
    /// Must be stopped.
    Critical,
}

impl Severity {
    /// Returns its name, as policies and reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }
}

/// The response to a step that violates a property, from the mildest to the strictest.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Response {
    /// Let it pass and record it.
    Observe,
    /// Let it pass and notify the operator.
    Warn,
    /// Let it pass and send the model a correction.
    Steer,
    /// Remove the violating parts and judge again.
    Redact,
    /// Wait for the approval of a person.
    Ask,
    /// Block it.
    Block,
}

impl Response {
    /// Returns its name, as policies write it.
    pub fn name(self) -> &'static str {
        match self {
            Response::Observe => "observe",
            Response::Warn => "warn",
            Response::Steer => "steer",
            Response::Redact => "redact",
            Response::Ask => "ask",
            Response::Block => "block",
        }
    }
}

/// Whose events a property is judged over: what makes up one history.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// Those of one session.
    #[default]
    Session,
    /// All that are about one person, in any session.
    Subject,
    /// All on behalf of one principal.
    Principal,
    /// All of one agent.
    Agent,
    /// All.
    Global,
}

/// Whether a property decides anything.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It decides.
    Enforce,
    /// It only reports.
    Shadow,
}
