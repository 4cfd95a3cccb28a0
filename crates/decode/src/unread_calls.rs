//! Calls of tools in places that a decoder does not read: reported as faults, since no property sees them.
//!
//! A decoder reads what its format defines. Logs are also written by people, who put a reply beside its request, spell a
//! member otherwise or nest one message in another. Whatever looks like a call, anywhere in a record, must therefore come
//! out as an event, if not from this record then from another one: records repeat earlier ones, and pieces of a stream are
//! put together at the end.

mod call_finder;
mod unlisted_calls;
mod value_path;

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::call_members::{call_arguments, call_ids, call_name, is_home_made};
use super::chat::APPROVAL_REQUEST;
use super::said_calls::{SaidCall, find_said_calls};
use super::unmade_calls::UnmadeCalls;
use super::{DecodedEvents, Decoder, Fault};
pub(super) use call_finder::collect_calls;
use lictor_event::read_calls::{CallMention, ReadCalls};
use lictor_event::record::LogRecord;
use lictor_event::{Event, Kind, Source};
use lictor_json::{Object, Text};
use value_path::ValuePath;

/// How many suspects are kept until the end of a file; beyond that, one of each name.
const MAX_SUSPECTS: usize = 10_000;

/// Decodes a format, and reports what looks like a call and never became an event.
pub(super) struct UnreadCallChecker {
    inner: Box<dyn Decoder>,
    /// Seeded, so that an attacker cannot choose a name that hides another.
    hasher: RandomState,
    /// The calls that became events, and the hashes of their ids alone.
    calls: ReadCalls,
    ids: HashSet<u64>,
    /// Whether some call kept the id that its record has.
    keeps_ids: bool,
    suspects: Vec<(Suspect, Fault)>,
    /// How many suspects there are when those that were read meanwhile are dropped.
    next_sweep: usize,
    /// The tools of suspects over the limit.
    extra_tools: HashSet<CallMention>,
    unmade: UnmadeCalls,
}

/// What looks like a call.
struct Suspect {
    /// The hashes of its ids. A format may name its tool otherwise, so they tell it alone.
    ids: Vec<u64>,
    /// Its tool and its arguments.
    mention: CallMention,
    /// Where it is in its record.
    path: String,
    /// The name of its tool; none if the record was cut off within it.
    tool: Option<Text>,
    /// What it is a call in, if that is a text.
    said: Option<&'static str>,
}

impl UnreadCallChecker {
    pub(super) fn wrap(inner: Box<dyn Decoder>) -> Box<dyn Decoder> {
        Box::new(UnreadCallChecker {
            inner,
            hasher: RandomState::new(),
            calls: ReadCalls::default(),
            ids: HashSet::default(),
            keeps_ids: false,
            suspects: Vec::new(),
            next_sweep: MAX_SUSPECTS,
            extra_tools: HashSet::default(),
            unmade: UnmadeCalls::default(),
        })
    }

    /// Remembers the calls among events, and what in their texts looks like one.
    fn remember(&mut self, events: &[Event]) {
        self.unmade.take_events(events);
        let is_call = |event: &&Event| match &event.kind {
            Kind::ToolCall | Kind::Handoff => true,
            // A call that a person denies is made by no other event.
            kind => kind.name() == APPROVAL_REQUEST,
        };
        for event in events.iter().filter(is_call) {
            self.ids.extend(event.id.as_deref().map(|id| self.hasher.hash_one(id)));
            self.calls.add(event);
        }
        for event in events {
            find_said_calls(event, &mut |call| {
                let suspect = self.suspect_said(&call);
                self.keep_suspect(suspect, fault_of(event, "decode.unread_call", String::new()));
            });
        }
    }

    /// Keeps a suspect until the end of the file. Over the limit, one of each name tells whether that name was read.
    fn keep_suspect(&mut self, suspect: Suspect, place: Fault) {
        if self.suspects.len() >= self.next_sweep {
            // Most were read meanwhile, as those in the pieces of a stream are.
            let mut suspects = std::mem::take(&mut self.suspects);
            suspects.retain(|(suspect, _)| !self.has_id(suspect));
            self.next_sweep = MAX_SUSPECTS.max(2 * suspects.len());
            self.suspects = suspects;
        }
        if self.suspects.len() < MAX_SUSPECTS || self.extra_tools.insert(suspect.mention.of_tool_only()) {
            self.suspects.push((suspect, place));
        }
    }

