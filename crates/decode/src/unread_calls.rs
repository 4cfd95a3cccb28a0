//! Calls of tools in places that a decoder does not read: reported as faults, since no property sees them.
//!
//! A decoder reads what its format defines. Logs are also written by people, who put a reply beside its request, spell a
//! member otherwise or nest one message in another. Whatever looks like a call, anywhere in a record, must therefore come
//! out as an event, if not from this record then from another one: records repeat earlier ones, and pieces of a stream are
//! put together at the end.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::chat::APPROVAL_REQUEST;
use super::said_calls::{SaidCall, find_printed_name, find_said_calls};
use super::unmade_calls::UnmadeCalls;
use super::{DecodedEvents, Decoder, Fault};
use lictor_event::record::LogRecord;
use lictor_event::{Event, Kind, Source};
use lictor_json::{Json, Object, Text};

/// How many suspects are kept until the end of a file; beyond that, one of each name.
const MAX_SUSPECTS: usize = 10_000;

/// How deep calls are looked for.
const MAX_DEPTH: usize = 64;

/// Members that hold calls: one, or a list of them.
const HOLDERS: [&str; 16] = [
    "tool_calls",
    "toolCalls",
    "tool_call",
    "toolCall",
    "function_call",
    "functionCall",
    "tool_use",
    "toolUse",
    "toolInvocations",
    "tool_call_chunks",
    "invalid_tool_calls",
    "function_calls",
    "functionCalls",
    "tools_called",
    "tool_invocations",
    "intermediate_steps",
];

/// Members that hold calls beside a role. Elsewhere they hold anything.
const SPEAKERS_HOLDERS: [&str; 4] = ["actions", "calls", "tool_uses", "toolUses"];

/// Roles and types of what an agent says.
const SPEAKERS: [&str; 7] = ["assistant", "ai", "model", "agent", "bot", "AIMessage", "AIMessageChunk"];

/// Types of objects that are calls.
const TYPES: [&str; 10] = [
    "tool_use",
    "tool_call",
    "tool-call",
    "toolCall",
    "function_call",
    "function",
    "function_tool_call",
    "server_tool_use",
    "mcp_call",
    "custom_tool_call",
];

/// Members with the name of the tool, with the id of the call, and with its arguments.
const NAMES: [&str; 3] = ["name", "toolName", "tool_name"];

/// Members with the name of the tool in a call that a program wrote in its own way, and with its arguments.
const HOME_NAMES: [&str; 7] = ["tool", "tool_name", "toolName", "function_name", "functionName", "function", "action"];
const HOME_ARGUMENTS: [&str; 17] = [
    "tool_input",
    "toolInput",
    "tool_args",
    "toolArgs",
    "tool_arguments",
    "tool_params",
    "function_arguments",
    "function_args",
    "functionArgs",
    "action_input",
    "actionInput",
    "args",
    "arguments",
    "input",
    "params",
    "parameters",
    "kwargs",
];

/// How many of [`HOME_ARGUMENTS`] tell a call by themselves, beside a name.
const TELLING_ARGUMENTS: usize = 11;
const IDS: [&str; 6] = ["call_id", "id", "toolUseId", "toolCallId", "tool_call_id", "tool_use_id"];
const ARGUMENTS: [&str; 6] = ["arguments", "input", "args", "rawInput", "raw_input", "parameters"];

/// Members that hold data of a tool, or definitions of tools.
const DATA: [&str; 16] = [
    "arguments",
    "args",
    "kwargs",
    "parameters",
    "result",
    "results",
    "toolResult",
    "tool_result",
    "functionResponse",
    "function_response",
    "tools",
    "functions",
    "tool_definitions",
    "toolConfig",
    "metadata",
    "schema",
];

/// Members with the words of a person or a model, which may quote anything.
const SAID: [&str; 8] =
    ["content", "text", "thinking", "reasoning", "reasoning_content", "refusal", "query", "question"];

