//! What an unknown file looks like: what was seen in it, and the format that comes closest.

use super::Format;
use super::unknown_record::describe_value;
use lictor_json::Json;

/// Members by which people know a format. Several formats share some; the one with the most hits is the closest.
const TELLING_KEYS: [(&str, &[&str]); 12] = [
    ("openai-chat", &["messages", "role", "content", "tool_calls", "choices", "model"]),
    ("openai-responses", &["input", "output", "instructions", "previous_response_id", "call_id"]),
    ("anthropic", &["stop_reason", "content", "role", "tool_use_id", "anthropic_version"]),
    ("otlp", &["resourceSpans", "scopeSpans", "spans", "traceId", "spanId", "attributes", "resourceLogs"]),
    ("langfuse", &["observations", "traceId", "sessionId", "startTime", "latency"]),
    ("langsmith", &["run_type", "inputs", "outputs", "trace_id", "dotted_order"]),
    ("openai-agents", &["span_data", "trace_id", "workflow_name", "group_id"]),
    ("claude-code", &["sessionId", "uuid", "parentUuid", "message", "cwd"]),
    ("codex", &["payload", "timestamp", "rollout", "cwd"]),
    ("mcp", &["jsonrpc", "method", "params", "id", "result"]),
    ("a2a", &["contextId", "taskId", "messageId", "parts", "artifact"]),
    ("native", &["kind", "session", "tool", "args", "text", "seq"]),
];

/// How many members must be telling before a format is named.
const MIN_TELLING_KEYS: usize = 2;

/// Describes the first record, and names the format that comes closest, with the members that tell.
pub(super) fn describe_unknown(records: &[Json]) -> String {
    let Some(first) = records.first() else { return "it holds no records".to_owned() };
    let seen = match first {
        Json::String(_) => format!("its first line is {}", describe_value(first)),
        Json::Object(_) => format!("its first record is an object {}", describe_value(first)),
        value => format!("its first record is {}", describe_value(value)),
    };
    match find_closest(records) {
        Some((format, keys)) => format!("{seen}; closest is {format}, by `{}`", keys.join("`, `")),
        None => seen,
    }
}

/// Returns the format that shares most members with the records, and those members.
fn find_closest(records: &[Json]) -> Option<(Format, Vec<&'static str>)> {
    let hits = TELLING_KEYS.iter().map(|(name, keys)| {
        let hit: Vec<&str> =
            keys.iter().copied().filter(|key| records.iter().any(|record| has_member(record, key))).collect();
        (Format::named(name), hit)
    });
    // The first of several equals is the more usual one.
    let best = hits.rev().max_by_key(|(_, hit)| hit.len())?;
    match best {
        (Some(format), keys) if keys.len() >= MIN_TELLING_KEYS => Some((format, keys)),
        _ => None,
    }
}

/// Whether a record has a member, itself or in a value within it.
fn has_member(record: &Json, key: &str) -> bool {
    let within = |value: &Json| match value {
        Json::Array(items) => items.first().is_some_and(|item| item.get(key).is_some()),
        value => value.get(key).is_some(),
    };
    within(record) || record.as_object().is_some_and(|object| object.iter().any(|(_, value)| within(value)))
}
