//! The input of a hook, read strictly.

use lictor_decode::{DecodedEvents, Fault, Format, LogRecord};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{self as json, Json, Text};

use crate::client::HookClient;
use crate::hook::Hook;

/// The longest session id in bytes; both clients use identifiers of a few dozen characters.
const MAX_SESSION_BYTES: usize = 256;

/// One call of a hook by a client.
#[derive(Clone, Debug)]
pub struct HookCall {
    /// The moment of the call.
    pub hook: Hook,
    /// The session of the call.
    pub session: Text,
    /// The event that happened or is about to happen.
    pub(crate) event: Option<Event>,
    /// Whether the agent continues only because a hook prevented a stop.
    pub(crate) is_kept_going: bool,
    /// The whole input.
    pub(crate) input: Json,
}

impl HookCall {
    /// Reads the input of a hook.
    pub fn read(client: HookClient, bytes: &[u8]) -> Result<HookCall, Fault> {
        let record = |value: Json| LogRecord { value, file: client.name().into(), line: 1, index: 0 };
        let fault = |code: &'static str, message: String| record(Json::Null).fault(code, message);
        let input = json::parse(bytes.trim_ascii()).map_err(|error| fault(error.code, error.message))?;
        let missing = |key: &str| fault("hook.input", format!("`{key}` is missing or not a string"));
        let name = input.text("hook_event_name").ok_or_else(|| missing("hook_event_name"))?;
        let session = Text::from(input.text("session_id").ok_or_else(|| missing("session_id"))?);
        if session.is_empty() || session.len() > MAX_SESSION_BYTES || session.contains(char::is_control) {
            return Err(fault(
                "hook.session",
                format!("`session_id` is empty, longer than {MAX_SESSION_BYTES} bytes, or contains control characters"),
            ));
        }
        let hook = match name {
            "PreToolUse" => Hook::PreToolUse,
            "PostToolUse" | "PostToolUseFailure" => Hook::PostToolUse,
            "PermissionRequest" => Hook::PermissionRequest,
            "UserPromptSubmit" => Hook::UserPromptSubmit,
            "Stop" => Hook::Stop,
            "SubagentStop" => Hook::SubagentStop,
            "SessionStart" => Hook::SessionStart,
            "SessionEnd" => Hook::SessionEnd,
            _ => Hook::Quiet,
        };
        let needed: &[&str] = match hook {
            Hook::PreToolUse | Hook::PostToolUse => &["tool_name", "tool_use_id"],
            Hook::PermissionRequest => &["tool_name"],
            Hook::UserPromptSubmit => &["prompt"],
            _ => &[],
        };
        if let Some(key) = needed.iter().find(|key| input.text(key).is_none()) {
            return Err(missing(key));
        }
        if hook == Hook::PreToolUse && input.get("tool_input").is_none() {
            return Err(fault("hook.input", "`tool_input` is missing".to_owned()));
        }
        let event = match hook {
            Hook::Stop | Hook::SubagentStop => last_message(&input, &session),
            Hook::PermissionRequest => Some(permission_request(&input, &session)),
            // The decoder of hook logs reads the rest; an unknown hook is a fault.
            _ => {
                let mut decoded = DecodedEvents::default();
                Format::ClaudeCode.live_decoder().record(record(input.clone()), &mut decoded);
                if !decoded.faults.is_empty() {
                    let hint = "remove it from the settings of the client, or update lictor";
                    return Err(fault("hook.unknown", format!("unknown hook `{name}`\nhint: {hint}")));
                }
                decoded.events.pop()
            }
        };
        let mut event = event;
        if let (Some(event), Some(folder)) = (&mut event, input.text("cwd")) {
            // What a command does depends on where it runs.
            if event.kind == Kind::ToolCall {
                event.more.insert("cwd", folder);
            }
        }
        let is_kept_going = input.get("stop_hook_active").and_then(Json::as_bool) == Some(true);
        Ok(HookCall { hook, session, event, is_kept_going, input })
    }

    /// Returns the working directory of the client.
    pub fn folder(&self) -> Option<&str> {
        self.input.text("cwd").filter(|folder| !folder.is_empty())
    }
}

/// Returns the last message of the agent before it stopped.
fn last_message(input: &Json, session: &Text) -> Option<Event> {
    let text = input.text("last_assistant_message").filter(|text| !text.trim().is_empty())?;
    Some(Event {
        session: Some(session.clone()),
        agent: input.text("agent_type").or_else(|| input.text("agent_id")).map(Text::from),
        text: Some(text.into()),
        ..Event::new(Kind::AssistantMessage)
    })
}

/// Returns the event of a permission request. The call itself was decided before; a policy may restrict the request.
fn permission_request(input: &Json, session: &Text) -> Event {
    Event {
        session: Some(session.clone()),
        agent: input.text("agent_type").or_else(|| input.text("agent_id")).map(Text::from),
        tool: input.text("tool_name").map(Text::from),
        args: input.get("tool_input").cloned().map(Arguments::from_json),
        ..Event::new(Kind::Other("permission_request".into()))
    }
}
