//! Messages from the client.

use lictor_decode::Side;
use lictor_event::Event;
use lictor_json::{Json, Object, Text};
use lictor_judge::guard::Capabilities;

use super::{ForwardedMessage, MessageDecision, PendingRequest, Relay, RelayStep, id_key};
use crate::message::{self, DENIED_BY_POLICY, INVALID_REQUEST, METHOD_NOT_FOUND, Message, MessageKind, error};
use crate::{methods, tool_result, unread};

/// The members with the revision and the client capabilities, in newer revisions.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// How many characters of a key a message shows.
const MAX_SHOWN_CHARS: usize = 60;

impl Relay {
    pub(super) fn client_message(&mut self, step: &mut RelayStep<'_>, message: Message, bytes: Vec<u8>) {
        match message.kind.clone() {
            MessageKind::Request { id, method } => self.client_request(step, &message, bytes, &id, &method),
            MessageKind::Notification { method } => self.client_notification(step, &message, bytes, &method),
            MessageKind::Response { id, is_error } => {
                if let Some(approval) = self.approvals.remove(&id_key(&id)) {
                    return self.on_approval_response(step, approval, message.value.get("result"));
                }
                self.client_answer(step, &message, bytes, &id, is_error);
            }
        }
    }

    fn client_request(
        &mut self,
        step: &mut RelayStep<'_>,
        message: &Message,
        bytes: Vec<u8>,
        id: &Json,
        method: &Text,
    ) {
        let name = id_key(id);
        if self.client_requests.get(&name).is_some_and(|pending| pending.is_detached) {
            self.forget_client_request(id);
        }
        if self.client_requests.contains_key(&name) || self.is_pending(&name) {
            step.refuse("mcp.id_reused", &bytes);
            // Not with its id: the client would take this for the response to the request in flight.
            let reason = format!("duplicate id: a request with id {id} is in flight");
            return step.send_to_client(&error(&Json::Null, INVALID_REQUEST, &reason));
        }
        let is_known = methods::is_request(Side::Client, method);
        if !is_known && !self.is_listed(method) {
            step.refuse("mcp.method", &bytes);
            return step.send_to_client(&error(id, METHOD_NOT_FOUND, &format!("method `{method}` is not allowed")));
        }
        self.read_capabilities(message, method);
        let event = self.next_id("call");
        let pending = PendingRequest {
            method: method.clone(),
            event: event.clone(),
            is_modern: protocol_revision(message).is_some(),
            advice: None,
            is_known,
            is_first_page: message.params().get("cursor").is_none(),
            is_detached: false,
        };
        if matches!(method.as_str(), "tools/call" | "prompts/get")
            && let Some(key) = self.schemas.find_similar_key(message.params())
        {
            step.refuse("mcp.spelling", &bytes);
            return step.send_to_client(&deny_request(id, &pending, &similar_key(&key)));
        }
        if let Some(approval) = message.params().text("requestState").and_then(|state| self.approvals.remove(state)) {
            return self.resume_call(step, approval, message, id);
        }
        // A method that the operator listed is not decoded.
        let events = if is_known { self.decode_events(Side::Client, message, &event, method) } else { Ok(Vec::new()) };
        let events = match events {
            Ok(events) => events,
            Err(reason) => {
                step.refuse("mcp.message", &bytes);
                return step.send_to_client(&error(id, INVALID_REQUEST, &reason));
            }
        };
        let forwarded = ForwardedMessage { from: Side::Client, method, size: bytes.len() };
        let capabilities =
            Capabilities { rewrite: method == "tools/call", ask: method == "tools/call" && self.can_ask };
        match step.decide(capabilities, &events, &forwarded) {
            MessageDecision::Pass { rewritten, advice } => {
                let arguments = match rewritten.map(|event| rewritten_arguments(message, *event)) {
                    Some(Err(NoPlace)) => {
                        self.exchange.forget(Side::Client, id);
                        return step.send_to_client(&deny_request(id, &pending, UNWRITTEN));
                    }
                    Some(Ok(arguments)) => arguments,
                    None => None,
                };
                self.client_requests.insert(name, PendingRequest { advice, ..pending });
                match arguments {
                    Some(arguments) => step.send_to_server(&with_arguments(&message.value, arguments)),
                    None => step.outs.push(super::OutgoingMessage::Server(bytes)),
                }
            }
            MessageDecision::Ask(decision) => self.ask_approval(step, message, id, pending, &decision),
            MessageDecision::Stop(reason) => {
                self.exchange.forget(Side::Client, id);
                step.send_to_client(&deny_request(id, &pending, &reason));
            }
        }
    }

    fn client_notification(&mut self, step: &mut RelayStep<'_>, message: &Message, bytes: Vec<u8>, method: &Text) {
        if !methods::is_notification(Side::Client, method) && !self.is_listed(method) {
            step.refuse("mcp.method", &bytes);
            return step.note(format!("dropped notification `{method}` of the client: not allowed"));
        }
        let cancelled = message.params().get("requestId").filter(|_| method == "notifications/cancelled");
        if let Some(id) = cancelled {
            self.forget_client_request(id);
            if self.cancel_pending(step, &id_key(id)) {
                // The server never saw the call.
                return;
            }
        }
        self.on_notice(step, Side::Client, message, bytes);
    }

