//! Reads the parts of one message: of model messages, and of messages of the user interface.

use std::collections::{HashMap, HashSet};

use super::tool_step::{Invocation, ToolStep, find_invocation, find_last_calls, request_approval};
use crate::chat;
use crate::dialect::fill_answer;
use crate::message_log::{Part, Reading, WaitingCall, tool_result};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// The states of a call whose arguments are complete.
const CALL_STATES: [&str; 7] = [
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
    // Version 4.
    "call",
];

/// Reads the parts of one message.
pub(super) struct PartReader {
    /// The ids of calls by those of the questions about them.
    call_ids: HashMap<Text, Text>,
    /// The calls of model messages that a person is asked about.
    waiting: HashMap<Text, WaitingCall>,
    /// The calls about which this message asks.
    asked: HashSet<Text>,
    /// Whether each call that is still to come is the last one of its step.
    last_calls: std::vec::IntoIter<bool>,
    step: ToolStep,
}

impl PartReader {
    /// Returns the reader of a message with these parts, and with calls beside them.
    pub(super) fn new(parts: &[Json], beside: &[Json], reading: &mut Reading) -> PartReader {
        let mut call_ids = std::mem::take(&mut reading.call_ids);
        let mut asked = HashSet::new();
        for part in parts {
            if let (Some(request), Some(call)) = (part.text("approvalId"), part.text("toolCallId")) {
                call_ids.insert(request.into(), call.into());
                asked.insert(call.into());
            }
        }
        let last_calls = find_last_calls(if beside.is_empty() { parts } else { beside }).into_iter();
        let waiting = std::mem::take(&mut reading.waiting);
        PartReader { call_ids, waiting, asked, last_calls, step: ToolStep::default() }
    }

    /// Adds the rest of the last step.
    pub(super) fn finish(mut self, reading: &mut Reading) {
        self.step.end().into_iter().for_each(|event| reading.push(event));
        (reading.call_ids, reading.waiting) = (self.call_ids, self.waiting);
    }

    /// Returns the meaning of a part.
    pub(super) fn read(&mut self, part: &Json) -> Part {
        let Some(sort) = part.text("type") else { return Part::Unknown };
        let (id, tool) = (part.text("toolCallId"), part.text("toolName"));
        match sort {
            "text" => Part::from_text(part.text("text")),
            "image" | "file" | "source-url" | "source-document" | "source" => Part::Attachment(Text::from(sort)),
            "reasoning" | "redacted-reasoning" | "step-start" => Part::Silent,
            "tool-call" => self.read_call(chat::tool_call(id, tool, part.get("input").or_else(|| part.get("args")))),
            "tool-result" => self.read_result(id, tool, part),
            "tool-error" => {
                let mut event = tool_result(id, tool);
                event.failed = true;
                fill_answer(&mut event, part.get("error").cloned().unwrap_or(Json::Null));
                Part::from_event(event)
            }
            // The call is an event of its own, and so is the decision.
            "tool-approval-request" => Part::Silent,
            "tool-approval-response" => self.read_decision(part),
            sort if sort.starts_with("data-") => Part::from_text(part.get("data").map(ToString::to_string).as_deref()),
            _ => match find_invocation(part) {
                Some((tool, invocation)) => self.read_invocation(tool, invocation),
                None => Part::Unknown,
            },
        }
    }

    /// Reads the call of a model message, which waits if a person is asked about it.
    fn read_call(&mut self, call: Event) -> Part {
        let Some(id) = call.id.clone().filter(|id| self.asked.contains(id)) else { return Part::from_event(call) };
        let request = request_approval(&call);
        self.waiting.insert(id, WaitingCall::Open(Box::new(call)));
        Part::from_event(request)
    }

