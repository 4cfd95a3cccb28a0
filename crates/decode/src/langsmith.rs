//! LangSmith: runs as its API and exports give them, and batches as its libraries send them.
//!
//! In a batch a run is posted and then patched; a patch without an id is known by the last step of its dotted order.
//! The dotted order also says which of two runs came first. A chain is a frame around other runs. The thread that a
//! run's metadata names is its session; the field `session_id` of a run is its project and names none.

use std::collections::HashMap;

use super::attributes::parse_embedded;
use super::dialect::{self, take_any};
use super::spans::{self, Span, Spans, Work};
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_event::{Arguments, Event, Kind, Source};
use lictor_json::{Json, Object, Text};

/// Whether a record is a run, or a batch of runs.
pub(super) fn recognises(value: &Json) -> bool {
    let batch = |key: &str| value.get(key).and_then(Json::as_array).is_some_and(|runs| runs.iter().any(is_patch));
    is_run(value) || batch("post") || batch("patch") || batch("runs")
}

fn is_run(value: &Json) -> bool {
    value.text("run_type").is_some()
        && ["inputs", "outputs", "dotted_order", "trace_id"].iter().any(|key| value.get(key).is_some())
}

/// Whether a value is a run or as much of it as a patch holds.
fn is_patch(value: &Json) -> bool {
    is_run(value) || value.text("dotted_order").is_some()
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct LangsmithDecoder {
    runs: Vec<(Object, Source)>,
    places: HashMap<Text, usize>,
}

impl Decoder for LangsmithDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        if !recognises(&record.value) && !is_patch(&record.value) {
            return out.faults.push(unknown_record::describe(&record, &record.value));
        }
        let source = record.source();
        let Json::Object(mut value) = record.value else { return };
        let mut waiting = Vec::new();
        for key in ["post", "patch", "runs"] {
            if let Some(Json::Array(runs)) = value.remove(key) {
                waiting.extend(runs);
            }
        }
        if waiting.is_empty() {
            waiting.push(Json::Object(value));
        }
        // Runs may hold the runs below them; a batch is taken in its order.
        waiting.reverse();
        while let Some(run) = waiting.pop() {
            let Json::Object(mut run) = run else {
                out.faults
                    .push(spans::span_fault(&source, "a run of a batch is not an object; it is skipped".to_owned()));
                continue;
            };
            if let Some(Json::Array(mut below)) = run.remove("child_runs") {
                below.reverse();
                waiting.append(&mut below);
            }
            self.merge_run(run, &source);
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        let mut runs = std::mem::take(&mut self.runs);
        runs.sort_by_cached_key(|(run, _)| read_text(run, "dotted_order"));
        let mut spans = Spans::default();
        for (mut run, source) in runs {
            let mut unread = Vec::new();
            let work = read_work(&mut run, &mut unread);
            out.faults.extend(unread.into_iter().map(|message| spans::span_fault(&source, message)));
            spans.push(Span {
                id: run_id(&run),
                parent: read_text(&run, "parent_run_id").or_else(|| dotted_order_id(&run, 1)),
                trace: read_text(&run, "trace_id"),
                session: find_metadata(&run, &["thread_id", "session_id", "conversation_id"]),
                agent: find_metadata(&run, &["agent_name", "lc_agent_name"]),
                start: run.get("start_time").and_then(spans::read_utc_time),
                end: run.get("end_time").and_then(spans::read_utc_time),
                work,
                source,
            });
        }
        spans.emit(out);
    }
}

impl LangsmithDecoder {
    /// Adds a run, or merges a patch into one. Rows of a table hold objects as JSON text.
    fn merge_run(&mut self, mut run: Object, source: &Source) {
        for key in ["inputs", "outputs", "extra"] {
            if run.get(key).is_some_and(|member| member.as_str().is_some())
                && let Some(member) = run.remove(key)
            {
                let is_null = member.as_str() == Some("null");
                run.insert(key, if is_null { Json::Null } else { parse_embedded(member) });
            }
        }
        let id = run_id(&run);
        if let Some(&place) = id.as_ref().and_then(|id| self.places.get(id)) {
            let known = &mut self.runs[place].0;
            for (key, value) in run.into_members() {
                if !value.is_null() {
                    known.insert(key, value);
                }
            }
            return;
        }
        if let Some(id) = id {
            self.places.insert(id, self.runs.len());
        }
        self.runs.push((run, source.clone()));
    }
}

fn read_text(object: &Object, key: &str) -> Option<Text> {
    object.get(key)?.as_str().filter(|text| !text.is_empty()).map(Text::from)
}

fn run_id(run: &Object) -> Option<Text> {
    read_text(run, "id").or_else(|| dotted_order_id(run, 0))
}

/// Returns the run id in the dotted order, `above` steps from its end:
/// `20260801T100000000000ZID.20260801T100001000000ZID`.
fn dotted_order_id(run: &Object, above: usize) -> Option<Text> {
    let order = run.get("dotted_order")?.as_str()?;
    let (_, id) = order.rsplit('.').nth(above)?.split_once('Z')?;
    Some(Text::from(id))
}

fn find_metadata(run: &Object, keys: &[&str]) -> Option<Text> {
    let metadata = run.get("extra")?.get("metadata")?.as_object()?;
    keys.iter().find_map(|key| read_text(metadata, key))
}

