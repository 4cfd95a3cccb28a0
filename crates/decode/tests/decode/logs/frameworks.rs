//! Logs of agent frameworks and model interfaces: sessions, counts, pairs, and no confusion with their neighbors.
//!
//! `tests/golden/README.md` says how the files were made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lictor_decode::{DecodedEvents, Format};
use lictor_event::Kind;

use super::golden::detected;
use crate::golden_files::{FormatFamily, golden_files};
use crate::reader::{decode, lines, records};

/// A file, how many sessions it has, how many events of each kind, and how many faults.
const CASES: [(&str, usize, &str, usize); 73] = [
    ("adk/events.jsonl", 1, "assistant_message=2 tool_call=2 tool_result=2 user_message=1", 0),
    ("adk/old.evalset.json", 1, "assistant_message=2 tool_call=1 tool_result=1 user_message=2", 0),
    ("adk/old.test.json", 1, "assistant_message=2 tool_call=1 tool_result=1 user_message=2", 0),
    ("adk/session.json", 1, "assistant_message=2 tool_call=2 tool_result=2 user_message=1", 0),
    ("adk/shop.evalset.json", 2, "assistant_message=3 tool_call=4 tool_result=3 user_message=3", 0),
    ("adk/shop.evalset_result.json", 1, "assistant_message=1 tool_call=1 tool_result=1 user_message=1", 0),
    ("autogen/ag2_events.jsonl", 1, "assistant_message=1 tool_call=2 tool_result=2 user_message=1", 0),
    ("autogen/ag2_run.jsonl", 1, "assistant_message=2 handoff=1 tool_call=2 tool_result=2 user_message=1", 0),
    ("autogen/chat_messages.json", 1, "assistant_message=2 tool_call=2 tool_result=2 user_message=1", 0),
    ("autogen/chat_result.json", 1, "assistant_message=2 tool_call=2 tool_result=2 user_message=1", 0),
    ("autogen/messages.jsonl", 1, "assistant_message=2 handoff=1 tool_call=3 tool_result=1 user_message=1", 1),
    ("autogen/result.json", 1, "assistant_message=2 tool_call=2 tool_result=2 user_message=1", 0),
    ("autogen/state.json", 1, "assistant_message=2 tool_call=2 tool_result=2 user_message=1", 0),
    (
        "bedrock/converse.jsonl",
        1,
        "assistant_message=2 system_message=1 tool_call=2 tool_definitions=1 tool_result=2 user_message=1",
        0,
    ),
    (
        "bedrock/invocations.jsonl",
        2,
        "assistant_message=1 tool_call=2 tool_definitions=1 tool_result=1 user_message=2",
        2,
    ),
    ("bedrock/messages.json", 1, "assistant_message=1 tool_call=1 tool_result=1 user_message=2", 2),
    ("bedrock/stream.jsonl", 1, "assistant_message=2 tool_call=2 tool_definitions=1 tool_result=2 user_message=1", 0),
    (
        "bedrock/stream_exchanges.jsonl",
        1,
        "assistant_message=2 tool_call=2 tool_definitions=1 tool_result=2 user_message=1",
        0,
    ),
    ("bedrock/stream_truncated.jsonl", 1, "assistant_message=1 tool_call=1", 1),
    ("gemini-cli/session.json", 1, "assistant_message=2 error=1 tool_call=3 tool_result=2 user_message=1", 1),
    ("gemini/contents.json", 1, "assistant_message=2 tool_call=4 tool_result=4 user_message=1", 0),
    (
        "gemini/exchange.jsonl",
        1,
        "assistant_message=2 system_message=1 tool_call=4 tool_definitions=1 tool_result=4 user_message=1",
        0,
    ),
    ("gemini/history.jsonl", 1, "assistant_message=3 tool_call=4 tool_result=4 user_message=1", 1),
    (
        "gemini/request.json",
        1,
        "assistant_message=2 system_message=1 tool_call=4 tool_definitions=1 tool_result=4 user_message=1",
        0,
    ),
    ("gemini/stream.sse", 1, "assistant_message=3 tool_call=1", 1),
    (
        "gemini/streamed.jsonl",
        1,
        "assistant_message=1 system_message=1 tool_call=1 tool_definitions=1 user_message=1",
        0,
    ),
    ("haystack/messages.json", 1, "assistant_message=1 system_message=1 tool_call=4 tool_result=4 user_message=1", 0),
    ("haystack/runs.jsonl", 2, "assistant_message=2 system_message=2 tool_call=8 tool_result=8 user_message=2", 0),
    (
        "inspect/deflate.eval",
        2,
        "assistant_message=7 session_start=2 system_message=2 tool_call=5 tool_result=5 user_message=2",
        1,
    ),
    (
        "inspect/log.json",
        2,
        "assistant_message=6 session_start=2 system_message=2 tool_call=5 tool_result=5 user_message=2",
        0,
    ),
    (
        "inspect/zstd.eval",
        2,
        "assistant_message=7 session_start=2 system_message=2 tool_call=5 tool_result=5 user_message=2",
        1,
    ),
    ("jaeger/export.json", 1, "tool_call=2 tool_result=2 user_message=1", 0),
    ("jaeger/spans.jsonl", 1, "tool_call=2 tool_result=2 user_message=1", 0),
    ("langchain/astream_events.jsonl", 2, "assistant_message=2 tool_call=4 tool_result=4 user_message=1", 0),
    ("langchain/astream_events_serialized.jsonl", 1, "assistant_message=2 tool_call=2 tool_result=2 user_message=1", 0),
    ("langchain/checkpoint.json", 1, "assistant_message=1 tool_call=1 tool_result=1 user_message=1", 1),
    (
        "langchain/constructors.json",
        1,
        "assistant_message=2 system_message=1 tool_call=2 tool_result=2 user_message=1",
        0,
    ),
    ("langchain/debug_checkpoints.jsonl", 1, "assistant_message=1 tool_call=1 tool_result=1 user_message=1", 0),
    ("langchain/debug_modes.jsonl", 1, "assistant_message=1 tool_call=1 tool_result=1 user_message=1", 0),
    ("langchain/debug_tasks.jsonl", 1, "assistant_message=1 tool_call=1 tool_result=1 user_message=1", 0),
    ("langchain/dicts.json", 1, "assistant_message=2 system_message=1 tool_call=2 tool_result=2 user_message=1", 0),
    ("langchain/dumps.json", 1, "assistant_message=2 system_message=1 tool_call=2 tool_result=2 user_message=1", 0),
    ("langchain/repeats.jsonl", 1, "assistant_message=1 tool_call=1 tool_result=1 user_message=1", 1),
    ("langchain/states.jsonl", 1, "assistant_message=1 tool_call=1 tool_result=1 user_message=1", 0),
    ("langchain/streams.jsonl", 1, "assistant_message=1 tool_call=1 tool_result=1 user_message=1", 0),
    ("langchain/updates.jsonl", 1, "assistant_message=1 tool_call=1 tool_result=1", 0),
    ("langchain/values.jsonl", 1, "assistant_message=1 tool_call=1 tool_result=1 user_message=1", 0),
    ("openai-assistants/list.json", 1, "assistant_message=1 tool_call=2 tool_result=2 user_message=1", 1),
    (
        "openai-assistants/objects.jsonl",
        1,
        "assistant_message=1 system_message=1 tool_call=2 tool_result=2 user_message=1",
        1,
    ),
    ("openhands/evaluation.jsonl", 2, "tool_call=2 tool_result=1 user_message=2", 1),
    (
        "openhands/runtime.json",
        1,
        "assistant_message=2 denial=1 system_message=1 tool_call=3 tool_result=2 user_message=1",
        0,
    ),
    (
        "openhands/sdk.jsonl",
        1,
        "assistant_message=2 denial=1 system_message=1 tool_call=3 tool_result=2 user_message=1",
        0,
    ),
    ("pydantic-ai/builtin.json", 1, "system_message=1 tool_call=1 tool_result=1 user_message=1", 1),
    ("pydantic-ai/run.json", 1, "assistant_message=3 system_message=2 tool_call=2 tool_result=2 user_message=2", 0),
    ("pydantic-ai/runs.jsonl", 1, "assistant_message=3 system_message=2 tool_call=2 tool_result=2 user_message=2", 0),
    (
        "semantic-kernel/dotnet.json",
        1,
        "assistant_message=1 system_message=1 tool_call=1 tool_result=1 user_message=1",
        1,
    ),
    (
        "semantic-kernel/history.json",
        1,
        "assistant_message=2 system_message=1 tool_call=2 tool_result=2 user_message=2",
        0,
    ),
    ("smolagents/steps.json", 1, "assistant_message=1 error=1 tool_call=4 tool_result=4 user_message=1", 0),
    (
        "swe-agent/calls.traj",
        1,
        "assistant_message=1 session_start=1 system_message=1 tool_call=2 tool_result=1 user_message=1",
        0,
    ),
    (
        "swe-agent/mini_calls.traj.json",
        1,
        "assistant_message=1 session_end=1 session_start=1 system_message=1 tool_call=2 tool_result=1 user_message=1",
        0,
    ),
    (
        "swe-agent/mini_list.traj.json",
        1,
        "assistant_message=2 system_message=1 tool_call=2 tool_result=2 user_message=1",
        0,
    ),
    (
        "swe-agent/mini_text.traj.json",
        1,
        "assistant_message=3 session_end=1 session_start=1 system_message=1 tool_call=3 tool_result=2 user_message=1",
        0,
    ),
    (
        "swe-agent/shell.traj",
        1,
        "assistant_message=2 session_start=1 system_message=1 tool_call=2 tool_result=1 user_message=1",
        0,
    ),
    ("swe-agent/steps.traj", 1, "assistant_message=2 session_start=1 tool_call=2 tool_result=2", 0),
    (
        "vercel/from_ui.json",
        1,
        "approval=1 approval_request=1 assistant_message=2 tool_call=4 tool_result=3 user_message=1",
        0,
    ),
    ("vercel/model.json", 1, "assistant_message=2 system_message=1 tool_call=2 tool_result=2 user_message=1", 0),
    (
        "vercel/model_approvals.jsonl",
        2,
        "approval=1 approval_request=2 assistant_message=2 denial=1 tool_call=7 tool_result=7 user_message=2",
        0,
    ),
    ("vercel/requests.jsonl", 1, "assistant_message=2 system_message=1 tool_call=2 tool_result=2 user_message=2", 0),
    ("vercel/rows.jsonl", 2, "tool_call=1 tool_result=1 user_message=2", 1),
    (
        "vercel/ui.json",
        1,
        "approval=1 approval_request=1 assistant_message=3 tool_call=4 tool_result=3 user_message=1",
        0,
    ),
    (
        "vercel/ui_approvals.jsonl",
        2,
        "approval=1 approval_request=2 assistant_message=2 denial=1 tool_call=7 tool_result=7 user_message=2",
        0,
    ),
    ("vercel/ui_steps.jsonl", 3, "assistant_message=3 tool_call=6 tool_result=6 user_message=3", 0),
    ("vercel/ui_v4.json", 1, "assistant_message=1 tool_call=1 tool_result=1 user_message=1", 0),
];

