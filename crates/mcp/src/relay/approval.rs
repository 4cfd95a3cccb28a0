//! Calls that wait for approval by a person.
//!
//! In older revisions the relay sends a question to the client and holds the call. In newer ones it answers the call
//! with the question, and the client repeats the call with the approval and the state of the question. Either way only
//! the call that was shown is forwarded.

use lictor_decode::Side;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_judge::guard::{Capabilities, Decision};

use super::client::{UNWRITTEN, deny_request, rewritten_arguments, with_arguments};
use super::{PendingRequest, Relay, RelayStep, id_key};
use crate::message::{self, Message, object};

/// The name of our question among the input requests of a response.
const QUESTION_NAME: &str = "lictor";

/// The longest call that is shown to a person, in characters.
const MAX_SHOWN_CHARACTERS: usize = 4_000;

/// A call that waits for approval.
#[derive(Clone, Debug)]
pub(super) struct PendingApproval {
    /// The id of the request.
    id: Json,
    request: Json,
    pending: PendingRequest,
}

impl Relay {
    /// Whether a request waits for approval.
    pub(super) fn is_pending(&self, id: &Text) -> bool {
        self.approvals.values().any(|approval| !approval.pending.is_modern && id_key(&approval.id) == *id)
    }

    /// Holds a call and asks for approval.
    pub(super) fn ask_approval(
        &mut self,
        step: &mut RelayStep<'_>,
        message: &Message,
        id: &Json,
        pending: PendingRequest,
        decision: &Decision,
    ) {
        let Some(text) = format_question(message, decision) else {
            self.exchange.forget(Side::Client, id);
            let approval = PendingApproval { id: id.clone(), request: message.value.clone(), pending };
            self.record_denial(step, &approval);
            let reason =
                "this step needs approval, but is too long to be shown (limit 4,000 characters); make a shorter call";
            return step.send_to_client(&deny_request(id, &approval.pending, reason));
        };
        let question = self.next_id("lictor");
        let allow = object([("type", "boolean".into()), ("description", "Allow this step".into())]);
        let form = object([
            ("type", "object".into()),
            ("properties", object([("allow", allow)])),
            ("required", Json::Array(vec!["allow".into()])),
        ]);
        let mut params = vec![("message", Json::from(text)), ("requestedSchema", form)];
        if pending.is_modern {
            params.insert(0, ("mode", "form".into()));
            let request = object([("method", "elicitation/create".into()), ("params", object(params))]);
            let result = object([
                ("resultType", "input_required".into()),
                ("inputRequests", object([(QUESTION_NAME, request)])),
                ("requestState", question.clone().into()),
            ]);
            self.exchange.forget(Side::Client, id);
            step.send_to_client(&message::answer(id, result));
            self.approvals
                .insert(question, PendingApproval { id: id.clone(), request: message.value.clone(), pending });
        } else {
            let question_id = Json::from(question);
            let request = object([
                ("jsonrpc", "2.0".into()),
                ("id", question_id.clone()),
                ("method", "elicitation/create".into()),
                ("params", object(params)),
            ]);
            step.send_to_client(&request);
            self.approvals.insert(
                id_key(&question_id),
                PendingApproval { id: id.clone(), request: message.value.clone(), pending },
            );
        }
    }

    /// Handles the response to our question.
    pub(super) fn on_approval_response(
        &mut self,
        step: &mut RelayStep<'_>,
        approval: PendingApproval,
        answer: Option<&Json>,
    ) {
        let id = approval.id.clone();
        self.settle(step, approval, answer, &id);
    }

    /// Handles a repeated call with the approval.
    pub(super) fn resume_call(
        &mut self,
        step: &mut RelayStep<'_>,
        approval: PendingApproval,
        message: &Message,
        id: &Json,
    ) {
        let same = |member: &str| approval.request.at(member) == message.value.at(member);
        if !(same("method") && same("params.name") && same("params.arguments")) {
            let reason = "the call differs from the one that was shown for approval";
            step.refuse("mcp.other_call", message.value.to_string().as_bytes());
            self.record_denial(step, &approval);
            return step.send_to_client(&deny_request(id, &approval.pending, reason));
        }
        let answer = message.params().get("inputResponses").and_then(|responses| responses.get(QUESTION_NAME));
        let answer = answer.cloned();
        // The server gets the original call, with the id of the repeated one.
        let Json::Object(mut request) = approval.request.clone() else { return };
        request.insert("id", id.clone());
        let approval = PendingApproval { id: id.clone(), request: Json::Object(request), pending: approval.pending };
        self.settle(step, approval, answer.as_ref(), id);
    }

