//! What the server sends.

use lictor_decode::Side;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_judge::guard::Capabilities;

use super::client::denied;
use super::{Asked, Crossing, OutgoingMessage, Relay, Ruling, Turn, key};
use crate::message::{INVALID, Message, NO_METHOD, NOT_ALLOWED, Sort, answer, error};
use crate::{definitions, methods, outcome};

impl Relay {
    pub(super) fn server_message(&mut self, turn: &mut Turn<'_>, message: Message, bytes: Vec<u8>) {
        match message.sort.clone() {
            Sort::Request { id, method } => self.server_request(turn, &message, bytes, &id, &method),
            Sort::Notification { method } => {
                if !methods::is_notification(Side::Server, &method) && !self.is_listed(&method) {
                    turn.refuse("mcp.method", &bytes);
                    return turn.note(format!("the server sent `{method}`, which may not pass"));
                }
                if method == "notifications/cancelled"
                    && let Some(id) = message.params().get("requestId")
                {
                    self.asked_back.remove(&key(id));
                    self.exchange.forget(Side::Server, id);
                }
                self.told(turn, Side::Server, &message, bytes);
            }
            Sort::Answer { id, is_error } => self.server_answer(turn, &message, bytes, &id, is_error),
        }
    }

    fn server_request(&mut self, turn: &mut Turn<'_>, message: &Message, bytes: Vec<u8>, id: &Json, method: &Text) {
        let name = key(id);
        if self.asked_back.contains_key(&name) || self.held.contains_key(&name) {
            turn.refuse("mcp.id_reused", &bytes);
            let reason = format!("a request with the id {id} is still waiting for its answer");
            return turn.server(&error(&Json::Null, INVALID, &reason));
        }
        let is_known = methods::is_request(Side::Server, method);
        if !is_known && !self.is_listed(method) {
            turn.refuse("mcp.method", &bytes);
            return turn.server(&error(id, NO_METHOD, &format!("`{method}` is not a method that may pass")));
        }
        let event = self.next_id("asked");
        let asked = Asked {
            method: method.clone(),
            event: event.clone(),
            is_modern: false,
            advice: None,
            is_known,
            is_first_page: true,
        };
        // One that the operator listed is not looked into.
        let events = if is_known { self.events(Side::Server, message, &event) } else { Ok(Vec::new()) };
        let events = match events {
            Ok(events) => events,
            Err(reason) => {
                turn.refuse("mcp.message", &bytes);
                return turn.server(&error(id, INVALID, &reason));
            }
        };
        let crossing = Crossing { from: Side::Server, method, size: bytes.len() };
        match turn.decide(Capabilities { rewrite: false, ask: false }, &events, &crossing) {
            Ruling::Pass { .. } => {}
            Ruling::Ask(_) => return turn.server(&error(id, NOT_ALLOWED, "this is not allowed")),
            Ruling::Stop(reason) => {
                self.exchange.forget(Side::Server, id);
                return turn.server(&error(id, NOT_ALLOWED, &reason));
            }
        }
        self.asked_back.insert(name, asked);
        turn.outs.push(OutgoingMessage::Client(bytes));
    }

    fn server_answer(&mut self, turn: &mut Turn<'_>, message: &Message, bytes: Vec<u8>, id: &Json, is_error: bool) {
        let Some(asked) = self.asked.remove(&key(id)) else {
            turn.refuse("mcp.unknown_id", &bytes);
            return turn.note(format!("the server answered {id}, which nobody had asked"));
        };
        let events = if asked.is_known { self.events(Side::Server, message, &asked.event) } else { Ok(Vec::new()) };
        let mut events = match events {
            Ok(events) => events,
            Err(reason) => {
                turn.refuse("mcp.message", &bytes);
                return turn.client(&error(id, INVALID, &reason));
            }
        };
        if let Err(name) = self.pin(&asked, &mut events) {
            turn.refuse("mcp.same_name", &bytes);
            return turn.client(&error(id, NOT_ALLOWED, &format!("the server names the tool `{name}` twice")));
        }
        let means = Capabilities { rewrite: !is_error, ask: false };
        let result = message.value.get("result");
        let crossing = Crossing { from: Side::Server, method: &asked.method, size: bytes.len() };
        match turn.decide(means, &events, &crossing) {
            Ruling::Pass { rewritten, advice } => {
                let words = asked.advice.iter().chain(&advice).cloned().collect::<Vec<_>>().join("\n");
                let mut given = None;
                if let Some(event) = rewritten {
                    given = result.and_then(|result| outcome::rewritten(&asked.method, result, &event));
                    if given.is_none() {
                        return turn.client(&denied(id, &asked, &words));
                    }
                }
                let advised = (!words.is_empty() && asked.method == "tools/call")
                    .then(|| given.as_ref().or(result).and_then(|result| outcome::advised(result, &words)))
                    .flatten();
                match advised.or(given) {
                    Some(result) => turn.client(&answer(id, result)),
                    None => turn.outs.push(OutgoingMessage::Client(bytes)),
                }
            }
            Ruling::Ask(decision) => {
                turn.client(&denied(id, &asked, decision.message.as_deref().unwrap_or("this is not allowed")));
            }
            Ruling::Stop(reason) => turn.client(&denied(id, &asked, &reason)),
        }
    }

    /// Gives definitions their digests; fails with the name that stands twice.
    fn pin(&mut self, asked: &Asked, events: &mut [Event]) -> Result<(), Text> {
        for event in events.iter_mut().filter(|event| event.kind == Kind::ToolDefinitions) {
            if asked.is_first_page {
                self.listed.clear();
            }
            definitions::pin(&self.terms.server, event, &mut self.listed)?;
        }
        Ok(())
    }
}
