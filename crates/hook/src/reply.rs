//! What a hook prints, and the exit code it ends with.

use lictor_json::{Json, Object};

use crate::call::{Hook, HookCall};
use crate::client::HookClient;
use crate::{claude, codex};

/// With this exit code and a reason on standard error both clients stop what can be stopped, whatever the hook.
const STOPPED: u8 = 2;

/// What a hook prints, and the exit code it ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookReply {
    /// For standard output; empty says nothing, which leaves everything to the client.
    pub output: String,
    /// For standard error.
    pub complaint: String,
    /// The exit code.
    pub exit: u8,
}

impl HookReply {
    /// Nothing stands against it.
    pub(crate) fn silence() -> HookReply {
        HookReply { output: String::new(), complaint: String::new(), exit: 0 }
    }

    pub(crate) fn json(members: Object) -> HookReply {
        HookReply { output: format!("{}\n", Json::Object(members)), ..HookReply::silence() }
    }

    /// A *no* that needs no dialect.
    pub(crate) fn stopped(reason: &str) -> HookReply {
        HookReply { output: String::new(), complaint: format!("{reason}\n"), exit: STOPPED }
    }
}

/// What is answered when nothing could be decided: the client's own *no*, with the reason. Without a call it is not even
/// known what was asked.
pub fn refusal(client: HookClient, call: Option<&HookCall>, reason: &str) -> HookReply {
    let Some(call) = call else { return HookReply::stopped(reason) };
    match (client, call.hook) {
        // Coming to rest does no harm, and a model that cannot come to rest does.
        (_, Hook::Stop | Hook::SubagentStop | Hook::SessionStart | Hook::SessionEnd | Hook::Quiet) => noted(reason),
        (_, Hook::UserPromptSubmit) => HookReply::json(blocked(reason)),
        (HookClient::Claude, Hook::PreToolUse) => claude::denied(reason),
        (HookClient::Codex, Hook::PreToolUse) => codex::denied(reason),
        (HookClient::Claude, Hook::PostToolUse) => claude::withheld(call, reason),
        (HookClient::Codex, Hook::PostToolUse) => HookReply::json(blocked(reason)),
        (HookClient::Claude, Hook::PermissionRequest) => claude::not_permitted(reason),
        (HookClient::Codex, Hook::PermissionRequest) => codex::not_permitted(reason),
    }
}

/// Tells the person at the client.
pub(crate) fn noted(text: &str) -> HookReply {
    let mut members = Object::new();
    members.insert("systemMessage", text);
    HookReply::json(members)
}

/// What both clients understand behind the answer of a tool, before a prompt, and before the model comes to rest.
pub(crate) fn blocked(reason: &str) -> Object {
    let mut members = Object::new();
    members.insert("decision", "block");
    members.insert("reason", reason);
    members
}

/// The members of an answer that belong to one hook.
pub(crate) fn specific(hook: &str, members: impl IntoIterator<Item = (&'static str, Json)>) -> Object {
    let mut inner = Object::new();
    inner.insert("hookEventName", hook);
    members.into_iter().for_each(|(key, value)| inner.insert(key, value));
    let mut outer = Object::new();
    outer.insert("hookSpecificOutput", inner);
    outer
}
