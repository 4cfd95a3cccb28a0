//! Model Context Protocol: JSON-RPC messages between a client and a server of tools, one a record or several in a
//! batch, bare or in an envelope that names session and time.
//!
//! Both eras are read: the one with `initialize` and requests of the server (until 2025-11-25), and the one without a
//! session in which the server answers that it needs more input, and the client calls again (from 2026-07-28). A
//! response is matched with its request by id alone, never by order; the ids `1` and `"1"` are two.

mod messages;
mod results;

use std::collections::HashMap;

use lictor_logic::Time;

use super::chat::failure_event;
use super::chat::tool_call;
use super::content::Content;
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use messages::{is_message, is_method, open_log_line};

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    match value {
        Json::Array(batch) => !batch.is_empty() && batch.iter().all(is_message),
        value => is_message(value) || open_log_line(value).is_some_and(|(message, ..)| is_message(message)),
    }
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct McpDecoder {
    /// Requests of the client that wait for their answer, by session and id.
    client_requests: HashMap<(Option<Text>, Text), PendingRequest>,
    /// Requests of the server that wait for their answer; their ids are their own.
    server_requests: HashMap<(Option<Text>, Text), PendingRequest>,
    /// The request to which the server answered with a state and a request for input.
    states: HashMap<Text, Text>,
    /// The call that each task carries out, with its state.
    tasks: HashMap<Text, McpTask>,
}

/// A request that waits for its answer, with what the answer needs.
#[derive(Clone, Debug)]
struct PendingRequest {
    method: Text,
    id: Text,
    /// Its object: the name of a tool or prompt, a resource.
    params: Json,
}

#[derive(Debug, Default)]
struct McpTask {
    id: Option<Text>,
    tool: Option<Text>,
    state: Text,
}

/// The sender of a message.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client, which calls tools.
    Client,
    /// The server, which has them.
    Server,
}

/// A live connection, seen from between client and server: the sender of each message is known, so that neither can
/// pass for the other.
#[derive(Debug, Default)]
pub struct McpExchange {
    decoder: McpDecoder,
}

impl McpExchange {
    /// Decodes one message.
    pub fn message(&mut self, side: Side, message: &Json) -> DecodedEvents {
        let record = LogRecord { value: Json::Null, file: "mcp".into(), line: 0, index: 0 };
        let origin = MessageOrigin { record: &record, side: Some(side), session: None, time: None };
        let mut decoded = DecodedEvents::default();
        self.decoder.take_message(message, &origin, &mut decoded);
        decoded
    }

    /// Forgets a request that will not be answered any more.
    pub fn forget(&mut self, side: Side, id: &Json) {
        let key = (None, id.to_string().into());
        match side {
            Side::Client => self.decoder.client_requests.remove(&key),
            Side::Server => self.decoder.server_requests.remove(&key),
        };
    }
}

/// The record, the sender, the session and the time of a message.
struct MessageOrigin<'a> {
    record: &'a LogRecord,
    /// Who sent the message, where a log says so.
    side: Option<Side>,
    session: Option<Text>,
    time: Option<Time>,
}

impl Decoder for McpDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let bare = MessageOrigin { record: &record, side: None, session: None, time: None };
        match &record.value {
            Json::Array(batch) => batch.iter().for_each(|message| self.take_message(message, &bare, out)),
            value => match open_log_line(value) {
                Some((message, session, time)) => {
                    let origin = MessageOrigin { record: &record, side: None, session: session.map(Text::from), time };
                    self.take_message(message, &origin, out);
                }
                None => self.take_message(value, &bare, out),
            },
        }
    }
}

impl McpDecoder {
    fn take_message(&mut self, message: &Json, origin: &MessageOrigin<'_>, out: &mut DecodedEvents) {
        let known = match (message.text("method"), message.get("result"), message.get("error")) {
            (Some(method), ..) => self.take_request_message(method, message, origin, out),
            (None, Some(result), _) => self.take_result(result, message, origin, out),
            (None, None, Some(error)) => {
                self.take_error(error, message, origin, out);
                true
            }
            _ => false,
        };
        if !known {
            out.faults.push(unknown_record::describe(origin.record, message));
        }
    }

