//! What the kind and the tool of an earlier event imply about a fact, for a policy that did not judge the event.

use lictor_event::Kind;
use lictor_json::Text;
use lictor_logic::Value;
use lictor_policy::vocabulary::builtin;

use super::labels::NameId;
use super::plan::Plan;

/// What is known of a fact at an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ImpliedFact {
    Absent,
    /// It holds for these values alone.
    Present(Vec<Value>),
    Unknown,
}

/// What a trail keeps of an event besides its facts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventKind<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) tool: Option<&'a Text>,
    /// Whether it came with facts, labels or answers, or may have.
    pub(crate) is_stated: bool,
}

impl Plan {
    /// Returns what the kind and the tool of an event imply about a fact.
    pub(crate) fn find_implied(&self, name: NameId, event: EventKind<'_>) -> ImpliedFact {
        if event.is_stated {
            return ImpliedFact::Unknown;
        }
        let text = &*self.names[name as usize];
        if matches!(event.kind, Kind::Other(kind) if kind == text) {
            return ImpliedFact::Unknown;
        }
        match builtin(text) {
            Some(_) => imply_builtin(text, event),
            None => self.imply_defined(name, event),
        }
    }

    /// Returns what is implied about a fact that the policy defines, or that only logs state.
    fn imply_defined(&self, name: NameId, event: EventKind<'_>) -> ImpliedFact {
        let mut cases = self.cases.iter().filter(|case| case.name() == name).peekable();
        // The tool of a result may be that of its call.
        if cases.peek().is_some() && *event.kind == Kind::ToolResult && event.tool.is_none() {
            return ImpliedFact::Unknown;
        }
        // A message of the user may have been written by a program, and is then one of the system.
        let other = (*event.kind == Kind::UserMessage).then_some(&Kind::SystemMessage);
        let kinds = std::iter::once(event.kind).chain(other);
        let is_at = |case: &&super::definition::CasePlan| {
            kinds.clone().any(|kind| case.is_at(kind, event.tool.map(Text::as_str)))
        };
        let mut implied = ImpliedFact::Absent;
        for case in cases.filter(is_at) {
            implied = match case.is_plain() && other.is_none() {
                true => ImpliedFact::Present(Vec::new()),
                false => return ImpliedFact::Unknown,
            };
        }
        implied
    }
}

/// Returns what is implied about a built-in fact.
fn imply_builtin(name: &str, event: EventKind<'_>) -> ImpliedFact {
    let kind = event.kind;
    let unless = |is_possible: bool| if is_possible { ImpliedFact::Unknown } else { ImpliedFact::Absent };
    match name {
        "user_message" => unless(*kind == Kind::UserMessage),
        "system_message" if *kind == Kind::UserMessage => ImpliedFact::Unknown,
        "system_message" | "assistant_message" | "retrieval" | "error" | "session_start" | "session_end"
        | "tool_definitions" => match kind.name() == name {
            true => ImpliedFact::Present(Vec::new()),
            false => ImpliedFact::Absent,
        },
        "tool_call" | "tool_result" if kind.name() != name => ImpliedFact::Absent,
        "tool_call" | "tool_result" => match event.tool {
            Some(tool) => ImpliedFact::Present(vec![Value::text(tool.as_str())]),
            None => ImpliedFact::Unknown,
        },
        "tool_failed" => unless(*kind == Kind::ToolResult),
        "effect" | "effect_unknown" | "call_digest" | "argument" | "argument_from" | "unparsed" => {
            unless(*kind == Kind::ToolCall)
        }
        "approval" => unless(*kind == Kind::Approval),
        "denial" => unless(*kind == Kind::Denial),
        "handoff" => unless(*kind == Kind::Handoff),
        _ => ImpliedFact::Unknown,
    }
}
