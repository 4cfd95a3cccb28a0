//! The OpenInference conventions: what the attributes of its spans mean.
//!
//! The kind of a span (`openinference.span.kind`) says what it is. Messages are attributes, mostly flattened
//! (`llm.input_messages.0.message.content`). A chain is a frame around other spans, and so is an agent, whose name the
//! spans below it inherit.

use crate::attributes::{attribute, parse_embedded, structure, text_attribute};
use crate::dialect;
use crate::spans::raw_span::RawSpan;
use crate::spans::{Work, definitions, policy_check};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Object, Text};

/// The attribute that says what a span is.
pub(crate) const KIND_ATTRIBUTE: &str = "openinference.span.kind";

/// Whether attributes follow OpenInference.
pub(crate) fn is_span(attributes: &Object) -> bool {
    text_attribute(attributes, KIND_ATTRIBUTE).is_some()
}

/// Returns the agent that a span names.
pub(super) fn find_agent(span: &RawSpan) -> Option<Text> {
    let named = text_attribute(&span.attributes, "agent.name");
    let is_agent = || text_attribute(&span.attributes, KIND_ATTRIBUTE).is_some_and(|kind| kind == "AGENT");
    named.or_else(|| (is_agent() && !span.name.is_empty()).then(|| span.name.clone()))
}

/// Returns the work of a span. Unreadable parts go to `unread`.
pub(super) fn read_work(span: &mut RawSpan, unread: &mut Vec<String>) -> Work {
    let kind = text_attribute(&span.attributes, KIND_ATTRIBUTE).unwrap_or_default();
    match kind.as_str() {
        "LLM" => read_model(span, unread),
        "TOOL" => read_tool(span),
        "RETRIEVER" => read_retrieval(span),
        "GUARDRAIL" => {
            let mut event = policy_check(Some(span.name.clone()), span.failure.is_some());
            event.text = text_attribute(&span.attributes, "output.value");
            Work::End(Box::new(event))
        }
        "AGENT" | "CHAIN" | "EMBEDDING" | "RERANKER" | "EVALUATOR" | "PROMPT" | "UNKNOWN" => Work::Frame,
        other => {
            unread.push(format!("the span `{}` is of the unknown kind `{other}`, so it is not judged", span.name));
            Work::Frame
        }
    }
}

fn read_model(span: &mut RawSpan, unread: &mut Vec<String>) -> Work {
    let (mut input, mut output) = (Vec::new(), Vec::new());
    let attributes = &span.attributes;
    if let Some(Json::Array(tools)) = structure(attributes, "llm.tools") {
        input.push(definitions(Json::Array(tools.into_iter().map(tool_schema).collect())));
    }
    let mut known =
        read_said(attributes, ["llm.input_messages", "llm.prompts", "input.value"], Kind::UserMessage, &mut input);
    let outputs = ["llm.output_messages", "llm.completions", "output.value"];
    known &= read_said(attributes, outputs, Kind::AssistantMessage, &mut output);
    if let Some(reason) = span.failure.take() {
        output.push(Event { text: Some(reason), failed: true, ..Event::new(Kind::Error) });
    }
    if !known {
        unread.push(format!("the span `{}` holds a message of an unknown shape, which is not judged", span.name));
    }
    Work::Model { input, output }
}

/// Adds the events of the first attribute present: messages, prompts, or the whole request or response.
fn read_said(attributes: &Object, names: [&str; 3], speaker: Kind, events: &mut Vec<Event>) -> bool {
    let [messages, prompts, value] = names;
    if let Some(messages) = structure(attributes, messages) {
        return dialect::read_said(messages, speaker, events);
    }
    if let Some(Json::Array(prompts)) = structure(attributes, prompts) {
        let text = |prompt: &Json| prompt.at("prompt.text").or_else(|| prompt.at("completion.text")).cloned();
        let texts = prompts.into_iter().map(|prompt| text(&prompt).unwrap_or(prompt));
        return dialect::read_each(texts, |text| dialect::read_said(text, speaker.clone(), events));
    }
    match structure(attributes, value) {
        Some(Json::Object(mut body)) => match dialect::take_any(&mut body, &["messages", "choices", "content"]) {
            Some(messages) => dialect::read_said(messages, speaker, events),
            None => dialect::read_said(Json::String(Json::Object(body).to_string().into()), speaker, events),
        },
        Some(messages @ Json::Array(_)) => dialect::read_said(messages, speaker, events),
        Some(Json::String(text)) => dialect::read_said(Json::String(text), speaker, events),
        _ => true,
    }
}

/// Returns the schema of a tool, which is wrapped and mostly a JSON text.
fn tool_schema(tool: Json) -> Json {
    let wrapped = tool.at("tool.json_schema").or_else(|| tool.get("tool")).cloned();
    parse_embedded(wrapped.unwrap_or(tool))
}

fn read_tool(span: &mut RawSpan) -> Work {
    let attributes = &span.attributes;
    let mut call = Event::new(Kind::ToolCall);
    let text = |name: &str| text_attribute(attributes, name);
    call.tool = text("tool.name").or_else(|| text("tool_call.function.name")).or_else(|| Some(span.name.clone()));
    call.id = text("tool.id").or_else(|| text("tool_call.id"));
    let arguments = ["input.value", "tool_call.function.arguments"].iter().find_map(|name| attribute(attributes, name));
    call.args = arguments.map(|value| match value {
        // A tool that takes one text is given just that.
        Json::String(text) if !text.trim_start().starts_with(['{', '[', '"']) => Arguments::Value(Json::String(text)),
        value => Arguments::from_json(value),
    });
    let mut answer = Event { id: call.id.clone(), tool: call.tool.clone(), ..Event::new(Kind::ToolResult) };
    if let Some(value) = attribute(attributes, "output.value") {
        let is_json = text("output.mime_type").is_some_and(|sort| sort == "application/json");
        dialect::fill_answer(&mut answer, if is_json { parse_embedded(value) } else { value });
    }
    if let Some(reason) = span.failure.take() {
        answer.failed = true;
        if answer.text.as_ref().is_none_or(|text| text.is_empty()) && answer.result.is_none() {
            answer.text = Some(reason);
        }
    }
    let answered = span.end.is_some() || answer.failed || answer.text.is_some() || answer.result.is_some();
    Work::Tool { call: Box::new(call), answer: answered.then(|| Box::new(answer)) }
}

fn read_retrieval(span: &RawSpan) -> Work {
    let mut event = Event::new(Kind::Retrieval);
    event.tool = Some(span.name.clone());
    event.text = text_attribute(&span.attributes, "input.value");
    event.failed = span.failure.is_some();
    let documents =
        structure(&span.attributes, "retrieval.documents").or_else(|| structure(&span.attributes, "output.value"));
    event.result = documents.map(|documents| match documents {
        Json::Array(documents) => {
            let inner = |document: Json| document.get("document").cloned().unwrap_or(document);
            Json::Array(documents.into_iter().map(inner).collect())
        }
        other => other,
    });
    Work::End(Box::new(event))
}
