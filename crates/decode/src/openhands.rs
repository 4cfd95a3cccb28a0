//! OpenHands events: those of its runtime, and those of its agent SDK.
//!
//! An event of the runtime is an action with arguments, or an observation that names the action that caused it; the
//! number of the action is the id of the call. An event of the SDK says what it is in `kind` and has the id of the
//! model's call. Both write times without an offset, so the events have no time.

use super::chat;
use super::content::Content;
use super::dialect::fill_answer;
use super::message_log::{MessageLog, MessageLogDecoder, Reading, Turn, tool_result};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// Actions and observations that change the state of the runtime and do nothing.
const SILENT: [&str; 16] = [
    "null",
    "start",
    "pause",
    "resume",
    "stop",
    "change_agent_state",
    "agent_state_changed",
    "condensation",
    "condensation_request",
    "condense",
    "recall",
    "success",
    "chat",
    "message",
    "loop_recovery",
    "loop_detection",
];

/// Events of the SDK that are neither words nor calls.
const SILENT_KINDS: [&str; 11] = [
    "PauseEvent",
    "InterruptEvent",
    "Condensation",
    "CondensationRequest",
    "CondensationSummaryEvent",
    "ConversationStateUpdateEvent",
    "LLMCompletionLogEvent",
    "TokenEvent",
    "StreamingDeltaEvent",
    "HookExecutionEvent",
    "SecurityAnalysisEvent",
];

/// Events of the SDK that are read.
const KINDS: [&str; 8] = [
    "MessageEvent",
    "SystemPromptEvent",
    "ActionEvent",
    "ObservationEvent",
    "UserRejectObservation",
    "AgentErrorEvent",
    "ConversationErrorEvent",
    "ACPToolCallEvent",
];

/// Decodes the records of one file.
pub(super) type OpenhandsDecoder = MessageLogDecoder<OpenhandsLog>;

/// The shapes of OpenHands' events.
#[derive(Debug, Default)]
pub(super) struct OpenhandsLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_event(value) || list_events(value).is_some_and(|events| events.iter().any(is_event_or_pair))
}

fn is_event(value: &Json) -> bool {
    let is_action = value.text("action").is_some() && value.get("args").is_some();
    let is_observation = value.text("observation").is_some() && value.get("content").is_some();
    let is_kind = |kind: &str| KINDS.contains(&kind) || SILENT_KINDS.contains(&kind);
    matches!(value.text("source"), Some("user" | "agent" | "environment" | "hook"))
        && (is_action || is_observation || value.text("kind").is_some_and(is_kind))
}

/// Whether a value is an event, or an action with its observation as evaluations keep them.
fn is_event_or_pair(value: &Json) -> bool {
    is_event(value) || value.as_array().is_some_and(|pair| pair.iter().any(is_event))
}

fn list_events(value: &Json) -> Option<&[Json]> {
    ["trajectory", "history", "events"].iter().find_map(|key| value.get(key)).unwrap_or(value).as_array()
}

impl MessageLog for OpenhandsLog {
    const WRITES_OFFSETS: bool = false;

    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        if is_event(value) {
            return vec![Turn::from_message(value)];
        }
        let Some(events) = list_events(value) else { return Vec::new() };
        let session = ["instance_id", "conversation_id", "sid"].iter().find_map(|key| value.text(key));
        let messages = events.iter().flat_map(|event| event.as_array().unwrap_or(std::slice::from_ref(event)));
        let messages = messages.collect();
        vec![Turn { session: session.map(Text::from), messages, is_history: true, ..Turn::default() }]
    }

    fn read_message(event: &Json, reading: &mut Reading) {
        let is_known = is_event(event)
            && match (event.text("action"), event.text("observation")) {
                (Some(action), _) => read_action(action, event, reading),
                (None, Some(observation)) => read_observation(observation, event, reading),
                (None, None) => read_sdk_event(event, reading),
            };
        if !is_known {
            reading.push_unknown(event);
        }
    }
}

/// Adds an event with a text, unless that is empty.
fn push_text(kind: Kind, text: Option<&str>, reading: &mut Reading) {
    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
        reading.push(Event { text: Some(text.into()), ..Event::new(kind) });
    }
}

/// Reads an action of the runtime; returns whether its shape is known.
fn read_action(action: &str, event: &Json, reading: &mut Reading) -> bool {
    let args = event.get("args").unwrap_or(&Json::Null);
    let is_user = event.text("source") == Some("user");
    match action {
        "message" if is_user => reading.push(chat::message_event(Kind::UserMessage, read_words(args))),
        "message" => reading.push(chat::message_event(Kind::AssistantMessage, read_words(args))),
        "system" => {
            push_text(Kind::SystemMessage, args.text("content"), reading);
        }
        "finish" | "reject" => {
            let said = args.text("final_thought").filter(|text| !text.is_empty()).or_else(|| args.text("thought"));
            push_text(Kind::AssistantMessage, said.or_else(|| event.text("message")), reading);
        }
        action if SILENT.contains(&action) => {}
        action => {
            push_text(Kind::AssistantMessage, args.text("thought").filter(|_| action != "think"), reading);
            let named = event.at("tool_call_metadata.function_name").and_then(Json::as_str);
            let id = event.get("id").and_then(number_text);
            let tool = named.or_else(|| args.text("name")).unwrap_or(action);
            let arguments = args.get("arguments").filter(|_| action == "call_tool_mcp").unwrap_or(args);
            reading.push(chat::tool_call(id.as_deref(), Some(tool), Some(arguments)));
        }
    }
    true
}

