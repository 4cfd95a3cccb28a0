//! Answers in the dialect of Codex.
//!
//! Codex runs a call unless it understands the answer. It treats an exit code other than 0 and 2, `ask`, `allow`
//! without new arguments, and unreadable output as failures of the hook, and runs the call. So before a call there are
//! two answers, empty output and `deny`; new arguments are used only if the user enables them.

use lictor_json::{Json, Object};

use crate::decision::HookDecision;
use crate::reply::{HookReply, block_members, hook_output};

/// Answers before a tool call.
pub(crate) fn answer_before_call(decision: &HookDecision) -> HookReply {
    match decision.action.as_str() {
        "forward" => HookReply::empty(),
        // Old versions treat context before a call as a failure; the call runs either way, so the user gets a note.
        "steer" => crate::reply::note_to_user(&decision.message),
        "redact" => match &decision.arguments {
            Some(arguments @ Json::Object(_)) => HookReply::json(hook_output(
                "PreToolUse",
                [("permissionDecision", Json::from("allow")), ("updatedInput", arguments.clone())],
            )),
            _ => deny_call(&decision.message),
        },
        _ => deny_call(&decision.message),
    }
}

/// Denies a tool call. Without a reason Codex would treat this as a failure.
pub(crate) fn deny_call(reason: &str) -> HookReply {
    let members = [("permissionDecision", Json::from("deny")), ("permissionDecisionReason", Json::from(reason))];
    HookReply::json(hook_output("PreToolUse", members))
}

/// Answers after a tool call: the model does not read a blocked result.
pub(crate) fn answer_after_call(decision: &HookDecision) -> HookReply {
    match decision.action.as_str() {
        "forward" => HookReply::empty(),
        "steer" => {
            HookReply::json(hook_output("PostToolUse", [("additionalContext", Json::from(decision.message.as_str()))]))
        }
        _ => HookReply::json(block_members(&decision.message)),
    }
}

/// Denies a permission request without asking the user.
pub(crate) fn deny_permission(reason: &str) -> HookReply {
    let mut decision = Object::new();
    decision.insert("behavior", "deny");
    decision.insert("message", reason);
    HookReply::json(hook_output("PermissionRequest", [("decision", decision.into())]))
}
