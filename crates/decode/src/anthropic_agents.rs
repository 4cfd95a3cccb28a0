//! Anthropic managed agents: the events of a session, as the client sends them and as the service streams them back.
//!
//! A record is an event, or a call of the client library with its payload: `["client.beta.sessions.…", …]`. An event
//! that the user sends comes back in the stream, with an id and a time; both are one event. It is emitted when it comes
//! back, or when the agent acts first.

use std::collections::{HashMap, HashSet};

use lictor_logic::Time;

use super::chat::failure_event;
use super::chat::{copy_server, mark_refusal, message_event, tool_call};
use super::content::Content;
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_event::content_hash::{self, ContentHash};
use lictor_event::{Event, Kind, parse_time};
use lictor_json::{Json, Text};

/// The prefix of calls of the client library.
const CALL_PREFIX: &str = "client.beta.";

/// Families of events.
const EVENT_FAMILIES: [&str; 5] = ["user.", "agent.", "session.", "span.", "system."];

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    match value {
        Json::Array(call) => call.first().and_then(Json::as_str).is_some_and(|name| name.starts_with(CALL_PREFIX)),
        value => {
            is_event(value) || is_session(value) || list_events(value).is_some_and(|list| list.iter().all(is_event))
        }
    }
}

fn is_event(value: &Json) -> bool {
    let named = value.text("type").is_some_and(|name| EVENT_FAMILIES.iter().any(|family| name.starts_with(family)));
    named && (value.get("processed_at").is_some() || value.text("id").is_none_or(|id| id.starts_with("sevt_")))
}

fn is_session(value: &Json) -> bool {
    value.text("type") == Some("session") && value.get("agent").is_some()
}

/// Returns the events of a page or of a request.
fn list_events(value: &Json) -> Option<&[Json]> {
    let list = value.get("events").or_else(|| value.get("data"))?.as_array()?;
    (!list.is_empty()).then_some(list)
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct AnthropicAgentsDecoder {
    session: Option<Text>,
    agent: Option<Text>,
    /// The agent of each thread.
    threads: HashMap<Text, Text>,
    /// The tool of each call.
    tools: HashMap<Text, Text>,
    /// The ids of emitted events.
    seen: HashSet<Text>,
    /// Events that the user sent and that have not come back yet.
    sent: Vec<SentEvent>,
}

#[derive(Debug)]
struct SentEvent {
    session: Option<Text>,
    hash: ContentHash,
    /// The event, until it is emitted.
    event: Option<Event>,
}

impl Decoder for AnthropicAgentsDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        match &record.value {
            Json::Array(call) => match call.as_slice() {
                [name, payload] if name.as_str().is_some_and(|name| name.starts_with(CALL_PREFIX)) => {
                    self.take_payload(payload, &record, out);
                }
                _ => self.take_payload(&record.value, &record, out),
            },
            // The name of a call, where a file of one call was taken apart.
            Json::String(name) if name.starts_with(CALL_PREFIX) => {}
            value => self.take_payload(value, &record, out),
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.emit_sent(out);
    }
}

impl AnthropicAgentsDecoder {
    fn take_payload(&mut self, payload: &Json, record: &LogRecord, out: &mut DecodedEvents) {
        if let Json::Array(call) = payload
            && let [Json::String(session), request] = call.as_slice()
        {
            self.session = Some(session.clone());
            match list_events(request) {
                Some(events) => events.iter().for_each(|event| self.take_sent(event, record, out)),
                None => out.faults.push(unknown_record::describe(record, request)),
            }
        } else if is_session(payload) {
            self.begin_session(payload, record, out);
        } else if let Some(events) = list_events(payload) {
            events.iter().for_each(|event| self.take_streamed(event, record, out));
        } else {
            self.take_streamed(payload, record, out);
        }
    }

    /// Takes a session: its agent, its instructions, its tools.
    fn begin_session(&mut self, session: &Json, record: &LogRecord, out: &mut DecodedEvents) {
        self.session = session.text("id").map(Text::from);
        if self.session.as_ref().is_some_and(|id| !self.seen.insert(id.clone())) {
            return;
        }
        self.agent = session.at("agent.name").and_then(Json::as_str).map(Text::from);
        let time = session.text("created_at").and_then(parse_time);
        let mut events = vec![Event::new(Kind::SessionStart)];
        if let Some(system) = session.at("agent.system").filter(|system| !system.is_null()) {
            events.push(message_event(Kind::SystemMessage, Content::from_json(system, "\n")));
        }
        if let Some(tools) =
            session.at("agent.tools").filter(|tools| tools.as_array().is_some_and(|list| !list.is_empty()))
        {
            let mut event = Event::new(Kind::ToolDefinitions);
            event.more.insert("tools", tools.clone());
            events.push(event);
        }
        for event in events {
            self.push_event(Event { time, agent: self.agent.clone(), source: record.source(), ..event }, out);
        }
    }

    /// Takes an event that the user sends.
    fn take_sent(&mut self, value: &Json, record: &LogRecord, out: &mut DecodedEvents) {
        match self.read_event(value, record) {
            Some(Some(event)) => {
                let hash = content_hash::extend_hash(&[0; 32], &event);
                self.sent.push(SentEvent { session: self.session.clone(), hash, event: Some(event) });
            }
            Some(None) => {}
            None => out.faults.push(unknown_record::describe(record, value)),
        }
    }