/// Decodes a format, and reports what looks like a call and never became an event.
pub(super) struct UnreadCallChecker {
    inner: Box<dyn Decoder>,
    /// Seeded, so that an attacker cannot choose a name that hides another.
    hasher: RandomState,
    /// Hashes of the ids and of the names of the calls that became events.
    ids: HashSet<u64>,
    names: HashSet<u64>,
    /// Whether some call kept the id that its record has.
    keeps_ids: bool,
    suspects: Vec<(Suspect, Fault)>,
    /// How many suspects there are when those that were read meanwhile are dropped.
    next_sweep: usize,
    /// The hashes of the names of suspects over the limit.
    extra_names: HashSet<u64>,
    unmade: UnmadeCalls,
}

/// What looks like a call.
struct Suspect {
    /// The hashes of its ids and of its name.
    ids: [Option<u64>; IDS.len()],
    name: u64,
    /// Where it is in its record.
    path: String,
    /// The name of its tool; none if the record was cut off within it.
    tool: Option<Text>,
    /// What it is a call in, if that is a text.
    said: Option<&'static str>,
}

/// The way to a value in a record. It borrows everything: nearly all values are no calls.
pub(super) struct ValuePath<'p> {
    parent: Option<&'p ValuePath<'p>>,
    step: PathElement<'p>,
    depth: usize,
}

enum PathElement<'p> {
    Key(&'p str),
    Index(usize),
}

impl<'p> ValuePath<'p> {
    fn add(parent: Option<&'p ValuePath<'p>>, step: PathElement<'p>) -> ValuePath<'p> {
        ValuePath { parent, step, depth: parent.map_or(0, |parent| parent.depth) + 1 }
    }

    fn write(&self, into: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(into);
            into.push('.');
        }
        match self.step {
            PathElement::Key(key) => into.push_str(key),
            PathElement::Index(index) => into.push_str(&index.to_string()),
        }
    }
}

impl UnreadCallChecker {
    pub(super) fn wrap(inner: Box<dyn Decoder>) -> Box<dyn Decoder> {
        Box::new(UnreadCallChecker {
            inner,
            hasher: RandomState::new(),
            ids: HashSet::default(),
            names: HashSet::default(),
            keeps_ids: false,
            suspects: Vec::new(),
            next_sweep: MAX_SUSPECTS,
            extra_names: HashSet::default(),
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
            self.names.extend(event.tool.as_deref().map(|name| self.hasher.hash_one(name)));
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
        if self.suspects.len() < MAX_SUSPECTS || self.extra_names.insert(suspect.name) {
            self.suspects.push((suspect, place));
        }
    }

    fn suspect_said(&self, call: &SaidCall<'_>) -> Suspect {
        let mut ids = [None; IDS.len()];
        ids[0] = call.id.map(|id| self.hasher.hash_one(id));
        let name = self.hasher.hash_one(call.tool);
        Suspect { ids, name, path: String::new(), tool: Some(call.tool.into()), said: Some(call.style) }
    }

    fn is_read(&mut self, suspect: &Suspect) -> bool {
        let has_id = self.has_id(suspect);
        self.keeps_ids |= has_id;
        has_id || suspect.ids.iter().flatten().next().is_none() && self.names.contains(&suspect.name)
    }

    fn has_id(&self, suspect: &Suspect) -> bool {
        suspect.ids.iter().flatten().any(|id| self.ids.contains(id))
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
            // Where a format gives calls other ids, only the name tells.
            let is_named = !self.keeps_ids || suspect.ids.iter().flatten().next().is_none();
            let has_name = is_named && self.names.contains(&suspect.name);
            !self.has_id(suspect) && !has_name
        });
        out.faults.extend(unread.map(|(suspect, place)| Fault { message: suspect.describe(), ..place }));
        self.unmade.report(&mut out.faults);
    }
}