    fn suspect_said(&self, call: &SaidCall<'_>) -> Suspect {
        Suspect {
            ids: call.id.iter().map(|id| self.hasher.hash_one(id)).collect(),
            mention: CallMention::new(call.tool, [], call.args.as_ref()),
            path: String::new(),
            tool: Some(call.tool.into()),
            said: Some(call.style),
        }
    }

    fn is_read(&mut self, suspect: &Suspect) -> bool {
        let has_id = self.has_id(suspect);
        self.keeps_ids |= has_id;
        has_id || suspect.ids.is_empty() && self.calls.has(&suspect.mention)
    }

    fn has_id(&self, suspect: &Suspect) -> bool {
        suspect.ids.iter().any(|id| self.ids.contains(id))
    }
}

impl Decoder for UnreadCallChecker {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let before = out.events.len();
        let mut found = Vec::new();
        collect_calls(&record.value, &mut |call, path| found.push(self.suspect(call, path)));
        let place = record.fault("decode.unread_call", "");
        self.inner.record(record, out);
        self.remember(&out.events[before..]);
        report_unnamed(before, out);
        for suspect in found {
            if !self.is_read(&suspect) {
                self.keep_suspect(suspect, place.clone());
            }
        }
    }

    fn text(&mut self, text: &str, source: &Source, out: &mut DecodedEvents) -> bool {
        let before = out.events.len();
        let is_read = self.inner.text(text, source, out);
        self.remember(&out.events[before..]);
        is_read
    }

    fn session<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.inner.session(text)
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        let before = out.events.len();
        self.inner.finish(out);
        self.remember(&out.events[before..]);
        report_unnamed(before, out);
        let suspects = std::mem::take(&mut self.suspects);
        let unread = suspects.into_iter().filter(|(suspect, _)| {
            // Where a format gives calls other ids, only the tool and the arguments tell.
            let is_known = !self.keeps_ids || suspect.ids.is_empty();
            !(self.has_id(suspect) || is_known && self.calls.has(&suspect.mention))
        });
        out.faults.extend(unread.map(|(suspect, place)| Fault { message: suspect.describe(), ..place }));
        self.unmade.report(&mut out.faults);
    }
}

impl UnreadCallChecker {
    fn suspect(&self, call: &Object, path: Option<&ValuePath<'_>>) -> Suspect {
        let name = call_name(call).unwrap_or_default();
        let mut written = String::new();
        path.inspect(|path| path.write(&mut written));
        // A call of a shape of its own has an id of its own, if any.
        let told_ids = call_ids(call).filter(|_| !is_home_made(call));
        Suspect {
            ids: told_ids.map(|id| self.hasher.hash_one(id)).collect(),
            mention: CallMention::new(name, call_ids(call), call_arguments(call).as_ref()),
            path: written,
            tool: (!call.is_empty()).then(|| name.into()),
            said: None,
        }
    }
}

impl Suspect {
    fn describe(&self) -> String {
        let path = match self.path.as_str() {
            "" => "the record".to_owned(),
            path => format!("`{path}`"),
        };
        match &self.tool {
            Some(name) if let Some(style) = self.said => format!(
                "the text looks like a call of `{name}` that was not read ({style}), so it is not judged: log the calls \
                 as the interface of the model has them"
            ),
            None => format!("{path} is cut off within a call, which is not judged: log it whole"),
            Some(name) => format!(
                "{path} looks like a call of `{name}` in a place that this format does not have, so it is not \
                 judged: check `--input-format`, or move it to where the format has its calls"
            ),
        }
    }
}

/// Reports the calls without a tool among the events from an index on.
fn report_unnamed(from: usize, out: &mut DecodedEvents) {
    let DecodedEvents { events, faults } = out;
    let unnamed = events[from..].iter().filter(|event| event.kind == Kind::ToolCall && event.tool.is_none());
    faults.extend(unnamed.map(|event| {
        let message = "a call without the name of its tool: no property about the tool can see it";
        fault_of(event, "decode.unnamed_call", message.to_owned())
    }));
}

fn fault_of(event: &Event, code: &'static str, message: String) -> Fault {
    let Source { file, line, .. } = &event.source;
    Fault { file: file.clone(), line: *line, column: None, code, message }
}
