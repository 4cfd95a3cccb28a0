//! The input of hooks of Claude Code and its imitators, one object a line.
//!
//! A session stops (`Stop`) after each turn; it ended there if nothing of it follows in the file.

use std::collections::HashMap;

use crate::conversation::Stamp;
use crate::{DecodedEvents, LogRecord, dialect, unknown_record};
use lictor_event::{Arguments, Event, Kind, Source, parse_time};
use lictor_json::{Json, Text};

/// Hooks that make no event.
const SILENT_HOOKS: [&str; 8] = [
    "Notification",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PermissionRequest",
    "InstructionsLoaded",
    "ConfigChange",
];

/// Whether a record is the input of a hook.
pub(super) fn is_hook(value: &Json) -> bool {
    value.text("hook_event_name").is_some() && value.get("session_id").is_some()
}

/// The sessions of the file.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    /// The source of each session's last `Stop`, if nothing followed.
    stopped: HashMap<Text, Source>,
    /// The order in which they stopped.
    order: Vec<Text>,
}

impl Hooks {
    pub(super) fn take_record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let value = &record.value;
        let name = value.text("hook_event_name").unwrap_or_default();
        let session = Text::from(value.text("session_id").unwrap_or_default());
        self.stopped.remove(&session);
        let mut event = match name {
            "PreToolUse" => {
                let args = value.get("tool_input").cloned().map(Arguments::from_json);
                Event { args, ..Event::new(Kind::ToolCall) }
            }
            "PostToolUse" | "PostToolUseFailure" => {
                let mut event = Event::new(Kind::ToolResult);
                let answer = ["tool_response", "tool_output", "error"].iter().find_map(|key| value.get(key));
                dialect::fill_answer(&mut event, answer.cloned().unwrap_or(Json::Null));
                event.failed |= name == "PostToolUseFailure";
                event
            }
            "PermissionDenied" => Event::new(Kind::Denial),
            "UserPromptSubmit" => Event { text: value.text("prompt").map(Text::from), ..Event::new(Kind::UserMessage) },
            "SessionStart" => Event::new(Kind::SessionStart),
            "SessionEnd" => Event::new(Kind::SessionEnd),
            "Stop" => {
                // Only the end of the file shows whether the session ended here.
                self.stopped.insert(session.clone(), record.source());
                self.order.push(session);
                return;
            }
            name if SILENT_HOOKS.contains(&name) => return,
            _ => return out.faults.push(unknown_record::describe(&record, value)),
        };
        event.id = value.text("tool_use_id").map(Text::from);
        event.tool = value.text("tool_name").map(Text::from);
        event.agent = value.text("agent_type").or_else(|| value.text("agent_id")).map(Text::from);
        let stamp = Stamp::new(&record, value.text("timestamp").and_then(parse_time));
        out.events.push(Event { session: Some(session), ..stamp.mark(event) });
    }

    pub(super) fn finish(&mut self, out: &mut DecodedEvents) {
        for session in self.order.drain(..) {
            if let Some(source) = self.stopped.remove(&session) {
                out.events.push(Event { session: Some(session), source, ..Event::new(Kind::SessionEnd) });
            }
        }
    }
}
