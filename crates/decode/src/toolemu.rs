//! ToolEmu runs: one run a record, as steps of a tool, its arguments, and the answer that an emulator made up.
//!
//! A run begins with a `session_start` that has its case and the labels of its judges. Arguments are a text that mostly
//! is JSON; where it is not, they are unknown. An answer that is an object with an `error` is a failure.

use super::attributes::parse_embedded;
use super::conversation::Stamp;
use super::{DecodedEvents, Decoder, LogRecord, unknown_record};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Text};

/// Members with the metadata of a run.
const METADATA_KEYS: [&str; 5] = ["agent_model", "emulator_model", "case", "toolkits", "labels"];

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let steps = value.get("steps").and_then(Json::as_array);
    value.get("id").is_some()
        && value.get("user_instruction").is_some()
        && steps.is_some_and(|steps| steps.iter().all(|step| step.get("tool").is_some()))
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct ToolemuDecoder {}

impl Decoder for ToolemuDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        if !recognises(&record.value) {
            return out.faults.push(unknown_record::describe(&record, &record.value));
        }
        let run = &record.value;
        let stamp = Stamp::new(&record, None);
        let session = session_name(run);
        let mut emit = |event: Event| out.events.push(Event { session: Some(session.clone()), ..stamp.mark(event) });
        let mut start = Event::new(Kind::SessionStart);
        for key in METADATA_KEYS {
            if let Some(value) = run.get(key) {
                start.more.insert(key, value.clone());
            }
        }
        emit(start);
        emit(Event { text: run.text("user_instruction").map(Text::from), ..Event::new(Kind::UserMessage) });
        let steps = run.get("steps").and_then(Json::as_array).unwrap_or_default();
        for (step, number) in steps.iter().zip(1..) {
            let id = Some(Text::from(format!("step-{number}")));
            let tool = step.text("tool").map(Text::from);
            let mut call = Event { id: id.clone(), tool: tool.clone(), ..Event::new(Kind::ToolCall) };
            call.args = step.get("args").cloned().map(Arguments::from_json);
            emit(call);
            if let Some(observation) = step.get("observation").filter(|observation| !observation.is_null()) {
                let mut answer = Event { id, tool, ..Event::new(Kind::ToolResult) };
                match observation {
                    Json::String(text) => answer.text = Some(text.clone()),
                    value => answer.result = Some(value.clone()),
                }
                answer.failed = parse_embedded(observation.clone()).get("error").is_some_and(|error| !error.is_null());
                emit(answer);
            }
        }
        if let Some(output) = run.text("output").filter(|output| !output.is_empty()) {
            emit(Event { text: Some(Text::from(output)), ..Event::new(Kind::AssistantMessage) });
        }
    }
}

/// Returns the id of the run. Where ids are only case numbers, several agents share one, so the agent comes first.
fn session_name(run: &Json) -> Text {
    let agent = run.text("agent_model").unwrap_or_default();
    match run.get("id") {
        Some(Json::String(id)) if agent.is_empty() || id.contains(agent) => id.clone(),
        Some(Json::String(id)) => Text::from(format!("{agent}/{id}")),
        Some(id) if agent.is_empty() => Text::from(id.to_string()),
        Some(id) => Text::from(format!("{agent}/{id}")),
        None => Text::from(agent),
    }
}
