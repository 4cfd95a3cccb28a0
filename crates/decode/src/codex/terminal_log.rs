//! Events of the terminal, which repeat the items of the model interface: each becomes one event.

use std::collections::{HashMap, HashSet};

use crate::DecodedEvents;
use crate::attributes::parse_embedded;
use crate::chat::APPROVAL_REQUEST;
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Object, Text};

/// Events that make no event here, or repeat in pieces what comes whole. So do those that end in `_delta`.
const SILENT_EVENTS: [&str; 44] = [
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "token_count",
    "task_started",
    "turn_started",
    "task_complete",
    "turn_complete",
    "session_configured",
    "thread_name_updated",
    "thread_settings_applied",
    "thread_goal_updated",
    "thread_rolled_back",
    "context_compacted",
    "model_reroute",
    "background_event",
    "deprecation_notice",
    "warning",
    "guardian_warning",
    "turn_diff",
    "plan_update",
    "item_started",
    "item_completed",
    "raw_response_item",
    "mcp_startup_update",
    "mcp_startup_complete",
    "mcp_list_tools_response",
    "list_custom_prompts_response",
    "list_skills_response",
    "skills_update_available",
    "get_history_entry_response",
    "conversation_path",
    "entered_review_mode",
    "exited_review_mode",
    "undo_started",
    "undo_completed",
    "view_image_tool_call",
    "sub_agent_activity",
    "web_search_begin",
    "image_generation_begin",
    "terminal_interaction",
    "elicitation_request",
    "hook_started",
    "hook_completed",
];

/// The messages and calls that items or the terminal have shown so far.
#[derive(Debug, Default)]
pub(super) struct TerminalLog {
    /// Messages that only one side has shown: above zero by items, below by the terminal.
    messages: HashMap<(Kind, Text), i32>,
    /// Calls that items have shown, with their tools.
    calls: HashMap<Text, Option<Text>>,
    /// Calls that only the terminal has shown.
    terminal_calls: HashSet<Text>,
    /// Calls that failed, by the terminal.
    failed: HashSet<Text>,
    denied: HashSet<Text>,
}

impl TerminalLog {
    /// Whether an event of an item is new; completes it with what the terminal showed.
    pub(super) fn is_new(&mut self, event: &mut Event) -> bool {
        match event.kind {
            Kind::UserMessage | Kind::AssistantMessage => self.is_new_message(event, 1),
            Kind::ToolCall => {
                let Some(id) = event.id.clone() else { return true };
                self.calls.insert(id.clone(), event.tool.clone());
                !self.terminal_calls.contains(&id)
            }
            Kind::ToolResult => {
                let id = event.id.clone().unwrap_or_default();
                if event.tool.is_none() {
                    event.tool = self.calls.get(&id).cloned().flatten();
                }
                unwrap_output(event);
                event.failed |= self.failed.contains(&id);
                true
            }
            _ => true,
        }
    }

    /// Takes an event of the terminal; returns whether its type is known.
    pub(super) fn take_event(&mut self, payload: &Json, out: &mut DecodedEvents) -> bool {
        let Some(sort) = payload.text("type") else { return false };
        let id = payload.text("call_id").map(Text::from);
        match sort {
            "user_message" | "agent_message" => {
                let kind = if sort == "user_message" { Kind::UserMessage } else { Kind::AssistantMessage };
                let text = payload.text("message").map(Text::from);
                let event = Event { text, ..Event::new(kind) };
                if self.is_new_message(&event, -1) {
                    out.events.push(event);
                }
            }
            "error" | "stream_error" => {
                let text = payload.text("message").map(Text::from);
                out.events.push(Event { text, failed: true, ..Event::new(Kind::Error) });
            }
            "turn_aborted" => {
                let text = payload.text("reason").map(Text::from);
                out.events.push(Event { text, ..Event::new(Kind::Other(Text::from("turn_aborted"))) });
            }
            "shutdown_complete" => out.events.push(Event::new(Kind::SessionEnd)),
            "exec_approval_request" | "apply_patch_approval_request" | "request_permissions" => {
                let mut event = Event { id, ..Event::new(Kind::Other(Text::from(APPROVAL_REQUEST))) };
                event.tool = Some(Text::from(if sort == "exec_approval_request" { "shell" } else { "apply_patch" }));
                event.args =
                    Some(Arguments::Value(pick_members(payload, &["command", "cwd", "changes", "permissions"])));
                event.text = payload.text("reason").map(Text::from);
                out.events.push(event);
            }
            _ if sort.ends_with("_begin") && !SILENT_EVENTS.contains(&sort) => self.begin_call(sort, id, payload, out),
            _ if sort.ends_with("_end") => self.end_call(sort, id, payload, out),
            _ => return SILENT_EVENTS.contains(&sort) || sort.ends_with("_delta"),
        }
        true
    }

