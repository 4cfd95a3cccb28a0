//! A policy as the loader returns it: what is declared, what must hold, and where that was written.

use std::sync::Arc;

use lictor_json::{Json, Text};

use crate::effect::{Effects, guess_from_name};
use crate::fact::FactDefinition;
use crate::formula_limits::FormulaLimits;
use crate::glob::Glob;
use crate::labeler::{LabelBudget, LabelerDefinition};
use crate::place::Place;
use crate::policy_text::PolicyText;
use crate::predict::PredictSettings;
use crate::problem::Problems;
use crate::property::Property;
use crate::steering::Steering;
use crate::tool_record::ToolRecord;

/// A policy, loaded and checked.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Its name.
    pub name: Text,
    /// The purposes that were declared to the persons concerned.
    pub purposes: Vec<Purpose>,
    /// The purposes and effects of tools.
    pub tools: Vec<Tool>,
    /// Categories of personal data beyond the built-in ones.
    pub categories: Vec<Category>,
    /// Named values that expressions may look into.
    pub tables: Vec<(Text, Json)>,
    /// Those who answer questions about events.
    pub labelers: Vec<LabelerDefinition>,
    /// What asking them may cost.
    pub budget: LabelBudget,
    /// What judging a formula may cost, as far as it raises that.
    pub limits: FormulaLimits,
    /// How violations are forecast, and what is done about them.
    pub predict: Option<PredictSettings>,
    /// How the model is steered with each request.
    pub steering: Steering,
    /// Facts beyond the built-in ones.
    pub facts: Vec<FactDefinition>,
    /// The properties that must hold.
    pub properties: Vec<Arc<Property>>,
    /// Accepted findings: ignored, with a reason and an expiry date.
    pub suppressions: Vec<Suppression>,
    /// The texts it was read from, to show places in them.
    pub sources: Vec<PolicyText>,
}

impl Policy {
    /// Returns the effects of a tool: those that the first entry under `tools:` with effects states, else those that its
    /// name tells; none if they are unknown.
    pub fn tool_effects(&self, tool: &str) -> Option<Effects> {
        let mut entries = self.tools.iter().filter(|entry| Glob::new(&entry.name).matches(tool));
        match entries.find_map(|entry| entry.effects.as_ref()) {
            Some(effects) => Some(Effects::from_names(effects.iter().map(Text::as_str))),
            None => guess_from_name(tool),
        }
    }
}

/// A declared purpose of processing.
#[derive(Clone, Debug, PartialEq)]
pub struct Purpose {
    /// Its name.
    pub name: Text,
    /// The lawful basis, as in GDPR Art. 6(1).
    pub basis: Basis,
    /// The categories of data that it needs.
    pub necessary: Vec<Text>,
    /// Whether data may be kept and used for it after an erasure (GDPR Art. 17(3)).
    pub survives_erasure: bool,
    /// Words by which a user's request names it; none if requests do not matter.
    pub words: Vec<Text>,
    /// Its place in the policy.
    pub place: Place,
}

/// A lawful basis of processing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// The person agreed: Art. 6(1)(a).
    Consent,
    /// The person agreed explicitly to special categories: Art. 9(2)(a).
    ExplicitConsent,
    /// A contract with the person: Art. 6(1)(b).
    Contract,
    /// A legal obligation: Art. 6(1)(c).
    LegalObligation,
    /// Vital interests: Art. 6(1)(d).
    VitalInterest,
    /// A task in the public interest: Art. 6(1)(e).
    PublicTask,
    /// A legitimate interest: Art. 6(1)(f).
    LegitimateInterest,
    /// None: the purpose has a name, but it is not declared, and nothing may serve it.
    None,
}

/// The purposes, effects and records of the tools of a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The name; `*` matches any characters.
    pub name: Text,
    /// The purposes it serves; none given leaves them unknown.
    pub purposes: Option<Vec<Text>>,
    /// Its effects; none means that they follow from the name of the tool.
    pub effects: Option<Vec<Text>>,
    /// The records that a successful call makes.
    pub records: Vec<ToolRecord>,
    /// Its place in the policy.
    pub place: Place,
}

/// A category of personal data and how to see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Category {
    /// Its name.
    pub name: Text,
    /// A regular expression that its values match.
    pub pattern: Option<Text>,
    /// Words that betray it.
    pub words: Vec<Text>,
    /// Whether a value tells who the person is.
    pub identifies: bool,
    /// Its place in the policy.
    pub place: Place,
}

/// Accepted findings: ignored, with a reason and an expiry date.
#[derive(Clone, Debug, PartialEq)]
pub struct Suppression {
    /// The property; `*` matches any characters.
    pub property: Text,
    /// The session; `*` matches any characters, none means every session.
    pub session: Option<Text>,
    /// Why the findings are acceptable.
    pub reason: Text,
    /// The last day on which they are.
    pub until: Option<jiff::civil::Date>,
    /// Its place in the policy.
    pub place: Place,
}

/// A valid policy, and the warnings about it.
#[derive(Clone, Debug)]
pub struct LoadedPolicy {
    /// The policy.
    pub policy: Policy,
    /// The warnings; no errors.
    pub warnings: Problems,
}
