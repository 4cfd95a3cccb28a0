//! The relay between a client and a server: one message in, messages out.
//!
//! INVARIANT: a request gets one response: from the server or from the relay. An unsolicited response does not pass.
//! INVARIANT: ids are compared with their type; each side has its own ids, and neither can impersonate the other.
//! INVARIANT: a message that cannot be decided or recorded does not pass.

mod approval;
mod client;
mod server;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use lictor_decode::{McpExchange, Side};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_judge::guard::{Action, Capabilities, Decision};
use lictor_judge::guidance::{Obligation, write_note};
use lictor_logic::Time;
use lictor_warden::{RefusedInput, Warden, WardenError};
use serde_json::{Map, Value};

use crate::message::{self, Message, MessageFault, PartialMessage};
use crate::tool_schemas::ToolSchemas;
use crate::{definitions, unread};
use approval::PendingApproval;

/// Options of a relay, set by the operator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RelayOptions {
    /// The name of the server in events and digests. The operator chooses it, not the server.
    pub server: String,
    /// The session of the events.
    pub session: String,
    /// Methods outside the protocol that pass without a decision.
    pub methods: Vec<String>,
}

impl RelayOptions {
    /// Returns the options for a server and a session: every method outside the protocol needs a decision.
    pub fn new(server: impl Into<String>, session: impl Into<String>) -> RelayOptions {
        RelayOptions { server: server.into(), session: session.into(), methods: Vec::new() }
    }
}

/// An outgoing message, as JSON on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutgoingMessage {
    /// A message to the server.
    Server(Vec<u8>),
    /// A message to the client.
    Client(Vec<u8>),
    /// A note for the operator.
    Note(String),
}

/// The state of one connection between a client and a server.
#[derive(Debug)]
pub struct Relay {
    options: RelayOptions,
    exchange: McpExchange,
    /// Requests of the client in flight, by their ids as JSON.
    client_requests: HashMap<Text, PendingRequest>,
    /// Requests of the server in flight.
    server_requests: HashMap<Text, PendingRequest>,
    /// Calls that wait for approval, by the id of our question or by the state that the client sends back.
    approvals: HashMap<Text, PendingApproval>,
    /// Whether the client supports elicitation.
    can_ask: bool,
    /// The open obligations that the client was told of last.
    told: Vec<Obligation>,
    /// The tool names of the list that the server is sending.
    listed: HashSet<Text>,
    /// What the tools of the server take.
    schemas: ToolSchemas,
    /// Distinguishes the event ids of this connection from those of others in the session.
    nonce: u64,
    count: u64,
}

/// A request in flight.
#[derive(Clone, Debug)]
struct PendingRequest {
    method: Text,
    /// The id of its events.
    event: Text,
    /// Whether it uses the stateless revision, in which every request is self-contained.
    is_modern: bool,
    /// Advice for the model, to append to the response.
    advice: Option<String>,
    /// Whether the method belongs to the protocol; otherwise the operator listed it.
    is_known: bool,
    /// Whether the response is the first page of a list.
    is_first_page: bool,
    /// Whether the transport lost it, so that a request with its id may take its place until its response arrives.
    is_detached: bool,
}

/// A forwarded message without events, for the ledger.
struct ForwardedMessage<'a> {
    from: Side,
    method: &'a str,
    size: usize,
}

/// The decision on all events of a message.
enum MessageDecision {
    /// It is forwarded, possibly rewritten and with advice.
    Pass { rewritten: Option<Box<Event>>, advice: Option<String> },
    /// A person must approve it.
    Ask(Box<Decision>),
    /// It is denied, with the reason.
    Stop(String),
}

impl Relay {
    /// Returns a relay for a new connection.
    pub fn new(options: RelayOptions) -> Relay {
        Relay {
            options,
            exchange: McpExchange::default(),
            client_requests: HashMap::new(),
            server_requests: HashMap::new(),
            approvals: HashMap::new(),
            can_ask: false,
            told: Vec::new(),
            listed: HashSet::new(),
            schemas: ToolSchemas::default(),
            nonce: RandomState::new().build_hasher().finish(),
            count: 0,
        }
    }

    /// Returns the relay, with schemas that relays of other connections to the server share.
    pub(crate) fn with_schemas(self, schemas: ToolSchemas) -> Relay {
        Relay { schemas, ..self }
    }

    /// Handles bytes from the client.
    pub fn client_sent(&mut self, warden: &mut Warden, bytes: &[u8], now: Time) -> Vec<OutgoingMessage> {
        let server = self.options.server.clone();
        let mut step = RelayStep { warden, server: &server, now, outs: Vec::new() };
        match message::read(bytes) {
            Err(fault) => {
                step.refuse(fault.reason, bytes);
                // Not with the id of a request in flight: the client would take this for its response.
                let is_free =
                    |id: &Json| !self.client_requests.contains_key(&id_key(id)) && !self.is_pending(&id_key(id));
                let id = PartialMessage::scan(bytes).id.filter(is_free).unwrap_or(Json::Null);
                step.send_to_client(&message::error(&id, fault.code, &fault.message));
            }
            Ok((messages, is_batch)) => {
                for message in messages {
                    let bytes =
                        if is_batch { message.value.to_string().into_bytes() } else { bytes.trim_ascii().to_vec() };
                    self.client_message(&mut step, message, bytes);
                }
            }
        }
        step.outs
    }

