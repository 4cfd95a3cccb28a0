//! What a client passes to a hook, read strictly.

use lictor_decode::{DecodedEvents, Fault, Format, LogRecord};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{self as json, Json, Text};

use crate::client::HookClient;

/// The longest session name that is taken; both clients use identifiers of a few dozen characters.
const LONGEST_SESSION: usize = 256;

/// When a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Before a tool is called: the call may be stopped.
    PreToolUse,
    /// Behind the answer of a tool, before the model reads it.
    PostToolUse,
    /// Before the client asks a person to allow a call.
    PermissionRequest,
    /// Before the model reads what a person wrote.
    UserPromptSubmit,
    /// Before the model comes to rest.
    Stop,
    /// Before an agent that another one started comes to rest.
    SubagentStop,
    /// When a session begins or goes on.
    SessionStart,
    /// When it ends.
    SessionEnd,
    /// Anything that is neither said nor done.
    Quiet,
}

/// A question of a client.
#[derive(Clone, Debug)]
pub struct HookCall {
    /// When it is asked.
    pub hook: Hook,
    /// The session it is about.
    pub session: Text,
    /// What happened, or is about to.
    pub(crate) event: Option<Event>,
    /// Whether the model goes on only because a hook kept it from coming to rest.
    pub(crate) is_kept_going: bool,
    /// All that was passed.
    pub(crate) input: Json,
}

impl HookCall {
    /// Reads what a client passed.
    pub fn read(client: HookClient, bytes: &[u8]) -> Result<HookCall, Fault> {
        let at = |value: Json| LogRecord { value, file: client.name().into(), line: 1, index: 0 };
        let fault = |code: &'static str, message: String| at(Json::Null).fault(code, message);
        let input = json::parse(bytes.trim_ascii()).map_err(|error| fault(error.code, error.message))?;
        let missing = |key: &str| fault("hook.input", format!("`{key}` is missing, or not a text"));
        let name = input.text("hook_event_name").ok_or_else(|| missing("hook_event_name"))?;
        let session = Text::from(input.text("session_id").ok_or_else(|| missing("session_id"))?);
        if session.is_empty() || session.len() > LONGEST_SESSION || session.contains(char::is_control) {
            return Err(fault(
                "hook.session",
                "`session_id` is empty, too long, or holds control characters".to_owned(),
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
            Hook::Stop | Hook::SubagentStop => last_words(&input, &session),
            Hook::PermissionRequest => Some(permission_request(&input, &session)),
            // The same decoder reads logs of hooks; a name that it does not know is a fault.
            _ => {
                let mut decoded = DecodedEvents::default();
                Format::ClaudeCode.decoder().record(at(input.clone()), &mut decoded);
                if !decoded.faults.is_empty() {
                    let hint = "take it out of the settings of the client, or use a newer version of lictor";
                    return Err(fault("hook.unknown", format!("the hook `{name}` is not known\nhint: {hint}")));
                }
                decoded.events.pop()
            }
        };
        let is_kept_going = input.get("stop_hook_active").and_then(Json::as_bool) == Some(true);
        Ok(HookCall { hook, session, event, is_kept_going, input })
    }

    /// Where the client works at the moment.
    pub fn folder(&self) -> Option<&str> {
        self.input.text("cwd").filter(|folder| !folder.is_empty())
    }
}

/// What the model said before it came to rest.
fn last_words(input: &Json, session: &Text) -> Option<Event> {
    let text = input.text("last_assistant_message").filter(|text| !text.trim().is_empty())?;
    Some(Event {
        session: Some(session.clone()),
        agent: input.text("agent_type").or_else(|| input.text("agent_id")).map(Text::from),
        text: Some(text.into()),
        ..Event::new(Kind::AssistantMessage)
    })
}

/// The client wants to ask a person. The call itself was decided before; this is something a policy may speak about.
fn permission_request(input: &Json, session: &Text) -> Event {
    Event {
        session: Some(session.clone()),
        agent: input.text("agent_type").or_else(|| input.text("agent_id")).map(Text::from),
        tool: input.text("tool_name").map(Text::from),
        args: input.get("tool_input").cloned().map(Arguments::from_json),
        ..Event::new(Kind::Other("permission_request".into()))
    }
}
