//! Events of a run, as `astream_events` returns them.
//!
//! Each runnable of a run tells when it starts, streams and ends, so one message comes many times. A model's input and
//! output are the conversation, and the answers of tools continue it. The other events repeat them, and make none.

use crate::chat;
use crate::dialect::fill_answer;
use crate::message_log::{Reading, Turn, tool_result};
use lictor_event::{Event, Kind};
use lictor_json::Json;

use super::is_message;

/// Whether a value is an event of a run.
pub(super) fn is_run_event(value: &Json) -> bool {
    value.text("event").is_some_and(|name| name.starts_with("on_"))
        && value.text("run_id").is_some()
        && value.get("data").is_some()
}

/// Returns the turn of an event; it has no messages if others have them.
pub(super) fn find_turn(value: &Json) -> Turn<'_> {
    let data = value.get("data").unwrap_or(&Json::Null);
    let output = data.get("output").filter(|output| !output.is_null());
    match value.text("event").unwrap_or_default() {
        "on_chat_model_start" => {
            // A model may be asked for several conversations at once; an agent asks for one.
            let messages = data.at("input.messages").and_then(Json::as_array).unwrap_or_default();
            let messages = messages.first().and_then(Json::as_array).unwrap_or(messages);
            if messages.is_empty() { Turn::default() } else { Turn::from_history(messages) }
        }
        "on_chat_model_end" => output.map_or_else(Turn::default, Turn::from_message),
        "on_tool_end" => match output {
            Some(answer) if is_message(answer) => Turn::from_message(answer),
            _ => Turn::from_message(value),
        },
        // A tool that no runnable called was not asked for by a model.
        "on_tool_start" if is_root(value) => Turn::from_message(value),
        "on_tool_error" | "on_retriever_end" => Turn::from_message(value),
        _ => Turn::default(),
    }
}

fn is_root(value: &Json) -> bool {
    value.get("parent_ids").and_then(Json::as_array).is_none_or(<[Json]>::is_empty)
}

/// Reads an event of a tool or a retriever that runs without a message of the model.
pub(super) fn read_run_event(value: &Json, reading: &mut Reading) {
    let data = value.get("data").unwrap_or(&Json::Null);
    let (name, run) = (value.text("name"), value.text("run_id"));
    let is_start = value.text("event") == Some("on_tool_start");
    if value.text("event") == Some("on_retriever_end") {
        return reading.push(Event { result: data.get("output").cloned(), ..Event::new(Kind::Retrieval) });
    }
    // The call of a model has its own id, and was read with the model's message.
    let asked = data.text("tool_call_id");
    if asked.is_none() && is_root(value) == is_start {
        reading.push(chat::tool_call(run, name, data.get("input")));
    }
    if is_start {
        return;
    }
    let mut answer = tool_result(asked.or(run), name);
    let error = data.get("error").filter(|error| !error.is_null());
    answer.failed = error.is_some();
    fill_answer(&mut answer, error.or(data.get("output")).cloned().unwrap_or(Json::Null));
    reading.push(answer);
}
