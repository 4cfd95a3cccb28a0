//! Sessions, events and eval sets of the Agent Development Kit.
//!
//! An event has an author and a content in Gemini's shape. A dump of a session lists its events and names the session;
//! a list of events alone is one session. Partial events are pieces of a later one, which repeats them.

mod eval_set;

use super::gemini::{self, member};
use super::message_log::{MessageLog, MessageLogDecoder, Reading, Turn, read_time};
use eval_set::{is_eval, is_invocation, read_invocation};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// Decodes the records of one file.
pub(super) type AdkDecoder = MessageLogDecoder<AdkLog>;

/// The shape of the kit's events.
#[derive(Debug, Default)]
pub(super) struct AdkLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    is_event(value) || is_eval(value) || list_events(value).is_some_and(|events| events.iter().any(is_event))
}

fn is_event(value: &Json) -> bool {
    value.text("author").is_some() && member(value, &["invocationId", "invocation_id"]).is_some()
}

/// Returns the events of a session or of a list.
fn list_events(value: &Json) -> Option<&[Json]> {
    value.get("events").unwrap_or(value).as_array()
}

impl MessageLog for AdkLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        let session = value.get("events").and(value.get("id")).and_then(Json::as_str);
        if is_eval(value) {
            return eval_set::find_turns(value);
        }
        match list_events(value) {
            Some(events) => vec![Turn { session: session.map(Text::from), ..Turn::from_history(events) }],
            None if is_event(value) => {
                let session = member(value, &["sessionId", "session_id"]).and_then(Json::as_str);
                vec![Turn { session: session.map(Text::from), ..Turn::from_message(value) }]
            }
            None => Vec::new(),
        }
    }

    fn read_message(event: &Json, reading: &mut Reading) {
        if is_invocation(event) || event.text("query").is_some() {
            return read_invocation(event, reading);
        }
        if !is_event(event) {
            return reading.push_unknown(event);
        }
        if event.get("partial") == Some(&Json::Bool(true)) {
            return;
        }
        reading.time = event.get("timestamp").and_then(read_time);
        reading.agent = event.text("author").filter(|author| *author != "user").map(Text::from);
        if let Some(content) = event.get("content").filter(|content| !content.is_null()) {
            gemini::read_content(content, reading);
        }
        if let Some(reason) = member(event, &["errorMessage", "error_message"]).and_then(Json::as_str) {
            reading.push(Event { text: Some(reason.into()), failed: true, ..Event::new(Kind::Error) });
        }
        let actions = event.get("actions").unwrap_or(&Json::Null);
        if let Some(agent) = member(actions, &["transferToAgent", "transfer_to_agent"]).and_then(Json::as_str) {
            reading.push(Event { to: Some(agent.into()), ..Event::new(Kind::Handoff) });
        }
    }
}
