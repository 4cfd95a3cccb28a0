//! What is asked of an agent: facts to look for, properties over them, and what to do when one is broken.

use std::sync::Arc;

use lictor_json::{Json, Text};

mod check;
mod draft;
pub mod expression;
mod fingerprint;
mod form;
pub mod glob;
mod lint;
mod load;
mod merge;
pub mod pack;
mod problem;
mod source;
pub mod vocabulary;
mod yaml;

pub use lint::lint;
pub use load::{FileResolver, LoadedPolicy, PageBase, ResolvedFile, Resolver};
pub use problem::{Problem, ProblemLevel, Problems};
pub use source::PolicyText;

/// The JSON Schema of policy files.
pub const SCHEMA: &str = include_str!("../schema/policy.schema.json");

/// A policy, loaded and checked.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Its name.
    pub name: Text,
    /// The purposes that were declared to the persons concerned.
    pub purposes: Vec<Purpose>,
    /// What tools are for and what they do.
    pub tools: Vec<Tool>,
    /// Categories of personal data beyond the built-in ones.
    pub categories: Vec<Category>,
    /// Named values that expressions may look into.
    pub tables: Vec<(Text, Json)>,
    /// Facts beyond the built-in ones.
    pub facts: Vec<FactDefinition>,
    /// What must hold.
    pub properties: Vec<Arc<Property>>,
    /// Findings that somebody answers for.
    pub suppressions: Vec<Suppression>,
    /// The texts it was read from, to show places in them.
    pub sources: Vec<PolicyText>,
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
    /// Where it was written.
    pub place: Place,
}

/// A lawful basis of processing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// What the tools of a name are for and what they do.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The name; `*` stands for any characters.
    pub name: Text,
    /// The purposes it serves; none given leaves them unknown.
    pub purposes: Option<Vec<Text>>,
    /// What it does to the world; none given leaves it to the name of the tool.
    pub effects: Option<Vec<Text>>,
    /// Where it was written.
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
    /// Where it was written.
    pub place: Place,
}

/// A fact that a policy defines.
#[derive(Clone, Debug, PartialEq)]
pub struct FactDefinition {
    /// The name of the fact.
    pub name: Text,
    /// The names of its values.
    pub parameters: Vec<Text>,
    /// The ways in which it comes to hold; any one suffices.
    pub cases: Vec<FactCase>,
    /// Where it was written.
    pub place: Place,
}

/// One way in which a fact comes to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct FactCase {
    /// The events at which it may hold: kinds, with a tool name that may have `*`. None is every event.
    pub on: Vec<Trigger>,
    /// Tests on single fields of the event; all must pass.
    pub tests: Vec<Test>,
    /// A condition, as an expression.
    pub when: Option<Text>,
    /// A list, as an expression; the fact may hold for each element, known as `it`.
    pub each: Option<Text>,
    /// The values of the fact, as expressions, in the order of its parameters; an empty one is the group of that name in
    /// a regular expression of the tests.
    pub values: Vec<Text>,
    /// A question that a model or a person answers, with the answer in the event's labels.
    pub ask: Option<Text>,
    /// Where it was written.
    pub place: Place,
}

/// A kind of event, and for events of tools the tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// The kind.
    pub kind: Text,
    /// The tool; `*` stands for any characters, none for any tool.
    pub tool: Option<Text>,
}

/// A test on one field of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The field: `text`, `tool`, `args.amount`, `result.items.0.price`.
    pub path: Text,
    /// What its value must be like; any one suffices.
    pub any: Vec<FactPattern>,
}

impl Test {
    /// Whether a regular expression among its patterns has a group of that name.
    pub fn has_group(&self, name: &str) -> bool {
        self.any.iter().any(|pattern| match pattern {
            FactPattern::Regex(regex) => {
                [format!("(?P<{name}>"), format!("(?<{name}>")].iter().any(|group| regex.contains(group.as_str()))
            }
            _ => false,
        })
    }
}

/// What a value must be like.
#[derive(Clone, Debug, PartialEq)]
pub enum FactPattern {
    /// Equal to this value.
    Equal(Json),
    /// A text with `*` for any characters.
    Glob(Text),
    /// A text in which this regular expression is found.
    Regex(Text),
    /// A number on one side of another: the operator is `<`, `<=`, `>`, `>=` or `!=`.
    Compare(Text, Json),
}

/// What must hold, and what to do when it does not.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Its name, unique in the policy; with its pack in front, as in `gdpr/consent-before-processing`.
    pub id: Text,
    /// What it asks for, in a sentence.
    pub says: Text,
    /// The same as a formula.
    pub formula: Text,
    /// Where it comes from: law, contract, handbook.
    pub source: Option<Text>,
    /// What would have been right, in a sentence for whoever broke it.
    pub remedy: Option<Text>,
    /// How bad a violation is.
    pub severity: Severity,
    /// What to do with a step that breaks it.
    pub respond: Response,
    /// What to do when it cannot be told whether a step breaks it.
    pub unknown: Response,
    /// Whether the first violation stands, or it is counted and the property starts anew.
    pub after: After,
    /// Whose events it is judged over.
    pub history: History,
    /// Whether it decides anything, or only reports.
    pub mode: Mode,
    /// Where it was written.
    pub place: Place,
}

/// How bad a violation is.
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
    /// Its name, as policies and reports write it.
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

/// What to do with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Response {
    /// Let it pass and write it down.
    Observe,
    /// Let it pass and tell somebody.
    Warn,
    /// Tell the model what would be right.
    Steer,
    /// Take out what offends and judge again.
    Redact,
    /// Let a person decide.
    Ask,
    /// Stop it.
    Block,
}

impl Response {
    /// Its name, as policies write it.
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

pub use lictor_logic::After;

/// Whose events a property is judged over: what makes up one history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// Those of one session.
    #[default]
    Session,
    /// All that are about one person, in whatever session.
    Subject,
    /// All on behalf of one principal.
    Principal,
    /// All of one agent.
    Agent,
    /// All.
    Global,
}

/// Whether a property decides anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It does.
    Enforce,
    /// It only reports.
    Shadow,
}

/// Findings that somebody answers for.
#[derive(Clone, Debug, PartialEq)]
pub struct Suppression {
    /// The property; `*` stands for any characters.
    pub property: Text,
    /// The session; `*` stands for any characters, none for every session.
    pub session: Option<Text>,
    /// Why the findings are acceptable.
    pub reason: Text,
    /// The last day on which they are.
    pub until: Option<jiff::civil::Date>,
    /// Where it was written.
    pub place: Place,
}

/// A place in a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, or the page of the pack.
    pub file: Arc<str>,
    /// The line, from one.
    pub line: u32,
    /// The column, from one.
    pub column: u32,
}

#[cfg(test)]
mod tests;
