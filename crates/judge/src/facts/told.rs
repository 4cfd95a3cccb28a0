//! What the kind and the tool of an earlier event tell about a fact, for a policy that did not judge the event.

use lictor_event::Kind;
use lictor_logic::Value;
use lictor_policy::vocabulary::builtin;

use super::labels::NameId;
use super::plan::Plan;
use crate::trail::EventSummary;

/// What is known of a fact at an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ToldFact {
    Absent,
    /// It holds for these values alone.
    Present(Vec<Value>),
    Unknown,
}

impl Plan {
    /// Returns what the kind and the tool of an event tell about a fact.
    pub(crate) fn tell_fact(&self, name: NameId, summary: &EventSummary) -> ToldFact {
        if summary.is_stated {
            return ToldFact::Unknown;
        }
        let text = &*self.names[name as usize];
        if matches!(&summary.kind, Kind::Other(kind) if kind == text) {
            return ToldFact::Unknown;
        }
        match builtin(text) {
            Some(_) => tell_builtin(text, summary),
            None => self.tell_defined(name, summary),
        }
    }

    /// Returns what is told about a fact that the policy defines, or that only logs state.
    fn tell_defined(&self, name: NameId, summary: &EventSummary) -> ToldFact {
        let mut cases = self.cases.iter().filter(|case| case.name() == name).peekable();
        // The tool of a result may be that of its call.
        if cases.peek().is_some() && summary.kind == Kind::ToolResult && summary.tool.is_none() {
            return ToldFact::Unknown;
        }
        // A message of the user may have been written by a program, and is then one of the system.
        let other = (summary.kind == Kind::UserMessage).then_some(&Kind::SystemMessage);
        let kinds = std::iter::once(&summary.kind).chain(other);
        let is_at =
            |case: &&super::definition::CasePlan| kinds.clone().any(|kind| case.is_at(kind, summary.tool.as_deref()));
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
fn tell_builtin(name: &str, summary: &EventSummary) -> ToldFact {
    let kind = &summary.kind;
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
        "tool_call" | "tool_result" => match &summary.tool {
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
