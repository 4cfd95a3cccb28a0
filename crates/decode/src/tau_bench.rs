//! tau-bench runs: one run a record, its messages in the OpenAI shape.
//!
//! A run begins with a `session_start` that has its task, trial and reward. The models of these runs use one id for
//! several calls, so calls get unique ids; see [`call_pairing`](super::call_pairing).

use super::call_pairing::CallPairing;
use super::conversation::Stamp;
use super::{DecodedEvents, Decoder, LogRecord, chat, unknown_record};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    value.get("task_id").is_some() && value.get("traj").is_some_and(|messages| messages.as_array().is_some())
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct TauBenchDecoder {}

impl Decoder for TauBenchDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        if !recognises(&record.value) {
            return out.faults.push(unknown_record::describe(&record, &record.value));
        }
        let stamp = Stamp::new(&record, None);
        let run = &record.value;
        let plain = |key: &str| run.get(key).map_or_else(|| "0".to_owned(), ToString::to_string);
        let session = Text::from(format!("task-{}-trial-{}", plain("task_id"), plain("trial")).replace('"', ""));
        let mut events = vec![Event::new(Kind::SessionStart)];
        for key in ["task_id", "trial", "reward"] {
            if let Some(value) = run.get(key) {
                events[0].more.insert(key, value.clone());
            }
        }
        let mut pairing = CallPairing::default();
        for message in run.get("traj").and_then(Json::as_array).unwrap_or_default() {
            let Some(said) = chat::read_message(message) else {
                out.faults.push(unknown_record::describe(&record, message));
                continue;
            };
            for mut event in said {
                match event.kind {
                    Kind::ToolCall => pairing.add_call(&mut event),
                    Kind::ToolResult => {
                        pairing.match_answer(&mut event);
                        // The environment answers a call that it refuses with these words.
                        event.failed = event.text.as_ref().is_some_and(|text| text.starts_with("Error:"));
                    }
                    _ => {}
                }
                events.push(event);
            }
        }
        out.events
            .extend(events.into_iter().map(|event| Event { session: Some(session.clone()), ..stamp.mark(event) }));
    }
}
