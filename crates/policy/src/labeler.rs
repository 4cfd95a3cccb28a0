//! Who answers the questions of a policy, and what that may cost.

use lictor_json::Text;
use lictor_logic::Span;

use crate::place::Place;

/// A labeler that a policy names.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelerDefinition {
    /// Its name, by which facts ask it.
    pub name: Text,
    /// Who or what answers.
    pub source: LabelerSource,
    /// The file with the calibration of its answers, beside the policy.
    pub calibration: Option<Text>,
    /// How long one inquiry may take.
    pub timeout: Option<Span>,
    /// The most calls in an hour.
    pub calls_per_hour: Option<u64>,
    /// Its place in the policy.
    pub place: Place,
}

/// Who or what answers the questions put to a labeler.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LabelerSource {
    /// A model behind an OpenAI-compatible endpoint.
    Endpoint {
        /// The address, up to and with the version: `http://127.0.0.1:8080/v1`.
        url: Text,
        /// The model.
        model: Text,
        /// The environment variable with the key.
        key: Option<Text>,
    },
    /// An HTTP service of Lictor's own contract.
    Service {
        /// The address that inquiries are posted to.
        url: Text,
        /// The version of the service, which keys of answers depend on.
        version: Option<Text>,
        /// The environment variable with the key.
        key: Option<Text>,
    },
    /// The analyzer of Presidio; each fact that asks it holds if it finds one of the entities.
    Presidio {
        /// The address of the analyzer.
        url: Text,
        /// The kinds of entities that count, such as `PERSON`; any if there are none.
        entities: Vec<Text>,
        /// The version of the analyzer and its models, which keys of answers depend on.
        version: Option<Text>,
    },
    /// A classifier that was learnt from labelled logs: a file beside the policy, or `builtin:injection`.
    Learnt(Text),
    /// A person at the terminal.
    Person,
    /// The answers that logs bring along; no labeler is asked.
    Log,
}

/// The question of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactQuestion {
    /// The statement that is true or false of an event.
    pub statement: Text,
    /// The labeler that is asked; without one, only logs answer it.
    pub by: Option<Text>,
    /// How many events before are shown to the labeler.
    pub window: u32,
    /// Texts of which the statement is true.
    pub yes: Vec<Text>,
    /// Texts of which it is false.
    pub no: Vec<Text>,
}

/// What asking may cost at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelBudget {
    /// For one event.
    pub event: LabelAllowance,
    /// For one session.
    pub session: LabelAllowance,
    /// For one hour.
    pub hour: LabelAllowance,
}

/// The most calls, tokens and time; what is not given is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelAllowance {
    /// Calls to labelers.
    pub calls: Option<u64>,
    /// Tokens, sent and received.
    pub tokens: Option<u64>,
    /// Time spent waiting.
    pub time: Option<Span>,
}
