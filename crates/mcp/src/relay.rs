//! A connection between a client and a server: a message goes in, messages come out.
//!
//! INVARIANT: a request is answered once: by the server, or here. An answer that nobody asked for does not pass.
//! INVARIANT: ids are compared with their type; the two sides count apart, and neither can pass for the other.
//! INVARIANT: what cannot be decided, or whose record cannot be written, does not pass.

mod asking;
mod client;
mod server;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use lictor_decode::{McpExchange, Side};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_judge::guard::{Action, Capabilities, Decision};
use lictor_logic::Time;
use lictor_warden::{RefusedInput, Warden, WardenError};
use serde_json::{Map, Value};

use crate::message::{self, Fault, Glimpse, Message};
use asking::Held;

/// What the operator said.
#[derive(Clone, Debug, Default)]
pub struct RelayOptions {
    /// How the server is called in events and digests. The operator says so, not the server.
    pub server: String,
    /// The session that the events belong to.
    pub session: String,
    /// Methods beyond those of the protocol that pass unjudged.
    pub methods: Vec<String>,
}

/// A message that goes on, as JSON on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutgoingMessage {
    /// To the server.
    Server(Vec<u8>),
    /// To the client.
    Client(Vec<u8>),
    /// To nobody: something for the operator to read.
    Note(String),
}

/// A connection between a client and a server.
#[derive(Debug)]
pub struct Relay {
    terms: RelayOptions,
    exchange: McpExchange,
    /// Requests of the client that the server has not answered, by their ids as JSON.
    asked: HashMap<Text, Asked>,
    /// Requests of the server that the client has not answered.
    asked_back: HashMap<Text, Asked>,
    /// Calls that wait for a person: by the id of our question, or by the state that the client sends back.
    held: HashMap<Text, Held>,
    /// Whether the client said that it can ask a person.
    can_ask: bool,
    /// The names of the tools of the list that the server is telling.
    listed: HashSet<Text>,
    /// Makes the ids of events different from those of other connections of the session.
    nonce: u64,
    count: u64,
}

/// A request that waits for its answer.
#[derive(Clone, Debug)]
struct Asked {
    method: Text,
    /// The id that its events have.
    event: Text,
    /// Whether it is of the revision in which every request says all there is to know.
    is_modern: bool,
    /// What the model is to be told along with the answer.
    advice: Option<String>,
    /// Whether the method is one of the protocol's, or one that the operator let pass.
    is_known: bool,
    /// Whether a list begins with the answer, rather than going on.
    is_first_page: bool,
}

/// What a message is to those who read the ledger, if it makes no event.
struct Crossing<'a> {
    from: Side,
    method: &'a str,
    size: usize,
}

/// What was decided about all events of a message.
enum Ruling {
    /// It goes on; rewritten if an event was, and with advice.
    Pass { rewritten: Option<Box<Event>>, advice: Option<String> },
    /// A person is asked about it.
    Ask(Box<Decision>),
    /// It does not go on, and this is why.
    Stop(String),
}

impl Relay {
    /// A connection on which nothing was said yet.
    pub fn new(terms: RelayOptions) -> Relay {
        Relay {
            terms,
            exchange: McpExchange::default(),
            asked: HashMap::new(),
            asked_back: HashMap::new(),
            held: HashMap::new(),
            can_ask: false,
            listed: HashSet::new(),
            nonce: RandomState::new().build_hasher().finish(),
            count: 0,
        }
    }

    /// Takes what the client sent.
    pub fn client_sent(&mut self, warden: &mut Warden, bytes: &[u8], now: Time) -> Vec<OutgoingMessage> {
        let server = self.terms.server.clone();
        let mut turn = Turn { warden, server: &server, now, outs: Vec::new() };
        match message::read(bytes) {
            Err(fault) => {
                turn.refuse(fault.reason, bytes);
                // Not under the id of a request that waits: the client would take this for its answer.
                let is_free = |id: &Json| !self.asked.contains_key(&key(id)) && !self.is_held(&key(id));
                let id = Glimpse::of(bytes).id.filter(is_free).unwrap_or(Json::Null);
                turn.client(&message::error(&id, fault.code, &fault.message));
            }
            Ok((messages, is_batch)) => {
                for message in messages {
                    let bytes =
                        if is_batch { message.value.to_string().into_bytes() } else { bytes.trim_ascii().to_vec() };
                    self.client_message(&mut turn, message, bytes);
                }
            }
        }
        turn.outs
    }

    /// Takes what the server sent.
    pub fn server_sent(&mut self, warden: &mut Warden, bytes: &[u8], now: Time) -> Vec<OutgoingMessage> {
        let server = self.terms.server.clone();
        let mut turn = Turn { warden, server: &server, now, outs: Vec::new() };
        match message::read(bytes) {
            Err(Fault { reason, message, .. }) => {
                turn.refuse(reason, bytes);
                turn.note(format!("the server sent something that is no message: {reason}: {message}"));
                self.answer_for(&mut turn, bytes, &format!("the answer cannot be read: {reason}: {message}"));
            }
            Ok((messages, is_batch)) => {
                for message in messages {
                    let bytes =
                        if is_batch { message.value.to_string().into_bytes() } else { bytes.trim_ascii().to_vec() };
                    self.server_message(&mut turn, message, bytes);
                }
            }
        }
        turn.outs
    }