    /// Decides on a call after the approval or denial.
    fn settle(&mut self, step: &mut RelayStep<'_>, approval: PendingApproval, answer: Option<&Json>, id: &Json) {
        let is_yes = answer.is_some_and(|answer| {
            answer.text("action") == Some("accept") && answer.at("content.allow").and_then(Json::as_bool) == Some(true)
        });
        let mut event = Event::new(if is_yes { Kind::Approval } else { Kind::Denial });
        event.id = Some(approval.pending.event.clone());
        event.more.insert("by", "the user");
        let event = self.stamp(event);
        let capabilities = Capabilities { rewrite: true, ask: false };
        let settled = match step.warden.decide_within(capabilities, &event, Some(step.now)) {
            Ok(answer) if answer.is_duplicate => None,
            Ok(answer) => answer.decision.settled.first().cloned(),
            Err(error) => {
                let reason = step.record_failure(&error);
                return step.send_to_client(&deny_request(id, &approval.pending, &reason));
            }
        };
        match settled {
            Some(decision) if is_yes && decision.action.takes_effect() => {
                let message = Message::from_value(approval.request.clone()).ok();
                let rewritten = message.zip(decision.rewritten.clone());
                let arguments = rewritten.map(|(message, event)| rewritten_arguments(&message, *event));
                let Ok(arguments) = arguments.transpose() else {
                    return step.send_to_client(&deny_request(id, &approval.pending, UNWRITTEN));
                };
                // Register the request, so that its response is recognized.
                let _ = self.exchange.message(Side::Client, &approval.request);
                self.client_requests.insert(id_key(id), approval.pending);
                match arguments.flatten() {
                    Some(arguments) => step.send_to_server(&with_arguments(&approval.request, arguments)),
                    None => step.send_to_server(&approval.request),
                }
            }
            decision => {
                let reason = decision.and_then(|decision| decision.message);
                let reason = reason.unwrap_or_else(|| "This step was denied.".to_owned());
                self.exchange.forget(Side::Client, id);
                step.send_to_client(&deny_request(id, &approval.pending, &reason));
            }
        }
    }

    /// Cancels a call that waits for approval; false if there is none.
    pub(super) fn cancel_pending(&mut self, step: &mut RelayStep<'_>, id: &Text) -> bool {
        let Some(question) = self
            .approvals
            .iter()
            .find(|(_, approval)| id_key(&approval.id) == *id)
            .map(|(question, _)| question.clone())
        else {
            return false;
        };
        if let Some(approval) = self.approvals.remove(&question) {
            self.record_denial(step, &approval);
        }
        true
    }

    fn record_denial(&mut self, step: &mut RelayStep<'_>, approval: &PendingApproval) {
        let mut event = Event::new(Kind::Denial);
        event.id = Some(approval.pending.event.clone());
        let event = self.stamp(event);
        if let Err(error) = step.warden.decide(&event, Some(step.now)) {
            step.record_failure(&error);
        }
    }
}

/// Returns the question with the reason and the call. The person approves the call with its arguments, so all of it is
/// shown; none if that is too long.
fn format_question(message: &Message, decision: &Decision) -> Option<String> {
    let why = decision.message.as_deref().unwrap_or("This step needs your approval.");
    let rewritten = decision.rewritten.as_ref().and_then(|event| event.args.as_ref()?.value());
    let arguments = rewritten.or_else(|| message.params().get("arguments"));
    // As JSON, so that the call cannot imitate the text of the question.
    let tool = Json::from(message.params().text("name").unwrap_or_default());
    let call = format!("{tool} {}", arguments.map(Json::to_string).unwrap_or_default());
    (call.chars().count() <= MAX_SHOWN_CHARACTERS).then(|| format!("{why}\nThe call: {call}"))
}
