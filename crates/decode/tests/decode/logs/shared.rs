//! Files that others wrote, where they are at hand: how many events of each kind they hold.
//!
//! The counts of single files were made by reading them; those of the large sets by a script that shares no code with
//! the decoders.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use lictor_decode::{DecodedEvents, Format};
use lictor_event::{Arguments, Kind};
use lictor_json::{self as json, Json};

use super::golden::detected;
use crate::reader::{decode, lines, records};

/// A folder of the reference material, or nothing and a word about it.
fn folder(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not here, so nothing of it was tested", path.display());
    None
}

/// `kind=count` for each kind, in alphabetical order.
fn counts(out: &DecodedEvents) -> String {
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for event in &out.events {
        *kinds.entry(event.kind.to_string()).or_default() += 1;
    }
    kinds.iter().map(|(kind, count)| format!("{kind}={count}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn shared_logs_are_detected_and_counted() {
    let Some(formats) = folder("formats") else { return };
    let cases = [
        ("otel-genai/otlp_traces.json", "otlp", "tool_call=1 tool_result=1 user_message=1"),
        (
            "otel-genai/legacy_v1.36_events_log_records.json",
            "otlp",
            "assistant_message=1 system_message=1 tool_call=1 tool_result=1 user_message=1",
        ),
        ("otel-genai/mcp_tool_call_span.json", "otlp", "tool_call=1 tool_result=1"),
        ("otel-genai/guardrail_emission_proposal.json", "otlp", "policy_check=1"),
        ("openinference/llm_and_tool_spans.json", "openinference", "tool_call=1 tool_result=1 user_message=1"),
        ("langfuse/observation.json", "langfuse", "tool_call=1 tool_result=1"),
        ("langfuse/ingestion_batch.jsonl", "langfuse", "tool_call=1"),
        ("langsmith/run_tool.json", "langsmith", "tool_call=1 tool_result=1"),
        ("langsmith/batch_ingest_post_patch.json", "langsmith", "assistant_message=1 user_message=1"),
        ("openai-agents/export.jsonl", "openai-agents", "handoff=1 policy_check=1 tool_call=1 tool_result=1"),
        (
            "claude-code/sample_session.jsonl",
            "claude-code",
            "assistant_message=2 tool_call=2 tool_result=2 user_message=2",
        ),
        (
            "claude-code/stream_json_output.jsonl",
            "claude-code",
            "session_start=1 tool_call=1 tool_definitions=1 tool_result=1",
        ),
        ("claude-code/hook_pretooluse_input.json", "claude-code", "tool_call=1"),
        (
            "codex/rollout.jsonl",
            "codex",
            "assistant_message=1 session_start=1 tool_call=1 tool_result=1 user_message=1",
        ),
        ("xes/minimal.xes", "xes", "tool_call=2"),
    ];
    for (file, format, expected) in cases {
        let path = formats.join(file);
        let records = records(&path);
        let found = detected(&records).unwrap_or_else(|| panic!("{file} is not known"));
        assert_eq!(found.name(), format, "{file}");
        let out = decode(found, file, &records);
        assert_eq!(counts(&out), expected, "{file}\n{}", lines(&out));
        assert!(out.faults.is_empty(), "{file}: {:?}", out.faults);
    }
}

/// The smallest shapes of formats, in each of which the agent acts once.
#[test]
fn shared_shapes_keep_their_call() {
    let Some(shapes) = folder("formats/shapes") else { return };
    let cases = [
        ("bedrock_converse.json", "bedrock", "assistant_message=1 tool_call=1 tool_result=1 user_message=1"),
        ("vercel_modelmessages.json", "vercel", "tool_call=1 tool_result=1 user_message=1"),
        ("vercel_uimessages.json", "vercel", "assistant_message=1 tool_call=1 tool_result=1 user_message=1"),
        ("langchain_dicts.json", "langchain", "tool_call=1 tool_result=1 user_message=1"),
        ("langchain_messages.json", "langchain", "tool_call=1 tool_result=1 user_message=1"),
        ("langgraph_state.json", "langchain", "tool_call=1 tool_result=1 user_message=1"),
        ("gemini_contents.json", "gemini", "assistant_message=1 tool_call=1 tool_result=1 user_message=1"),
        ("pydantic_ai.json", "pydantic-ai", "tool_call=1 tool_result=1 user_message=1"),
        ("autogen_messages.json", "autogen", "tool_call=1 tool_result=1 user_message=1"),
        ("semantic_kernel.json", "semantic-kernel", "tool_call=1 tool_result=1 user_message=1"),
        ("gemini_cli_session.json", "gemini-cli", "tool_call=1 tool_result=1 user_message=1"),
        ("openai_assistants.json", "openai-assistants", "tool_call=1 tool_result=1"),
        ("jaeger_otel.json", "jaeger", "tool_call=1"),
        ("openhands_events.json", "openhands", "tool_call=1 tool_result=1 user_message=1"),
    ];
    for (file, format, expected) in cases {
        check_shared(&shapes.join(file), format, expected);
    }
}

/// Files that other projects ship with their tests, counted by reading them.
#[test]
fn shared_wild_logs_are_detected_and_counted() {
    let Some(wild) = folder("formats/wild") else { return };
    let cases = [
        (
            "SWE-agent__function_calling_simple.traj",
            "swe-agent",
            "assistant_message=5 session_start=1 system_message=1 tool_call=5 tool_result=5 user_message=1",
        ),
        (
            "SWE-agent__pydicom__pydicom-1458.traj",
            "swe-agent",
            "assistant_message=12 session_start=1 system_message=1 tool_call=12 tool_result=11 user_message=1",
        ),
        (
            "autogen__history-wile_e_coyote_1.json",
            "autogen",
            "assistant_message=2 tool_call=1 tool_result=1 user_message=2",
        ),
        ("adk-python__sample.session.json", "adk", "assistant_message=4 tool_call=2 tool_result=2 user_message=1"),
        (
            "mini-swe-agent__local.traj.json",
            "swe-agent",
            "assistant_message=2 system_message=1 tool_call=2 tool_result=2 user_message=1",
        ),
        (
            "inspect_ai__log_read_sample.json",
            "inspect",
            "assistant_message=1 session_start=1 system_message=1 user_message=1",
        ),
        (
            "inspect_ai__log_streaming.eval",
            "inspect",
            "assistant_message=4 session_start=4 system_message=4 user_message=4",
        ),
    ];
    for (file, format, expected) in cases {
        check_shared(&wild.join(file), format, expected);
    }
}

/// Traces that Langfuse shows as examples: each call once, under the name of its tool.
#[test]
fn shared_langfuse_traces_have_each_call_once() {
    let Some(wild) = folder("formats/wild") else { return };
    let cases: [(&str, &[&str]); 6] = [
        ("autogen-2025-06-06", &[]),
        ("claude-agent-2025-12-22", &["mcp__weather__get_weather", "mcp__weather__get_weather"]),
        ("google-adk-2025-08-28", &["say_hello"]),
        ("langgraph-python-2025-08-22", &["Web-Search"]),
        ("pydantic-ai-2025-06-06", &[]),
        ("vercel-aisdk-2025-11-17", &["getWeather"]),
    ];
    for (name, expected) in cases {
        let records = records(&wild.join(format!("langfuse__{name}.trace.json")));
        assert_eq!(detected(&records).map(Format::name), Some("langfuse"), "{name}");
        let out = decode(Format::Langfuse, name, &records);
        let tools = |kind: Kind| {
            let events = out.events.iter().filter(|event| event.kind == kind);
            events.map(|event| event.tool.clone().unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(tools(Kind::ToolCall), expected, "{name}\n{}", lines(&out));
        assert_eq!(tools(Kind::ToolResult), expected, "{name}\n{}", lines(&out));
    }
}

fn check_shared(path: &Path, format: &str, expected: &str) {
    let records = records(path);
    let found = detected(&records).unwrap_or_else(|| panic!("{} is not known", path.display()));
    assert_eq!(found.name(), format, "{}", path.display());
    let out = decode(found, "file", &records);
    assert_eq!(counts(&out), expected, "{}\n{}", path.display(), lines(&out));
    assert!(out.faults.is_empty(), "{}: {:?}", path.display(), out.faults);
}

#[test]
fn shared_logs_of_other_formats_are_skipped() {
    let Some(formats) = folder("formats") else { return };
    let ours = ["otlp", "openinference", "langfuse", "langsmith", "openai-agents", "claude-code", "codex"];
    let benchmarks = ["xes", "agentdojo", "tau-bench", "toolemu"];
    let others = [
        "a2a",
        "anthropic",
        "anthropic-managed-agents",
        "cloudevents",
        "mcp",
        "ocsf",
        "openai-chat",
        "openai-responses",
    ];
    for folder in others {
        for entry in fs::read_dir(formats.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending == "langsmith-sdk") {
                continue;
            }
            let found = detected(&records(&path));
            let stolen = found.is_some_and(|found| ours.iter().chain(&benchmarks).any(|name| found.name() == *name));
            assert!(!stolen, "{} is taken for {found:?}", path.display());
        }
    }
}

/// The contents of runs beside the counts of kinds.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    kinds: String,
    failed: usize,
    labelled: usize,
    unparsed: usize,
    sessions: usize,
}

/// Tallies runs, and checks that each answer has the id and the tool of one call before it, and of no other's.
fn tally(format: Format, records: &[(u32, Json)]) -> Tally {
    let out = decode(format, "runs", records);
    assert!(out.faults.is_empty(), "{:?}", out.faults.first());
    let mut open = HashSet::new();
    let mut given = HashSet::new();
    let mut tally = Tally { kinds: counts(&out), ..Tally::default() };
    let mut sessions = HashSet::new();
    for event in &out.events {
        let call = (event.session.clone(), event.id.clone(), event.tool.clone());
        match event.kind {
            Kind::SessionStart => assert!(sessions.insert(event.session.clone()), "{:?} begins twice", event.session),
            Kind::ToolCall => {
                assert!(given.insert((event.session.clone(), event.id.clone())), "{call:?} has the id of another");
                open.insert(call);
                tally.unparsed += usize::from(matches!(event.args, Some(Arguments::Unparsed(_))));
            }
            Kind::ToolResult => {
                assert!(open.remove(&call), "{call:?} answers no call");
                tally.failed += usize::from(event.failed);
                tally.labelled += usize::from(event.labels.iter().any(|label| label == "injection_detected"));
            }
            _ => {}
        }
    }
    tally.sessions = sessions.len();
    tally
}

#[test]
fn agentdojo_all_runs_are_read() {
    let Some(folder) = folder("traces/agentdojo") else { return };
    let records = records(&folder.join("runs.jsonl.zst"));
    assert_eq!(detected(&records).map(Format::name), Some("agentdojo"));
    let expected = Tally {
        kinds: "assistant_message=26142 session_start=9219 system_message=9163 tool_call=34411 tool_result=34222 \
                user_message=16419"
            .to_owned(),
        failed: 1830,
        labelled: 9777,
        unparsed: 0,
        sessions: 9219,
    };
    assert_eq!(tally(Format::Agentdojo, &records), expected);
}

#[test]
fn agentdojo_single_run_files_are_read() {
    let Some(folder) = folder("traces/agentdojo/sample") else { return };
    let mut runs = Vec::new();
    for suite in ["banking", "slack", "travel", "workspace"] {
        for entry in fs::read_dir(folder.join(suite)).unwrap() {
            let path = entry.unwrap().path();
            let run = records(&path);
            assert_eq!(detected(&run).map(Format::name), Some("agentdojo"), "{}", path.display());
            runs.extend(run);
        }
    }
    let expected = Tally {
        kinds: "assistant_message=50 session_start=48 system_message=48 tool_call=171 tool_result=171 user_message=48"
            .to_owned(),
        failed: 5,
        labelled: 37,
        unparsed: 0,
        sessions: 48,
    };
    assert_eq!(tally(Format::Agentdojo, &runs), expected);
}

#[test]
fn tau_bench_all_runs_are_read() {
    let Some(folder) = folder("traces/tau-bench-airline") else { return };
    let path = folder.join("gpt-4o-airline-even.json");
    let records = records(&path);
    assert_eq!(detected(&records).map(Format::name), Some("tau-bench"));
    let expected = Tally {
        kinds:
            "assistant_message=615 session_start=100 system_message=100 tool_call=577 tool_result=577 user_message=686"
                .to_owned(),
        failed: 21,
        labelled: 0,
        unparsed: 0,
        sessions: 100,
    };
    assert_eq!(tally(Format::TauBench, &records), expected);
}

#[test]
fn toolemu_all_runs_are_read() {
    let Some(folder) = folder("traces/toolemu-safety") else { return };
    let records = records(&folder.join("trajectories.jsonl.zst"));
    assert_eq!(detected(&records).map(Format::name), Some("toolemu"));
    let expected = Tally {
        kinds: "assistant_message=972 session_start=972 tool_call=1454 tool_result=1454 user_message=972".to_owned(),
        failed: 119,
        labelled: 0,
        unparsed: 10,
        sessions: 972,
    };
    assert_eq!(tally(Format::Toolemu, &records), expected);
}

#[test]
fn actions_equal_counts_of_their_authors() {
    let Some(folder) = folder("peers/trac") else { return };
    let golden = json::parse(&fs::read(folder.join("trac_golden_released.json")).unwrap()).unwrap();
    let mut files = 0;
    for (world, logs) in golden.as_object().unwrap().iter() {
        for (name, log) in logs.as_object().unwrap().iter() {
            let path = folder.join(world.as_str()).join(name.as_str());
            let records = records(&path);
            assert_eq!(detected(&records).map(Format::name), Some("actions"), "{}", path.display());
            let out = decode(Format::Actions, name, &records);
            let steps = log.get("steps").and_then(Json::as_i64).unwrap();
            // One log has a blank line between two episodes, which its authors count as a step.
            let blank = i64::from(world == "scienceworld" && name == "out10.txt");
            assert_eq!(i64::try_from(out.events.len()).unwrap(), steps - blank, "{}", path.display());
            assert!(out.faults.is_empty() && out.events.iter().all(|event| event.seq.is_some()), "{}", path.display());
            files += 1;
        }
    }
    assert_eq!(files, 37);
}
