//! Claude Code: its session files, the stream that it prints, and what it passes to hooks.
//!
//! A session file holds messages, and beside them much that is neither said nor done (titles, snapshots, progress), which
//! is passed over. Some user messages are not the user's: reminders, summaries and the prompts of side agents are system
//! messages here, so that nobody takes them for consent.
//!
//! A call that the user turned down has an answer that begins with a fixed sentence, or is listed in the result of the
//! stream; either becomes a denial. A decision of a hook is no person's, and becomes a policy check.

mod hooks;

use std::collections::{HashMap, HashSet};

use hooks::Hooks;

use super::conversation::Stamp;
use super::spans::policy_check;
use super::{DecodedEvents, Decoder, LogRecord, chat, unknown};
use lictor_event::{Event, Kind, parse_time};
use lictor_json::{Json, Object, Text};

/// Records that are neither said nor done.
const SILENT: [&str; 24] = [
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "progress",
    "pr-link",
    "agent-name",
    "custom-title",
    "last-prompt",
    "ai-title",
    "agent-setting",
    "bridge-session",
    "worktree-state",
    "mode",
    "tag",
    "stream_event",
    "tool_progress",
    "tool_use_summary",
    "rate_limit_event",
    "auth_status",
    "prompt_suggestion",
    "keep_alive",
    "control_request",
    "control_response",
    "control_cancel_request",
];

/// System records that are neither said nor done.
const SILENT_SYSTEM: [&str; 17] = [
    "local_command",
    "turn_duration",
    "stop_hook_summary",
    "compact_boundary",
    "microcompact_boundary",
    "bridge_status",
    "away_summary",
    "scheduled_task_fire",
    "informational",
    "status",
    "task_started",
    "task_progress",
    "task_notification",
    "hook_started",
    "hook_progress",
    "hook_response",
    "files_persisted",
];

/// How the answer to a call begins that the user turned down.
const REFUSED: [&str; 2] =
    ["The user doesn't want to proceed with this tool use", "The user doesn't want to take this action right now"];

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let session = value.get("sessionId").is_some() || value.get("session_id").is_some();
    if hooks::is_hook(value) {
        return true;
    }
    match value.text("type") {
        Some("user" | "assistant") => {
            let known = session || value.get("uuid").is_some() || value.get("parent_tool_use_id").is_some();
            known && value.get("message").is_some_and(|message| message.get("role").is_some())
        }
        Some("system" | "result") => session && value.get("subtype").is_some(),
        Some("attachment" | "permission-mode") => session,
        Some("summary") => value.get("leafUuid").is_some(),
        Some("file-history-snapshot") => value.get("snapshot").is_some(),
        Some(sort) => session && SILENT.contains(&sort),
        None => false,
    }
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct ClaudeCodeDecoder {
    /// The tool of each call.
    tools: HashMap<Text, Text>,
    /// The calls that were turned down.
    denied: HashSet<Text>,
    /// The records that were seen; a resumed session repeats some.
    seen: HashSet<Text>,
    hooks: Hooks,
}

impl Decoder for ClaudeCodeDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        if hooks::is_hook(&record.value) {
            return self.hooks.record(record, out);
        }
        let first = out.events.len();
        let value = &record.value;
        let known = match value.text("type") {
            Some("user" | "assistant") => self.message(value, out),
            Some("system") => system(value, out),
            Some("result") => self.result(value, out),
            Some("attachment") => attachment(value, out),
            Some("permission-mode") => {
                let mut event = Event::new(Kind::Other("permission_mode".into()));
                event.text = value.text("permissionMode").map(Text::from);
                out.events.push(event);
                true
            }
            Some(sort) => SILENT.contains(&sort),
            None => false,
        };
        if !known {
            out.faults.push(unknown::fault(&record, value));
        }
        let stamp = Stamp::new(&record, value.text("timestamp").and_then(parse_time));
        let session = value.text("sessionId").or_else(|| value.text("session_id")).map(Text::from);
        let agent = side_agent(value);
        for event in &mut out.events[first..] {
            *event = stamp.mark(std::mem::take(event));
            event.session.clone_from(&session);
            event.agent.clone_from(&agent);
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.hooks.finish(out);
    }
}

/// The agent of a record that is not the main one's.
fn side_agent(value: &Json) -> Option<Text> {
    let is_side = flag(value, "isSidechain") || value.text("parent_tool_use_id").is_some();
    value.text("agentId").map(Text::from).or_else(|| is_side.then(|| Text::from("sidechain")))
}

fn flag(value: &Json, key: &str) -> bool {
    value.get(key).and_then(Json::as_bool) == Some(true)
}