    /// Handles a notification of either side: it is forwarded unless a property denies it.
    pub(super) fn on_notice(&mut self, step: &mut RelayStep<'_>, side: Side, message: &Message, bytes: Vec<u8>) {
        let method = message.value.text("method").unwrap_or_default();
        let id = self.next_id("note");
        // A method that the operator listed is not decoded.
        let is_known = methods::is_notification(side, method);
        let events = if is_known { self.decode_events(side, message, &id, method) } else { Ok(Vec::new()) };
        let events = match events {
            Ok(events) => events,
            Err(reason) => {
                step.refuse("mcp.message", &bytes);
                return step.note(reason);
            }
        };
        let forwarded = ForwardedMessage { from: side, method, size: bytes.len() };
        match step.decide(Capabilities { rewrite: false, ask: false }, &events, &forwarded) {
            MessageDecision::Pass { .. } if side == Side::Client => {
                step.outs.push(super::OutgoingMessage::Server(bytes))
            }
            MessageDecision::Pass { .. } => step.outs.push(super::OutgoingMessage::Client(bytes)),
            MessageDecision::Ask(_) => {}
            MessageDecision::Stop(reason) => step.note(reason),
        }
    }

    /// Handles a response of the client to a request of the server.
    fn client_answer(
        &mut self,
        step: &mut RelayStep<'_>,
        message: &Message,
        bytes: Vec<u8>,
        id: &Json,
        is_error: bool,
    ) {
        let Some(pending) = self.server_requests.remove(&id_key(id)) else {
            step.refuse("mcp.unknown_id", &bytes);
            return step.note(format!("dropped response {id} of the client: no such request"));
        };
        let is_open = !is_error && pending.is_known;
        if !is_open {
            self.exchange.forget(Side::Server, id);
        }
        let events = if is_open { self.decode_response(Side::Client, message, &pending) } else { Ok(Vec::new()) };
        let events = match events {
            Ok(events) => events,
            Err(reason) => {
                step.refuse("mcp.message", &bytes);
                return step.send_to_server(&error(id, INVALID_REQUEST, &reason));
            }
        };
        let forwarded = ForwardedMessage { from: Side::Client, method: &pending.method, size: bytes.len() };
        match step.decide(Capabilities { rewrite: false, ask: false }, &events, &forwarded) {
            MessageDecision::Pass { .. } => step.outs.push(super::OutgoingMessage::Server(bytes)),
            MessageDecision::Ask(_) => step.send_to_server(&error(id, DENIED_BY_POLICY, "denied by the policy")),
            MessageDecision::Stop(reason) => step.send_to_server(&error(id, DENIED_BY_POLICY, &reason)),
        }
    }

    /// Reads whether the client supports elicitation: it declares that once or with every request.
    fn read_capabilities(&mut self, message: &Message, method: &str) {
        let declared = match method {
            "initialize" => message.params().get("capabilities"),
            _ => message.params().get("_meta").and_then(|meta| meta.get(CAPABILITIES)),
        };
        if let Some(capabilities) = declared {
            self.can_ask = capabilities.get("elicitation").is_some_and(|elicitation| {
                // An empty capability means forms; a client that lists modes must list `form`.
                let is_bare = elicitation.as_object().is_none_or(Object::is_empty);
                is_bare || elicitation.get("form").is_some() || elicitation.get("url").is_none()
            });
        }
    }
}

/// Returns the reason why a call is refused with a key that some tools take for another one.
fn similar_key(key: &str) -> String {
    let shown: String = key.chars().take(MAX_SHOWN_CHARS).collect();
    format!(
        "the argument `{shown}` differs from another one in upper and lower case only; write it as the tool declares it"
    )
}

/// Returns the revision in a request, if it has one.
pub(super) fn protocol_revision(message: &Message) -> Option<&str> {
    message.params().get("_meta")?.get(VERSION)?.as_str()
}

/// The reason of a denial where a text that must be redacted is beside the arguments or the content.
pub(super) const UNWRITTEN: &str = "a text outside of the arguments must be redacted; leave it out";

/// A rewritten event has a text for which the message has no place.
pub(super) struct NoPlace;

/// Returns the arguments of a rewritten call, if it has some.
pub(super) fn rewritten_arguments(message: &Message, mut event: Event) -> Result<Option<Json>, NoPlace> {
    let unread = unread::read(Side::Client, "tools/call", message).ok().flatten();
    match unread::take_out(&mut event, unread.as_ref()) {
        true => Ok(event.args.and_then(|args| args.value().cloned())),
        false => Err(NoPlace),
    }
}

/// Returns a call with other arguments.
pub(super) fn with_arguments(message: &Json, arguments: Json) -> Json {
    let (Json::Object(mut message), Some(Json::Object(mut params))) = (message.clone(), message.get("params").cloned())
    else {
        return message.clone();
    };
    params.insert("arguments", arguments);
    message.insert("params", params);
    Json::Object(message)
}

/// Returns the response to a denied request: an error result for a tool call, otherwise an error.
pub(super) fn deny_request(id: &Json, pending: &PendingRequest, reason: &str) -> Json {
    match pending.method.as_str() {
        "tools/call" => message::answer(id, tool_result::deny(reason, pending.is_modern)),
        _ => error(id, DENIED_BY_POLICY, reason),
    }
}
