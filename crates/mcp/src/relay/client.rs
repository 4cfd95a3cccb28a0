//! What the client sends.

use lictor_decode::Side;
use lictor_json::{Json, Object, Text};
use lictor_judge::guard::Capabilities;

use super::{Asked, Crossing, Relay, Ruling, Turn, key};
use crate::message::{self, INVALID, Message, NO_METHOD, NOT_ALLOWED, Sort, error};
use crate::{methods, outcome};

/// Where a request of the newer revisions says which one it is of, and what the client can do.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

impl Relay {
    pub(super) fn client_message(&mut self, turn: &mut Turn<'_>, message: Message, bytes: Vec<u8>) {
        match message.sort.clone() {
            Sort::Request { id, method } => self.client_request(turn, &message, bytes, &id, &method),
            Sort::Notification { method } => self.client_notification(turn, &message, bytes, &method),
            Sort::Answer { id, is_error } => {
                if let Some(held) = self.held.remove(&key(&id)) {
                    return self.answered(turn, held, message.value.get("result"));
                }
                self.client_answer(turn, &message, bytes, &id, is_error);
            }
        }
    }

    fn client_request(&mut self, turn: &mut Turn<'_>, message: &Message, bytes: Vec<u8>, id: &Json, method: &Text) {
        let name = key(id);
        if self.asked.contains_key(&name) || self.is_held(&name) {
            turn.refuse("mcp.id_reused", &bytes);
            // Not under its id: the client would take this for the answer to the request that waits.
            let reason = format!("a request with the id {id} is still waiting for its answer");
            return turn.client(&error(&Json::Null, INVALID, &reason));
        }
        let is_known = methods::is_request(Side::Client, method);
        if !is_known && !self.is_listed(method) {
            turn.refuse("mcp.method", &bytes);
            return turn.client(&error(id, NO_METHOD, &format!("`{method}` is not a method that may pass")));
        }
        self.learn(message, method);
        let event = self.next_id("call");
        let asked = Asked {
            method: method.clone(),
            event: event.clone(),
            is_modern: modern(message).is_some(),
            advice: None,
            is_known,
            is_first_page: message.params().get("cursor").is_none(),
        };
        if let Some(held) = message.params().text("requestState").and_then(|state| self.held.remove(state)) {
            return self.called_again(turn, held, message, id);
        }
        // One that the operator listed is not looked into.
        let events = if is_known { self.events(Side::Client, message, &event) } else { Ok(Vec::new()) };
        let events = match events {
            Ok(events) => events,
            Err(reason) => {
                turn.refuse("mcp.message", &bytes);
                return turn.client(&error(id, INVALID, &reason));
            }
        };
        let crossing = Crossing { from: Side::Client, method, size: bytes.len() };
        let means = Capabilities { rewrite: method == "tools/call", ask: method == "tools/call" && self.can_ask };
        match turn.decide(means, &events, &crossing) {
            Ruling::Pass { rewritten, advice } => {
                self.asked.insert(name, Asked { advice, ..asked });
                match rewritten.and_then(|event| event.args?.value().cloned()) {
                    Some(arguments) => turn.server(&with_arguments(&message.value, arguments)),
                    None => turn.outs.push(super::OutgoingMessage::Server(bytes)),
                }
            }
            Ruling::Ask(decision) => self.hold(turn, message, id, asked, &decision),
            Ruling::Stop(reason) => {
                self.exchange.forget(Side::Client, id);
                turn.client(&denied(id, &asked, &reason));
            }
        }
    }

    fn client_notification(&mut self, turn: &mut Turn<'_>, message: &Message, bytes: Vec<u8>, method: &Text) {
        if !methods::is_notification(Side::Client, method) && !self.is_listed(method) {
            turn.refuse("mcp.method", &bytes);
            return turn.note(format!("the client sent `{method}`, which may not pass"));
        }
        let cancelled = message.params().get("requestId").filter(|_| method == "notifications/cancelled");
        if let Some(id) = cancelled {
            self.asked.remove(&key(id));
            self.exchange.forget(Side::Client, id);
            if self.let_go(turn, &key(id)) {
                // The server never heard of the call.
                return;
            }
        }
        self.told(turn, Side::Client, message, bytes);
    }