    fn is_new_message(&mut self, event: &Event, side: i32) -> bool {
        let text = event.text.as_deref().unwrap_or_default().trim();
        let key = (event.kind.clone(), Text::from(text));
        let balance = self.messages.get(&key).copied().unwrap_or(0);
        let is_new = balance * side >= 0;
        // Both sides show a message at about the same time: with the next user message, old ones no longer count.
        if is_new && event.kind == Kind::UserMessage {
            self.messages.clear();
        }
        self.messages.insert(key, balance + side);
        is_new
    }

    fn begin_call(&mut self, sort: &str, id: Option<Text>, payload: &Json, out: &mut DecodedEvents) {
        let Some(id) = id.filter(|id| !self.calls.contains_key(id)) else { return };
        let invoked = payload.get("invocation").unwrap_or(payload);
        let mut event = Event::new(Kind::ToolCall);
        event.tool = Some(match (sort, invoked.text("tool")) {
            (_, Some(tool)) => tool.into(),
            ("exec_command_begin", _) => Text::from("shell"),
            ("patch_apply_begin", _) => Text::from("apply_patch"),
            (other, _) => other.trim_end_matches("_begin").into(),
        });
        let arguments = invoked.get("arguments").cloned();
        event.args = Some(match arguments {
            Some(arguments) => Arguments::from_json(arguments),
            None => Arguments::Value(pick_members(payload, &["command", "cwd", "changes", "query", "prompt"])),
        });
        if let Some(server) = invoked.text("server") {
            event.more.insert("server", server);
        }
        // A command that the user typed is no act of the agent.
        event.agent = payload.text("source").filter(|source| source.starts_with("user")).map(|_| Text::from("user"));
        self.terminal_calls.insert(id.clone());
        event.id = Some(id);
        out.events.push(event);
    }

    fn end_call(&mut self, sort: &str, id: Option<Text>, payload: &Json, out: &mut DecodedEvents) {
        let Some(id) = id else { return };
        let status = payload.text("status").unwrap_or_default();
        let code = payload.get("exit_code").and_then(Json::as_i64).unwrap_or(0);
        let success = payload.get("success").and_then(Json::as_bool).unwrap_or(true);
        let error = payload.at("result.Err").or_else(|| payload.get("error")).filter(|error| !error.is_null());
        let failed = code != 0 || !success || error.is_some() || matches!(status, "failed" | "declined");
        let tool = match sort {
            "exec_command_end" => Some(Text::from("shell")),
            "patch_apply_end" => Some(Text::from("apply_patch")),
            _ => payload.at("invocation.tool").and_then(Json::as_str).map(Text::from),
        };
        if status == "declined" && self.denied.insert(id.clone()) {
            out.events.push(Event { id: Some(id.clone()), tool: tool.clone(), ..Event::new(Kind::Denial) });
        }
        if failed {
            self.failed.insert(id.clone());
        }
        // The item that answers a call of the model comes by itself.
        if !self.calls.contains_key(&id) && self.terminal_calls.contains(&id) {
            let mut event = Event { id: Some(id), tool, failed, ..Event::new(Kind::ToolResult) };
            let said = ["aggregated_output", "stdout", "error"].iter().find_map(|key| payload.text(key));
            event.text = said.map(Text::from);
            if event.text.is_none() {
                event.result = payload.get("result").filter(|result| !result.is_null()).cloned();
            }
            out.events.push(event);
        }
    }
}

/// Unwraps the output of a command in older sessions: `{"output": …, "metadata": {"exit_code": 1}}`.
fn unwrap_output(event: &mut Event) {
    let wrapped = event.text.as_ref().is_some_and(|text| text.starts_with("{\"output\""));
    if !wrapped {
        return;
    }
    if let Some(Json::Object(mut outer)) = event.text.clone().map(|text| parse_embedded(Json::String(text))) {
        let code = outer.get("metadata").and_then(|metadata| metadata.get("exit_code")).and_then(Json::as_i64);
        if let (Some(code), Some(Json::String(output))) = (code, outer.remove("output")) {
            event.failed |= code != 0;
            event.text = Some(output);
        }
    }
}

fn pick_members(payload: &Json, keys: &[&str]) -> Json {
    let member = |key: &&str| Some((Text::from(*key), payload.get(key).filter(|value| !value.is_null())?.clone()));
    Json::Object(keys.iter().filter_map(member).collect::<Object>())
}
