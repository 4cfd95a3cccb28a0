//! The shapes of the protocol's messages, and of the log lines that hold them.

use lictor_logic::Time;

use crate::a2a;
use lictor_event::find_time;
use lictor_json::Json;

/// Methods that make events, or whose answers do.
const EVENT_METHODS: [&str; 11] = [
    "initialize",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/read",
    "prompts/get",
    "sampling/createMessage",
    "elicitation/create",
    "tasks/get",
    "tasks/result",
    "tasks/update",
];

/// Methods that make no events.
const SILENT_METHODS: [&str; 12] = [
    "ping",
    "logging/setLevel",
    "completion/complete",
    "resources/list",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "roots/list",
    "subscriptions/listen",
    "tasks/list",
    "tasks/cancel",
];

/// Members of results, one of which each has.
const RESULT_KEYS: [&str; 13] = [
    "content",
    "contents",
    "tools",
    "resources",
    "resourceTemplates",
    "prompts",
    "messages",
    "protocolVersion",
    "resultType",
    "completion",
    "roots",
    "task",
    "action",
];

/// Whether a value is a message of the protocol.
pub(super) fn is_message(value: &Json) -> bool {
    let result = |result: &Json| match result.as_object() {
        Some(object) => object.is_empty() || RESULT_KEYS.iter().any(|key| object.get(key).is_some()),
        None => false,
    };
    value.text("jsonrpc") == Some("2.0")
        && !a2a::is_own(value)
        && (value.text("method").is_some_and(is_method)
            || value.get("result").is_some_and(result)
            || value.get("error").is_some())
}

/// Whether a method is one of the protocol's.
pub(super) fn is_method(name: &str) -> bool {
    EVENT_METHODS.contains(&name) || SILENT_METHODS.contains(&name) || name.starts_with("notifications/")
}

/// Returns the message in a log line, with its session and time.
pub(super) fn open_log_line(value: &Json) -> Option<(&Json, Option<&str>, Option<Time>)> {
    let message = ["message", "payload", "data", "body"].iter().find_map(|key| value.get(key))?;
    message.get("jsonrpc")?;
    let session = ["session_id", "sessionId", "mcp_session_id", "session"].iter().find_map(|key| value.text(key));
    let time = value.as_object().and_then(find_time);
    Some((message, session, time))
}
