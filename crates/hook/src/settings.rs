//! The settings of a client that make it run the hook.
//!
//! The command exits with 2 and a reason if the hook cannot be started, is killed, or fails unexpectedly: both clients
//! treat any other exit code, and 2 without a reason, as a failure of the hook, and continue.

use lictor_json::{Json, Object};

use crate::client::HookClient;

/// How many seconds the timeout of the client exceeds the deadline of the hook: after its timeout a client continues
/// without an answer.
const CLIENT_TIMEOUT_MARGIN_SECONDS: i64 = 40;

/// The hooks of both clients, and those of each.
const TOOL_HOOKS: [&str; 2] = ["PreToolUse", "PostToolUse"];
const CLAUDE_HOOKS: [&str; 6] =
    ["PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStop", "SessionStart", "SessionEnd"];
const CODEX_HOOKS: [&str; 4] = ["PermissionRequest", "UserPromptSubmit", "Stop", "SessionStart"];

/// Returns the settings that run a command at every hook, for `.claude/settings.json` or `.codex/hooks.json`.
/// `deadline` is the longest run of the command in seconds.
pub fn client_settings(client: HookClient, command: &str, deadline: u32) -> String {
    let command = format!("{command} || {{ echo 'lictor could not decide, so this is not allowed' >&2; exit 2; }}");
    let others: &[&str] = match client {
        HookClient::Claude => &CLAUDE_HOOKS,
        HookClient::Codex => &CODEX_HOOKS,
    };
    let mut hooks = Object::new();
    for name in TOOL_HOOKS.iter().chain(others) {
        let mut hook = Object::new();
        hook.insert("type", "command");
        hook.insert("command", command.as_str());
        hook.insert("timeout", i64::from(deadline) + CLIENT_TIMEOUT_MARGIN_SECONDS);
        let mut group = Object::new();
        if name.contains("ToolUse") || *name == "PermissionRequest" {
            group.insert("matcher", "*");
        }
        group.insert("hooks", vec![Json::from(hook)]);
        hooks.insert(*name, vec![Json::from(group)]);
    }
    let mut settings = Object::new();
    settings.insert("hooks", hooks);
    format_indented(&Json::Object(settings), 0)
}

/// Formats JSON with indentation.
fn format_indented(value: &Json, depth: usize) -> String {
    let line = |depth: usize| format!("\n{}", "  ".repeat(depth));
    let (open, close, items): (char, char, Vec<String>) = match value {
        Json::Object(members) if !members.is_empty() => {
            let member = |(key, value): (_, &Json)| {
                format!("{}: {}", Json::String(Clone::clone(key)), format_indented(value, depth + 1))
            };
            ('{', '}', members.iter().map(member).collect())
        }
        Json::Array(items) if !items.is_empty() => {
            ('[', ']', items.iter().map(|item| format_indented(item, depth + 1)).collect())
        }
        other => return other.to_string(),
    };
    format!("{open}{}{}{}{close}", line(depth + 1), items.join(&format!(",{}", line(depth + 1))), line(depth))
}
