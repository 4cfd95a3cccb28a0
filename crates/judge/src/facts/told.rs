//! What the kind and the tool of an earlier event tell about a fact, for a policy that did not judge the event.

use lictor_event::Kind;
use lictor_json::Text;
use lictor_logic::Value;
use lictor_policy::vocabulary::builtin;

use super::labels::NameId;
use super::plan::Plan;

/// What is known of a fact at an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ToldFact {
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
    /// Returns what the kind and the tool of an event tell about a fact.
    pub(crate) fn tell_fact(&self, name: NameId, event: EventKind<'_>) -> ToldFact {
        if event.is_stated {
            return ToldFact::Unknown;
        }
        let text = &*self.names[name as usize];
        if matches!(event.kind, Kind::Other(kind) if kind == text) {
            return ToldFact::Unknown;
        }
        match builtin(text) {
            Some(_) => tell_builtin(text, event),
            None => self.tell_defined(name, event),
        }
    }

    /// Returns what is told about a fact that the policy defines, or that only logs state.
    fn tell_defined(&self, name: NameId, event: EventKind<'_>) -> ToldFact {
        let mut cases = self.cases.iter().filter(|case| case.name() == name).peekable();
        // The tool of a result may be that of its call.
        if cases.peek().is_some() && *event.kind == Kind::ToolResult && event.tool.is_none() {
            return ToldFact::Unknown;
        }
        // A message of the user may have been written by a program, and is then one of the system.
        let other = (*event.kind == Kind::UserMessage).then_some(&Kind::SystemMessage);
        let kinds = std::iter::once(event.kind).chain(other);
        let is_at = |case: &&super::definition::CasePlan| {
            kinds.clone().any(|kind| case.is_at(kind, event.tool.map(Text::as_str)))
        };
        let mut told = ToldFact::Absent;
        for case in cases.filter(is_at) {
            told = match case.is_plain() && other.is_none() {
                true => ToldFact::Present(Vec::new()),
                false => return ToldFact::Unknown,
            };
        }
        told
    }
}

/// Returns what is told about a built-in fact.
fn tell_builtin(name: &str, event: EventKind<'_>) -> ToldFact {
    let kind = event.kind;
    let unless = |is_possible: bool| if is_possible { ToldFact::Unknown } else { ToldFact::Absent };
    match name {
        "user_message" => unless(*kind == Kind::UserMessage),
        "system_message" if *kind == Kind::UserMessage => ToldFact::Unknown,
        "system_message" | "assistant_message" | "retrieval" | "error" | "session_start" | "session_end"
        | "tool_definitions" => match kind.name() == name {
            true => ToldFact::Present(Vec::new()),
            false => ToldFact::Absent,
        },
        "tool_call" | "tool_result" if kind.name() != name => ToldFact::Absent,
        "tool_call" | "tool_result" => match event.tool {
            Some(tool) => ToldFact::Present(vec![Value::text(tool.as_str())]),
            None => ToldFact::Unknown,
        },
        "tool_failed" => unless(*kind == Kind::ToolResult),
        "effect" | "effect_unknown" | "call_digest" | "argument" | "argument_from" | "unparsed" => {
            unless(*kind == Kind::ToolCall)
        }
        "approval" => unless(*kind == Kind::Approval),
        "denial" => unless(*kind == Kind::Denial),
        "handoff" => unless(*kind == Kind::Handoff),
        _ => ToldFact::Unknown,
    }
}