    /// Takes an event that the service streams.
    fn take_streamed(&mut self, value: &Json, record: &LogRecord, out: &mut DecodedEvents) {
        let Some(known) = self.read_event(value, record) else {
            return out.faults.push(unknown_record::describe(record, value));
        };
        let name = value.text("type").unwrap_or_default();
        let is_new = value.text("id").is_none_or(|id| self.seen.insert(id.into()));
        let Some(event) = known.filter(|_| is_new) else { return };
        if name.starts_with("user.") {
            let hash = content_hash::extend_hash(&[0; 32], &event);
            let place = self.sent.iter().position(|sent| sent.session == self.session && sent.hash == hash);
            match place.map(|place| self.sent.remove(place)) {
                // It was emitted before it came back.
                Some(SentEvent { event: None, .. }) => {}
                _ => self.push_event(event, out),
            }
        } else {
            if name.starts_with("agent.") {
                self.emit_sent(out);
            }
            self.push_event(event, out);
        }
    }

    /// Emits the events that the user sent and that did not come back.
    fn emit_sent(&mut self, out: &mut DecodedEvents) {
        let waiting: Vec<(Option<Text>, Event)> =
            self.sent.iter_mut().filter_map(|sent| Some((sent.session.clone(), sent.event.take()?))).collect();
        for (session, event) in waiting {
            out.events.push(Event { session, ..event });
        }
    }

    fn push_event(&self, event: Event, out: &mut DecodedEvents) {
        out.events.push(Event { session: self.session.clone(), ..event });
    }

    /// Reads an event of a session: `Some(None)` if it makes no event here; none if its type is unknown.
    fn read_event(&mut self, value: &Json, record: &LogRecord) -> Option<Option<Event>> {
        let name = value.text("type")?;
        let null = Json::Null;
        let content = || Content::from_json(value.get("content").unwrap_or(&null), "\n");
        let mut event = match name {
            "user.message" => message_event(Kind::UserMessage, content()),
            "system.message" => message_event(Kind::SystemMessage, content()),
            "agent.message" => message_event(Kind::AssistantMessage, content()),
            "agent.tool_use" | "agent.mcp_tool_use" | "agent.custom_tool_use" => self.read_call(value),
            "agent.tool_result" | "agent.mcp_tool_result" | "user.custom_tool_result" | "user.tool_result" => {
                let mut event = message_event(Kind::ToolResult, content());
                event.failed = value.get("is_error").and_then(Json::as_bool).unwrap_or(false);
                self.pair_answer(event, value)
            }
            "user.tool_confirmation" => {
                let kind = match value.text("result") {
                    Some("allow") => Kind::Approval,
                    // Anything but a yes is a no.
                    _ => Kind::Denial,
                };
                let mut event = Event::new(kind);
                event.text = value.text("deny_message").map(Text::from);
                self.pair_answer(event, value)
            }
            "agent.thread_message_sent" => {
                let mut event = message_event(Kind::Handoff, content());
                event.to = value.text("to_agent_name").or_else(|| value.text("to_session_thread_id")).map(Text::from);
                event
            }
            "agent.thread_message_received" => {
                let mut event = message_event(Kind::Other("thread_message".into()), content());
                event.agent = value.text("from_agent_name").map(Text::from);
                event
            }
            "user.interrupt" => Event::new(Kind::Other("interrupt".into())),
            "user.define_outcome" => {
                let mut event = Event::new(Kind::Other("outcome".into()));
                event.text = value.text("description").map(Text::from);
                event
            }
            "session.error" => failure_event(value.get("error").unwrap_or(&null)),
            "session.status_terminated" | "session.deleted" => Event::new(Kind::SessionEnd),
            "session.status_idle" if value.at("stop_reason.type").and_then(Json::as_str) == Some("refusal") => {
                let mut events = Vec::new();
                mark_refusal(&mut events);
                events.pop()?
            }
            "session.thread_created" => {
                if let (Some(thread), Some(agent)) = (value.text("session_thread_id"), value.text("agent_name")) {
                    self.threads.insert(thread.into(), agent.into());
                }
                return Some(None);
            }
            // Progress, costs and reasoning.
            name if name.starts_with("session.") || name.starts_with("span.") => return Some(None),
            "agent.thinking" | "agent.thread_context_compacted" => return Some(None),
            _ => return None,
        };
        event.time = read_time(value);
        event.source = record.source();
        if !name.starts_with("user.") && !name.starts_with("system.") && event.agent.is_none() {
            let thread = value.text("session_thread_id").and_then(|thread| self.threads.get(thread));
            event.agent = thread.or(self.agent.as_ref()).cloned();
        }
        Some(Some(event))
    }

    fn read_call(&mut self, value: &Json) -> Event {
        let mut event = tool_call(value.text("id"), value.text("name"), value.get("input"));
        copy_server(value, "mcp_server_name", &mut event);
        if let Some(permission) = value.get("evaluated_permission").filter(|permission| !permission.is_null()) {
            event.more.insert("permission", permission.clone());
        }
        if let (Some(id), Some(tool)) = (&event.id, &event.tool) {
            self.tools.insert(id.clone(), tool.clone());
        }
        event
    }

    /// Sets the id and the tool of an answer from its call.
    fn pair_answer(&self, mut event: Event, value: &Json) -> Event {
        let keys = ["tool_use_id", "mcp_tool_use_id", "custom_tool_use_id"];
        event.id = keys.iter().find_map(|key| value.text(key)).map(Text::from);
        event.tool = event.id.as_ref().and_then(|id| self.tools.get(id)).cloned();
        event
    }
}

fn read_time(value: &Json) -> Option<Time> {
    value.text("processed_at").and_then(parse_time)
}
