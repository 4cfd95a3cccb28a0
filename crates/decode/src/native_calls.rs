//! What Lictor's own events do not show: calls in records that are refused as a whole, in members that mean nothing and in
//! texts, and sessions that a member of another format tells apart.
//!
//! The native format has its own reader, and its quick way is the hot path of an audit. So a refused record is looked at only
//! if that way did not read it, and an event only if it has members of its writer's own.

use std::mem;

use super::input::HELD_CALL;
use super::member_names::{is_person_name, is_session_name, name_of};
use super::mixed_sessions::MIXED_SESSIONS;
use super::said_calls::find_said_calls;
use super::unread_calls::{call_name, collect_calls};
use super::{DecodedEvents, Decoder, Fault, LogNotes, LogRecord};
use lictor_event::native::NativeDecoder;
use lictor_event::{Event, Kind, Source};
use lictor_json::{Json, Text};

/// Decodes native events, and notes which refused records and unread members may hold a call.
pub(super) struct NativeCallChecker {
    inner: NativeDecoder,
    /// Whether a record is of another format.
    is_other: fn(&Json) -> bool,
}

impl NativeCallChecker {
    pub(super) fn new(is_other: fn(&Json) -> bool) -> NativeCallChecker {
        NativeCallChecker { inner: NativeDecoder::default(), is_other }
    }

    /// Notes what in members of a writer's own looks like a call, and which of them may tell sessions apart.
    fn look(&mut self, events: &mut [Event]) {
        for event in events {
            if let (Kind::Other(_), Some(tool), Some(_)) = (&event.kind, &event.tool, &event.args) {
                self.suspect(tool, "the event", "", &event.source);
            } else if event.kind == Kind::AssistantMessage {
                find_said_calls(event, &mut |call| self.suspect(call.tool, "the text", call.style, &event.source));
            }
            if event.more.is_empty() {
                continue;
            }
            if event.session.is_none() {
                self.note_member(event);
            }
            let members = Json::Object(mem::take(&mut event.more));
            collect_calls(&members, &mut |call, path| {
                let mut written = String::new();
                path.inspect(|path| path.write(&mut written));
                let place = if written.is_empty() { "the event".to_owned() } else { format!("`{written}`") };
                self.suspect(call_name(call).unwrap_or_default(), &place, "", &event.source);
            });
            if let Json::Object(members) = members {
                event.more = members;
            }
        }
    }

    /// Notes which session or person an event names by a member of another format.
    fn note_member(&mut self, event: &Event) {
        let named = |(key, value): (&Text, &Json)| match is_session_name(key) || is_person_name(key) {
            true => name_of(value).map(|name| (key.clone(), name.into_owned())),
            false => None,
        };
        let known = self.inner.notes().split_member(&event.source.file).cloned();
        let members = event.more.iter().filter(|(key, _)| known.as_ref().is_none_or(|known| known == *key));
        let Some((key, name)) = members.filter_map(named).next() else { return };
        let Source { file, line, .. } = event.source.clone();
        let place = Fault { file, line, column: None, code: MIXED_SESSIONS, message: String::new() };
        self.inner.notes().note_member(&key, &name, place);
    }

    /// Notes that a place of an event looks like a call of a tool; `style` says how it is written, if it is text.
    fn suspect(&mut self, tool: &str, place: &str, style: &str, source: &Source) {
        let fault = || {
            let Source { file, line, .. } = source.clone();
            let style = if style.is_empty() { String::new() } else { format!(" ({style})") };
            let message = format!(
                "{place} looks like a call of `{tool}`{style}, which is not judged: log it as an event of the kind \
                 `tool_call`"
            );
            Fault { file, line, column: None, code: "decode.unread_call", message }
        };
        self.inner.notes().suspect(tool, fault, &source.file);
    }
}

impl Decoder for NativeCallChecker {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let (events, faults) = (out.events.len(), out.faults.len());
        let may_be_call = may_be_call(&record.value) || (self.is_other)(&record.value);
        self.inner.record(record, out);
        if may_be_call && out.events.len() == events {
            out.faults[faults..].iter_mut().for_each(|fault| fault.message.push_str(HELD_CALL));
        }
        self.look(&mut out.events[events..]);
    }

    fn text(&mut self, text: &str, source: &Source, out: &mut DecodedEvents) -> bool {
        let events = out.events.len();
        let is_read = self.inner.text(text, source, out);
        self.look(&mut out.events[events..]);
        is_read
    }

    fn session<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.inner.session(text)
    }

    fn take_notes(&mut self) -> Option<LogNotes> {
        self.inner.take_notes()
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        self.inner.finish(out);
    }
}

/// Whether a record may be a call: by its kind in any spelling, by its tool, by a bare fact, or by what it holds if it is
/// of another format.
fn may_be_call(record: &Json) -> bool {
    let is_fact = |facts: &Json| {
        let mut texts = facts.as_array().unwrap_or_default().iter().filter_map(Json::as_str);
        texts.any(|text| text.trim_start().starts_with(Kind::ToolCall.name()))
    };
    let kind = record.text("kind").unwrap_or_default();
    let kind: String = kind.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let is_native = match kind.as_str() {
        "toolcall" | "handoff" => true,
        "toolresult" | "tooldefinitions" => false,
        _ => record.text("tool").is_some() || is_fact(record) || record.get("facts").is_some_and(is_fact),
    };
    let mut holds_call = is_native;
    if !is_native {
        collect_calls(record, &mut |_, _| holds_call = true);
    }
    holds_call
}