/// Returns the work of a run. Unreadable parts go to `unread`.
fn read_work(run: &mut Object, unread: &mut Vec<String>) -> Work {
    let name = read_text(run, "name").unwrap_or_default();
    let failure = read_text(run, "error");
    let inputs = run.remove("inputs").unwrap_or(Json::Null);
    let outputs = run.remove("outputs").unwrap_or(Json::Null);
    match read_text(run, "run_type").as_deref() {
        Some("tool") => {
            read_tool(name, (inputs, outputs), failure, run.get("end_time").is_some_and(|time| !time.is_null()))
        }
        Some("llm") => {
            let (mut input, mut output) = (Vec::new(), Vec::new());
            let parameters = run.get("extra").and_then(|extra| extra.get("invocation_params"));
            let tools = inputs.get("tools").or_else(|| parameters.and_then(|parameters| parameters.get("tools")));
            input.extend(tools.filter(|tools| !tools.is_null()).cloned().map(spans::definitions));
            let mut known = read_said(inputs, Kind::UserMessage, &mut input);
            known &= read_said(outputs, Kind::AssistantMessage, &mut output);
            if let Some(reason) = failure {
                output.push(Event { text: Some(reason), failed: true, ..Event::new(Kind::Error) });
            }
            if !known {
                unread.push(format!("the run `{name}` holds a message of an unknown shape, which is not judged"));
            }
            Work::Model { input, output }
        }
        Some("retriever") => {
            let mut event = Event { tool: Some(name), failed: failure.is_some(), ..Event::new(Kind::Retrieval) };
            event.text = inputs.text("query").or_else(|| inputs.text("input")).map(Text::from);
            event.result = outputs.get("documents").or_else(|| outputs.get("output")).cloned();
            Work::End(Box::new(event))
        }
        Some("chain" | "prompt" | "parser" | "embedding") => Work::Frame,
        other => {
            let sort = other.unwrap_or("none");
            unread.push(format!("the run `{name}` is of the unknown type `{sort}`, so it is not judged"));
            Work::Frame
        }
    }
}

/// Adds the events of a model's input or output: messages, choices, generations, a prompt, or a bare value.
fn read_said(value: Json, speaker: Kind, events: &mut Vec<Event>) -> bool {
    let mut body = match parse_embedded(value) {
        Json::Object(body) => body,
        other => return dialect::read_said(other, speaker, events),
    };
    if let Some(Json::Array(generations)) = body.remove("generations") {
        return dialect::read_each(generations, |generation| read_generation(generation, events));
    }
    if let Some(Json::Array(prompts)) = body.remove("prompts") {
        return dialect::read_each(prompts, |prompt| dialect::read_said(prompt, speaker.clone(), events));
    }
    let asks_or_answers = ["messages", "choices", "input", "output", "prompt", "text"];
    let is_message = ["role", "lc", "data"].iter().any(|key| body.get(key).is_some());
    match take_any(&mut body, if is_message { &[] } else { &asks_or_answers }) {
        Some(inner) => dialect::read_said(inner, speaker, events),
        None if is_message => dialect::read_message(Json::Object(body), events),
        None if body.is_empty() => true,
        None => {
            if body.get("content").is_some() {
                body.insert("role", if speaker == Kind::UserMessage { "user" } else { "assistant" });
                return dialect::read_message(Json::Object(body), events);
            }
            false
        }
    }
}

/// Reads a generation of LangChain: a message, or a text where the model knows no messages.
fn read_generation(generation: Json, events: &mut Vec<Event>) -> bool {
    match generation {
        Json::Array(generations) => dialect::read_each(generations, |generation| read_generation(generation, events)),
        Json::Object(mut generation) => match generation.remove("message").or_else(|| generation.remove("text")) {
            Some(said) => dialect::read_said(said, Kind::AssistantMessage, events),
            None => false,
        },
        _ => false,
    }
}

fn read_tool(name: Text, (inputs, outputs): (Json, Json), failure: Option<Text>, ended: bool) -> Work {
    let mut call = Event { tool: Some(name), ..Event::new(Kind::ToolCall) };
    call.args = Some(read_arguments(inputs));
    let mut answer = Event { tool: call.tool.clone(), ..Event::new(Kind::ToolResult) };
    let answered = ended || failure.is_some() || !outputs.is_null();
    let output = match outputs {
        Json::Object(mut outputs) if outputs.len() == 1 && outputs.get("output").is_some() => {
            outputs.remove("output").unwrap_or(Json::Null)
        }
        outputs => outputs,
    };
    let mut messages = Vec::new();
    let is_message = output.get("lc").is_some() || output.get("tool_call_id").is_some();
    if is_message && dialect::read_message(output.clone(), &mut messages) && messages.len() == 1 {
        // The answer as LangChain's message, which knows the call.
        answer = Event { tool: answer.tool, ..messages.remove(0) };
        call.id.clone_from(&answer.id);
    } else {
        dialect::fill_answer(&mut answer, output);
    }
    if let Some(reason) = failure {
        answer.failed = true;
        if answer.text.is_none() && answer.result.is_none() {
            answer.text = Some(reason);
        }
    }
    Work::Tool { call: Box::new(call), answer: answered.then(|| Box::new(answer)) }
}

/// Reads the arguments of a tool, which LangChain writes as one text, in JSON or in Python's notation.
fn read_arguments(inputs: Json) -> Arguments {
    match inputs {
        Json::Object(mut inputs)
            if inputs.len() == 1 && inputs.get("input").is_some_and(|input| input.as_str().is_some()) =>
        {
            match inputs.remove("input") {
                Some(Json::String(text)) if text.trim_start().starts_with('{') => {
                    Arguments::from_json(Json::String(text))
                }
                Some(input) => {
                    inputs.insert("input", input);
                    Arguments::Value(Json::Object(inputs))
                }
                None => Arguments::Value(Json::Object(inputs)),
            }
        }
        inputs => Arguments::from_json(inputs),
    }
}
