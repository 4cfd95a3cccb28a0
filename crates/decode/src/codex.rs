//! Codex session files (rollouts).
//!
//! Messages and calls of the model are in `response_item` records, in the shape of the Responses API. `event_msg`
//! records repeat much of it as the terminal showed it: a message of the same text, and the begin and end of a call
//! that the items hold, become one event. Instructions that Codex inserts into user messages are system messages here.

mod terminal_log;

use terminal_log::TerminalLog;

use super::conversation::Stamp;
use super::{DecodedEvents, Decoder, LogRecord, openai_responses, unknown_record};
use lictor_event::{Event, Kind, is_machine_made, parse_time};
use lictor_json::{Json, Object, Text};

/// Records that make no event.
const SILENT_TYPES: [&str; 4] = ["turn_context", "compacted", "world_state", "inter_agent_communication_metadata"];

/// Whether a record is of this format.
pub(super) fn recognises(value: &Json) -> bool {
    let sort = value.text("type").unwrap_or_default();
    let known = matches!(sort, "session_meta" | "response_item" | "event_msg" | "inter_agent_communication");
    (known || SILENT_TYPES.contains(&sort)) && value.get("payload").is_some_and(|payload| payload.as_object().is_some())
}

/// Decodes the records of one file.
#[derive(Debug, Default)]
pub(super) struct CodexDecoder {
    session: Option<Text>,
    /// Whether anything of the session was read beside its head.
    has_begun: bool,
    terminal: TerminalLog,
}

impl Decoder for CodexDecoder {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let first = out.events.len();
        let payload = record.value.get("payload").unwrap_or(&Json::Null);
        let known = match record.value.text("type") {
            Some("session_meta") => self.start_session(payload, out),
            Some("response_item") => self.take_item(payload, out),
            Some("event_msg") => self.terminal.take_event(payload, out),
            Some("inter_agent_communication") => {
                let mut event = Event::new(Kind::Handoff);
                event.to = payload.text("recipient").or_else(|| payload.text("to")).map(Text::from);
                event.text = payload.text("content").or_else(|| payload.text("message")).map(Text::from);
                out.events.push(event);
                true
            }
            Some(sort) => SILENT_TYPES.contains(&sort),
            None => false,
        };
        if !known {
            let value = if payload.text("type").is_some() { payload } else { &record.value };
            out.faults.push(unknown_record::describe(&record, value));
        }
        self.has_begun |= record.value.text("type") != Some("session_meta");
        let stamp = Stamp::new(&record, record.value.text("timestamp").and_then(parse_time));
        for event in &mut out.events[first..] {
            *event = stamp.mark(std::mem::take(event));
            event.session.clone_from(&self.session);
        }
    }
}

impl CodexDecoder {
    fn start_session(&mut self, payload: &Json, out: &mut DecodedEvents) -> bool {
        let session = payload.text("session_id").or_else(|| payload.text("id")).map(Text::from);
        // A forked session begins with the head of the one it was forked from, and a resumed one repeats its own.
        if self.session.is_some() && (!self.has_begun || session == self.session) {
            return true;
        }
        *self = CodexDecoder { session, ..CodexDecoder::default() };
        let mut start = Event::new(Kind::SessionStart);
        start.more = pick_members(payload, &["cwd", "originator", "cli_version", "source", "model_provider"]);
        out.events.push(start);
        let instructions = payload.text("instructions").or_else(|| payload.at("base_instructions.text")?.as_str());
        if let Some(text) = instructions.filter(|text| !text.is_empty()) {
            out.events.push(Event { text: Some(text.into()), ..Event::new(Kind::SystemMessage) });
        }
        true
    }

    fn take_item(&mut self, item: &Json, out: &mut DecodedEvents) -> bool {
        // Beside the items of the interface there are a few of Codex's own.
        if matches!(item.text("type"), Some("ghost_snapshot" | "other" | "context_compaction")) {
            return true;
        }
        let Some(events) = openai_responses::read_item(item) else { return false };
        for mut event in events {
            if event.kind == Kind::UserMessage && event.text.as_deref().is_some_and(is_machine_made) {
                event.kind = Kind::SystemMessage;
            }
            if self.terminal.is_new(&mut event) {
                out.events.push(event);
            }
        }
        true
    }
}

fn pick_members(payload: &Json, keys: &[&str]) -> Object {
    let member = |key: &&str| Some((Text::from(*key), payload.get(key).filter(|value| !value.is_null())?.clone()));
    keys.iter().filter_map(member).collect()
}