    /// Handles bytes from the server.
    pub fn server_sent(&mut self, warden: &mut Warden, bytes: &[u8], now: Time) -> Vec<OutgoingMessage> {
        let server = self.options.server.clone();
        let mut step = RelayStep { warden, server: &server, now, outs: Vec::new() };
        match message::read(bytes) {
            Err(MessageFault { reason, message, .. }) => {
                step.refuse(reason, bytes);
                step.note(format!("the server sent an invalid message: {reason}: {message}"));
                self.answer_unreadable(
                    &mut step,
                    bytes,
                    &format!("the response of the server is invalid: {reason}: {message}"),
                );
            }
            Ok((messages, is_batch)) => {
                for message in messages {
                    let bytes =
                        if is_batch { message.value.to_string().into_bytes() } else { bytes.trim_ascii().to_vec() };
                    self.server_message(&mut step, message, bytes);
                }
            }
        }
        step.outs
    }

    /// Answers a request whose response cannot be read: the one that it names, or the only one in flight.
    fn answer_unreadable(&mut self, step: &mut RelayStep<'_>, bytes: &[u8], reason: &str) {
        // It may be a request, a notification, or log output of the server.
        let glimpse = PartialMessage::scan(bytes);
        if !glimpse.is_answer {
            return;
        }
        let only = || match self.client_requests.keys().next() {
            Some(name) if self.client_requests.len() == 1 => lictor_json::parse_str(name).ok(),
            _ => None,
        };
        let Some(id) = glimpse.id.or_else(only) else { return };
        if let Some(pending) = self.client_requests.remove(&id_key(&id)) {
            self.exchange.forget(Side::Client, &id);
            step.send_to_client(&client::deny_request(&id, &pending, reason));
        }
    }

    /// Returns the id of the events of a request of the client that is in flight.
    pub(crate) fn find_in_flight(&self, id: &Json) -> Option<Text> {
        self.client_requests.get(&id_key(id)).map(|pending| pending.event.clone())
    }

    /// Takes note that the transport of a request ended, by the id of its events. If the response can still arrive on
    /// another stream, the request stays in flight until then, or until the client repeats it.
    pub(crate) fn end_transport(&mut self, id: &Json, event: &Text, can_resume: bool) {
        let name = id_key(id);
        match self.client_requests.get_mut(&name) {
            Some(pending) if pending.event == *event && can_resume => pending.is_detached = true,
            Some(pending) if pending.event == *event => self.forget_client_request(id),
            _ => {}
        }
    }

    /// Forgets a request of the client that gets no response any more.
    fn forget_client_request(&mut self, id: &Json) {
        self.client_requests.remove(&id_key(id));
        self.exchange.forget(Side::Client, id);
    }

    /// Records the tool definitions that the operator has approved, by their digests.
    pub fn approve(&mut self, warden: &mut Warden, digests: &[String], now: Time) -> Result<(), WardenError> {
        for digest in digests {
            let mut event = Event::new(Kind::Approval);
            event.id = Some(digest.as_str().into());
            event.more.insert("by", "the operator");
            warden.decide(&self.stamp(event), Some(now))?;
        }
        Ok(())
    }

    /// Returns what the model should read of the open obligations, with the result of a call: those that it was not told
    /// of before. A result stays in the conversation, so nothing is said twice.
    fn write_owed(&mut self, step: &mut RelayStep<'_>) -> Option<String> {
        let open = match step.warden.obligations(&self.options.session) {
            Ok(open) => open,
            Err(error) => {
                step.note(format!("obligations are unknown: {error}"));
                return None;
            }
        };
        let told = std::mem::replace(&mut self.told, open);
        let new: Vec<Obligation> = self.told.iter().filter(|open| !open.is_among(&told)).cloned().collect();
        let note = write_note(&new, &[])?;
        if let Err(error) = step.warden.record_told(&new, step.now) {
            step.record_failure(&error);
            return None;
        }
        Some(note)
    }

    /// Returns an id that no other event of the session has.
    fn next_id(&mut self, prefix: &str) -> Text {
        self.count += 1;
        format!("{prefix}-{:016x}-{}", self.nonce, self.count).into()
    }

    fn stamp(&self, mut event: Event) -> Event {
        event.session = Some(self.options.session.as_str().into());
        event.more.insert("server", self.options.server.as_str());
        event
    }

    fn is_listed(&self, method: &str) -> bool {
        self.options.methods.iter().any(|listed| listed == method)
    }

