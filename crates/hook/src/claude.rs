//! Answers in the dialect of Claude Code.
//!
//! An allowed call is answered with empty output and not with `allow`, because `allow` would skip the permission
//! prompts of the user's own settings. For the same reason rewritten arguments come without a decision.

use lictor_json::{Json, Object};

use crate::call::HookCall;
use crate::decision::HookDecision;
use crate::output;
use crate::reply::{HookReply, block_members, hook_output};

/// Answers before a tool call.
pub(crate) fn answer_before_call(decision: &HookDecision) -> HookReply {
    let message = decision.message.clone();
    match decision.action.as_str() {
        "forward" => HookReply::empty(),
        "steer" => HookReply::json(hook_output("PreToolUse", [("additionalContext", message.into())])),
        "redact" => match &decision.arguments {
            Some(arguments @ Json::Object(_)) => HookReply::json(hook_output(
                "PreToolUse",
                [("updatedInput", arguments.clone()), ("additionalContext", message.into())],
            )),
            _ => deny_call(&message),
        },
        "ask" => HookReply::json(hook_output("PreToolUse", ask_members(decision))),
        _ => deny_call(&message),
    }
}

/// Returns the members that make the client ask the user, with the arguments that would be used.
fn ask_members(decision: &HookDecision) -> Vec<(&'static str, Json)> {
    let mut members =
        vec![("permissionDecision", Json::from("ask")), ("permissionDecisionReason", decision.message.clone().into())];
    if let Some(arguments @ Json::Object(_)) = &decision.arguments {
        members.push(("updatedInput", arguments.clone()));
    }
    members
}

/// Denies a tool call.
pub(crate) fn deny_call(reason: &str) -> HookReply {
    let members = [("permissionDecision", Json::from("deny")), ("permissionDecisionReason", Json::from(reason))];
    HookReply::json(hook_output("PreToolUse", members))
}

/// Answers after a tool call.
pub(crate) fn answer_after_call(call: &HookCall, decision: &HookDecision) -> HookReply {
    match decision.action.as_str() {
        "forward" => HookReply::empty(),
        "steer" => HookReply::json(hook_output(
            hook_name(call),
            [("additionalContext", Json::from(decision.message.as_str()))],
        )),
        "redact" => match decision.rewritten.as_ref().and_then(|event| output::rewrite(call.result(), event)) {
            Some(answer) => HookReply::json(replace_result(call, answer, &decision.message)),
            None => withhold_result(call, &decision.message),
        },
        _ => withhold_result(call, &decision.message),
    }
}

/// Withholds the result of a tool: the model reads the reason instead.
pub(crate) fn withhold_result(call: &HookCall, reason: &str) -> HookReply {
    let mut members = block_members(reason);
    let answer = output::withhold(call.result(), reason);
    for (key, value) in replace_result(call, answer, reason).into_members() {
        members.insert(key, value);
    }
    HookReply::json(members)
}

/// Replaces the result of a tool. Versions before 2.1.121 support this for MCP tools only, by another name.
fn replace_result(call: &HookCall, answer: Json, message: &str) -> Object {
    let mut members = vec![("additionalContext", Json::from(message))];
    if call.is_mcp_tool() {
        members.push(("updatedMCPToolOutput", answer.clone()));
    }
    members.push(("updatedToolOutput", answer));
    hook_output(hook_name(call), members)
}

/// Denies a permission request without asking the user.
pub(crate) fn deny_permission(reason: &str) -> HookReply {
    let mut decision = Object::new();
    decision.insert("behavior", "deny");
    decision.insert("message", reason);
    HookReply::json(hook_output("PermissionRequest", [("decision", decision.into())]))
}

fn hook_name(call: &HookCall) -> &str {
    call.input.text("hook_event_name").unwrap_or("PostToolUse")
}

impl HookCall {
    /// Returns the result of the tool.
    pub(crate) fn result(&self) -> &Json {
        const NULL: &Json = &Json::Null;
        ["tool_response", "tool_output", "error"].iter().find_map(|key| self.input.get(key)).unwrap_or(NULL)
    }

    /// Whether the tool belongs to an MCP server.
    fn is_mcp_tool(&self) -> bool {
        self.input.text("tool_name").is_some_and(|name| name.starts_with("mcp__"))
    }
}