    /// Takes a request or a notification; false if its method is not known.
    fn take_request_message(
        &mut self,
        method: &str,
        message: &Json,
        origin: &MessageOrigin<'_>,
        out: &mut DecodedEvents,
    ) -> bool {
        let null = Json::Null;
        let params = message.get("params").unwrap_or(&null);
        let asked = message.get("id").map(|id| (key(origin, id), PendingRequest::new(method, id, params)));
        let id = asked.as_ref().map(|(_, asked)| asked.id.clone());
        match method {
            "initialize" => origin.push(session_start_event(params), out),
            "tools/call" => {
                self.emit_input_responses(params, id.as_ref(), origin, out);
                origin.push(Self::call_event(params, id), out);
            }
            "elicitation/create" => origin.push(elicitation_event(params, id.as_ref().map(server_id)), out),
            "sampling/createMessage" => {
                let mut event = results::sampling_event(params);
                event.id = id.as_ref().map(server_id);
                origin.push(event, out);
            }
            "notifications/cancelled" => {
                let mut event = Event::new(Kind::Other("cancelled".into()));
                event.id = params.get("requestId").map(id_as_text);
                event.text = params.text("reason").map(Text::from);
                origin.push(event, out);
            }
            "notifications/tasks/status" => self.take_task_state(params, origin, out),
            "tasks/update" | "resources/read" | "prompts/get" => {
                self.emit_input_responses(params, id.as_ref(), origin, out);
                let has_arguments = params.get("arguments").is_some_and(|arguments| !arguments.is_null());
                if method == "prompts/get" && has_arguments {
                    origin.push(Event { id, ..results::input_event("prompt_request", method, params) }, out);
                }
            }
            "completion/complete" => {
                origin.push(Event { id, ..results::input_event("completion_request", method, params) }, out);
            }
            _ if is_method(method) => {}
            _ => return false,
        }
        if let Some((key, asked)) = asked {
            let is_servers = match origin.side {
                Some(side) => side == Side::Server,
                None => matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list"),
            };
            match is_servers {
                true => self.server_requests.insert(key, asked),
                false => self.client_requests.insert(key, asked),
            };
        }
        true
    }

    fn call_event(params: &Json, id: Option<Text>) -> Event {
        let mut event = tool_call(id.as_deref(), params.text("name"), params.get("arguments"));
        // The call once more, now with the input that the server had asked for.
        if ["inputResponses", "requestState"].iter().any(|key| params.get(key).is_some()) {
            event.labels.push("continued".into());
        }
        event
    }

    /// Emits the user's answers to the server's requests for input, before the call that carries them.
    fn emit_input_responses(
        &self,
        params: &Json,
        id: Option<&Text>,
        origin: &MessageOrigin<'_>,
        out: &mut DecodedEvents,
    ) {
        let Some(responses) = params.get("inputResponses").and_then(Json::as_object) else { return };
        for (name, response) in responses.iter() {
            let mut event = results::read_input(response);
            event.id = id.cloned();
            event.tool = params.text("name").map(Text::from);
            event.more.insert("request", name.clone());
            if let Some(asking) = params.text("requestState").and_then(|state| self.states.get(state)) {
                event.more.insert("asked_by", asking.clone());
            }
            origin.push(event, out);
        }
    }

    /// Takes a result; returns whether its method is known.
    fn take_result(
        &mut self,
        result: &Json,
        message: &Json,
        origin: &MessageOrigin<'_>,
        out: &mut DecodedEvents,
    ) -> bool {
        let is_from_client = origin.side.map_or_else(|| results::is_client_result(result), |side| side == Side::Client);
        let asked = self.take_request(message, is_from_client, origin);
        let id = message.get("id").map(id_as_text).map(|id| if is_from_client { server_id(&id) } else { id });
        if result.text("resultType") == Some("input_required") {
            if let (Some(state), Some(id)) = (result.text("requestState"), &id) {
                self.states.insert(state.into(), id.clone());
            }
            origin.push(results::input_required_event(result, asked.as_ref(), id), out);
            return true;
        }
        if let Some(task) = result.get("task").filter(|task| task.get("taskId").is_some()) {
            if let (Some(asked), Some(name)) = (&asked, task.text("taskId")) {
                let tool = asked.params.text("name").map(Text::from);
                self.tasks.insert(name.into(), McpTask { id: id.clone(), tool, state: Text::default() });
            }
            self.take_task_state(task, origin, out);
            return true;
        }
        match asked.as_ref().map(|asked| asked.method.as_str()) {
            Some("tasks/get") => {
                self.take_task_state(result, origin, out);
                if let Some(inner) = result.get("result") {
                    self.emit_task_result(inner, asked.as_ref(), origin, out);
                }
                true
            }
            Some("tasks/result") => {
                self.emit_task_result(result, asked.as_ref(), origin, out);
                true
            }
            method => match results::read_result(result, method, asked.as_ref(), id) {
                Some(events) => {
                    events.into_iter().for_each(|event| origin.push(event, out));
                    true
                }
                None => false,
            },
        }
    }

