//! Trajectories of SWE-agent and mini-SWE-agent.
//!
//! These agents act through a shell. With function calls, a message has OpenAI's calls. Without, the action is a text
//! beside the message (`action`, `extra.actions`) or a code block in it, and the next message of the user is its
//! output: such an action is a call of `bash` with its `command`. A file without messages has steps instead, each an
//! action with its observation. Demonstrations are part of the prompt, not of the run.

use super::chat;
use super::content::Content;
use super::dialect;
use super::message_log::{MessageLog, MessageLogDecoder, Reading, Turn, read_time, tool_result};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Object, Text};

/// The tool of an action without a name.
const SHELL: &str = "bash";

/// How a code block with an action begins. The second form is used by older versions, whose files name their format.
const FENCES: [&str; 2] = ["```mswea_bash_command\n", "```bash\n"];

/// Decodes the records of one file.
pub(super) type SweAgentDecoder = MessageLogDecoder<SweAgentLog>;

/// The shapes of the agents' trajectories.
#[derive(Debug, Default)]
pub(super) struct SweAgentLog {}

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let has_history = |list: &[Json]| list.iter().any(is_history_item);
    is_action_message(value)
        || is_history_item(value)
        || value.as_array().is_some_and(|list| list.iter().any(is_action_message) || has_history(list))
        || list_history(value).is_some_and(has_history)
        || list_steps(value).is_some()
        || is_mini(value)
}

/// Whether a value is a message of a run's history.
fn is_history_item(value: &Json) -> bool {
    let is_typed =
        matches!(value.text("message_type"), Some("system_prompt" | "demonstration" | "observation" | "action"));
    value.text("role").is_some() && value.text("agent").is_some() && (is_typed || value.text("action").is_some())
}

/// Whether a value is a message whose action is marked as one, or was executed.
fn is_action_message(value: &Json) -> bool {
    let is_marked = value.text("content").is_some_and(|text| text.contains(FENCES[0]));
    value.text("role") == Some("assistant") && (is_marked || value.at("extra.actions").is_some())
}

fn is_mini(value: &Json) -> bool {
    let is_named = value.text("trajectory_format").is_some_and(|name| name.starts_with("mini-swe-agent"));
    (is_named || value.at("info.mini_version").is_some()) && value.get("messages").is_some()
}

fn list_history(value: &Json) -> Option<&[Json]> {
    value.get("history").and_then(Json::as_array)
}

/// Returns the steps of a run.
fn list_steps(value: &Json) -> Option<&[Json]> {
    let steps = value.get("trajectory").and_then(Json::as_array)?;
    let is_step = |step: &Json| step.text("action").is_some() && step.get("observation").is_some();
    steps.iter().any(|step| is_step(step) && step.get("source").is_none()).then_some(steps)
}

impl MessageLog for SweAgentLog {
    fn find_turns(value: &Json) -> Vec<Turn<'_>> {
        let acts = |list: &&[Json]| {
            list.iter().any(|message| message.get("action").is_some() || message.get("tool_calls").is_some())
        };
        let steps = list_steps(value);
        let history = list_history(value).filter(|list| steps.is_none() || acts(list));
        let messages = history.or(steps).or_else(|| value.get("messages").and_then(Json::as_array));
        match (messages, value) {
            (Some(messages), run) => {
                let session = run.text("instance_id").map(Text::from);
                vec![Turn { session, start: Some(read_start(run)), ..Turn::from_history(messages) }]
            }
            (None, Json::Array(messages)) => vec![Turn::from_history(messages)],
            (None, message) if message.get("role").is_some() => vec![Turn::from_message(message)],
            _ => Vec::new(),
        }
    }

    fn read_message(message: &Json, reading: &mut Reading) {
        if message.get("is_demo") == Some(&Json::Bool(true)) {
            return;
        }
        reading.time = message.at("extra.timestamp").and_then(read_time);
        let awaits_answer = std::mem::take(&mut reading.awaits_answer);
        match message.text("role") {
            None if message.get("observation").is_some() => read_step(message, reading),
            Some("assistant") => read_action(message, reading),
            Some("user") if awaits_answer => read_output(None, message, reading),
            Some("tool") => {
                let ids = message.get("tool_call_ids").and_then(Json::as_array).unwrap_or_default();
                let ids = ids.iter().map(Json::as_str).chain([message.text("tool_call_id")]);
                ids.flatten().for_each(|id| read_output(Some(id), message, reading));
            }
            // The reason why the run ended.
            Some("exit") => {
                let text = message.text("content").map(Text::from);
                reading.push(Event { text, ..Event::new(Kind::SessionEnd) });
            }
            Some("system" | "user") => reading.push_chat(message),
            // A run through the Responses API keeps its items.
            _ => {
                let items = message.get("output").unwrap_or(message).clone();
                let mut events = Vec::new();
                if !dialect::read_message(items, &mut events) {
                    reading.push_unknown(message);
                }
                events.into_iter().for_each(|event| reading.push(event));
            }
        }
    }
}

