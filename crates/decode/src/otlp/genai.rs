//! The GenAI conventions: what the attributes of spans mean, by all of their names so far.
//!
//! A call of a model has its messages in `gen_ai.input.messages` and `gen_ai.output.messages`, in the older
//! `gen_ai.prompt` and `gen_ai.completion` (as one text, or flattened message by message), in events of its span, or in
//! log records of the same names. A tool's call is a span of its own, with arguments and answer if they were recorded.

use std::collections::HashMap;

use super::traceloop;
use crate::attributes::{attribute, parse_embedded, structure, text_attribute};
use crate::spans::raw_span::{RawEvent, RawSpan};
use crate::spans::{Span, Work};
use crate::{DecodedEvents, dialect, spans};
use lictor_event::{Arguments, Event, Kind, Source};
use lictor_json::{Json, Object, Text};

/// Returns the session that a span names.
pub(super) fn find_session(span: &RawSpan) -> Option<Text> {
    let names = ["gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id"];
    let named = names.iter().find_map(|name| text_attribute(&span.attributes, name));
    // A connection of MCP is a session only where nothing else is.
    named.or_else(|| text_attribute(&span.attributes, "mcp.session.id").filter(|_| span.trace.is_none()))
}

/// Returns the agent that attributes name.
pub(super) fn find_agent(attributes: &Object) -> Option<Text> {
    let named = ["gen_ai.agent.name", "agent.name"].iter().find_map(|name| text_attribute(attributes, name));
    let traced = || (text_attribute(attributes, "traceloop.span.kind")? == "agent").then_some(());
    named.or_else(|| traced().and_then(|()| text_attribute(attributes, "traceloop.entity.name")))
}

/// Returns the work of a span; one that has nothing to do with models is a frame. Unreadable parts go to `unread`.
pub(super) fn read_work(span: &mut RawSpan, unread: &mut Vec<String>) -> Work {
    let Some(operation) = find_operation(span) else { return Work::Frame };
    match operation.as_str() {
        "chat" | "text_completion" | "completion" | "generate_content" | "call_llm" => read_model(span, unread),
        "invoke_agent" | "create_agent" | "invoke_workflow" => match read_model(span, unread) {
            Work::Model { input, output } if input.is_empty() && output.is_empty() => Work::Frame,
            work => work,
        },
        "execute_tool" => read_tool(span),
        "retrieval" => read_retrieval(span),
        "run_guardrail" => Work::End(Box::new(read_policy_check(&span.attributes))),
        "embeddings" => Work::Frame,
        other => {
            unread.push(format!(
                "the span `{}` has the unknown operation `{other}` in `gen_ai.operation.name`, so it is not judged",
                span.name
            ));
            Work::Frame
        }
    }
}

/// Returns the operation of a span, by its name or by its attributes.
fn find_operation(span: &RawSpan) -> Option<Text> {
    let text = |name: &str| text_attribute(&span.attributes, name);
    if let Some(operation) = text("gen_ai.operation.name") {
        return Some(operation);
    }
    let shown = match (text("traceloop.span.kind").as_deref(), text("mcp.method.name").as_deref()) {
        (Some("tool"), _) | (_, Some("tools/call")) => "execute_tool",
        (Some("agent" | "workflow"), _) => "invoke_agent",
        _ if text("gen_ai.tool.name").is_some() => "execute_tool",
        _ if text("llm.request.type").is_some_and(|sort| sort == "embedding") => "embeddings",
        _ if shows_messages(span) => "chat",
        _ => return None,
    };
    Some(Text::from(shown))
}

fn shows_messages(span: &RawSpan) -> bool {
    let names = ["gen_ai.input.", "gen_ai.output.messages", "gen_ai.prompt", "gen_ai.completion"];
    let named = |key: &Text| names.iter().any(|name| key.starts_with(name));
    span.attributes.iter().any(|(key, _)| named(key)) || span.events.iter().any(|event| is_exchange(&event.name))
}

fn is_exchange(name: &str) -> bool {
    let names = ["message", "choice", "content.prompt", "content.completion", "client.inference.operation.details"];
    name.strip_prefix("gen_ai.").is_some_and(|rest| names.iter().any(|name| rest.ends_with(name)))
}

/// Reads the input and the output of a model.
fn read_model(span: &mut RawSpan, unread: &mut Vec<String>) -> Work {
    let mut exchange = ModelExchange::default();
    exchange.attributes(&span.attributes);
    if exchange.is_empty() {
        span.events.drain(..).for_each(|event| exchange.event(event));
    }
    if let Some(reason) = span.failure.take() {
        exchange.output.push(Event { text: Some(reason), failed: true, ..Event::new(Kind::Error) });
    }
    if exchange.unread {
        unread.push(format!("the span `{}` holds a message of an unknown shape, which is not judged", span.name));
    }
    Work::Model { input: exchange.input, output: exchange.output }
}