impl ClaudeCodeDecoder {
    fn message(&mut self, value: &Json, out: &mut DecodedEvents) -> bool {
        if let Some(uuid) = value.text("uuid")
            && !self.seen.insert(Text::from(uuid))
        {
            return true;
        }
        let Some(events) = value.get("message").and_then(chat::events_of) else { return false };
        let is_users = !(flag(value, "isMeta")
            || flag(value, "isCompactSummary")
            || side_agent(value).is_some()
            || value.at("origin.kind").and_then(Json::as_str) == Some("task-notification"));
        for mut event in events {
            match event.kind {
                Kind::UserMessage if !is_users => event.kind = Kind::SystemMessage,
                Kind::AssistantMessage if flag(value, "isApiErrorMessage") => {
                    event.kind = Kind::Error;
                    event.failed = true;
                }
                Kind::ToolCall => {
                    if let (Some(id), Some(tool)) = (&event.id, &event.tool) {
                        self.tools.insert(id.clone(), tool.clone());
                    }
                }
                Kind::ToolResult => {
                    if event.tool.is_none() {
                        event.tool = event.id.as_ref().and_then(|id| self.tools.get(id).cloned());
                    }
                    event.failed |= value.at("toolUseResult.interrupted").and_then(Json::as_bool) == Some(true);
                    if event.text.as_ref().is_some_and(|text| REFUSED.iter().any(|words| text.starts_with(words))) {
                        event.failed = true;
                        self.deny(event.id.clone(), event.tool.clone(), out);
                    }
                }
                _ => {}
            }
            out.events.push(event);
        }
        true
    }

    /// Tells a denial, once for each call.
    fn deny(&mut self, id: Option<Text>, tool: Option<Text>, out: &mut DecodedEvents) {
        if id.as_ref().is_none_or(|id| self.denied.insert(id.clone())) {
            out.events.push(Event { id, tool, ..Event::new(Kind::Denial) });
        }
    }

    /// The end of the stream.
    fn result(&mut self, value: &Json, out: &mut DecodedEvents) -> bool {
        for denial in value.get("permission_denials").and_then(Json::as_array).unwrap_or_default() {
            self.deny(denial.text("tool_use_id").map(Text::from), denial.text("tool_name").map(Text::from), out);
        }
        let mut event = Event::new(Kind::SessionEnd);
        event.text = value.text("result").map(Text::from);
        event.failed = flag(value, "is_error");
        copy(value, &["subtype", "num_turns", "total_cost_usd"], &mut event.more);
        out.events.push(event);
        true
    }
}

fn copy(value: &Json, keys: &[&str], more: &mut Object) {
    for key in keys {
        if let Some(member) = value.get(key).filter(|member| !member.is_null()) {
            more.insert(*key, member.clone());
        }
    }
}

fn system(value: &Json, out: &mut DecodedEvents) -> bool {
    match value.text("subtype") {
        Some("init") => {
            let mut start = Event::new(Kind::SessionStart);
            copy(value, &["model", "permissionMode", "cwd", "claude_code_version"], &mut start.more);
            out.events.push(start);
            if let Some(tools @ Json::Array(_)) = value.get("tools") {
                out.events.push(super::spans::definitions(tools.clone()));
            }
            true
        }
        Some("api_error" | "api_retry") => {
            let mut event = Event::new(Kind::Error);
            event.failed = true;
            let code = ["error.message", "cause.code", "error.cause.code", "error"];
            let said = value.text("content").or_else(|| code.iter().find_map(|path| value.at(path)?.as_str()));
            event.text = said.map(Text::from);
            out.events.push(event);
            true
        }
        Some(sort) => SILENT_SYSTEM.contains(&sort),
        None => false,
    }
}

/// What was put beside the conversation: mostly state, but also words of the user and decisions of hooks.
fn attachment(value: &Json, out: &mut DecodedEvents) -> bool {
    let Some(attached) = value.get("attachment") else { return false };
    let id = attached.text("toolUseID").map(Text::from);
    match attached.text("type") {
        Some("queued_command") => {
            let mut message = Object::new();
            message.insert("role", "user");
            message.insert("content", attached.get("prompt").cloned().unwrap_or(Json::Null));
            let is_users = !flag(attached, "isMeta") && attached.at("origin.kind").is_none();
            for mut event in chat::events_of(&Json::Object(message)).unwrap_or_default() {
                if !is_users {
                    event.kind = Kind::SystemMessage;
                }
                out.events.push(event);
            }
        }
        Some("hook_permission_decision") => {
            let decision = attached.text("decision").unwrap_or_default();
            let mut event = policy_check(attached.text("hookEvent").map(Text::from), decision != "allow");
            event.id = id;
            event.more.insert("verdict", decision);
            out.events.push(event);
        }
        Some("hook_blocking_error") => {
            let mut event = policy_check(attached.text("hookName").map(Text::from), true);
            event.id = id;
            event.text = attached.at("blockingError.blockingError").and_then(Json::as_str).map(Text::from);
            out.events.push(event);
        }
        Some(_) => {}
        None => return false,
    }
    true
}
