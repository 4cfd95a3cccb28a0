//! The output and the exit code of a hook.

use lictor_json::{Json, Object};

/// The exit code with which both clients stop any hook that can be stopped; the reason is on standard error.
const STOP_EXIT_CODE: u8 = 2;

/// The output and the exit code of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookReply {
    /// Standard output; empty leaves the decision to the client.
    pub output: String,
    /// Standard error.
    pub complaint: String,
    /// The exit code.
    pub exit: u8,
}

impl HookReply {
    /// Returns an empty reply: no objection.
    pub(crate) fn empty() -> HookReply {
        HookReply { output: String::new(), complaint: String::new(), exit: 0 }
    }

    pub(crate) fn json(members: Object) -> HookReply {
        HookReply { output: format!("{}\n", Json::Object(members)), ..HookReply::empty() }
    }

    /// Returns a denial that both clients understand at any hook.
    pub(crate) fn stop(reason: &str) -> HookReply {
        HookReply { output: String::new(), complaint: format!("{reason}\n"), exit: STOP_EXIT_CODE }
    }
}

/// Returns a note to the user of the client.
pub(crate) fn note_to_user(text: &str) -> HookReply {
    let mut members = Object::new();
    members.insert("systemMessage", text);
    HookReply::json(members)
}

/// Returns the members that block a tool result, a prompt or a stop; both clients understand them.
pub(crate) fn block_members(reason: &str) -> Object {
    let mut members = Object::new();
    members.insert("decision", "block");
    members.insert("reason", reason);
    members
}

/// Returns the members of an answer to one kind of hook.
pub(crate) fn hook_output(hook: &str, members: impl IntoIterator<Item = (&'static str, Json)>) -> Object {
    let mut inner = Object::new();
    inner.insert("hookEventName", hook);
    members.into_iter().for_each(|(key, value)| inner.insert(key, value));
    let mut outer = Object::new();
    outer.insert("hookSpecificOutput", inner);
    outer
}
