//! Anthropic managed agents: the events of a session, as the client sends them and as the service streams them back.
//!
//! A record is an event, or a call of the client library with what it carried: `["client.beta.sessions.…", …]`. What
//! the user sends comes back in the stream, with an id and a time; it is one event. It is told when it comes back, or
//! when the agent acts first.

use std::collections::{HashMap, HashSet};

use lictor_logic::Time;

use super::chat::{copy_server, refuse, said, tool_call};
use super::content::Content;
use super::openai_chat::failure;
use super::{DecodedEvents, Decoder, LogRecord, unknown};
use lictor_event::content_hash::{self, ContentHash};
use lictor_event::{Event, Kind, parse_time};
use lictor_json::{Json, Text};

/// How the calls of the client library are named.
const CALLS: &str = "client.beta.";

/// Families of events.
const FAMILIES: [&str; 5] = ["user.", "agent.", "session.", "span.", "system."];

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    match value {
        Json::Array(call) => call.first().and_then(Json::as_str).is_some_and(|name| name.starts_with(CALLS)),
        value => is_event(value) || is_session(value) || listed(value).is_some_and(|list| list.iter().all(is_event)),
    }
}

fn is_event(value: &Json) -> bool {
    let named = value.text("type").is_some_and(|name| FAMILIES.iter().any(|family| name.starts_with(family)));
    named && (value.get("processed_at").is_some() || value.text("id").is_none_or(|id| id.starts_with("sevt_")))
}

fn is_session(value: &Json) -> bool {
    value.text("type") == Some("session") && value.get("agent").is_some()
}

/// The events of a page or of a request.
fn listed(value: &Json) -> Option<&[Json]> {
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
    /// Events that were told, by id.
    told: HashSet<Text>,
    /// What the user sent and what did not come back yet.
    sent: Vec<Sent>,
}

#[derive(Debug)]
struct Sent {
    session: Option<Text>,
    print: ContentHash,
    /// The event, until it is told.
    event: Option<Event>,
}

impl Decoder for AnthropicAgentsDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        match &record.value {
            Json::Array(call) => match call.as_slice() {
                [name, payload] if name.as_str().is_some_and(|name| name.starts_with(CALLS)) => {
                    self.payload(payload, &record, out);
                }
                _ => self.payload(&record.value, &record, out),
            },
            // The name of a call, where a file of one call was taken apart.
            Json::String(name) if name.starts_with(CALLS) => {}
            value => self.payload(value, &record, out),
        }
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.tell_sent(out);
    }
}

impl AnthropicAgentsDecoder {
    fn payload(&mut self, payload: &Json, record: &LogRecord, out: &mut DecodedEvents) {
        if let Json::Array(call) = payload
            && let [Json::String(session), request] = call.as_slice()
        {
            self.session = Some(session.clone());
            match listed(request) {
                Some(events) => events.iter().for_each(|event| self.send(event, record, out)),
                None => out.faults.push(unknown::fault(record, request)),
            }
        } else if is_session(payload) {
            self.begin(payload, record, out);
        } else if let Some(events) = listed(payload) {
            events.iter().for_each(|event| self.stream(event, record, out));
        } else {
            self.stream(payload, record, out);
        }
    }

    /// Takes a session: who acts in it, by which instructions, with which tools.
    fn begin(&mut self, session: &Json, record: &LogRecord, out: &mut DecodedEvents) {
        self.session = session.text("id").map(Text::from);
        if self.session.as_ref().is_some_and(|id| !self.told.insert(id.clone())) {
            return;
        }
        self.agent = session.at("agent.name").and_then(Json::as_str).map(Text::from);
        let time = session.text("created_at").and_then(parse_time);
        let mut events = vec![Event::new(Kind::SessionStart)];
        if let Some(system) = session.at("agent.system").filter(|system| !system.is_null()) {
            events.push(said(Kind::SystemMessage, Content::of(system, "\n")));
        }
        if let Some(tools) =
            session.at("agent.tools").filter(|tools| tools.as_array().is_some_and(|list| !list.is_empty()))
        {
            let mut event = Event::new(Kind::ToolDefinitions);
            event.more.insert("tools", tools.clone());
            events.push(event);
        }
        for event in events {
            self.push(Event { time, agent: self.agent.clone(), source: record.source(), ..event }, out);
        }
    }

    /// Takes an event that the user sends.
    fn send(&mut self, value: &Json, record: &LogRecord, out: &mut DecodedEvents) {
        match self.event(value, record) {
            Some(Some(event)) => {
                let print = content_hash::extend_hash(&[0; 32], &event);
                self.sent.push(Sent { session: self.session.clone(), print, event: Some(event) });
            }
            Some(None) => {}
            None => out.faults.push(unknown::fault(record, value)),
        }
    }

