//! Claude Code: its session files, its stream output, and the input of its hooks.
//!
//! A session file holds messages and many records that make no event (titles, snapshots, progress), which are skipped.
//! Some user messages are not the user's: reminders, summaries and the prompts of side agents are system messages here,
//! so that no property takes them for consent.
//!
//! A call that the user refused has an answer that begins with a fixed sentence, or is listed in the result of the
//! stream; either becomes a denial. A decision of a hook is not a person's, and becomes a policy check.

mod hooks;

use std::collections::{HashMap, HashSet};

use hooks::Hooks;

use super::conversation::Stamp;
use super::spans::policy_check;
use super::{DecodedEvents, Decoder, LogRecord, chat, unknown_record};
use lictor_event::{Event, Kind, parse_time};
use lictor_json::{Json, Object, Text};

/// Records that make no event.
const SILENT_RECORDS: [&str; 24] = [
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

/// System records that make no event.
const SILENT_SYSTEM_RECORDS: [&str; 17] = [
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

/// The beginnings of the answer to a call that the user refused.
const REFUSAL_PREFIXES: [&str; 2] =
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
        Some(sort) => session && SILENT_RECORDS.contains(&sort),
        None => false,
    }
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct ClaudeCodeDecoder {
    /// The tool of each call.
    tools: HashMap<Text, Text>,
    /// The calls that were refused.
    denied: HashSet<Text>,
    /// The records that were seen; a resumed session repeats some.
    seen: HashSet<Text>,
    hooks: Hooks,
}

impl Decoder for ClaudeCodeDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        if hooks::is_hook(&record.value) {
            return self.hooks.take_record(record, out);
        }
        let first = out.events.len();
        let value = &record.value;
        let known = match value.text("type") {
            Some("user" | "assistant") => self.take_message(value, out),
            Some("system") => take_system(value, out),
            Some("result") => self.take_result(value, out),
            Some("attachment") => take_attachment(value, out),
            Some("permission-mode") => {
                let mut event = Event::new(Kind::Other("permission_mode".into()));
                event.text = value.text("permissionMode").map(Text::from);
                out.events.push(event);
                true
            }
            Some(sort) => SILENT_RECORDS.contains(&sort),
            None => false,
        };
        if !known {
            out.faults.push(unknown_record::describe(&record, value));
        }
        let stamp = Stamp::new(&record, value.text("timestamp").and_then(parse_time));
        let session = value.text("sessionId").or_else(|| value.text("session_id")).map(Text::from);
        let agent = find_side_agent(value);
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

/// Returns the side agent of a record; none for the main agent.
fn find_side_agent(value: &Json) -> Option<Text> {
    let is_side = is_set(value, "isSidechain") || value.text("parent_tool_use_id").is_some();
    value.text("agentId").map(Text::from).or_else(|| is_side.then(|| Text::from("sidechain")))
}

fn is_set(value: &Json, key: &str) -> bool {
    value.get(key).and_then(Json::as_bool) == Some(true)
}

impl ClaudeCodeDecoder {
    fn take_message(&mut self, value: &Json, out: &mut DecodedEvents) -> bool {
        if let Some(uuid) = value.text("uuid")
            && !self.seen.insert(Text::from(uuid))
        {
            return true;
        }
        let Some(events) = value.get("message").and_then(chat::read_message) else { return false };
        let is_users = !(is_set(value, "isMeta")
            || is_set(value, "isCompactSummary")
            || find_side_agent(value).is_some()
            || value.at("origin.kind").and_then(Json::as_str) == Some("task-notification"));
        for mut event in events {
            match event.kind {
                Kind::UserMessage if !is_users => event.kind = Kind::SystemMessage,
                Kind::AssistantMessage if is_set(value, "isApiErrorMessage") => {
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
                    if event
                        .text
                        .as_ref()
                        .is_some_and(|text| REFUSAL_PREFIXES.iter().any(|words| text.starts_with(words)))
                    {
                        event.failed = true;
                        self.add_denial(event.id.clone(), event.tool.clone(), out);
                    }
                }
                _ => {}
            }
            out.events.push(event);
        }
        true
    }

    /// Adds a denial, once for each call.
    fn add_denial(&mut self, id: Option<Text>, tool: Option<Text>, out: &mut DecodedEvents) {
        if id.as_ref().is_none_or(|id| self.denied.insert(id.clone())) {
            out.events.push(Event { id, tool, ..Event::new(Kind::Denial) });
        }
    }

    /// Takes the end of the stream.
    fn take_result(&mut self, value: &Json, out: &mut DecodedEvents) -> bool {
        for denial in value.get("permission_denials").and_then(Json::as_array).unwrap_or_default() {
            self.add_denial(denial.text("tool_use_id").map(Text::from), denial.text("tool_name").map(Text::from), out);
        }
        let mut event = Event::new(Kind::SessionEnd);
        event.text = value.text("result").map(Text::from);
        event.failed = is_set(value, "is_error");
        copy_members(value, &["subtype", "num_turns", "total_cost_usd"], &mut event.more);
        out.events.push(event);
        true
    }
}

fn copy_members(value: &Json, keys: &[&str], more: &mut Object) {
    for key in keys {
        if let Some(member) = value.get(key).filter(|member| !member.is_null()) {
            more.insert(*key, member.clone());
        }
    }
}

fn take_system(value: &Json, out: &mut DecodedEvents) -> bool {
    match value.text("subtype") {
        Some("init") => {
            let mut start = Event::new(Kind::SessionStart);
            copy_members(value, &["model", "permissionMode", "cwd", "claude_code_version"], &mut start.more);
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
        Some(sort) => SILENT_SYSTEM_RECORDS.contains(&sort),
        None => false,
    }
}

/// Takes an attachment: mostly state, but also messages of the user and decisions of hooks.
fn take_attachment(value: &Json, out: &mut DecodedEvents) -> bool {
    let Some(attached) = value.get("attachment") else { return false };
    let id = attached.text("toolUseID").map(Text::from);
    match attached.text("type") {
        Some("queued_command") => {
            let mut message = Object::new();
            message.insert("role", "user");
            message.insert("content", attached.get("prompt").cloned().unwrap_or(Json::Null));
            let is_users = !is_set(attached, "isMeta") && attached.at("origin.kind").is_none();
            for mut event in chat::read_message(&Json::Object(message)).unwrap_or_default() {
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
