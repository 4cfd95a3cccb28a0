//! The kinds of events.

use std::fmt;

use lictor_json::Text;

/// The kind of an event.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The user said something.
    UserMessage,
    /// The agent said something.
    AssistantMessage,
    /// An instruction of the agent's operator.
    SystemMessage,
    /// The agent called a tool.
    ToolCall,
    /// A tool answered.
    ToolResult,
    /// A person gave, refused or withdrew consent, as the application's own record says.
    Consent,
    /// A person's data must be erased.
    Erasure,
    /// A person allowed something.
    Approval,
    /// A person forbade something.
    Denial,
    /// One agent passed the work to another.
    Handoff,
    /// Documents were fetched for the agent.
    Retrieval,
    /// The tools on offer, as their server describes them.
    ToolDefinitions,
    /// The session began.
    SessionStart,
    /// The session ended.
    SessionEnd,
    /// Something failed.
    Error,
    /// A step that states its facts and nothing else.
    #[default]
    Facts,
    /// Any other kind, by its name.
    Other(Text),
}

/// Every kind that has a name of its own.
const NAMED: [(Kind, &str); 15] = [
    (Kind::UserMessage, "user_message"),
    (Kind::AssistantMessage, "assistant_message"),
    (Kind::SystemMessage, "system_message"),
    (Kind::ToolCall, "tool_call"),
    (Kind::ToolResult, "tool_result"),
    (Kind::Consent, "consent"),
    (Kind::Erasure, "erasure"),
    (Kind::Approval, "approval"),
    (Kind::Denial, "denial"),
    (Kind::Handoff, "handoff"),
    (Kind::Retrieval, "retrieval"),
    (Kind::ToolDefinitions, "tool_definitions"),
    (Kind::SessionStart, "session_start"),
    (Kind::SessionEnd, "session_end"),
    (Kind::Error, "error"),
];

impl Kind {
    /// Returns the kind of a name.
    pub fn named(name: &str) -> Kind {
        match NAMED.iter().find(|(_, known)| *known == name) {
            Some((kind, _)) => kind.clone(),
            None if name == "facts" => Kind::Facts,
            None => Kind::Other(name.into()),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            Kind::Facts => "facts",
            Kind::Other(name) => name,
            kind => NAMED.iter().find(|(known, _)| known == kind).map_or("facts", |(_, name)| name),
        }
    }

    /// Returns the names of all kinds that Lictor knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(_, name)| *name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
