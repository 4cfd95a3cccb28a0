//! The memory of smolagents: the steps of an agent, as `agent.memory.get_full_steps()` and its short form give them.
//!
//! A step is a task, a plan, an action or a final answer. An action has calls and one text with the observations of all of
//! them: each call is answered by that whole text, since nothing tells which part is whose.

use super::chat;
use super::dialect::fill_answer;
use super::message_log::{MessageLog, MessageLogDecoder, Reading, Turn, read_time, tool_result};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// Decodes the records of one file.
pub(super) type SmolagentsDecoder = MessageLogDecoder<SmolagentsLog>;

/// The shape of the steps.
#[derive(Debug, Default)]
pub(super) struct SmolagentsLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_step(value) || list_steps(value).is_some_and(|steps| steps.iter().any(is_step))
}

fn is_step(value: &Json) -> bool {
    is_action(value) || is_task(value) || is_plan(value)
}

fn is_action(value: &Json) -> bool {
    ["step_number", "timing", "observations"].iter().all(|key| value.get(key).is_some())
}

fn is_task(value: &Json) -> bool {
    value.text("task").is_some() && value.get("task_images").is_some()
}

fn is_plan(value: &Json) -> bool {
    value.text("plan").is_some() && value.get("timing").is_some()
}

/// Whether a value is the instructions or the final answer, which other records look like too.
fn is_frame(value: &Json) -> bool {
    value.text("system_prompt").is_some() || value.get("output").is_some()
}

/// Returns the steps of a record that is a list, or that names them.
fn list_steps(value: &Json) -> Option<&[Json]> {
    value.get("steps").unwrap_or(value).as_array()
}

impl MessageLog for SmolagentsLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        match list_steps(value) {
            Some(steps) => vec![Turn::from_history(steps)],
            None if is_step(value) || is_frame(value) => vec![Turn::from_message(value)],
            None => Vec::new(),
        }
    }

    fn read_message(step: &Json, reading: &mut Reading) {
        reading.time = step.at("timing.start_time").and_then(read_time);
        if is_action(step) {
            read_action(step, reading);
        } else if let Some(prompt) = step.text("system_prompt") {
            reading.push(Event { text: Some(prompt.into()), ..Event::new(Kind::SystemMessage) });
        } else if is_task(step) {
            let mut event = Event::new(Kind::UserMessage);
            event.text = step.text("task").map(Text::from);
            reading.push(event);
        } else if is_plan(step) {
            push_words(step.get("plan"), reading);
        } else if let Some(output) = step.get("output") {
            push_words(Some(output), reading);
        } else {
            reading.push_unknown(step);
        }
    }
}

fn read_action(step: &Json, reading: &mut Reading) {
    push_words(step.get("model_output"), reading);
    let calls = step.get("tool_calls").and_then(Json::as_array).unwrap_or_default();
    let calls: Vec<(Option<&str>, Option<&str>, Option<&Json>)> = calls
        .iter()
        .map(|call| {
            let function = call.get("function").unwrap_or(call);
            (call.text("id"), function.text("name"), function.get("arguments"))
        })
        .collect();
    for (id, tool, arguments) in &calls {
        reading.push(chat::tool_call(*id, *tool, *arguments));
    }
    reading.time = step.at("timing.end_time").and_then(read_time);
    let error = step.get("error").filter(|error| !error.is_null());
    let observed = step.get("observations").filter(|observed| !observed.is_null());
    for (id, tool, _) in calls.iter().filter(|_| observed.is_some() || error.is_some()) {
        let mut event = tool_result(*id, *tool);
        event.failed = error.is_some();
        fill_answer(&mut event, observed.cloned().unwrap_or(Json::Null));
        reading.push(event);
    }
    if let Some(error) = error {
        reading.push(chat::failure_event(error));
    }
    // The last step may be the answer of a model that was not allowed another call.
    let is_answer = step.get("is_final_answer").and_then(Json::as_bool) == Some(true) || calls.is_empty();
    push_words(step.get("action_output").filter(|_| is_answer), reading);
}

/// Adds what the agent says: a text, or a value that is its answer.
fn push_words(said: Option<&Json>, reading: &mut Reading) {
    let text = match said {
        None | Some(Json::Null) => return,
        Some(Json::String(text)) => text.clone(),
        Some(value) => Text::from(value.to_string()),
    };
    if !text.trim().is_empty() {
        reading.push(Event { text: Some(text), ..Event::new(Kind::AssistantMessage) });
    }
}
