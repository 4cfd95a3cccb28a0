//! The calls of one step of a user interface message, in the order in which they were made.
//!
//! A part holds a call, the decision of a person on it, and its answer. But the model asks for all calls of a step before
//! it sees an answer, and a call that needs an approval is made after the decision. `step-start`, or the number of a step
//! in version 4, tells where a step begins. Without either, each call is a step.

use crate::chat::APPROVAL_REQUEST;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// A call with what is known about it.
pub(super) struct Invocation {
    pub(super) call: Event,
    /// Whether a person is asked before the call is made.
    pub(super) is_asked: bool,
    /// The approval or the denial.
    pub(super) decision: Option<Event>,
    pub(super) answer: Option<Event>,
    /// Whether the vendor of the model runs the tool, so that the model has the answer within the step.
    pub(super) is_run_by_vendor: bool,
    /// Whether it is the last call of its step.
    pub(super) is_last: bool,
}

/// The events of a step that come after the model's own.
#[derive(Debug, Default)]
pub(super) struct ToolStep {
    answers: Vec<Event>,
    decisions: Vec<Event>,
    /// The calls that a person allowed, and their answers.
    allowed: Vec<Event>,
    allowed_answers: Vec<Event>,
}

impl ToolStep {
    /// Takes a call, and returns the events that happened with it.
    pub(super) fn take(&mut self, invocation: Invocation) -> Vec<Event> {
        let Invocation { call, is_asked, decision, answer, is_run_by_vendor, is_last } = invocation;
        let mut events = Vec::new();
        if is_asked {
            events.push(request_approval(&call));
            let is_denied = decision.as_ref().is_some_and(|event| event.kind == Kind::Denial);
            // An answer shows that the call was made, also where the decision is missing.
            if !is_denied && (decision.is_some() || answer.is_some()) {
                self.allowed.push(call);
                self.allowed_answers.extend(answer);
            }
            self.decisions.extend(decision);
        } else {
            events.push(call);
            let place = if is_run_by_vendor { &mut events } else { &mut self.answers };
            place.extend(answer);
        }
        if is_last {
            events.append(&mut self.end());
        }
        events
    }

    /// Ends the step, and returns its remaining events.
    pub(super) fn end(&mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.answers);
        events.append(&mut self.decisions);
        events.append(&mut self.allowed);
        events.append(&mut self.allowed_answers);
        events
    }
}

/// Returns the event of a call that a person is asked about.
pub(super) fn request_approval(call: &Event) -> Event {
    Event { kind: Kind::Other(Text::from(APPROVAL_REQUEST)), ..call.clone() }
}

/// Returns for each call of a message whether it is the last one of its step.
pub(super) fn find_last_calls(parts: &[Json]) -> Vec<bool> {
    let mut steps = 0_u64;
    let mut places = Vec::new();
    let mut number = None;
    let mut is_marked = false;
    for part in parts {
        if part.text("type") == Some("step-start") {
            (steps, is_marked) = (steps + 1, true);
        } else if let Some((_, invocation)) = find_invocation(part) {
            let own = invocation.get("step").and_then(Json::as_i64);
            is_marked |= own.is_some();
            steps += u64::from(own != number && !places.is_empty());
            number = own;
            places.push(steps);
        }
    }
    let is_last = |place: usize| !is_marked || places.get(place + 1) != Some(&places[place]);
    (0..places.len()).map(is_last).collect()
}

/// Returns the tool of a part that holds a call with its state, and the object that has both.
pub(super) fn find_invocation(part: &Json) -> Option<(Option<&str>, &Json)> {
    let named = |part| Some((Json::text(part, "toolName"), part));
    match part.text("type") {
        Some("dynamic-tool") => named(part),
        Some("tool-invocation") => part.get("toolInvocation").and_then(named),
        Some(sort) if part.text("state").is_some() && part.text("toolCallId").is_some() => {
            Some((Some(sort.strip_prefix("tool-")?), part))
        }
        // Version 4 keeps calls beside the parts.
        None if part.text("toolCallId").is_some() => named(part),
        _ => None,
    }
}