fn read_words(args: &Json) -> Content {
    let mut content = Content::from_json(args.get("content").unwrap_or(&Json::Null), "\n");
    let images = args.get("image_urls").and_then(Json::as_array).unwrap_or_default();
    content.attachments.extend(images.iter().map(|_| Text::from("image")));
    content
}

/// Reads an observation of the runtime; returns whether its shape is known.
fn read_observation(observation: &str, event: &Json, reading: &mut Reading) -> bool {
    let cause = event.get("cause").and_then(number_text);
    if SILENT.contains(&observation) {
        return true;
    }
    if observation == "user_rejected" {
        reading.push(Event { id: cause, text: event.text("content").map(Text::from), ..Event::new(Kind::Denial) });
        return true;
    }
    let mut answer = tool_result(cause.as_deref(), None);
    answer.failed = observation == "error" || event.at("extras.error") == Some(&Json::Bool(true));
    fill_answer(&mut answer, event.get("content").cloned().unwrap_or(Json::Null));
    // An error that no action caused is a failure of the runtime.
    if cause.is_none() && observation == "error" {
        answer.kind = Kind::Error;
    }
    reading.push(answer);
    true
}

/// Returns the number or the name of an event.
fn number_text(value: &Json) -> Option<Text> {
    match value {
        Json::String(id) => Some(id.clone()),
        Json::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}

/// Reads an event of the SDK; returns whether its shape is known.
fn read_sdk_event(event: &Json, reading: &mut Reading) -> bool {
    let (id, tool) = (event.text("tool_call_id"), event.text("tool_name"));
    match event.text("kind") {
        Some("MessageEvent") => match event.get("llm_message") {
            Some(message) if message.get("role").is_some() => reading.push_chat(message),
            _ => return false,
        },
        Some("SystemPromptEvent") => {
            push_text(Kind::SystemMessage, event.at("system_prompt.text").and_then(Json::as_str), reading);
        }
        Some("ActionEvent") => {
            let thought = Content::from_json(event.get("thought").unwrap_or(&Json::Null), "");
            push_text(Kind::AssistantMessage, thought.text.as_deref(), reading);
            let arguments = event.at("tool_call.arguments").or_else(|| event.get("action"));
            reading.push(chat::tool_call(id, tool, arguments));
        }
        Some("ObservationEvent") => {
            let observation = event.get("observation").unwrap_or(&Json::Null);
            let mut answer = tool_result(id, tool);
            answer.failed = observation.get("is_error") == Some(&Json::Bool(true));
            let content = observation.get("content").filter(|content| !content.is_null());
            fill_answer(&mut answer, content.unwrap_or(observation).clone());
            reading.push(answer);
        }
        Some("UserRejectObservation") => {
            let text = event.text("rejection_reason").map(Text::from);
            reading.push(Event { id: id.map(Text::from), text, ..Event::new(Kind::Denial) });
        }
        Some("AgentErrorEvent") => {
            let text = event.text("error").map(Text::from);
            reading.push(Event { text, failed: true, ..tool_result(id, tool) });
        }
        Some("ConversationErrorEvent") => {
            let text = event.text("detail").map(Text::from);
            reading.push(Event { text, failed: true, ..Event::new(Kind::Error) });
        }
        Some("ACPToolCallEvent") => return read_delegate_call(event, reading),
        Some(kind) => return SILENT_KINDS.contains(&kind),
        None => return false,
    }
    true
}

/// Reads the state of a call of an agent that OpenHands drives from outside. The first report is the call.
fn read_delegate_call(event: &Json, reading: &mut Reading) -> bool {
    let (Some(id), tool) = (event.text("tool_call_id"), event.text("tool_kind").or_else(|| event.text("title"))) else {
        return false;
    };
    if reading.call_ids.insert(id.into(), id.into()).is_none() {
        reading.push(chat::tool_call(Some(id), tool, event.get("raw_input")));
    }
    let is_failed = event.get("is_error") == Some(&Json::Bool(true)) || event.text("status") == Some("failed");
    if event.text("status") == Some("completed") || is_failed {
        let mut answer = Event { failed: is_failed, ..tool_result(Some(id), tool) };
        let output = ["raw_output", "content"].iter().find_map(|key| event.get(key).filter(|value| !value.is_null()));
        fill_answer(&mut answer, output.cloned().unwrap_or(Json::Null));
        reading.push(answer);
    }
    true
}