    /// Decodes the events of a response to a request with this method; a result of a wrong shape is an error.
    fn decode_response(
        &mut self,
        side: Side,
        message: &Message,
        pending: &PendingRequest,
    ) -> Result<Vec<Event>, String> {
        // A method that the operator listed is not decoded.
        if !pending.is_known {
            return Ok(Vec::new());
        }
        let events = self.decode_events(side, message, &pending.event, &pending.method)?;
        match message.value.get("result").and_then(|result| message::find_wrong_shape(&pending.method, result)) {
            Some(reason) => Err(reason),
            None => Ok(events),
        }
    }

    /// Decodes the events of a message and gives them our ids. `method` is that of the request, also for its response.
    fn decode_events(&mut self, side: Side, message: &Message, id: &Text, method: &str) -> Result<Vec<Event>, String> {
        let mut decoded = self.exchange.message(side, &message.value);
        if let Some(fault) = decoded.faults.first() {
            return Err(fault.message.clone());
        }
        decoded.events.extend(message.value.get("result").and_then(|result| definitions::read_list(method, result)));
        if let Some(texts) = unread::read(side, method, message).map_err(|unreadable| unreadable.to_string())? {
            unread::add(&mut decoded.events, method, &texts);
        }
        let mut events = Vec::with_capacity(decoded.events.len());
        for mut event in decoded.events {
            let is_aside = matches!(event.kind, Kind::Approval | Kind::Denial | Kind::Other(_));
            event.id = Some(if is_aside { self.next_id("input") } else { id.clone() });
            // Accepting a question of the server does not approve a tool: the content of the question is unknown.
            if matches!(event.kind, Kind::Approval | Kind::Denial) {
                event.tool = None;
            }
            events.push(self.stamp(event));
        }
        Ok(events)
    }
}

/// The handling of one message.
struct RelayStep<'a> {
    warden: &'a mut Warden,
    /// The name of the server.
    server: &'a str,
    now: Time,
    outs: Vec<OutgoingMessage>,
}

impl RelayStep<'_> {
    /// Decides on the events of a message in order, up to the first that is denied. A message without events is
    /// forwarded with a record of its own.
    fn decide(
        &mut self,
        capabilities: Capabilities,
        events: &[Event],
        forwarded: &ForwardedMessage<'_>,
    ) -> MessageDecision {
        let (mut rewritten, mut advice) = (None, None);
        if events.is_empty()
            && let Err(error) = self.warden.note(forwarded.record(self.server), Some(self.now))
        {
            return MessageDecision::Stop(self.record_failure(&error));
        }
        for event in events {
            let answer = match self.warden.decide_within(capabilities, event, Some(self.now)) {
                Ok(answer) => answer,
                Err(error) => return MessageDecision::Stop(self.record_failure(&error)),
            };
            if answer.is_duplicate {
                return MessageDecision::Stop("duplicate: this step was already decided".to_owned());
            }
            let decision = Arc::unwrap_or_clone(answer.decision);
            let message = decision.message.clone().unwrap_or_else(|| "This step was denied.".to_owned());
            match decision.action {
                Action::Forward => {}
                Action::Steer => advice = Some(message),
                Action::Redact => {
                    advice = Some(message);
                    rewritten = decision.rewritten;
                }
                Action::Ask => return MessageDecision::Ask(Box::new(decision)),
                Action::Block => return MessageDecision::Stop(message),
            }
        }
        MessageDecision::Pass { rewritten, advice }
    }

    /// Records a refused message that is not an event.
    fn refuse(&mut self, reason: &str, bytes: &[u8]) {
        if let Err(error) = self.warden.refuse(&RefusedInput::new(reason, bytes), Some(self.now)) {
            self.note(format!("audit.unavailable: {error}"));
        }
    }

    /// Reports a failed decision and returns the reason for the client.
    fn record_failure(&mut self, error: &WardenError) -> String {
        self.note(format!("audit.unavailable: {error}"));
        "denied because lictor could not record a decision: audit.unavailable; retry later".to_owned()
    }

    fn send_to_client(&mut self, message: &Json) {
        self.outs.push(OutgoingMessage::Client(message.to_string().into_bytes()));
    }

    fn send_to_server(&mut self, message: &Json) {
        self.outs.push(OutgoingMessage::Server(message.to_string().into_bytes()));
    }

    fn note(&mut self, text: String) {
        self.outs.push(OutgoingMessage::Note(text));
    }
}

impl ForwardedMessage<'_> {
    /// Returns its record. Only known or listed methods pass, so the name contains no personal data.
    fn record(&self, server: &str) -> Map<String, Value> {
        let from = match self.from {
            Side::Client => "client",
            Side::Server => "server",
        };
        let mut body = Map::new();
        body.insert("type".into(), "passed".into());
        body.insert("server".into(), server.into());
        body.insert("from".into(), from.into());
        body.insert("method".into(), self.method.into());
        body.insert("bytes".into(), self.size.into());
        body
    }
}

/// Returns the key of an id. `1` and `"1"` are different ids.
fn id_key(id: &Json) -> Text {
    id.to_string().into()
}
