//! What Lictor's own events do not show: calls in records that are refused as a whole, in members that mean nothing and in
//! texts, and sessions that a member of another format tells apart.
//!
//! The native format has its own reader, and its quick way is the hot path of an audit. So a refused record is looked at only
//! if that way did not read it, and an event only if it has members of its writer's own.

use std::borrow::Cow;
use std::collections::HashMap;
use std::mem;

use super::call_members::{call_arguments, call_ids, call_name};
use super::input::HELD_CALL;
use super::member_names::{CONTAINERS, is_identifier_name, is_person_name, is_session_name, name_of, read_identifier};
use super::mixed_sessions::{MIXED_SESSIONS, each_member};
use super::said_calls::find_said_calls;
use super::unread_calls::collect_calls;
use super::{DecodedEvents, Decoder, Fault, LogNotes, LogRecord};
use lictor_event::native::NativeDecoder;
use lictor_event::read_calls::CallMention;
use lictor_event::record::SplitMember;
use lictor_event::{Event, Kind, Source};
use lictor_json::{Json, Text};

/// How many names of members are remembered.
const MAX_ROLES: usize = 1000;

/// Decodes native events, and notes which refused records and unread members may hold a call.
pub(super) struct NativeCallChecker {
    inner: NativeDecoder,
    /// Whether a record is of another format.
    is_other: fn(&Json) -> bool,
    /// What the members of the log name, by their names.
    roles: HashMap<Text, MemberRole>,
}

/// What a member may name.
#[derive(Clone, Copy)]
enum MemberRole {
    /// A session or a person.
    Session,
    Identifier,
    Other,
}

impl MemberRole {
    fn of(key: &str) -> MemberRole {
        match key {
            key if is_session_name(key) || is_person_name(key) => MemberRole::Session,
            key if is_identifier_name(key) => MemberRole::Identifier,
            _ => MemberRole::Other,
        }
    }
}

impl NativeCallChecker {
    pub(super) fn new(is_other: fn(&Json) -> bool) -> NativeCallChecker {
        NativeCallChecker { inner: NativeDecoder::default(), is_other, roles: HashMap::new() }
    }

    /// Notes what in members of a writer's own looks like a call, and which of them may tell sessions apart.
    fn look(&mut self, events: &mut [Event]) {
        for event in events {
            if let (Kind::Other(_), Some(tool), Some(_)) = (&event.kind, &event.tool, &event.args) {
                let mention = CallMention::new(tool, event.id.as_deref(), event.args.as_ref());
                self.suspect(mention, tool, "the event", "", &event.source);
            } else if event.kind == Kind::AssistantMessage {
                find_said_calls(event, &mut |call| {
                    let mention = CallMention::new(call.tool, call.id, call.args.as_ref());
                    self.suspect(mention, call.tool, "the text", call.style, &event.source);
                });
            }
            if event.more.is_empty() {
                continue;
            }
            if event.session.is_none() {
                self.note_members(event);
            }
            let members = Json::Object(mem::take(&mut event.more));
            collect_calls(&members, &mut |call, path| {
                let mut written = String::new();
                path.inspect(|path| path.write(&mut written));
                let place = if written.is_empty() { "the event".to_owned() } else { format!("`{written}`") };
                let tool = call_name(call).unwrap_or_default();
                let mention = CallMention::new(tool, call_ids(call), call_arguments(call).as_ref());
                self.suspect(mention, tool, &place, "", &event.source);
            });
            if let Json::Object(members) = members {
                event.more = members;
            }
        }
    }

    /// Notes the members of an event that may tell sessions apart.
    fn note_members(&mut self, event: &Event) {
        each_member(&event.more, &mut |parent, key, value| self.note_member(parent, key, value, event));
    }

    fn note_member(&mut self, parent: Option<&str>, key: &Text, value: &Json, event: &Event) {
        let role = match self.roles.get(key) {
            Some(role) => *role,
            None => {
                let role = MemberRole::of(key);
                if self.roles.len() < MAX_ROLES {
                    self.roles.insert(key.clone(), role);
                }
                role
            }
        };
        let path = || parent.map_or_else(|| key.to_string(), |parent| format!("{parent}.{key}"));
        let Source { file, line, .. } = &event.source;
        let place =
            || Fault { file: file.clone(), line: *line, column: None, code: MIXED_SESSIONS, message: String::new() };
        // Elsewhere, such a name may be that of something else, so it counts only if its values split the messages.
        let is_usual = parent.is_none_or(|parent| CONTAINERS.contains(&parent));
        let names_session = matches!(role, MemberRole::Session) && is_usual;
        let value = match role {
            MemberRole::Other => None,
            MemberRole::Session if is_usual => name_of(value).map(Cow::into_owned),
            MemberRole::Session | MemberRole::Identifier => read_identifier(value),
        };
        if let Some(value) = value {
            let (path, is_user) = (path(), event.kind == Kind::UserMessage);
            let member = SplitMember { path: &path, value: &value, names_session, is_user };
            self.inner.notes().note_member(&member, place, file);
        }
    }

    /// Notes that a place of an event looks like a call of a tool; `style` says how it is written, if it is text.
    fn suspect(&mut self, mention: CallMention, tool: &str, place: &str, style: &str, source: &Source) {
        let fault = || {
            let Source { file, line, .. } = source.clone();
            let style = if style.is_empty() { String::new() } else { format!(" ({style})") };
            let message = format!(
                "{place} looks like a call of `{tool}`{style}, which is not judged: log it as an event of the kind \
                 `tool_call`"
            );
            Fault { file, line, column: None, code: "decode.unread_call", message }
        };
        self.inner.notes().suspect(mention, fault, &source.file);
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