    /// Answers a request in place of the server, whose answer cannot be read: the one that it names, or the only one that
    /// waits.
    fn answer_for(&mut self, turn: &mut Turn<'_>, bytes: &[u8], reason: &str) {
        // Servers also ask and tell, and some write what is none of the protocol beside it.
        let glimpse = Glimpse::of(bytes);
        if !glimpse.is_answer {
            return;
        }
        let only = || match self.asked.keys().next() {
            Some(name) if self.asked.len() == 1 => lictor_json::parse_str(name).ok(),
            _ => None,
        };
        let Some(id) = glimpse.id.or_else(only) else { return };
        if let Some(asked) = self.asked.remove(&key(&id)) {
            self.exchange.forget(Side::Client, &id);
            turn.client(&client::denied(&id, &asked, reason));
        }
    }

    /// Begins the session with approvals that the operator gave beforehand: of definitions, by their digests.
    pub fn approve(&mut self, warden: &mut Warden, digests: &[String], now: Time) -> Result<(), WardenError> {
        for digest in digests {
            let mut event = Event::new(Kind::Approval);
            event.id = Some(digest.as_str().into());
            event.more.insert("by", "the operator");
            warden.decide(&self.stamped(event), Some(now))?;
        }
        Ok(())
    }

    /// A number that no other event of the session has.
    fn next_id(&mut self, sort: &str) -> Text {
        self.count += 1;
        format!("{sort}-{:016x}-{}", self.nonce, self.count).into()
    }

    fn stamped(&self, mut event: Event) -> Event {
        event.session = Some(self.terms.session.as_str().into());
        event.more.insert("server", self.terms.server.as_str());
        event
    }

    fn is_listed(&self, method: &str) -> bool {
        self.terms.methods.iter().any(|listed| listed == method)
    }

    /// The events of a message, with ids of ours.
    fn events(&mut self, side: Side, message: &Message, id: &Text) -> Result<Vec<Event>, String> {
        let decoded = self.exchange.message(side, &message.value);
        if let Some(fault) = decoded.faults.first() {
            return Err(fault.message.clone());
        }
        let mut events = Vec::with_capacity(decoded.events.len());
        for mut event in decoded.events {
            let is_aside = matches!(event.kind, Kind::Approval | Kind::Denial | Kind::Other(_));
            event.id = Some(if is_aside { self.next_id("input") } else { id.clone() });
            // A yes to what the server asked is no approval of a tool: nobody knows what it asked.
            if matches!(event.kind, Kind::Approval | Kind::Denial) {
                event.tool = None;
            }
            events.push(self.stamped(event));
        }
        Ok(events)
    }
}

/// One message, on its way.
struct Turn<'a> {
    warden: &'a mut Warden,
    /// How the server is called.
    server: &'a str,
    now: Time,
    outs: Vec<OutgoingMessage>,
}

impl Turn<'_> {
    /// Decides on the events of a message, one after the other, up to the first that does not go on. A message that makes
    /// none goes on with a record of its own.
    fn decide(&mut self, means: Capabilities, events: &[Event], crossing: &Crossing<'_>) -> Ruling {
        let (mut rewritten, mut advice) = (None, None);
        if events.is_empty()
            && let Err(error) = self.warden.note(crossing.record(self.server), Some(self.now))
        {
            return Ruling::Stop(self.failed(&error));
        }
        for event in events {
            let answer = match self.warden.decide_within(means, event, Some(self.now)) {
                Ok(answer) => answer,
                Err(error) => return Ruling::Stop(self.failed(&error)),
            };
            if answer.is_duplicate {
                return Ruling::Stop("this was decided before, and is not done twice".to_owned());
            }
            let decision = Arc::unwrap_or_clone(answer.decision);
            let message = decision.message.clone().unwrap_or_else(|| "This step was not carried out.".to_owned());
            match decision.action {
                Action::Forward => {}
                Action::Steer => advice = Some(message),
                Action::Redact => {
                    advice = Some(message);
                    rewritten = decision.rewritten;
                }
                Action::Ask => return Ruling::Ask(Box::new(decision)),
                Action::Block => return Ruling::Stop(message),
            }
        }
        Ruling::Pass { rewritten, advice }
    }

    /// Writes down what does not go on and is no event.
    fn refuse(&mut self, reason: &str, bytes: &[u8]) {
        if let Err(error) = self.warden.refuse(&RefusedInput::new(reason, bytes), Some(self.now)) {
            self.note(format!("audit.unavailable: {error}"));
        }
    }

    /// What is said when nothing could be decided.
    fn failed(&mut self, error: &WardenError) -> String {
        self.note(format!("audit.unavailable: {error}"));
        "lictor could not decide on this, so it is not allowed: audit.unavailable".to_owned()
    }

    fn client(&mut self, message: &Json) {
        self.outs.push(OutgoingMessage::Client(message.to_string().into_bytes()));
    }

    fn server(&mut self, message: &Json) {
        self.outs.push(OutgoingMessage::Server(message.to_string().into_bytes()));
    }

    fn note(&mut self, text: String) {
        self.outs.push(OutgoingMessage::Note(text));
    }
}

impl Crossing<'_> {
    /// The record of it. Only methods that are known or listed cross, so their names say nothing of a person.
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

/// An id as a key: `1` and `"1"` are two.
fn key(id: &Json) -> Text {
    id.to_string().into()
}
