//! Model Context Protocol: JSON-RPC messages between a client and a server of tools, one a record or several in a
//! batch, bare or in an envelope that names session and time.
//!
//! Both eras are read: the one with `initialize` and requests of the server (until 2025-11-25), and the one without a
//! session in which the server answers that it needs more input, and the client calls again (from 2026-07-28). A
//! response is matched with its request by id alone, never by order; the ids `1` and `"1"` are two.

mod answer;
mod wire;

use std::collections::HashMap;

use lictor_logic::Time;

use super::chat::tool_call;
use super::openai_chat::failure;
use super::{DecodedEvents, Decoder, LogRecord, unknown};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use wire::{envelope, is_message, is_method};

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    match value {
        Json::Array(batch) => !batch.is_empty() && batch.iter().all(is_message),
        value => is_message(value) || envelope(value).is_some_and(|(message, ..)| is_message(message)),
    }
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct McpDecoder {
    /// Requests of the client that wait for their answer, by session and id.
    asked: HashMap<(Option<Text>, Text), Asked>,
    /// Requests of the server that wait for their answer; their ids are their own.
    asked_back: HashMap<(Option<Text>, Text), Asked>,
    /// The request to which the server answered with a state and a wish for input.
    states: HashMap<Text, Text>,
    /// The call that each task carries out, with its state.
    tasks: HashMap<Text, Task>,
}

/// A request, as far as its answer needs it.
#[derive(Clone, Debug)]
struct Asked {
    method: Text,
    id: Text,
    /// What it asks for: the name of a tool or prompt, a resource.
    params: Json,
}

#[derive(Debug, Default)]
struct Task {
    id: Option<Text>,
    tool: Option<Text>,
    state: Text,
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client, which calls tools.
    Client,
    /// The server, which has them.
    Server,
}

/// A connection as it goes on, seen from between client and server: who sent a message is known, so that neither can
/// pass for the other.
#[derive(Debug, Default)]
pub struct McpExchange {
    decoder: McpDecoder,
}

impl McpExchange {
    /// The events of one message.
    pub fn message(&mut self, side: Side, message: &Json) -> DecodedEvents {
        let record = LogRecord { value: Json::Null, file: "mcp".into(), line: 0, index: 0 };
        let place = Place { record: &record, side: Some(side), session: None, time: None };
        let mut decoded = DecodedEvents::default();
        self.decoder.message(message, &place, &mut decoded);
        decoded
    }

    /// Forgets a request that nobody will answer any more.
    pub fn forget(&mut self, side: Side, id: &Json) {
        let key = (None, id.to_string().into());
        match side {
            Side::Client => self.decoder.asked.remove(&key),
            Side::Server => self.decoder.asked_back.remove(&key),
        };
    }
}

/// Where the events of a message go.
struct Place<'a> {
    record: &'a LogRecord,
    /// Who sent the message, where a log says so.
    side: Option<Side>,
    session: Option<Text>,
    time: Option<Time>,
}

impl Decoder for McpDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let bare = Place { record: &record, side: None, session: None, time: None };
        match &record.value {
            Json::Array(batch) => batch.iter().for_each(|message| self.message(message, &bare, out)),
            value => match envelope(value) {
                Some((message, session, time)) => {
                    let place = Place { record: &record, side: None, session: session.map(Text::from), time };
                    self.message(message, &place, out);
                }
                None => self.message(value, &bare, out),
            },
        }
    }
}

impl McpDecoder {
    fn message(&mut self, message: &Json, place: &Place<'_>, out: &mut DecodedEvents) {
        let known = match (message.text("method"), message.get("result"), message.get("error")) {
            (Some(method), ..) => self.request(method, message, place, out),
            (None, Some(result), _) => self.result(result, message, place, out),
            (None, None, Some(error)) => {
                self.error(error, message, place, out);
                true
            }
            _ => false,
        };
        if !known {
            out.faults.push(unknown::fault(place.record, message));
        }
    }