impl UnreadCallChecker {
    fn suspect(&self, call: &Object, path: Option<&ValuePath<'_>>) -> Suspect {
        let name = call_name(call).unwrap_or_default();
        let mut ids = [None; IDS.len()];
        // A call of a shape of its own has an id of its own, if any.
        let is_home_made = plain_name(call).is_none() && home_name(call).is_some()
            || HOME_ARGUMENTS[..TELLING_ARGUMENTS].iter().any(|key| call.get(key).is_some());
        for (key, value) in call.iter().filter(|_| !is_home_made) {
            if let (Some(place), Some(id)) = (IDS.iter().position(|id| key == id), value.as_str()) {
                ids[place] = Some(self.hasher.hash_one(id));
            }
        }
        let mut written = String::new();
        path.inspect(|path| path.write(&mut written));
        Suspect {
            ids,
            name: self.hasher.hash_one(name),
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

/// Returns the name of the tool in an object that is a call.
fn call_name(call: &Object) -> Option<&str> {
    plain_name(call).or_else(|| home_name(call))
}

/// Returns the name of the tool in a call as the interfaces of models write it.
fn plain_name(call: &Object) -> Option<&str> {
    let function = call.get("function").or_else(|| call.get("custom")).and_then(Json::as_object);
    let objects = [Some(call), function];
    objects.into_iter().flatten().find_map(|object| NAMES.iter().find_map(|name| object.get(name)?.as_str()))
}

/// Returns the name of the tool in a call that a program wrote in its own way.
fn home_name(call: &Object) -> Option<&str> {
    HOME_NAMES.iter().find_map(|name| call.get(name)?.as_str().filter(|name| !name.trim().is_empty()))
}

/// The members of an object that tell whether it is a call, found in one pass.
#[derive(Default)]
struct CallSigns<'j> {
    sort: Option<&'j str>,
    role: Option<&'j str>,
    function: Option<&'j Object>,
    /// Whether it names a tool as a program of its own would, and how much it says of the arguments.
    has_home_name: bool,
    has_telling_arguments: bool,
    has_home_arguments: bool,
}

impl<'j> CallSigns<'j> {
    fn new(object: &'j Object) -> CallSigns<'j> {
        let mut signs = CallSigns::default();
        for (key, member) in object.iter() {
            match key.as_str() {
                "type" => signs.sort = member.as_str(),
                "role" => signs.role = member.as_str(),
                "function" => signs.function = member.as_object(),
                _ => {}
            }
            if HOME_NAMES.contains(&key.as_str()) {
                signs.has_home_name |= member.as_str().is_some_and(|name| !name.trim().is_empty());
            } else if let Some(place) = HOME_ARGUMENTS.iter().position(|name| key == name) {
                signs.has_home_arguments |= !member.is_null();
                signs.has_telling_arguments |= place < TELLING_ARGUMENTS && !member.is_null();
            }
        }
        signs
    }

    /// Whether an agent says it.
    fn is_speaker(&self) -> bool {
        self.role.or(self.sort).is_some_and(|name| SPEAKERS.contains(&name))
    }

    /// Whether it is a call that a program wrote in its own way, perhaps beside what the agent says.
    fn is_home_call(&self, object: &Object) -> bool {
        let is_named = || ["tool", "tool_name", "toolName"].iter().any(|name| object.get(name).is_some());
        self.has_home_name
            && !self.is_result()
            && (self.has_telling_arguments || self.is_speaker() && (self.has_home_arguments || is_named()))
    }

    fn is_call(&self, object: &Object) -> bool {
        match self.function {
            Some(function) => function.get("name").is_some() && function.get("arguments").is_some(),
            None => {
                self.sort.is_some_and(|name| TYPES.contains(&name))
                    && call_name(object).is_some()
                    && ARGUMENTS.iter().any(|name| object.get(name).is_some())
            }
        }
    }

    /// Whether it holds what a tool said, which may quote anything.
    fn is_result(&self) -> bool {
        matches!(self.role, Some("tool" | "function"))
            || self.sort.is_some_and(|name| name.contains("result") || name.ends_with("output"))
    }
}

/// Calls a function with everything in a record that looks like a call, and with its path.
pub(super) fn collect_calls(record: &Json, found: &mut impl FnMut(&Object, Option<&ValuePath<'_>>)) {
    collect(record, None, found);
}

/// Calls a function with everything in a value that looks like a call.
fn collect<'p>(
    value: &'p Json,
    path: Option<&'p ValuePath<'p>>,
    found: &mut impl FnMut(&Object, Option<&ValuePath<'_>>),
) {
    if path.is_some_and(|path| path.depth > MAX_DEPTH) {
        return;
    }
    match value {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, Some(&ValuePath::add(path, PathElement::Index(index))), found);
            }
        }
        Json::Object(object) => {
            let signs = CallSigns::new(object);
            if signs.is_call(object) {
                found(object, path);
                return;
            }
            if signs.is_home_call(object) {
                found(object, path);
            }
            let (is_result, is_speaker) = (signs.is_result(), signs.is_speaker());
            for (key, member) in object.iter() {
                // Most values are plain, or texts that quote nothing.
                let is_plain = match member {
                    Json::String(text) if HOLDERS.contains(&key.as_str()) => !may_print_call(text),
                    Json::String(text) => !may_be_json(text) || SAID.contains(&key.as_str()),
                    Json::Array(_) | Json::Object(_) => false,
                    _ => true,
                };
                let is_data =
                    || is_result && matches!(key.as_str(), "content" | "output") || DATA.contains(&key.as_str());
                if is_plain {
                    continue;
                }
                if is_data() {
                    if is_speaker && key == "metadata" {
                        collect_in_metadata(member, &ValuePath::add(path, PathElement::Key(key)), found);
                    }
                    continue;
                }
                let path = ValuePath::add(path, PathElement::Key(key));
                match HOLDERS.contains(&key.as_str()) || is_speaker && SPEAKERS_HOLDERS.contains(&key.as_str()) {
                    true => collect_held(member, &path, found),
                    false => collect(member, Some(&path), found),
                }
            }
        }
        Json::String(text) => collect_in_text(text, path, found),
        _ => {}
    }
}

/// Calls a function with the calls in the metadata of what an agent says, which may hold anything else.
fn collect_in_metadata(metadata: &Json, path: &ValuePath<'_>, found: &mut impl FnMut(&Object, Option<&ValuePath<'_>>)) {
    for (key, member) in metadata.as_object().into_iter().flat_map(Object::iter) {
        if HOLDERS.contains(&key.as_str()) {
            collect_held(member, &ValuePath::add(Some(path), PathElement::Key(key)), found);
        }
    }
}