    /// A notification of either side: it goes on unless a property stands against what it tells.
    pub(super) fn told(&mut self, turn: &mut Turn<'_>, side: Side, message: &Message, bytes: Vec<u8>) {
        let method = message.value.text("method").unwrap_or_default();
        let id = self.next_id("note");
        // One that the operator listed is not looked into.
        let is_known = methods::is_notification(side, method);
        let events = if is_known { self.events(side, message, &id) } else { Ok(Vec::new()) };
        let events = match events {
            Ok(events) => events,
            Err(reason) => {
                turn.refuse("mcp.message", &bytes);
                return turn.note(reason);
            }
        };
        let crossing = Crossing { from: side, method, size: bytes.len() };
        match turn.decide(Capabilities { rewrite: false, ask: false }, &events, &crossing) {
            Ruling::Pass { .. } if side == Side::Client => turn.outs.push(super::OutgoingMessage::Server(bytes)),
            Ruling::Pass { .. } => turn.outs.push(super::OutgoingMessage::Client(bytes)),
            Ruling::Ask(_) => {}
            Ruling::Stop(reason) => turn.note(reason),
        }
    }

    /// The client answers a request of the server.
    fn client_answer(&mut self, turn: &mut Turn<'_>, message: &Message, bytes: Vec<u8>, id: &Json, is_error: bool) {
        let Some(asked) = self.asked_back.remove(&key(id)) else {
            turn.refuse("mcp.unknown_id", &bytes);
            return turn.note(format!("the client answered {id}, which nobody had asked"));
        };
        let is_open = !is_error && asked.is_known;
        if !is_open {
            self.exchange.forget(Side::Server, id);
        }
        let events = if is_open { self.events(Side::Client, message, &asked.event) } else { Ok(Vec::new()) };
        let events = match events {
            Ok(events) => events,
            Err(reason) => {
                turn.refuse("mcp.message", &bytes);
                return turn.server(&error(id, INVALID, &reason));
            }
        };
        let crossing = Crossing { from: Side::Client, method: &asked.method, size: bytes.len() };
        match turn.decide(Capabilities { rewrite: false, ask: false }, &events, &crossing) {
            Ruling::Pass { .. } => turn.outs.push(super::OutgoingMessage::Server(bytes)),
            Ruling::Ask(_) => turn.server(&error(id, NOT_ALLOWED, "this is not allowed")),
            Ruling::Stop(reason) => turn.server(&error(id, NOT_ALLOWED, &reason)),
        }
    }

    /// Learns whether the client can ask a person: it says so once, or with every request.
    fn learn(&mut self, message: &Message, method: &str) {
        let declared = match method {
            "initialize" => message.params().get("capabilities"),
            _ => message.params().get("_meta").and_then(|meta| meta.get(CAPABILITIES)),
        };
        if let Some(capabilities) = declared {
            self.can_ask = capabilities.get("elicitation").is_some_and(|elicitation| {
                // Once there are several ways to ask, a client that names any must name the one with a form.
                let is_bare = elicitation.as_object().is_none_or(Object::is_empty);
                is_bare || elicitation.get("form").is_some() || elicitation.get("url").is_none()
            });
        }
    }
}

/// The revision that a request names, for those that name it with every request.
pub(super) fn modern(message: &Message) -> Option<&str> {
    message.params().get("_meta")?.get(VERSION)?.as_str()
}

/// The same call with other arguments.
pub(super) fn with_arguments(message: &Json, arguments: Json) -> Json {
    let (Json::Object(mut message), Some(Json::Object(mut params))) = (message.clone(), message.get("params").cloned())
    else {
        return message.clone();
    };
    params.insert("arguments", arguments);
    message.insert("params", params);
    Json::Object(message)
}

/// What the client is told about a request that does not go on: a result that says so for a call, else an error.
pub(super) fn denied(id: &Json, asked: &Asked, reason: &str) -> Json {
    match asked.method.as_str() {
        "tools/call" => message::answer(id, outcome::denied(reason, asked.is_modern)),
        _ => error(id, NOT_ALLOWED, reason),
    }
}
