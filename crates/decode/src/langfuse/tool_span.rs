//! Observations of Langfuse that are calls of tools.
//!
//! An observation of the type `TOOL` is a call. A plain span is one if the attributes of its tracer say so, if its output
//! is the message of a tool, or if it is timed work with an input, no observation below it, and no sign that it is a step
//! of a framework. The tool's own name and the id of the call come from the attributes or the output, so that the call is
//! the one that the model asked for.

use crate::attributes::{parse_embedded, text_attribute};
use crate::dialect;
use crate::spans::Work;
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Object, Text};

/// Attributes with the name of the tool.
const NAME_ATTRIBUTES: [&str; 4] = ["gen_ai.tool.name", "ai.toolCall.name", "tool.name", "tool_name"];

/// Attributes with the id of the call.
const ID_ATTRIBUTES: [&str; 4] = ["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool_call_id"];

/// Attributes that say what a span is.
const KIND_ATTRIBUTES: [&str; 5] = [
    "gen_ai.operation.name",
    "ai.operationId",
    "langsmith.span.kind",
    "openinference.span.kind",
    "traceloop.span.kind",
];

/// Words before the name of a tool, as tracers name their spans.
const NAME_PREFIXES: [&str; 3] = ["execute_tool ", "running tool: ", "ai.toolCall "];

/// Whether a plain span is a call of a tool.
pub(super) fn is_tool_call(observation: &Object, (input, output): (&Json, &Json), is_parent: bool) -> bool {
    let metadata = read_metadata(observation);
    let kind = KIND_ATTRIBUTES.iter().find_map(|name| find_attribute(&metadata, name));
    match kind.map(|kind| kind.to_ascii_lowercase()).as_deref() {
        Some("execute_tool" | "ai.toolcall" | "tool") => return true,
        Some(_) => return false,
        None => {}
    }
    // The callback of LangChain keeps the arguments of a tool, and of nothing else, as `inputs`.
    let has_inputs = metadata.get("inputs").is_some_and(|inputs| inputs.as_object().is_some());
    let is_named = find_any(&metadata, &NAME_ATTRIBUTES).is_some();
    if is_named || has_inputs || is_tool_message(&parse_embedded(output.clone())) {
        return true;
    }
    let is_step = metadata.get("langgraph_node").is_some() || is_conversation(&parse_embedded(input.clone()));
    !is_parent && !input.is_null() && !is_step
}

/// Whether a value is the message of a tool.
fn is_tool_message(value: &Json) -> bool {
    value.text("tool_call_id").is_some() && (value.text("type") == Some("tool") || value.text("role") == Some("tool"))
}

/// Whether an input is the state of a graph or a list of messages, and no arguments.
fn is_conversation(input: &Json) -> bool {
    let is_message =
        |value: &Json| value.get("content").is_some() && (value.get("role").is_some() || value.get("type").is_some());
    let messages = input.get("messages").unwrap_or(input).as_array().unwrap_or_default();
    messages.iter().any(is_message)
}

/// Returns the work of a call.
pub(super) fn read_tool(
    name: Text,
    observation: &Object,
    (input, output): (Json, Json),
    failure: Option<Text>,
) -> Work {
    let metadata = read_metadata(observation);
    let mut output = output;
    let mut call = Event::new(Kind::ToolCall);
    call.id = find_any(&metadata, &ID_ATTRIBUTES);
    call.tool = find_any(&metadata, &NAME_ATTRIBUTES);
    let mut is_failed = failure.is_some();
    if let message @ Json::Object(_) = parse_embedded(output.clone())
        && is_tool_message(&message)
    {
        call.id = call.id.or_else(|| message.text("tool_call_id").map(Text::from));
        call.tool = call.tool.or_else(|| message.text("name").map(Text::from));
        is_failed |= message.text("status") == Some("error");
        output = message.get("content").cloned().unwrap_or(Json::Null);
    }
    let plain = NAME_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
    call.tool = call.tool.or_else(|| Some(Text::from(plain)));
    call.args = Some(read_arguments(input, &metadata));
    let ended = observation.get("endTime").is_some_and(|time| !time.is_null());
    let answered = ended || is_failed || !output.is_null();
    let mut answer = Event { id: call.id.clone(), tool: call.tool.clone(), ..Event::new(Kind::ToolResult) };
    dialect::fill_answer(&mut answer, output);
    answer.failed = is_failed;
    if answer.text.is_none() && answer.result.is_none() {
        answer.text = failure;
    }
    Work::Tool { call: Box::new(call), answer: answered.then(|| Box::new(answer)) }
}

/// Returns the arguments of a call. The callback of LangChain writes them as Python prints them, and as a value beside.
fn read_arguments(input: Json, metadata: &Object) -> Arguments {
    let input = match (input, metadata.get("inputs")) {
        (Json::String(_), Some(inputs @ Json::Object(_))) => inputs.clone(),
        (input, _) => input,
    };
    // The exporter of LangSmith wraps them once more.
    let is_langsmith = find_attribute(metadata, "langsmith.span.kind").is_some();
    match parse_embedded(input) {
        Json::Object(mut wrapped) if is_langsmith && wrapped.len() == 1 && wrapped.get("input").is_some() => {
            Arguments::from_json(wrapped.remove("input").unwrap_or(Json::Null))
        }
        Json::String(words) if !words.trim_start().starts_with(['{', '[']) => Arguments::Value(Json::String(words)),
        input => Arguments::from_json(input),
    }
}

/// Returns the metadata of an observation, which may be a JSON text.
fn read_metadata(observation: &Object) -> Object {
    match observation.get("metadata").cloned().map(parse_embedded) {
        Some(Json::Object(metadata)) => metadata,
        _ => Object::new(),
    }
}

/// Returns an attribute of the tracer, beside the metadata or among it.
fn find_attribute(metadata: &Object, name: &str) -> Option<Text> {
    let attributes = metadata.get("attributes").and_then(Json::as_object);
    attributes.and_then(|attributes| text_attribute(attributes, name)).or_else(|| text_attribute(metadata, name))
}

fn find_any(metadata: &Object, names: &[&str]) -> Option<Text> {
    names.iter().find_map(|name| find_attribute(metadata, name))
}