/// The input and the output of a model, while they are read.
#[derive(Default)]
struct ModelExchange {
    input: Vec<Event>,
    output: Vec<Event>,
    /// Whether a message could not be read.
    unread: bool,
}

impl ModelExchange {
    fn is_empty(&self) -> bool {
        !self.input.iter().chain(&self.output).any(|event| event.kind != Kind::ToolDefinitions)
    }

    fn attributes(&mut self, attributes: &Object) {
        if let Some(tools) = structure(attributes, "gen_ai.tool.definitions") {
            self.input.push(spans::definitions(tools));
        }
        if let Some(instructions) = structure(attributes, "gen_ai.system_instructions") {
            let mut message = Object::new();
            message.insert("role", "system");
            message.insert("content", instructions);
            self.add_input(Json::Object(message));
        }
        for name in ["gen_ai.input.messages", "gen_ai.prompt"] {
            if let Some(said) = attribute(attributes, name) {
                self.add_input(read_messages(said, "user"));
            }
        }
        for name in ["gen_ai.output.messages", "gen_ai.completion"] {
            if let Some(said) = attribute(attributes, name) {
                self.add_output(read_messages(said, "assistant"));
            }
        }
        // A text, or the calls that spans of their own show.
        if self.output.is_empty()
            && let Some(Json::String(said)) = attribute(attributes, "gen_ai.output")
            && !shows_calls(&parse_embedded(Json::String(said.clone())))
        {
            self.output.push(Event { text: Some(said), ..Event::new(Kind::AssistantMessage) });
        }
    }

    /// Takes an event of a span, or a log record.
    fn event(&mut self, mut event: RawEvent) {
        let body = match event.body.take() {
            Json::Object(body) => body,
            Json::String(text) if !text.is_empty() => {
                [("content".into(), parse_embedded(Json::String(text)))].into_iter().collect()
            }
            // Older libraries keep the body in an attribute, or are content with attributes.
            _ => match structure(&event.attributes, "gen_ai.event.content") {
                Some(Json::Object(body)) => body,
                _ => std::mem::take(&mut event.attributes),
            },
        };
        match event.name.as_str() {
            "gen_ai.system.message" => self.add_input(message(body, "system")),
            "gen_ai.user.message" => self.add_input(message(body, "user")),
            "gen_ai.assistant.message" => self.add_input(message(body, "assistant")),
            "gen_ai.tool.message" => self.add_input(message(body, "tool")),
            "gen_ai.choice" => self.add_output(message(body, "assistant")),
            "gen_ai.content.prompt" | "gen_ai.content.completion" | "gen_ai.client.inference.operation.details" => {
                self.attributes(if body.is_empty() { &event.attributes } else { &body });
            }
            _ => {}
        }
    }

    fn add_input(&mut self, said: Json) {
        self.unread |= !dialect::read_said(said, Kind::UserMessage, &mut self.input);
    }

    fn add_output(&mut self, said: Json) {
        self.unread |= !dialect::read_said(said, Kind::AssistantMessage, &mut self.output);
    }
}

/// Returns messages from an attribute: structured, as a JSON text, flattened, or a bare text.
fn read_messages(said: Json, role: &'static str) -> Json {
    match parse_embedded(said) {
        Json::Array(list) => Json::Array(list.into_iter().map(|said| with_role(said, role)).collect()),
        said @ Json::Object(_) => with_role(said, role),
        said => said,
    }
}

fn with_role(said: Json, role: &'static str) -> Json {
    match said {
        Json::Object(body) => message(body, role),
        Json::String(text) => message([("content".into(), Json::String(text))].into_iter().collect(), role),
        said => said,
    }
}

/// Whether an output is a list of calls by their names.
fn shows_calls(output: &Json) -> bool {
    output.as_array().is_some_and(|calls| !calls.is_empty() && calls.iter().all(|call| call.get("tool.name").is_some()))
}

/// Returns a message with a role, its content and calls parsed where they were JSON texts.
fn message(mut body: Object, role: &'static str) -> Json {
    if let Some(inner) = body.remove("message") {
        return with_role(parse_embedded(inner), role);
    }
    if body.get("role").is_none_or(Json::is_null) {
        body.insert("role", role);
    }
    for key in ["content", "tool_calls", "parts"] {
        if let Some(value) = body.remove(key) {
            let inner = parse_embedded(value.clone());
            // A text that happens to be JSON is a text, unless it is a list of parts or calls.
            let is_listed = |part: &Json| part.text("type").is_some() || key == "tool_calls";
            let listed = inner.as_array().is_some_and(|list| list.iter().all(is_listed));
            body.insert(key, if listed { inner } else { value });
        }
    }
    Json::Object(body)
}

