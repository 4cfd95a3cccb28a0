//! What Lictor's own events do not show: calls in records that are refused as a whole and in members that mean nothing, and
//! sessions that a member of another format tells apart.
//!
//! The native format has its own reader, and its quick way is the hot path of an audit. So a refused record is looked at only
//! if that way did not read it, and an event only if it has members of its writer's own.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::mem;

use super::input::HELD_CALL;
use super::member_names::{is_person_name, is_session_name, name_of};
use super::mixed_sessions::MIXED_SESSIONS;
use super::unread_calls::{call_name, collect_calls};
use super::{DecodedEvents, Decoder, Fault, LogRecord};
use lictor_event::native::NativeDecoder;
use lictor_event::{Event, Kind, Source};
use lictor_json::{Json, Object, Text};

/// How many suspects are kept until the end of a file; one of each tool is enough.
const MAX_SUSPECTS: usize = 10_000;

/// Decodes native events, and notes which refused records and unread members may hold a call.
pub(super) struct NativeCallChecker {
    inner: NativeDecoder,
    /// Whether a record is of another format.
    is_other: fn(&Json) -> bool,
    /// Seeded, so that an attacker cannot choose a name that hides another.
    hasher: RandomState,
    /// The hashes of the tools that were called.
    tools: HashSet<u64>,
    /// Each tool in a member that looks like a call of it, where it was first.
    suspects: Vec<(u64, Fault)>,
    suspected: HashSet<u64>,
    split: Option<SplitMember>,
}

/// A member that names the session or the person of events without a `session`.
struct SplitMember {
    key: Text,
    first: String,
    place: Fault,
    has_others: bool,
}

impl NativeCallChecker {
    pub(super) fn new(is_other: fn(&Json) -> bool) -> NativeCallChecker {
        NativeCallChecker {
            inner: NativeDecoder::default(),
            is_other,
            hasher: RandomState::new(),
            tools: HashSet::new(),
            suspects: Vec::new(),
            suspected: HashSet::new(),
            split: None,
        }
    }

    /// Remembers which tools were called, and what in members of a writer's own looks like a call.
    fn look(&mut self, events: &mut [Event]) {
        for event in events {
            if let Some(tool) = event.tool.as_deref().filter(|_| event.kind == Kind::ToolCall) {
                self.tools.insert(self.hasher.hash_one(tool));
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
                self.suspect(call, &written, &event.source);
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
        let known = self.split.as_ref().map(|split| &split.key);
        let members = event.more.iter().filter(|(key, _)| known.is_none_or(|known| known == *key));
        let Some((key, name)) = members.filter_map(named).next() else { return };
        let split = self.split.get_or_insert_with(|| {
            let Source { file, line, .. } = event.source.clone();
            let place = Fault { file, line, column: None, code: MIXED_SESSIONS, message: String::new() };
            SplitMember { key, first: name.clone(), place, has_others: false }
        });
        split.has_others |= split.first != name;
    }

    fn suspect(&mut self, call: &Object, path: &str, source: &Source) {
        let tool = call_name(call).unwrap_or_default();
        let hash = self.hasher.hash_one(tool);
        if self.suspects.len() >= MAX_SUSPECTS || !self.suspected.insert(hash) {
            return;
        }
        let (Source { file, line, .. }, place) = (source.clone(), if path.is_empty() { "the event" } else { path });
        let message = format!(
            "`{place}` looks like a call of `{tool}`, which is not judged: log it as an event of the kind `tool_call`"
        );
        self.suspects.push((hash, Fault { file, line, column: None, code: "decode.unread_call", message }));
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

    fn finish(&mut self, out: &mut DecodedEvents) {
        let events = out.events.len();
        self.inner.finish(out);
        self.look(&mut out.events[events..]);
        if let Some(split) = self.split.take().filter(|split| split.has_others) {
            let message = format!(
                "the events name no `session`, but `{0}` has several values: they are judged as one session; if it tells \
                 conversations apart, say --session-key {0}",
                split.key
            );
            out.faults.push(Fault { message, ..split.place });
        }
        let (suspects, tools) = (mem::take(&mut self.suspects), &self.tools);
        out.faults.extend(suspects.into_iter().filter(|(tool, _)| !tools.contains(tool)).map(|(_, fault)| fault));
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
