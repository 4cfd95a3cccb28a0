//! ToolEmu runs: one run a record, as steps of a tool, its arguments, and the answer that an emulator made up.
//!
//! The files of the published set name each step (`steps`); those that ToolEmu itself writes have pairs of an action and
//! an observation (`intermediate_steps`), each a list of its fields or an object.
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
    let is_published = value.get("id").is_some()
        && value.get("user_instruction").is_some()
        && steps.is_some_and(|steps| steps.iter().all(|step| step.get("tool").is_some()));
    let is_case = value.get("case_idx").is_some() || value.at("case.User Instruction").is_some();
    let pairs = value.get("intermediate_steps").and_then(Json::as_array);
    is_published || is_case && pairs.is_some()
}

/// A step of a run. Members that it lacks are `null`.
struct EmulatedStep<'a> {
    tool: Option<&'a str>,
    args: &'a Json,
    observation: &'a Json,
}

impl<'a> EmulatedStep<'a> {
    /// Reads a step; none if its shape is unknown.
    fn read(step: &'a Json) -> Option<EmulatedStep<'a>> {
        let [action, observation] = step.as_array().unwrap_or(std::slice::from_ref(step)) else {
            let field = |key: &str| step.get(key).unwrap_or(&Json::Null);
            step.get("tool")?;
            return Some(EmulatedStep {
                tool: step.text("tool"),
                args: field("args"),
                observation: field("observation"),
            });
        };
        let (tool, args) = match action.as_array() {
            Some([tool, args, ..]) => (tool, args),
            Some(_) => return None,
            None => (action.get("tool")?, action.get("tool_input")?),
        };
        let observation =
            observation.get("observation").or_else(|| observation.as_array()?.first()).unwrap_or(observation);
        Some(EmulatedStep { tool: tool.as_str(), args, observation })
    }
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
        let asked =
            run.get("user_instruction").or_else(|| run.at("case.User Instruction")).or_else(|| run.get("input"));
        let asked = asked.and_then(Json::as_str).map(Text::from);
        emit(Event { text: asked, ..Event::new(Kind::UserMessage) });
        let steps = run.get("steps").or_else(|| run.get("intermediate_steps")).and_then(Json::as_array);
        let mut unread = Vec::new();
        for (step, number) in steps.unwrap_or_default().iter().zip(1..) {
            let Some(EmulatedStep { tool, args, observation }) = EmulatedStep::read(step) else {
                unread.push(unknown_record::describe_part(&record, &unknown_record::describe_value(step)));
                continue;
            };
            let id = Some(Text::from(format!("step-{number}")));
            let tool = tool.map(Text::from);
            let mut call = Event { id: id.clone(), tool: tool.clone(), ..Event::new(Kind::ToolCall) };
            call.args = Some(args.clone()).filter(|args| !args.is_null()).map(Arguments::from_json);
            emit(call);
            if !observation.is_null() {
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
        out.faults.append(&mut unread);
    }
}

/// Returns the id of the run. Where ids are only case numbers, several agents share one, so the agent comes first.
fn session_name(run: &Json) -> Text {
    let agent = run.text("agent_model").unwrap_or_default();
    match run.get("id").or_else(|| run.get("case_idx")).or_else(|| run.at("case.name")) {
        Some(Json::String(id)) if agent.is_empty() || id.contains(agent) => id.clone(),
        Some(Json::String(id)) => Text::from(format!("{agent}/{id}")),
        Some(id) if agent.is_empty() => Text::from(id.to_string()),
        Some(id) => Text::from(format!("{agent}/{id}")),
        None => Text::from(agent),
    }
}
