//! Logs that are almost right: no changed or missing value stops a decoder.

use std::path::Path;

use lictor_decode::Format;
use lictor_json::{Json, Object, parse_str};

use super::golden::files;
use crate::golden_files::exchange_formats;
use crate::reader::{decode, records};

/// A value with its member or element number `place` (counted through the whole value) replaced, or left out.
fn changed(value: &Json, place: &mut usize, with: Option<&Json>) -> Option<Json> {
    if *place == 0 {
        *place = usize::MAX;
        return with.cloned();
    }
    *place -= usize::from(*place != usize::MAX);
    Some(match value {
        Json::Array(items) => Json::Array(items.iter().filter_map(|item| changed(item, place, with)).collect()),
        Json::Object(object) => {
            let members = object.iter().filter_map(|(key, value)| Some((key.clone(), changed(value, place, with)?)));
            Json::Object(members.collect::<Object>())
        }
        other => other.clone(),
    })
}

fn size(value: &Json) -> usize {
    1 + match value {
        Json::Array(items) => items.iter().map(size).sum(),
        Json::Object(object) => object.iter().map(|(_, value)| size(value)).sum(),
        _ => 0,
    }
}

#[test]
fn damaged_value_stops_no_exchange_decoder() {
    let strange =
        ["null", "-7", "\"[DONE]\"", "[]", "{}", "[[\"x\",{\"type\":\"y\"}]]"].map(|text| parse_str(text).unwrap());
    let changes = strange.len() + 1;
    for (format, path) in files() {
        let whole = records(&path);
        for index in 0..whole.len() {
            for place in 0..size(&whole[index].1) {
                // An ordinary run makes two changes at each place, and a run with `LICTOR_CASES=4` all of them.
                let all = strange.iter().map(Some).chain([None]).cycle().skip((index + place) % changes);
                for with in all.take(crate::cases(2).min(changes)) {
                    let mut records = whole.clone();
                    match changed(&whole[index].1, &mut place.clone(), with) {
                        Some(value) => records[index].1 = value,
                        None => drop(records.remove(index)),
                    }
                    let out = decode(format, "file", &records);
                    assert!(!out.events.is_empty() || !out.faults.is_empty() || whole.len() == 1);
                }
            }
        }
    }
}

#[test]
fn exchange_formats_leave_other_logs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if !folder.is_dir() {
        eprintln!("SKIPPED: {} is absent, so no log of another format was read", folder.display());
        return;
    }
    let others = [
        "formats/claude-code/sample_session.jsonl",
        "formats/claude-code/stream_json_output.jsonl",
        "formats/claude-code/hook_pretooluse_input.json",
        "formats/codex/rollout.jsonl",
        "formats/cloudevents/verdict.json",
        "formats/langfuse/ingestion_batch.jsonl",
        "formats/langfuse/observation.json",
        "formats/langsmith/batch_ingest_post_patch.json",
        "formats/langsmith/run_tool.json",
        "formats/ocsf/compliance_finding.json",
        "formats/openai-agents/export.jsonl",
        "formats/openinference/llm_and_tool_spans.json",
        "formats/otel-genai/otlp_traces.json",
        "formats/otel-genai/mcp_tool_call_span.json",
        "formats/otel-genai/legacy_v1.36_events_log_records.json",
        "traces/agentdojo/sample/slack/ut0_none.json",
        "traces/tau-bench-airline/gpt-4o-airline-even.json",
    ];
    for file in others {
        let values: Vec<Json> = records(&folder.join(file)).into_iter().map(|(_, value)| value).collect();
        let found = Format::detect(&values);
        assert!(!found.is_some_and(|format| exchange_formats().contains(&format)), "{file} was taken for {found:?}");
    }
}
