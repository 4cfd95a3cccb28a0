//! True examples of each format, from outside of this project: counted by hand, and compared.

use std::collections::BTreeMap;
use std::path::Path;

use lictor_decode::Format;

use crate::reader::{decode, records};

/// A file, its format, and its events by kind.
type Example = (&'static str, &'static str, &'static [(&'static str, usize)]);

/// Counted by reading the files.
const EXAMPLES: [Example; 21] = [
    (
        "openai-chat/request_with_tool_result.json",
        "openai-chat",
        &[("tool_definitions", 1), ("system_message", 1), ("user_message", 1), ("tool_call", 1), ("tool_result", 1)],
    ),
    ("openai-chat/response_tool_call.json", "openai-chat", &[("tool_call", 1)]),
    ("openai-chat/stream_one_tool_call.sse", "openai-chat", &[("tool_call", 1)]),
    ("openai-chat/stream_parallel_tool_calls.sse", "openai-chat", &[("tool_call", 2)]),
    ("openai-chat/stream_two_tool_calls_a.sse", "openai-chat", &[("tool_call", 1)]),
    (
        "openai-responses/items.json",
        "openai-responses",
        &[
            ("user_message", 1),
            ("tool_call", 2),
            ("tool_result", 1),
            ("tool_definitions", 1),
            ("approval_request", 1),
            ("denial", 1),
            ("assistant_message", 1),
        ],
    ),
    ("openai-responses/stream_function_call.sse", "openai-responses", &[("tool_call", 1)]),
    (
        "anthropic/request_with_tool_result.json",
        "anthropic",
        &[
            ("tool_definitions", 1),
            ("system_message", 1),
            ("user_message", 1),
            ("assistant_message", 1),
            ("tool_call", 1),
            ("tool_result", 1),
        ],
    ),
    (
        "anthropic/stream_incomplete_partial_json_response.sse",
        "anthropic",
        &[("assistant_message", 1), ("tool_call", 1)],
    ),
    ("anthropic/stream_refusal_response.sse", "anthropic", &[("assistant_message", 1)]),
    ("anthropic/stream_tool_use_response.sse", "anthropic", &[("assistant_message", 1), ("tool_call", 1)]),
    (
        "anthropic-managed-agents/builtin_tools.jsonl",
        "anthropic-agents",
        &[
            ("session_start", 1),
            ("system_message", 1),
            ("tool_definitions", 1),
            ("user_message", 1),
            ("tool_call", 1),
            ("tool_result", 1),
            ("assistant_message", 1),
        ],
    ),
    (
        "anthropic-managed-agents/custom_tools.jsonl",
        "anthropic-agents",
        &[
            ("session_start", 1),
            ("system_message", 1),
            ("tool_definitions", 1),
            ("user_message", 1),
            ("tool_call", 1),
            ("tool_result", 1),
            ("assistant_message", 1),
        ],
    ),
    (
        "anthropic-managed-agents/mcp_tools.jsonl",
        "anthropic-agents",
        &[
            ("session_start", 1),
            ("system_message", 1),
            ("tool_definitions", 1),
            ("user_message", 1),
            ("tool_call", 1),
            ("approval", 1),
            ("tool_result", 1),
            ("assistant_message", 1),
        ],
    ),
    (
        "anthropic-managed-agents/mcp_tools_reject.jsonl",
        "anthropic-agents",
        &[
            ("session_start", 1),
            ("system_message", 1),
            ("tool_definitions", 1),
            ("user_message", 1),
            ("tool_call", 2),
            ("denial", 1),
            ("tool_result", 2),
            ("assistant_message", 3),
        ],
    ),
    ("mcp/http_2026-07-28.http", "mcp", &[("tool_call", 1), ("tool_result", 1)]),
    ("mcp/legacy_2025-11-25.jsonl", "mcp", &[("session_start", 1), ("tool_call", 1), ("tool_result", 1)]),
    (
        "mcp/stdio_2026-07-28.jsonl",
        "mcp",
        &[
            ("tool_definitions", 1),
            ("tool_call", 2),
            ("input_required", 1),
            ("approval", 1),
            ("tool_result", 1),
            ("error", 1),
        ],
    ),
    ("a2a/send_message_jsonrpc.json", "a2a", &[("user_message", 1)]),
    ("a2a/response_input_required.json", "a2a", &[("assistant_message", 1), ("task_input_required", 1)]),
    ("a2a/stream.sse", "a2a", &[("task_working", 1), ("assistant_message", 1), ("task_completed", 1)]),
];

#[test]
fn shared_exchanges_are_detected_and_counted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/formats");
    if !folder.is_dir() {
        eprintln!("SKIPPED: {} is absent, so no true example of a format was read", folder.display());
        return;
    }
    let mut wrong = Vec::new();
    for (file, name, counts) in EXAMPLES {
        let records = records(&folder.join(file));
        let values: Vec<_> = records.iter().map(|(_, value)| value.clone()).collect();
        if Format::detect(&values).map(Format::name) != Some(name) {
            wrong.push(format!("{file}: taken for {:?}", Format::detect(&values).map(Format::name)));
        }
        let out = decode(Format::named(name).unwrap(), file, &records);
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for event in &out.events {
            *found.entry(event.kind.to_string()).or_default() += 1;
        }
        let wanted: BTreeMap<String, usize> = counts.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
        if found != wanted || !out.faults.is_empty() {
            wrong.push(format!("{file}: wanted {wanted:?} and no faults, found {found:?} and {:?}", out.faults));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