fn decode_file(file: &Path) -> (Format, DecodedEvents) {
    let records = records(file);
    let format = detected(&records).unwrap_or_else(|| panic!("{} is of no format", file.display()));
    (format, decode(format, "file", &records))
}

/// Complains about an answer that has not the id and the tool of a call before it, or of one that was answered.
fn check_pairs(name: &str, out: &DecodedEvents) {
    let (mut open, mut asked) = (BTreeSet::new(), BTreeSet::new());
    for event in &out.events {
        let pair = (event.session.clone(), event.id.clone(), event.tool.clone());
        match event.kind {
            Kind::ToolCall => {
                asked.remove(&pair);
                assert!(event.id.is_some() && event.tool.is_some(), "{name}: {event:?}");
                assert!(open.insert(pair), "{name}: two calls have one id: {event:?}");
            }
            Kind::ToolResult => assert!(open.remove(&pair), "{name}: answers no open call: {event:?}"),
            Kind::Approval | Kind::Denial => {
                assert!(open.contains(&pair) || asked.contains(&pair), "{name}: decides on no call: {event:?}")
            }
            _ if event.kind.name() == "approval_request" => {
                assert!(asked.insert(pair), "{name}: asks twice: {event:?}")
            }
            _ => {}
        }
    }
}

#[test]
fn framework_logs_have_their_sessions_and_pairs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, sessions, kinds, faults) in CASES {
        let (_, out) = decode_file(&folder.join(name));
        let found: BTreeSet<_> = out.events.iter().map(|event| event.session.clone()).collect();
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for event in &out.events {
            *counts.entry(event.kind.to_string()).or_default() += 1;
        }
        let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind}={count}")).collect();
        let seen = (found.len(), counts.join(" "), out.faults.len());
        assert_eq!(seen, (sessions, kinds.to_owned(), faults), "{name}\n{}", lines(&out));
        check_pairs(name, &out);
    }
}