    /// Takes an event that the service tells.
    fn stream(&mut self, value: &Json, record: &LogRecord, out: &mut DecodedEvents) {
        let Some(known) = self.event(value, record) else {
            return out.faults.push(unknown::fault(record, value));
        };
        let name = value.text("type").unwrap_or_default();
        let is_new = value.text("id").is_none_or(|id| self.told.insert(id.into()));
        let Some(event) = known.filter(|_| is_new) else { return };
        if name.starts_with("user.") {
            let print = content_hash::extend_hash(&[0; 32], &event);
            let place = self.sent.iter().position(|sent| sent.session == self.session && sent.print == print);
            match place.map(|place| self.sent.remove(place)) {
                // It was told before it came back.
                Some(Sent { event: None, .. }) => {}
                _ => self.push(event, out),
            }
        } else {
            if name.starts_with("agent.") {
                self.tell_sent(out);
            }
            self.push(event, out);
        }
    }

    /// Tells what the user sent and what did not come back.
    fn tell_sent(&mut self, out: &mut DecodedEvents) {
        let waiting: Vec<(Option<Text>, Event)> =
            self.sent.iter_mut().filter_map(|sent| Some((sent.session.clone(), sent.event.take()?))).collect();
        for (session, event) in waiting {
            out.events.push(Event { session, ..event });
        }
    }

    fn push(&self, event: Event, out: &mut DecodedEvents) {
        out.events.push(Event { session: self.session.clone(), ..event });
    }

    /// What an event of a session is: nothing worth telling, or an event; none if its type is not known.
    fn event(&mut self, value: &Json, record: &LogRecord) -> Option<Option<Event>> {
        let name = value.text("type")?;
        let null = Json::Null;
        let content = || Content::of(value.get("content").unwrap_or(&null), "\n");
        let mut event = match name {
            "user.message" => said(Kind::UserMessage, content()),
            "system.message" => said(Kind::SystemMessage, content()),
            "agent.message" => said(Kind::AssistantMessage, content()),
            "agent.tool_use" | "agent.mcp_tool_use" | "agent.custom_tool_use" => self.call(value),
            "agent.tool_result" | "agent.mcp_tool_result" | "user.custom_tool_result" | "user.tool_result" => {
                let mut event = said(Kind::ToolResult, content());
                event.failed = value.get("is_error").and_then(Json::as_bool).unwrap_or(false);
                self.pair(event, value)
            }
            "user.tool_confirmation" => {
                let kind = match value.text("result") {
                    Some("allow") => Kind::Approval,
                    // Whatever is not a yes is a no.
                    _ => Kind::Denial,
                };
                let mut event = Event::new(kind);
                event.text = value.text("deny_message").map(Text::from);
                self.pair(event, value)
            }
            "agent.thread_message_sent" => {
                let mut event = said(Kind::Handoff, content());
                event.to = value.text("to_agent_name").or_else(|| value.text("to_session_thread_id")).map(Text::from);
                event
            }
            "agent.thread_message_received" => {
                let mut event = said(Kind::Other("thread_message".into()), content());
                event.agent = value.text("from_agent_name").map(Text::from);
                event
            }
            "user.interrupt" => Event::new(Kind::Other("interrupt".into())),
            "user.define_outcome" => {
                let mut event = Event::new(Kind::Other("outcome".into()));
                event.text = value.text("description").map(Text::from);
                event
            }
            "session.error" => failure(value.get("error").unwrap_or(&null)),
            "session.status_terminated" | "session.deleted" => Event::new(Kind::SessionEnd),
            "session.status_idle" if value.at("stop_reason.type").and_then(Json::as_str) == Some("refusal") => {
                let mut events = Vec::new();
                refuse(&mut events);
                events.pop()?
            }
            "session.thread_created" => {
                if let (Some(thread), Some(agent)) = (value.text("session_thread_id"), value.text("agent_name")) {
                    self.threads.insert(thread.into(), agent.into());
                }
                return Some(None);
            }
            // How far the session is, what it costs, what the model thinks.
            name if name.starts_with("session.") || name.starts_with("span.") => return Some(None),
            "agent.thinking" | "agent.thread_context_compacted" => return Some(None),
            _ => return None,
        };
        event.time = time_of(value);
        event.source = record.source();
        if !name.starts_with("user.") && !name.starts_with("system.") && event.agent.is_none() {
            let thread = value.text("session_thread_id").and_then(|thread| self.threads.get(thread));
            event.agent = thread.or(self.agent.as_ref()).cloned();
        }
        Some(Some(event))
    }

    fn call(&mut self, value: &Json) -> Event {
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

    /// Gives an answer the id and the tool of its call.
    fn pair(&self, mut event: Event, value: &Json) -> Event {
        let keys = ["tool_use_id", "mcp_tool_use_id", "custom_tool_use_id"];
        event.id = keys.iter().find_map(|key| value.text(key)).map(Text::from);
        event.tool = event.id.as_ref().and_then(|id| self.tools.get(id)).cloned();
        event
    }
}

fn time_of(value: &Json) -> Option<Time> {
    value.text("processed_at").and_then(parse_time)
}
