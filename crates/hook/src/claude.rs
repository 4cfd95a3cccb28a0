//! How Claude Code is answered.
//!
//! A call that nothing stands against is answered with silence and not with `allow`: `allow` would do away with the
//! questions that the user's own settings ask. For the same reason rewritten arguments come without a decision.

use lictor_json::{Json, Object};

use crate::answer::Ruling;
use crate::call::HookCall;
use crate::output;
use crate::reply::{HookReply, blocked, specific};

/// Before a call.
pub(crate) fn before(ruling: &Ruling) -> HookReply {
    let told = ruling.message.clone();
    match ruling.action.as_str() {
        "forward" => HookReply::silence(),
        "steer" => HookReply::json(specific("PreToolUse", [("additionalContext", told.into())])),
        "redact" => match &ruling.arguments {
            Some(arguments @ Json::Object(_)) => HookReply::json(specific(
                "PreToolUse",
                [("updatedInput", arguments.clone()), ("additionalContext", told.into())],
            )),
            _ => denied(&told),
        },
        "ask" => HookReply::json(specific("PreToolUse", asked(ruling))),
        _ => denied(&told),
    }
}

/// A person is asked; what they see is what would go on.
fn asked(ruling: &Ruling) -> Vec<(&'static str, Json)> {
    let mut members =
        vec![("permissionDecision", Json::from("ask")), ("permissionDecisionReason", ruling.message.clone().into())];
    if let Some(arguments @ Json::Object(_)) = &ruling.arguments {
        members.push(("updatedInput", arguments.clone()));
    }
    members
}

/// The call is not carried out.
pub(crate) fn denied(reason: &str) -> HookReply {
    let members = [("permissionDecision", Json::from("deny")), ("permissionDecisionReason", Json::from(reason))];
    HookReply::json(specific("PreToolUse", members))
}

/// Behind the answer of a tool.
pub(crate) fn behind(call: &HookCall, ruling: &Ruling) -> HookReply {
    match ruling.action.as_str() {
        "forward" => HookReply::silence(),
        "steer" => {
            HookReply::json(specific(hook_name(call), [("additionalContext", Json::from(ruling.message.as_str()))]))
        }
        "redact" => match ruling.rewritten.as_ref().and_then(|event| output::rewritten(call.answer(), event)) {
            Some(answer) => HookReply::json(replaced(call, answer, &ruling.message)),
            None => withheld(call, &ruling.message),
        },
        _ => withheld(call, &ruling.message),
    }
}

/// The model does not read the answer of the tool, but why.
pub(crate) fn withheld(call: &HookCall, reason: &str) -> HookReply {
    let mut members = blocked(reason);
    let answer = output::withheld(call.answer(), reason);
    for (key, value) in replaced(call, answer, reason).into_members() {
        members.insert(key, value);
    }
    HookReply::json(members)
}

/// The model reads something else. Versions before 2.1.121 know this for tools of MCP servers only, by another name.
fn replaced(call: &HookCall, answer: Json, told: &str) -> Object {
    let mut members = vec![("additionalContext", Json::from(told))];
    if call.is_of_server() {
        members.push(("updatedMCPToolOutput", answer.clone()));
    }
    members.push(("updatedToolOutput", answer));
    specific(hook_name(call), members)
}

/// A person is not asked: it is not allowed.
pub(crate) fn not_permitted(reason: &str) -> HookReply {
    let mut decision = Object::new();
    decision.insert("behavior", "deny");
    decision.insert("message", reason);
    HookReply::json(specific("PermissionRequest", [("decision", decision.into())]))
}

fn hook_name(call: &HookCall) -> &str {
    call.input.text("hook_event_name").unwrap_or("PostToolUse")
}

impl HookCall {
    /// What the tool answered.
    pub(crate) fn answer(&self) -> &Json {
        const NOTHING: &Json = &Json::Null;
        ["tool_response", "tool_output", "error"].iter().find_map(|key| self.input.get(key)).unwrap_or(NOTHING)
    }

    /// Whether the tool is one of an MCP server.
    fn is_of_server(&self) -> bool {
        self.input.text("tool_name").is_some_and(|name| name.starts_with("mcp__"))
    }
}