    /// Takes a request or a notification; false if its method is not known.
    fn request(&mut self, method: &str, message: &Json, place: &Place<'_>, out: &mut DecodedEvents) -> bool {
        let null = Json::Null;
        let params = message.get("params").unwrap_or(&null);
        let asked = message.get("id").map(|id| (key(place, id), Asked::new(method, id, params)));
        let id = asked.as_ref().map(|(_, asked)| asked.id.clone());
        match method {
            "initialize" => place.push(session_start(params), out),
            "tools/call" => {
                self.input_responses(params, id.as_ref(), place, out);
                place.push(Self::call(params, id), out);
            }
            "elicitation/create" => place.push(elicitation(params, id.as_ref().map(back)), out),
            "sampling/createMessage" => {
                let mut event = answer::sampling(params);
                event.id = id.as_ref().map(back);
                place.push(event, out);
            }
            "notifications/cancelled" => {
                let mut event = Event::new(Kind::Other("cancelled".into()));
                event.id = params.get("requestId").map(id_text);
                event.text = params.text("reason").map(Text::from);
                place.push(event, out);
            }
            "notifications/tasks/status" => self.task(params, place, out),
            "tasks/update" | "resources/read" | "prompts/get" => {
                self.input_responses(params, id.as_ref(), place, out);
            }
            _ if is_method(method) => {}
            _ => return false,
        }
        if let Some((key, asked)) = asked {
            let is_servers = match place.side {
                Some(side) => side == Side::Server,
                None => matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list"),
            };
            match is_servers {
                true => self.asked_back.insert(key, asked),
                false => self.asked.insert(key, asked),
            };
        }
        true
    }

    fn call(params: &Json, id: Option<Text>) -> Event {
        let mut event = tool_call(id.as_deref(), params.text("name"), params.get("arguments"));
        // The same call once more, now with what the server had asked for.
        if ["inputResponses", "requestState"].iter().any(|key| params.get(key).is_some()) {
            event.labels.push("continued".into());
        }
        event
    }

    /// What the user answered to the wishes of the server, before the call that carries the answers.
    fn input_responses(&self, params: &Json, id: Option<&Text>, place: &Place<'_>, out: &mut DecodedEvents) {
        let Some(responses) = params.get("inputResponses").and_then(Json::as_object) else { return };
        for (name, response) in responses.iter() {
            let mut event = answer::input(response);
            event.id = id.cloned();
            event.tool = params.text("name").map(Text::from);
            event.more.insert("request", name.clone());
            if let Some(asking) = params.text("requestState").and_then(|state| self.states.get(state)) {
                event.more.insert("asked_by", asking.clone());
            }
            place.push(event, out);
        }
    }

    /// Takes an answer; false if nobody could say what it answers.
    fn result(&mut self, result: &Json, message: &Json, place: &Place<'_>, out: &mut DecodedEvents) -> bool {
        let is_of_client = place.side.map_or_else(|| answer::is_of_client(result), |side| side == Side::Client);
        let asked = self.asked_for(message, is_of_client, place);
        let id = message.get("id").map(id_text).map(|id| if is_of_client { back(&id) } else { id });
        if result.text("resultType") == Some("input_required") {
            if let (Some(state), Some(id)) = (result.text("requestState"), &id) {
                self.states.insert(state.into(), id.clone());
            }
            place.push(answer::input_required(result, asked.as_ref(), id), out);
            return true;
        }
        if let Some(task) = result.get("task").filter(|task| task.get("taskId").is_some()) {
            if let (Some(asked), Some(name)) = (&asked, task.text("taskId")) {
                let tool = asked.params.text("name").map(Text::from);
                self.tasks.insert(name.into(), Task { id: id.clone(), tool, state: Text::default() });
            }
            self.task(task, place, out);
            return true;
        }
        match asked.as_ref().map(|asked| asked.method.as_str()) {
            Some("tasks/get") => {
                self.task(result, place, out);
                if let Some(inner) = result.get("result") {
                    self.task_result(inner, asked.as_ref(), place, out);
                }
                true
            }
            Some("tasks/result") => {
                self.task_result(result, asked.as_ref(), place, out);
                true
            }
            method => match answer::events(result, method, asked.as_ref(), id) {
                Some(events) => {
                    events.into_iter().for_each(|event| place.push(event, out));
                    true
                }
                None => false,
            },
        }
    }