    /// Reads the answer of a model message. The SDK writes one for a denied call too, which was never made.
    fn read_result(&mut self, id: Option<&str>, tool: Option<&str>, part: &Json) -> Part {
        let mut events = Vec::new();
        match id.and_then(|id| self.waiting.remove(id)) {
            Some(WaitingCall::Denied) => return Part::Silent,
            Some(WaitingCall::Open(call)) => events.push(*call),
            None if part.at("output.type").and_then(Json::as_str) == Some("execution-denied") => {
                events.push(Event { kind: Kind::Denial, ..tool_result(id, tool) });
            }
            None => {}
        }
        let mut event = tool_result(id, tool);
        event.failed = part.get("isError").and_then(Json::as_bool) == Some(true);
        match part.get("output") {
            Some(output) => fill_output(&mut event, output),
            None => fill_answer(&mut event, part.get("result").cloned().unwrap_or(Json::Null)),
        }
        events.push(event);
        Part::Events(events)
    }

    /// Reads the decision on a call of a model message. The call is made after it.
    fn read_decision(&mut self, part: &Json) -> Part {
        let id = part.text("approvalId").and_then(|request| self.call_ids.get(request)).cloned();
        let Some(decision) = read_approval(id.as_deref(), part) else { return Part::Silent };
        let Some(id) = id else { return Part::from_event(decision) };
        let is_denied = decision.kind == Kind::Denial;
        let mut events = vec![decision];
        if let Some(WaitingCall::Open(call)) = self.waiting.remove(&id) {
            match is_denied {
                true => {
                    self.waiting.insert(id, WaitingCall::Denied);
                }
                false => events.push(*call),
            }
        }
        Part::Events(events)
    }

    /// Reads a call with its state, the decision on it and its answer.
    pub(super) fn read_invocation(&mut self, tool: Option<&str>, part: &Json) -> Part {
        let id = part.text("toolCallId");
        let state = part.text("state").unwrap_or_default();
        let is_last = self.last_calls.next().unwrap_or(true);
        if matches!(state, "input-streaming" | "partial-call") {
            return if is_last { Part::Events(self.step.end()) } else { Part::Silent };
        }
        if !CALL_STATES.contains(&state) && state != "result" {
            return Part::Unknown;
        }
        let arguments = ["input", "rawInput", "args"].iter().find_map(|key| part.get(key));
        let approval = part.get("approval").filter(|approval| !approval.is_null());
        let denial = || Event { kind: Kind::Denial, ..tool_result(id, tool) };
        let decision = approval.and_then(|approval| read_approval(id, approval));
        let events = self.step.take(Invocation {
            call: chat::tool_call(id, tool, arguments),
            is_asked: approval.is_some() || matches!(state, "approval-requested" | "output-denied"),
            decision: decision.or_else(|| (state == "output-denied").then(denial)),
            answer: read_answer(id, tool, state, part),
            is_run_by_vendor: part.get("providerExecuted").and_then(Json::as_bool) == Some(true),
            is_last,
        });
        Part::Events(events)
    }
}

/// Reads the answer of a call that has one.
fn read_answer(id: Option<&str>, tool: Option<&str>, state: &str, part: &Json) -> Option<Event> {
    let output = part.get("output").or_else(|| part.get("result"));
    let mut answer = tool_result(id, tool);
    match state {
        "output-available" | "result" => fill_answer(&mut answer, output.cloned().unwrap_or(Json::Null)),
        "output-error" => {
            answer.failed = true;
            answer.text = part.text("errorText").map(Text::from);
        }
        _ => return None,
    }
    Some(answer)
}

/// Reads the decision of a person on a call; nothing if it is still open.
fn read_approval(id: Option<&str>, approval: &Json) -> Option<Event> {
    let is_approved = approval.get("approved").and_then(Json::as_bool)?;
    let mut event = Event::new(if is_approved { Kind::Approval } else { Kind::Denial });
    event.id = id.map(Text::from);
    event.text = approval.text("reason").map(Text::from);
    Some(event)
}

/// Puts the output of a model message's answer into its event.
fn fill_output(event: &mut Event, output: &Json) {
    let value = output.get("value").cloned();
    match output.text("type") {
        Some("text" | "json" | "content") => fill_answer(event, value.unwrap_or(Json::Null)),
        Some("error-text" | "error-json") => {
            event.failed = true;
            fill_answer(event, value.unwrap_or(Json::Null));
        }
        Some("execution-denied") => {
            event.failed = true;
            event.text = output.text("reason").map(Text::from);
        }
        _ => fill_answer(event, output.clone()),
    }
}
