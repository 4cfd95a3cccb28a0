//! What a model should know before it replies: the obligations that are open, and the calls that would be stopped.
//!
//! Everything follows from the state of a session; nothing is asked, and nothing changes. A call that is not made yet is a
//! [`CallSketch`]: its tool, and perhaps some of its arguments. It is stopped for certain if every call of that shape is.

mod note;

use std::sync::Arc;

use lictor_json::{Json, Text};
use lictor_logic::Time;
use lictor_policy::Property;

pub use note::write_note;

/// A call that may be made: its tool, and the arguments that are known. The others may be anything.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSketch {
    /// The tool.
    pub tool: Text,
    /// The known arguments, by name.
    pub known: Vec<(Text, Json)>,
}

impl CallSketch {
    /// Returns the sketch of any call of a tool.
    pub fn new(tool: impl Into<Text>) -> CallSketch {
        CallSketch { tool: tool.into(), known: Vec::new() }
    }

    /// Returns the sketch with one more known argument.
    #[must_use]
    pub fn with(mut self, argument: impl Into<Text>, value: Json) -> CallSketch {
        self.known.push((argument.into(), value));
        self
    }
}

/// What to find out about a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GuidanceQuery {
    /// Whether the open obligations are wanted.
    pub owed: bool,
    /// Calls of which it is wanted whether they would be stopped.
    pub sketches: Vec<CallSketch>,
}

/// What was found out about a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guidance {
    /// The open obligations, those with the nearest deadline first.
    pub obligations: Vec<Obligation>,
    /// For each sketch, the properties for which every such call would be blocked; none if some call may pass.
    pub stopping: Vec<Vec<Arc<Property>>>,
}

/// An obligation of a session that is open.
#[derive(Clone, Debug, PartialEq)]
pub struct Obligation {
    /// The property that asks for it.
    pub property: Arc<Property>,
    /// What must still hold, in words. It may quote values of the log.
    pub residual: String,
    /// When it is late.
    pub deadline: Option<Time>,
    /// The facts that settle it, as text: each alone, or with `takes_all` only one after the other. They may quote values of
    /// the log. None if it takes something else.
    pub settled_by: Vec<SettlingFact>,
    /// Whether it takes all of them.
    pub takes_all: bool,
}

impl Obligation {
    /// Whether it was among earlier ones: of the same property, and settled by nothing that they are not settled by.
    pub fn is_among(&self, earlier: &[Obligation]) -> bool {
        let has_all = |known: &Obligation| self.settled_by.iter().all(|settling| known.settled_by.contains(settling));
        earlier.iter().any(|known| known.property.id == self.property.id && has_all(known))
    }
}

/// A fact that settles an obligation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettlingFact {
    /// The fact: `tool_call("notify")`.
    pub fact: String,
    /// The tools whose calls have it, as far as the policy names them.
    pub tools: Vec<Text>,
}

/// A call that would be stopped, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct UnavailableCall {
    /// The call.
    pub sketch: CallSketch,
    /// The properties that every such call would violate.
    pub properties: Vec<Arc<Property>>,
}
