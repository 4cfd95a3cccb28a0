//! Facts that a policy defines, and the tests on events that bring them about.

use lictor_json::{Json, Text};

use crate::labeler::FactQuestion;
use crate::place::Place;

/// A fact that a policy defines.
#[derive(Clone, Debug, PartialEq)]
pub struct FactDefinition {
    /// The name of the fact.
    pub name: Text,
    /// The names of its values.
    pub parameters: Vec<Text>,
    /// The ways in which it comes to hold; any one suffices.
    pub cases: Vec<FactCase>,
    /// Its place in the policy.
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
    /// The values of the fact, as expressions, in the order of its parameters; an empty one is the group of that name
    /// in a regular expression of the tests.
    pub values: Vec<Text>,
    /// A question that a labeler answers.
    pub ask: Option<FactQuestion>,
    /// Its place in the policy.
    pub place: Place,
}

/// A kind of event, and for events of tools the tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// The kind.
    pub kind: Text,
    /// The tool; `*` matches any characters, none means any tool.
    pub tool: Option<Text>,
}

/// A test on one field of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The field: `text`, `tool`, `args.amount`, `result.items.0.price`.
    pub path: Text,
    /// The patterns for its value; one must match.
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

/// A pattern for a value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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