/// Reads a tool's call and answer.
fn read_tool(span: &mut RawSpan) -> Work {
    let mut call = Event::new(Kind::ToolCall);
    let text = |name: &str| text_attribute(&span.attributes, name);
    call.tool = text("gen_ai.tool.name").or_else(|| text("mcp.tool.name")).or_else(|| text("traceloop.entity.name"));
    if call.tool.is_none() {
        // By convention a span is called `execute_tool NAME` or `tools/call NAME`.
        let name = span.name.split_once(' ').map_or(span.name.as_str(), |(_, name)| name);
        call.tool = Some(Text::from(name));
    }
    call.id = text("gen_ai.tool.call.id");
    let first = |names: &[&str]| names.iter().find_map(|name| attribute(&span.attributes, name));
    let wrapped = || attribute(&span.attributes, "traceloop.entity.input").map(traceloop::read_arguments);
    let plain = first(&["gen_ai.tool.call.arguments", "gen_ai.tool.args"]).map(Arguments::from_json);
    call.args = plain.or_else(wrapped);
    let mut answer = Event { id: call.id.clone(), tool: call.tool.clone(), ..Event::new(Kind::ToolResult) };
    let mut answered = span.end.is_some();
    if let Some(result) = first(&["gen_ai.tool.call.result", "traceloop.entity.output", "gen_ai.output"]) {
        dialect::fill_answer(&mut answer, parse_embedded(result));
        answered = true;
    } else if let Some(said) = span.events.drain(..).find(|event| event.name == "gen_ai.tool.message") {
        let mut told = ModelExchange::default();
        told.event(said);
        if let Some(told) = told.input.pop() {
            (answer.text, answer.result, answered) = (told.text, told.result, true);
        }
    }
    if let Some(reason) = span.failure.take() {
        (answer.failed, answered) = (true, true);
        if answer.text.is_none() && answer.result.is_none() {
            answer.text = Some(reason);
        }
    }
    Work::Tool { call: Box::new(call), answer: answered.then(|| Box::new(answer)) }
}

/// Reads a retrieval of documents.
fn read_retrieval(span: &RawSpan) -> Work {
    let mut event = Event::new(Kind::Retrieval);
    event.tool = text_attribute(&span.attributes, "gen_ai.data_source.id");
    event.text = text_attribute(&span.attributes, "gen_ai.retrieval.query.text");
    event.result = structure(&span.attributes, "gen_ai.retrieval.documents");
    event.failed = span.failure.is_some();
    Work::End(Box::new(event))
}

/// Reads the verdict of another policy engine: `triggered` unless it allowed.
fn read_policy_check(attributes: &Object) -> Event {
    let text = |name: &str| text_attribute(attributes, &format!("gen_ai.guardrail.{name}"));
    let verdict = text("verdict.type");
    let passed = matches!(verdict.as_deref(), None | Some("allow" | "audit"));
    let mut event = spans::policy_check(text("component.name"), !passed);
    event.id = text("target.id");
    event.text = text("verdict.reason");
    let kept = [
        ("verdict", verdict),
        ("action", text("action.type")),
        ("policy", text("security.policy.id")),
        ("target", text("target.subtype").or_else(|| text("target.type"))),
    ];
    for (key, value) in kept {
        if let Some(value) = value {
            event.more.insert(key, value);
        }
    }
    event
}

/// Reads log records without a span as exchanges with a model: those of one span id together, and those without one up
/// to the choice that ends each exchange.
pub(super) fn read_exchanges(logs: Vec<(RawEvent, Source)>, out: &mut DecodedEvents) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut open: HashMap<Option<Text>, usize> = HashMap::new();
    for (log, source) in logs {
        if log.name == "gen_ai.guardrail.security.finding" {
            let mut event = read_policy_check(&log.attributes);
            event.labels = vec![Text::from("triggered")];
            spans.push(Span { work: Work::End(Box::new(event)), ..log_span(&log, source) });
            continue;
        }
        if !is_exchange(&log.name) {
            continue;
        }
        let place = match open.get(&log.span) {
            Some(&place) => place,
            None => {
                let work = Work::Model { input: Vec::new(), output: Vec::new() };
                spans.push(Span { work, ..log_span(&log, source.clone()) });
                open.insert(log.span.clone(), spans.len() - 1);
                spans.len() - 1
            }
        };
        let ends = log.span.is_none() && (log.name == "gen_ai.choice" || log.name.ends_with("details"));
        if ends {
            open.remove(&log.span);
        }
        let span = &mut spans[place];
        span.end = log.time.or(span.end);
        let mut exchange = ModelExchange::default();
        exchange.event(log);
        if exchange.unread {
            out.faults.push(spans::span_fault(
                &source,
                "an event holds a message of an unknown shape, so it is not judged".to_owned(),
            ));
        }
        if let Work::Model { input, output } = &mut span.work {
            input.append(&mut exchange.input);
            output.append(&mut exchange.output);
        }
    }
    spans
}

/// Returns a span that holds nothing but a log record.
fn log_span(log: &RawEvent, source: Source) -> Span {
    Span {
        id: log.span.clone(),
        trace: log.trace.clone(),
        session: text_attribute(&log.attributes, "gen_ai.conversation.id"),
        agent: find_agent(&log.attributes),
        start: log.time,
        end: log.time,
        source,
        ..Span::default()
    }
}
