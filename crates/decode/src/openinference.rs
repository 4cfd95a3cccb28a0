//! OpenInference spans, as Phoenix and others export them; inside OTLP they are read by the same conventions.
//!
//! The kind of a span (`openinference.span.kind`) says what it is. Messages are attributes, mostly flattened
//! (`llm.input_messages.0.message.content`). A chain is a frame around other spans, and so is an agent, whose name the
//! spans below it inherit.

use super::flattened::{attribute, opened, structure, text_attribute};
use super::otlp::OtlpDecoder;
use super::spans::otel::RawSpan;
use super::spans::{Work, definitions, policy_check};
use super::{DecodedEvents, Decoder, LogRecord, dialect, unknown};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Object, Text};

/// The attribute that says what a span is.
const KIND: &str = "openinference.span.kind";

/// Whether a record is a span of this kind.
pub(super) fn recognises(value: &Json) -> bool {
    let row = value.get("context.span_id").is_some();
    let kind = value.get("span_kind").is_some() && (row || value.at("context.span_id").is_some());
    kind || value.get("attributes").and_then(Json::as_object).is_some_and(is_span)
}

/// Whether attributes follow OpenInference.
pub(super) fn is_span(attributes: &Object) -> bool {
    text_attribute(attributes, KIND).is_some()
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct OpeninferenceDecoder {
    spans: OtlpDecoder,
}

impl Decoder for OpeninferenceDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        if !recognises(&record.value) {
            return out.faults.push(unknown::fault(&record, &record.value));
        }
        let source = record.source();
        if let Json::Object(span) = record.value {
            self.spans.span(RawSpan::read(unfolded(span)), source);
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.spans.finish(out);
    }
}

/// A span of a table: its columns are called `context.span_id` and `attributes.llm.model_name`, and its kind may stand
/// beside the attributes.
fn unfolded(span: Object) -> Object {
    let mut plain = Object::new();
    let (mut context, mut attributes) = (Object::new(), Object::new());
    for (key, value) in span.into_members() {
        match (key.strip_prefix("context."), key.strip_prefix("attributes."), value) {
            (Some(rest), _, value) => context.insert(rest, value),
            (_, Some(rest), value) => attributes.insert(rest, value),
            (_, _, Json::Object(inner)) if key == "attributes" => {
                inner.into_members().into_iter().for_each(|(key, value)| attributes.insert(key, value));
            }
            (_, _, value) => plain.insert(key, value),
        }
    }
    if let Some(kind) = plain.get("span_kind").cloned()
        && !is_span(&attributes)
    {
        attributes.insert(KIND, kind);
    }
    if !context.is_empty() {
        plain.insert("context", context);
    }
    plain.insert("attributes", attributes);
    plain
}

/// The agent that a span names.
pub(super) fn agent(span: &RawSpan) -> Option<Text> {
    let named = text_attribute(&span.attributes, "agent.name");
    let is_agent = || text_attribute(&span.attributes, KIND).is_some_and(|kind| kind == "AGENT");
    named.or_else(|| (is_agent() && !span.name.is_empty()).then(|| span.name.clone()))
}

/// What a span shows. What cannot be read is told.
pub(super) fn work(span: &mut RawSpan, unread: &mut Vec<String>) -> Work {
    let kind = text_attribute(&span.attributes, KIND).unwrap_or_default();
    match kind.as_str() {
        "LLM" => model(span, unread),
        "TOOL" => tool(span),
        "RETRIEVER" => retrieval(span),
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

fn model(span: &mut RawSpan, unread: &mut Vec<String>) -> Work {
    let (mut input, mut output) = (Vec::new(), Vec::new());
    let attributes = &span.attributes;
    if let Some(Json::Array(tools)) = structure(attributes, "llm.tools") {
        input.push(definitions(Json::Array(tools.into_iter().map(schema).collect())));
    }
    let mut known =
        said(attributes, ["llm.input_messages", "llm.prompts", "input.value"], Kind::UserMessage, &mut input);
    let outputs = ["llm.output_messages", "llm.completions", "output.value"];
    known &= said(attributes, outputs, Kind::AssistantMessage, &mut output);
    if let Some(reason) = span.failure.take() {
        output.push(Event { text: Some(reason), failed: true, ..Event::new(Kind::Error) });
    }
    if !known {
        unread.push(format!("the span `{}` holds a message of an unknown shape, which is not judged", span.name));
    }
    Work::Model { input, output }
}

/// Adds what the first of three attributes says: messages, prompts, or the whole request or response.
fn said(attributes: &Object, names: [&str; 3], speaker: Kind, events: &mut Vec<Event>) -> bool {
    let [messages, prompts, value] = names;
    if let Some(messages) = structure(attributes, messages) {
        return dialect::read_said(messages, speaker, events);
    }
    if let Some(Json::Array(prompts)) = structure(attributes, prompts) {
        let text = |prompt: &Json| prompt.at("prompt.text").or_else(|| prompt.at("completion.text")).cloned();
        let texts = prompts.into_iter().map(|prompt| text(&prompt).unwrap_or(prompt));
        return dialect::each(texts, |text| dialect::read_said(text, speaker.clone(), events));
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

/// The schema of a tool: wrapped, and mostly a JSON text.
fn schema(tool: Json) -> Json {
    let wrapped = tool.at("tool.json_schema").or_else(|| tool.get("tool")).cloned();
    opened(wrapped.unwrap_or(tool))
}

fn tool(span: &mut RawSpan) -> Work {
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
        dialect::answer(&mut answer, if is_json { opened(value) } else { value });
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

fn retrieval(span: &RawSpan) -> Work {
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