/// Whether a text among calls holds one, in whatever notation.
fn may_print_call(text: &str) -> bool {
    may_be_json(text) && !matches!(text.trim(), "[]" | "{}") || text.contains('(')
}

fn may_be_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Calls a function with what looks like a call in a text that is JSON. A text that was cut off within a call counts as
/// one.
fn collect_in_text(text: &str, path: Option<&ValuePath<'_>>, found: &mut impl FnMut(&Object, Option<&ValuePath<'_>>)) {
    let holds = |name: &&str| text.contains(&format!("\"{name}\""));
    if !may_be_json(text) || !HOLDERS.iter().chain(&TYPES[..3]).any(holds) {
        return;
    }
    match lictor_json::parse_str(text) {
        Ok(parsed) => collect(&parsed, path, found),
        Err(error) if error.code == "json.torn" => found(&Object::new(), path),
        Err(_) => {}
    }
}

/// Calls a function with the calls in a member that holds calls: one, a list, a map, or the text of either.
fn collect_held(value: &Json, path: &ValuePath<'_>, found: &mut impl FnMut(&Object, Option<&ValuePath<'_>>)) {
    match value {
        Json::Object(object) if call_name(object).is_some() => found(object, Some(path)),
        Json::Object(object) => {
            for (key, member) in object.iter() {
                if let Json::Object(call) = member
                    && call_name(call).is_some()
                {
                    found(call, Some(&ValuePath::add(Some(path), PathElement::Key(key))));
                }
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = ValuePath::add(Some(path), PathElement::Index(index));
                match item {
                    Json::Object(call) if call_name(call).is_some() => found(call, Some(&path)),
                    Json::String(text) if may_print_call(text) && lictor_json::parse_str(text).is_err() => {
                        collect_printed(text, &path, found);
                    }
                    _ => collect(item, Some(&path), found),
                }
            }
        }
        Json::String(text) => match lictor_json::parse_str(text) {
            Ok(parsed @ (Json::Object(_) | Json::Array(_))) => collect_held(&parsed, path, found),
            Ok(_) => {}
            Err(_) => collect_printed(text, path, found),
        },
        _ => {}
    }
}

/// Calls a function with a call that a program printed in its own notation rather than as JSON.
fn collect_printed(text: &str, path: &ValuePath<'_>, found: &mut impl FnMut(&Object, Option<&ValuePath<'_>>)) {
    let mut call = Object::new();
    call.insert("name", find_printed_name(text).unwrap_or("?"));
    found(&call, Some(path));
}