    /// Takes the answer of a call that was carried out as a task.
    fn task_result(&self, result: &Json, asked: Option<&Asked>, place: &Place<'_>, out: &mut DecodedEvents) {
        let mut event = answer::tool_result(result);
        let task = asked.and_then(|asked| asked.params.text("taskId")).and_then(|name| self.tasks.get(name));
        if let Some(task) = task {
            event.id = task.id.clone();
            event.tool = task.tool.clone();
        }
        place.push(event, out);
    }

    /// Takes the state of a task, which is an event when it changes.
    fn task(&mut self, told: &Json, place: &Place<'_>, out: &mut DecodedEvents) {
        let (Some(name), Some(state)) = (told.text("taskId"), told.text("status")) else { return };
        let task = self.tasks.entry(name.into()).or_default();
        if task.state != state {
            task.state = state.into();
            let mut event = Event::new(Kind::Other(format!("task_{state}").into()));
            event.id = task.id.clone();
            event.tool = task.tool.clone();
            event.text = told.text("statusMessage").map(Text::from);
            event.more.insert("state", state);
            event.more.insert("task", name);
            place.push(event, out);
        }
    }

    fn error(&mut self, error: &Json, message: &Json, place: &Place<'_>, out: &mut DecodedEvents) {
        let asked = self.asked_for(message, place.side == Some(Side::Client), place);
        let mut event = failure(error);
        event.id = message.get("id").filter(|id| !id.is_null()).map(id_text);
        if let Some(asked) = asked.filter(|asked| asked.method == "tools/call") {
            event.kind = Kind::ToolResult;
            event.tool = asked.params.text("name").map(Text::from);
            event.result = error.get("data").filter(|data| !data.is_null()).cloned();
        }
        place.push(event, out);
    }

    /// The request that a response answers. Client and server count their requests apart, so where both wait under
    /// one id, what the response holds decides.
    fn asked_for(&mut self, message: &Json, is_of_client: bool, place: &Place<'_>) -> Option<Asked> {
        let key = key(place, message.get("id")?);
        let (first, second) = match is_of_client {
            true => (&mut self.asked_back, &mut self.asked),
            false => (&mut self.asked, &mut self.asked_back),
        };
        let found = first.remove(&key);
        if place.side.is_some() {
            return found;
        }
        found.or_else(|| second.remove(&key))
    }
}

impl Asked {
    fn new(method: &str, id: &Json, params: &Json) -> Asked {
        let kept = ["name", "arguments", "uri", "taskId"];
        let members = kept.iter().filter_map(|key| Some((Text::from(*key), params.get(key)?.clone())));
        Asked { method: method.into(), id: id_text(id), params: Json::Object(members.collect()) }
    }
}

impl Place<'_> {
    fn push(&self, event: Event, out: &mut DecodedEvents) {
        let (session, time) = (self.session.clone(), self.time);
        out.events.push(Event { session, time, source: self.record.source(), ..event });
    }
}

/// The key of a request: as JSON, so that `1` and `"1"` stay apart.
fn key(place: &Place<'_>, id: &Json) -> (Option<Text>, Text) {
    (place.session.clone(), id.to_string().into())
}

/// An id as events carry it: bare, and with quotes where a text would pass for a number.
fn id_text(id: &Json) -> Text {
    match id {
        Json::String(text) if text.parse::<f64>().is_err() => text.clone(),
        other => other.to_string().into(),
    }
}

/// The id of a request of the server. Client and server count apart: an answer to the server's third question must not
/// pass for a yes to the client's third call.
fn back(id: &Text) -> Text {
    format!("server:{id}").into()
}

fn session_start(params: &Json) -> Event {
    let mut event = Event::new(Kind::SessionStart);
    event.agent = params.at("clientInfo.name").and_then(Json::as_str).map(Text::from);
    if let Some(version) = params.text("protocolVersion") {
        event.more.insert("protocol", version);
    }
    event
}

/// The server asks the user something.
fn elicitation(params: &Json, id: Option<Text>) -> Event {
    let mut event = Event::new(Kind::Other("input_required".into()));
    event.id = id;
    event.text = params.text("message").map(Text::from);
    event
}