#[test]
fn framework_logs_are_all_counted() {
    for (format, file) in golden_files(|family| family == FormatFamily::Framework) {
        let name = format!("{format}/{}", file.file_name().unwrap().to_string_lossy());
        assert!(CASES.iter().any(|case| case.0 == name), "{name} is in no case");
    }
}

/// A record alone may be plain, so that OpenAI's format claims it; then it must make the same events.
#[test]
fn framework_record_alone_keeps_its_events() {
    for (_, file) in golden_files(|family| family == FormatFamily::Framework) {
        // The roles of this one depend on who wrote the first message.
        if file.ends_with("autogen/chat_messages.json") {
            continue;
        }
        let (format, _) = decode_file(&file);
        for record in records(&file) {
            let record = [record];
            // A state without messages is of no format by itself.
            let Some(found) = detected(&record) else {
                let own = decode(format, "file", &record);
                assert!(own.events.is_empty(), "{} line {}: {}", file.display(), record[0].0, lines(&own));
                continue;
            };
            let (own, other) = (decode(format, "file", &record), decode(found, "file", &record));
            // An unknown part is reported by either.
            if own.events.is_empty() && !own.faults.is_empty() {
                let codes = |decoded: &DecodedEvents| decoded.faults.iter().map(|fault| fault.code).collect::<Vec<_>>();
                assert_eq!(codes(&own), codes(&other), "{} line {} as {found}", file.display(), record[0].0);
                continue;
            }
            assert_eq!(lines(&own), lines(&other), "{} line {} as {found}", file.display(), record[0].0);
        }
    }
}

