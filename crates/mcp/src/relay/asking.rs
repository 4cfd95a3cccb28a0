//! Calls that wait for a person.
//!
//! In the older revisions a question goes to the client while the call waits here. In the newer ones the call is answered
//! with the question, and the client calls again with the answer and the state that came with the question. Either way
//! what goes on is the call that was asked about, and no other.

use lictor_decode::Side;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_judge::guard::{Capabilities, Decision};

use super::client::{denied, with_arguments};
use super::{Asked, Relay, Turn, key};
use crate::message::{self, Message, object};

/// The name of our question among those that a call is answered with.
const QUESTION: &str = "lictor";

/// How many characters of a call a person is shown.
const MOST_SHOWN: usize = 4_000;

/// A call that waits.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// The id of the request.
    id: Json,
    request: Json,
    asked: Asked,
}

impl Relay {
    /// Whether a request waits for a person.
    pub(super) fn is_held(&self, id: &Text) -> bool {
        self.held.values().any(|held| !held.asked.is_modern && key(&held.id) == *id)
    }

    /// Keeps a call, and asks.
    pub(super) fn hold(
        &mut self,
        turn: &mut Turn<'_>,
        message: &Message,
        id: &Json,
        asked: Asked,
        decision: &Decision,
    ) {
        let Some(text) = question(message, decision) else {
            self.exchange.forget(Side::Client, id);
            let held = Held { id: id.clone(), request: message.value.clone(), asked };
            self.deny(turn, &held);
            let reason = "this step would have to be allowed by a person, and is too long to be shown to one";
            return turn.client(&denied(id, &held.asked, reason));
        };
        let question = self.next_id("lictor");
        let allow = object([("type", "boolean".into()), ("description", "Allow this step".into())]);
        let form = object([
            ("type", "object".into()),
            ("properties", object([("allow", allow)])),
            ("required", Json::Array(vec!["allow".into()])),
        ]);
        let mut params = vec![("message", Json::from(text)), ("requestedSchema", form)];
        if asked.is_modern {
            params.insert(0, ("mode", "form".into()));
            let request = object([("method", "elicitation/create".into()), ("params", object(params))]);
            let result = object([
                ("resultType", "input_required".into()),
                ("inputRequests", object([(QUESTION, request)])),
                ("requestState", question.clone().into()),
            ]);
            self.exchange.forget(Side::Client, id);
            turn.client(&message::answer(id, result));
            self.held.insert(question, Held { id: id.clone(), request: message.value.clone(), asked });
        } else {
            let id_of_ours = Json::from(question);
            let request = object([
                ("jsonrpc", "2.0".into()),
                ("id", id_of_ours.clone()),
                ("method", "elicitation/create".into()),
                ("params", object(params)),
            ]);
            turn.client(&request);
            self.held.insert(key(&id_of_ours), Held { id: id.clone(), request: message.value.clone(), asked });
        }
    }

    /// The person answered our question.
    pub(super) fn answered(&mut self, turn: &mut Turn<'_>, held: Held, answer: Option<&Json>) {
        let id = held.id.clone();
        self.settle(turn, held, answer, &id);
    }

    /// The client calls again, with the answer to our question.
    pub(super) fn called_again(&mut self, turn: &mut Turn<'_>, held: Held, message: &Message, id: &Json) {
        let same = |member: &str| held.request.at(member) == message.value.at(member);
        if !(same("method") && same("params.name") && same("params.arguments")) {
            let reason = "this is not the call that a person was asked about";
            turn.refuse("mcp.other_call", message.value.to_string().as_bytes());
            self.deny(turn, &held);
            return turn.client(&denied(id, &held.asked, reason));
        }
        let answer = message.params().get("inputResponses").and_then(|responses| responses.get(QUESTION));
        let answer = answer.cloned();
        // What the server reads is the call as it was at first, under the id that is waiting now.
        let Json::Object(mut request) = held.request.clone() else { return };
        request.insert("id", id.clone());
        let held = Held { id: id.clone(), request: Json::Object(request), asked: held.asked };
        self.settle(turn, held, answer.as_ref(), id);
    }

    /// Decides on a call now that a person has answered.
    fn settle(&mut self, turn: &mut Turn<'_>, held: Held, answer: Option<&Json>, id: &Json) {
        let is_yes = answer.is_some_and(|answer| {
            answer.text("action") == Some("accept") && answer.at("content.allow").and_then(Json::as_bool) == Some(true)
        });
        let mut event = Event::new(if is_yes { Kind::Approval } else { Kind::Denial });
        event.id = Some(held.asked.event.clone());
        event.more.insert("by", "the user");
        let event = self.stamped(event);
        let means = Capabilities { rewrite: true, ask: false };
        let settled = match turn.warden.decide_within(means, &event, Some(turn.now)) {
            Ok(answer) if answer.is_duplicate => None,
            Ok(answer) => answer.decision.settled.first().cloned(),
            Err(error) => {
                let reason = turn.failed(&error);
                return turn.client(&denied(id, &held.asked, &reason));
            }
        };
        match settled {
            Some(decision) if is_yes && decision.action.goes_on() => {
                // The exchange reads it now, so that the answer is known to belong to it.
                let _ = self.exchange.message(Side::Client, &held.request);
                self.asked.insert(key(id), held.asked);
                match decision.rewritten.and_then(|event| event.args?.value().cloned()) {
                    Some(arguments) => turn.server(&with_arguments(&held.request, arguments)),
                    None => turn.server(&held.request),
                }
            }
            decision => {
                let reason = decision.and_then(|decision| decision.message);
                let reason = reason.unwrap_or_else(|| "This step was not allowed.".to_owned());
                self.exchange.forget(Side::Client, id);
                turn.client(&denied(id, &held.asked, &reason));
            }
        }
    }

    /// Nobody wants the call any more.
    pub(super) fn let_go(&mut self, turn: &mut Turn<'_>, id: &Text) -> bool {
        let Some(question) =
            self.held.iter().find(|(_, held)| key(&held.id) == *id).map(|(question, _)| question.clone())
        else {
            return false;
        };
        if let Some(held) = self.held.remove(&question) {
            self.deny(turn, &held);
        }
        true
    }

    fn deny(&mut self, turn: &mut Turn<'_>, held: &Held) {
        let mut event = Event::new(Kind::Denial);
        event.id = Some(held.asked.event.clone());
        let event = self.stamped(event);
        if let Err(error) = turn.warden.decide(&event, Some(turn.now)) {
            turn.failed(&error);
        }
    }
}

/// What a person is asked: why, and about what. They say yes to a call with its arguments, so they are shown all of it; none
/// if that is too long.
fn question(message: &Message, decision: &Decision) -> Option<String> {
    let why = decision.message.as_deref().unwrap_or("This step waits until a person has allowed it.");
    let rewritten = decision.rewritten.as_ref().and_then(|event| event.args.as_ref()?.value());
    let arguments = rewritten.or_else(|| message.params().get("arguments"));
    // As JSON, so that nothing in it looks like a line of ours.
    let tool = Json::from(message.params().text("name").unwrap_or_default());
    let call = format!("{tool} {}", arguments.map(Json::to_string).unwrap_or_default());
    (call.chars().count() <= MOST_SHOWN).then(|| format!("{why}\nThe call: {call}"))
}
