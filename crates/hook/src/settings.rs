//! What a person puts into the settings of a client, so that it calls the hook.
//!
//! The command ends with the client's *no* when the hook cannot be started, is killed, or fails in a way that it did not
//! foresee: both clients take any exit code but 2, and 2 without a reason, for a failure of the hook, and go on.

use lictor_json::{Json, Object};

use crate::client::HookClient;

/// How long a client waits beyond the deadline of the hook, in seconds: whoever waits no longer goes on without an answer.
const BEYOND: i64 = 40;

/// The hooks that are asked about tools, for all tools, and the others.
const OF_TOOLS: [&str; 2] = ["PreToolUse", "PostToolUse"];
const OF_CLAUDE: [&str; 6] =
    ["PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStop", "SessionStart", "SessionEnd"];
const OF_CODEX: [&str; 4] = ["PermissionRequest", "UserPromptSubmit", "Stop", "SessionStart"];

/// The part of the settings that calls a command at every hook: of `.claude/settings.json`, or of `.codex/hooks.json`. The
/// command answers within so many seconds.
pub fn settings(client: HookClient, command: &str, deadline: u32) -> String {
    let command = format!("{command} || {{ echo 'lictor could not decide, so this is not allowed' >&2; exit 2; }}");
    let others: &[&str] = match client {
        HookClient::Claude => &OF_CLAUDE,
        HookClient::Codex => &OF_CODEX,
    };
    let mut hooks = Object::new();
    for name in OF_TOOLS.iter().chain(others) {
        let mut hook = Object::new();
        hook.insert("type", "command");
        hook.insert("command", command.as_str());
        hook.insert("timeout", i64::from(deadline) + BEYOND);
        let mut group = Object::new();
        if name.contains("ToolUse") || *name == "PermissionRequest" {
            group.insert("matcher", "*");
        }
        group.insert("hooks", vec![Json::from(hook)]);
        hooks.insert(*name, vec![Json::from(group)]);
    }
    let mut settings = Object::new();
    settings.insert("hooks", hooks);
    indented(&Json::Object(settings), 0)
}

/// JSON that a person reads.
fn indented(value: &Json, depth: usize) -> String {
    let line = |depth: usize| format!("\n{}", "  ".repeat(depth));
    let (open, close, items): (char, char, Vec<String>) = match value {
        Json::Object(members) if !members.is_empty() => {
            let member = |(key, value): (_, &Json)| {
                format!("{}: {}", Json::String(Clone::clone(key)), indented(value, depth + 1))
            };
            ('{', '}', members.iter().map(member).collect())
        }
        Json::Array(items) if !items.is_empty() => {
            ('[', ']', items.iter().map(|item| indented(item, depth + 1)).collect())
        }
        other => return other.to_string(),
    };
    format!("{open}{}{}{}{close}", line(depth + 1), items.join(&format!(",{}", line(depth + 1))), line(depth))
}
