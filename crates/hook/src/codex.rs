//! How Codex is answered.
//!
//! Codex carries a call out unless the answer is one that it knows: an exit code other than 0 and 2, `ask`, `allow`
//! without new arguments, and anything it cannot read are failures of the hook, and the call goes on. So there are two
//! answers before a call, silence and `deny`, and a third, new arguments, only for those who know their version.

use lictor_json::{Json, Object};

use crate::answer::Ruling;
use crate::reply::{HookReply, blocked, specific};

/// Before a call.
pub(crate) fn before(ruling: &Ruling) -> HookReply {
    match ruling.action.as_str() {
        "forward" => HookReply::silence(),
        // Older versions take context before a call for a failure; the call goes on either way, and the user is told.
        "steer" => crate::reply::noted(&ruling.message),
        "redact" => match &ruling.arguments {
            Some(arguments @ Json::Object(_)) => HookReply::json(specific(
                "PreToolUse",
                [("permissionDecision", Json::from("allow")), ("updatedInput", arguments.clone())],
            )),
            _ => denied(&ruling.message),
        },
        _ => denied(&ruling.message),
    }
}

/// The call is not carried out. Without a reason Codex would take this for a failure.
pub(crate) fn denied(reason: &str) -> HookReply {
    let members = [("permissionDecision", Json::from("deny")), ("permissionDecisionReason", Json::from(reason))];
    HookReply::json(specific("PreToolUse", members))
}

/// Behind the answer of a tool: what is blocked, the model does not read.
pub(crate) fn behind(ruling: &Ruling) -> HookReply {
    match ruling.action.as_str() {
        "forward" => HookReply::silence(),
        "steer" => {
            HookReply::json(specific("PostToolUse", [("additionalContext", Json::from(ruling.message.as_str()))]))
        }
        _ => HookReply::json(blocked(&ruling.message)),
    }
}

/// A person is not asked: it is not allowed.
pub(crate) fn not_permitted(reason: &str) -> HookReply {
    let mut decision = Object::new();
    decision.insert("behavior", "deny");
    decision.insert("message", reason);
    HookReply::json(specific("PermissionRequest", [("decision", decision.into())]))
}