/// Returns the event that begins a run, with what the file says of the whole of it.
fn read_start(run: &Json) -> Event {
    let mut start = Event::new(Kind::SessionStart);
    for (key, path) in [("environment", "environment"), ("exit_status", "info.exit_status")] {
        if let Some(value) = run.at(path).filter(|value| !value.is_null()) {
            start.more.insert(key, value.clone());
        }
    }
    start
}

fn read_action(message: &Json, reading: &mut Reading) {
    reading.agent = message.text("agent").map(Text::from);
    let calls = message.get("tool_calls").and_then(Json::as_array).unwrap_or_default();
    if !calls.is_empty() {
        return reading.push_chat(message);
    }
    let content = message.text("thought").map(Json::from);
    let content = content.as_ref().or_else(|| message.get("content")).unwrap_or(&Json::Null);
    let said = Content::from_json(content, "");
    if !said.is_empty() {
        reading.push(chat::message_event(Kind::AssistantMessage, said));
    }
    for command in list_commands(message) {
        push_command(&command, reading);
    }
}

fn push_command(command: &str, reading: &mut Reading) {
    let arguments: Object = [(Text::from("command"), Json::from(command))].into_iter().collect();
    reading.push(chat::tool_call(None, Some(SHELL), Some(&arguments.into())));
    reading.awaits_answer = true;
}

/// Returns the commands of a message: those that were executed, its action, or the only code block of an action.
fn list_commands(message: &Json) -> Vec<Text> {
    if let Some(actions) = message.at("extra.actions").and_then(Json::as_array) {
        return actions.iter().filter_map(|action| action.text("command")).map(Text::from).collect();
    }
    if let Some(action) = message.text("action") {
        return if action.trim().is_empty() { Vec::new() } else { vec![action.into()] };
    }
    let text = message.text("content").unwrap_or_default();
    let Some(fence) = FENCES.iter().find(|fence| text.contains(**fence)) else { return Vec::new() };
    let blocks: Vec<&str> = text.split(fence).skip(1).filter_map(|rest| Some(rest.split_once("\n```")?.0)).collect();
    // The agent refuses a message with several actions.
    if let [block] = blocks[..] { vec![block.trim().into()] } else { Vec::new() }
}

fn read_output(id: Option<&str>, message: &Json, reading: &mut Reading) {
    let mut event = tool_result(id, None);
    Content::from_json(message.get("content").unwrap_or(&Json::Null), "\n").fill(&mut event);
    event.failed = message.at("extra.returncode").and_then(Json::as_i64).is_some_and(|code| code != 0);
    reading.push(event);
}

/// Reads a step: what the agent thought, what it did, and what came of it.
fn read_step(step: &Json, reading: &mut Reading) {
    let thought = step.text("thought").or_else(|| step.text("response")).filter(|text| !text.trim().is_empty());
    if let Some(thought) = thought {
        reading.push(Event { text: Some(thought.into()), ..Event::new(Kind::AssistantMessage) });
    }
    match step.text("action").filter(|action| !action.trim().is_empty()) {
        Some(action) => push_command(action, reading),
        None => return,
    }
    reading.awaits_answer = false;
    let mut event = tool_result(None, None);
    dialect::fill_answer(&mut event, step.get("observation").cloned().unwrap_or(Json::Null));
    reading.push(event);
}