/// The steps of the Vercel AI SDK hold their messages twice, and those of earlier steps again.
#[test]
fn vercel_steps_make_each_event_once() {
    let call = r#"{"type":"tool-call","toolCallId":"c1","toolName":"pay","input":{}}"#;
    let answer =
        |output: &str| format!(r#"{{"type":"tool-result","toolCallId":"c1","toolName":"pay","output":{output}}}"#);
    let said = r#"{"type":"text","text":"done"}"#;
    let value = answer(r#"{"type":"text","value":"ok"}"#);
    let first = format!(r#"{{"role":"assistant","content":[{call}]}},{{"role":"tool","content":[{value}]}}"#);
    let both = format!(r#"{first},{{"role":"assistant","content":[{said}]}}"#);
    let step = |content: &str, messages: &str| {
        format!(
            r#"{{"stepNumber":0,"content":[{content}],"finishReason":"stop","request":{{}},"response":{{"id":"r","messages":[{messages}]}}}}"#
        )
    };
    let steps = [step(&format!("{call},{}", answer("\"ok\"")), &first), step(said, &both)];
    let result = format!(r#"{{"steps":[{}],"totalUsage":{{}}}}"#, steps.join(","));
    for lines in [vec![&*steps[0], &*steps[1]], vec![&*result]] {
        let values: Vec<_> = lines.iter().map(|line| lictor_json::parse_str(line).unwrap()).collect();
        assert_eq!(Format::detect(&values), Some(Format::Vercel));
        let decoded = crate::reader::decode_lines(Format::Vercel.decoder(), &lines);
        let kinds: Vec<_> = decoded.events.iter().map(|event| event.kind.name()).collect();
        assert_eq!(kinds, ["tool_call", "tool_result", "assistant_message"], "{lines:?}");
        assert!(decoded.faults.is_empty(), "{:?}", decoded.faults);
    }
}

/// One record like those of another format, among messages with calls as OpenAI writes them, does not say what they are.
#[test]
fn odd_record_does_not_choose_the_format() {
    let usual = [
        r#"{"role":"user","content":"hello"}"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"pay","arguments":"{}"}}]}"#,
        r#"{"role":"tool","tool_call_id":"1","content":"ok"}"#,
        r#"{"role":"assistant","content":"done"}"#,
    ];
    let odd = [
        (Format::Bedrock, r#"{"role":"user","content":[{"text":"and now?"}]}"#),
        (Format::Langchain, r#"{"type":"human","content":"and now?"}"#),
    ];
    let detect = |lines: &[&str]| {
        let values: Vec<_> = lines.iter().map(|line| lictor_json::parse_str(line).unwrap()).collect();
        Format::detect(&values)
    };
    for (format, line) in odd {
        for place in 0..=usual.len() {
            let mut lines = usual.to_vec();
            lines.insert(place, line);
            assert_eq!(detect(&lines), Some(Format::OpenaiChat), "{lines:?}");
        }
        // Plain messages among its own are of that format.
        assert_eq!(detect(&[line, usual[0], usual[3]]), Some(format), "{line}");
    }
}
