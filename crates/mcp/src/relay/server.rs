//! Messages from the server.

use lictor_decode::Side;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_judge::guard::Capabilities;

use super::client::deny_request;
use super::{ForwardedMessage, MessageDecision, OutgoingMessage, PendingRequest, Relay, RelayStep, id_key};
use crate::message::{DENIED_BY_POLICY, INVALID_REQUEST, METHOD_NOT_FOUND, Message, MessageKind, answer, error};
use crate::{definitions, methods, tool_result, unread};

impl Relay {
    pub(super) fn server_message(&mut self, step: &mut RelayStep<'_>, message: Message, bytes: Vec<u8>) {
        match message.kind.clone() {
            MessageKind::Request { id, method } => self.server_request(step, &message, bytes, &id, &method),
            MessageKind::Notification { method } => {
                if !methods::is_notification(Side::Server, &method) && !self.is_listed(&method) {
                    step.refuse("mcp.method", &bytes);
                    return step.note(format!("dropped notification `{method}` of the server: not allowed"));
                }
                if method == "notifications/cancelled"
                    && let Some(id) = message.params().get("requestId")
                {
                    self.server_requests.remove(&id_key(id));
                    self.exchange.forget(Side::Server, id);
                }
                self.on_notice(step, Side::Server, &message, bytes);
            }
            MessageKind::Response { id, is_error } => self.server_answer(step, &message, bytes, &id, is_error),
        }
    }

    fn server_request(
        &mut self,
        step: &mut RelayStep<'_>,
        message: &Message,
        bytes: Vec<u8>,
        id: &Json,
        method: &Text,
    ) {
        let name = id_key(id);
        if self.server_requests.contains_key(&name) || self.approvals.contains_key(&name) {
            step.refuse("mcp.id_reused", &bytes);
            let reason = format!("duplicate id: a request with id {id} is in flight");
            return step.send_to_server(&error(&Json::Null, INVALID_REQUEST, &reason));
        }
        let is_known = methods::is_request(Side::Server, method);
        if !is_known && !self.is_listed(method) {
            step.refuse("mcp.method", &bytes);
            return step.send_to_server(&error(id, METHOD_NOT_FOUND, &format!("method `{method}` is not allowed")));
        }
        let event = self.next_id("asked");
        let pending = PendingRequest {
            method: method.clone(),
            event: event.clone(),
            is_modern: false,
            advice: None,
            is_known,
            is_first_page: true,
            is_detached: false,
        };
        // A method that the operator listed is not decoded.
        let events = if is_known { self.decode_events(Side::Server, message, &event, method) } else { Ok(Vec::new()) };
        let events = match events {
            Ok(events) => events,
            Err(reason) => {
                step.refuse("mcp.message", &bytes);
                return step.send_to_server(&error(id, INVALID_REQUEST, &reason));
            }
        };
        let forwarded = ForwardedMessage { from: Side::Server, method, size: bytes.len() };
        match step.decide(Capabilities { rewrite: false, ask: false }, &events, &forwarded) {
            MessageDecision::Pass { .. } => {}
            MessageDecision::Ask(_) => {
                return step.send_to_server(&error(id, DENIED_BY_POLICY, "denied by the policy"));
            }
            MessageDecision::Stop(reason) => {
                self.exchange.forget(Side::Server, id);
                return step.send_to_server(&error(id, DENIED_BY_POLICY, &reason));
            }
        }
        self.server_requests.insert(name, pending);
        step.outs.push(OutgoingMessage::Client(bytes));
    }

    fn server_answer(
        &mut self,
        step: &mut RelayStep<'_>,
        message: &Message,
        bytes: Vec<u8>,
        id: &Json,
        is_error: bool,
    ) {
        let Some(pending) = self.client_requests.remove(&id_key(id)) else {
            step.refuse("mcp.unknown_id", &bytes);
            return step.note(format!("dropped response {id} of the server: no such request"));
        };
        let mut events = match self.decode_response(Side::Server, message, &pending) {
            Ok(events) => events,
            Err(reason) => {
                step.refuse("mcp.message", &bytes);
                return step.send_to_client(&error(id, INVALID_REQUEST, &reason));
            }
        };
        if let Err(name) = self.add_digests(&pending, &mut events) {
            step.refuse("mcp.same_name", &bytes);
            return step.send_to_client(&error(
                id,
                DENIED_BY_POLICY,
                &format!("duplicate tool `{name}` in the list of the server"),
            ));
        }
        let capabilities = Capabilities { rewrite: !is_error, ask: false };
        let result = message.value.get("result");
        let forwarded = ForwardedMessage { from: Side::Server, method: &pending.method, size: bytes.len() };
        match step.decide(capabilities, &events, &forwarded) {
            MessageDecision::Pass { rewritten, advice } => {
                events.iter().for_each(|event| self.schemas.learn(event));
                let owed = if pending.method == "tools/call" { self.write_owed(step) } else { None };
                let words = pending.advice.iter().chain(&advice).chain(&owed).cloned().collect::<Vec<_>>().join("\n");
                let mut given = None;
                if let Some(mut event) = rewritten {
                    let unread = unread::read(Side::Server, &pending.method, message).ok().flatten();
                    let has_place = unread::take_out(&mut event, unread.as_ref());
                    let result = result.filter(|_| has_place);
                    given = result.and_then(|result| tool_result::rewrite(&pending.method, result, &event));
                    if given.is_none() {
                        return step.send_to_client(&deny_request(id, &pending, &words));
                    }
                }
                let advised = (!words.is_empty() && pending.method == "tools/call")
                    .then(|| given.as_ref().or(result).and_then(|result| tool_result::append_advice(result, &words)))
                    .flatten();
                match advised.or(given) {
                    Some(result) => step.send_to_client(&answer(id, result)),
                    None => step.outs.push(OutgoingMessage::Client(bytes)),
                }
            }
            MessageDecision::Ask(decision) => {
                step.send_to_client(&deny_request(
                    id,
                    &pending,
                    decision.message.as_deref().unwrap_or("denied by the policy"),
                ));
            }
            MessageDecision::Stop(reason) => step.send_to_client(&deny_request(id, &pending, &reason)),
        }
    }

    /// Adds digests to tool definitions; returns a duplicate name as error.
    fn add_digests(&mut self, pending: &PendingRequest, events: &mut [Event]) -> Result<(), Text> {
        for event in events.iter_mut().filter(|event| event.kind == Kind::ToolDefinitions) {
            if pending.is_first_page {
                self.listed.clear();
            }
            definitions::add_digests(&self.options.server, event, &mut self.listed)?;
        }
        Ok(())
    }
}