    /// Emits the answer of a call that ran as a task.
    fn emit_task_result(
        &self,
        result: &Json,
        asked: Option<&PendingRequest>,
        origin: &MessageOrigin<'_>,
        out: &mut DecodedEvents,
    ) {
        let mut event = results::tool_result_event(result);
        let task = asked.and_then(|asked| asked.params.text("taskId")).and_then(|name| self.tasks.get(name));
        if let Some(task) = task {
            event.id = task.id.clone();
            event.tool = task.tool.clone();
        }
        origin.push(event, out);
    }

    /// Takes the state of a task, which is an event when it changes.
    fn take_task_state(&mut self, update: &Json, origin: &MessageOrigin<'_>, out: &mut DecodedEvents) {
        let (Some(name), Some(state)) = (update.text("taskId"), update.text("status")) else { return };
        let task = self.tasks.entry(name.into()).or_default();
        if task.state != state {
            task.state = state.into();
            let mut event = Event::new(Kind::Other(format!("task_{state}").into()));
            event.id = task.id.clone();
            event.tool = task.tool.clone();
            event.text = update.text("statusMessage").map(Text::from);
            event.more.insert("state", state);
            event.more.insert("task", name);
            origin.push(event, out);
        }
    }

    fn take_error(&mut self, error: &Json, message: &Json, origin: &MessageOrigin<'_>, out: &mut DecodedEvents) {
        let asked = self.take_request(message, origin.side == Some(Side::Client), origin);
        let mut event = failure_event(error);
        event.id = message.get("id").filter(|id| !id.is_null()).map(id_as_text);
        if let Some(asked) = asked.filter(|asked| asked.method == "tools/call") {
            event.kind = Kind::ToolResult;
            event.tool = asked.params.text("name").map(Text::from);
            event.result = error.get("data").filter(|data| !data.is_null()).cloned();
        }
        origin.push(event, out);
    }

    /// Takes out the request that a response answers. Client and server number their requests apart, so where both have
    /// one id, the content of the response decides.
    fn take_request(
        &mut self,
        message: &Json,
        is_from_client: bool,
        origin: &MessageOrigin<'_>,
    ) -> Option<PendingRequest> {
        let key = key(origin, message.get("id")?);
        let (first, second) = match is_from_client {
            true => (&mut self.server_requests, &mut self.client_requests),
            false => (&mut self.client_requests, &mut self.server_requests),
        };
        let found = first.remove(&key);
        if origin.side.is_some() {
            return found;
        }
        found.or_else(|| second.remove(&key))
    }
}

impl PendingRequest {
    fn new(method: &str, id: &Json, params: &Json) -> PendingRequest {
        let kept = ["name", "arguments", "uri", "taskId"];
        let members = kept.iter().filter_map(|key| Some((Text::from(*key), params.get(key)?.clone())));
        PendingRequest { method: method.into(), id: id_as_text(id), params: Json::Object(members.collect()) }
    }
}

impl MessageOrigin<'_> {
    fn push(&self, event: Event, out: &mut DecodedEvents) {
        let (session, time) = (self.session.clone(), self.time);
        out.events.push(Event { session, time, source: self.record.source(), ..event });
    }
}

/// Returns the key of a request: the id as JSON, so that `1` and `"1"` differ.
fn key(origin: &MessageOrigin<'_>, id: &Json) -> (Option<Text>, Text) {
    (origin.session.clone(), id.to_string().into())
}

/// Returns an id as events have it: bare, and with quotes where a text would pass for a number.
fn id_as_text(id: &Json) -> Text {
    match id {
        Json::String(text) if text.parse::<f64>().is_err() => text.clone(),
        other => other.to_string().into(),
    }
}

/// Returns the event id of a request of the server. Client and server number apart: an answer to the server's third
/// request must not pass for an approval of the client's third call.
fn server_id(id: &Text) -> Text {
    format!("server:{id}").into()
}

fn session_start_event(params: &Json) -> Event {
    let mut event = Event::new(Kind::SessionStart);
    event.agent = params.at("clientInfo.name").and_then(Json::as_str).map(Text::from);
    if let Some(version) = params.text("protocolVersion") {
        event.more.insert("protocol", version);
    }
    event
}

/// Returns the event of a server that asks the user for input.
fn elicitation_event(params: &Json, id: Option<Text>) -> Event {
    let mut event = Event::new(Kind::Other("input_required".into()));
    event.id = id;
    let mut content = Content::default();
    results::add_question(params, &mut content);
    event.text = content.text;
    event
}
