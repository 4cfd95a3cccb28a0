//! Calls of tools in places that a decoder does not read: reported as faults, since no property sees them.
//!
//! A decoder reads what its format defines. Logs are also written by people, who put a reply beside its request, spell a
//! member otherwise or nest one message in another. Whatever looks like a call, anywhere in a record, must therefore come
//! out as an event, if not from this record then from another one: records repeat earlier ones, and pieces of a stream are
//! put together at the end.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::chat::APPROVAL_REQUEST;
use super::{DecodedEvents, Decoder, Fault};
use lictor_event::record::LogRecord;
use lictor_event::{Event, Kind, Source};
use lictor_json::{Json, Object, Text};

/// How many suspects are kept until the end of a file. What is beyond is of the same kind.
const MAX_SUSPECTS: usize = 10_000;

/// How deep calls are looked for.
const MAX_DEPTH: usize = 64;

/// Members that hold calls: one, or a list of them.
const HOLDERS: [&str; 12] = [
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
];

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
}

/// The way to a value in a record. It borrows everything: nearly all values are no calls.
struct ValuePath<'p> {
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
        })
    }

    /// Remembers the calls among events.
    fn remember(&mut self, events: &[Event]) {
        let is_call = |event: &&Event| match &event.kind {
            Kind::ToolCall | Kind::Handoff => true,
            // A call that a person denies is made by no other event.
            kind => kind.name() == APPROVAL_REQUEST,
        };
        for event in events.iter().filter(is_call) {
            self.ids.extend(event.id.as_deref().map(|id| self.hasher.hash_one(id)));
            self.names.extend(event.tool.as_deref().map(|name| self.hasher.hash_one(name)));
        }
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
        if self.suspects.len() < MAX_SUSPECTS {
            collect(&record.value, None, &mut |call, path| found.push(self.suspect(call, path)));
        }
        let place = record.fault("decode.unread_call", "");
        self.inner.record(record, out);
        self.remember(&out.events[before..]);
        report_unnamed(before, out);
        for suspect in found {
            if !self.is_read(&suspect) {
                self.suspects.push((suspect, place.clone()));
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
            let has_name = !self.keeps_ids && self.names.contains(&suspect.name);
            !self.has_id(suspect) && !has_name
        });
        out.faults.extend(unread.map(|(suspect, place)| Fault { message: suspect.describe(), ..place }));
    }
}

impl UnreadCallChecker {
    fn suspect(&self, call: &Object, path: Option<&ValuePath<'_>>) -> Suspect {
        let name = call_name(call).unwrap_or_default();
        let mut ids = [None; IDS.len()];
        for (key, value) in call.iter() {
            if let (Some(place), Some(id)) = (IDS.iter().position(|id| key == id), value.as_str()) {
                ids[place] = Some(self.hasher.hash_one(id));
            }
        }
        let mut written = String::new();
        path.inspect(|path| path.write(&mut written));
        Suspect { ids, name: self.hasher.hash_one(name), path: written, tool: (!call.is_empty()).then(|| name.into()) }
    }
}

impl Suspect {
    fn describe(&self) -> String {
        let path = &self.path;
        match &self.tool {
            None => format!("`{path}` is cut off within a call, which is not judged: log it whole"),
            Some(name) => format!(
                "`{path}` looks like a call of `{name}` in a place that this format does not have, so it is not \
                 judged: check `--input-format`, or move it to where the format has its calls"
            ),
        }
    }
}

/// Reports the calls without a tool among the events from an index on.
fn report_unnamed(from: usize, out: &mut DecodedEvents) {
    let DecodedEvents { events, faults } = out;
    let unnamed = events[from..].iter().filter(|event| event.kind == Kind::ToolCall && event.tool.is_none());
    faults.extend(unnamed.map(|event| Fault {
        file: event.source.file.clone(),
        line: event.source.line,
        column: None,
        code: "decode.unnamed_call",
        message: "a call without the name of its tool: no property about the tool can see it".to_owned(),
    }));
}

/// Returns the name of the tool in an object that is a call.
fn call_name(call: &Object) -> Option<&str> {
    let function = call.get("function").or_else(|| call.get("custom")).and_then(Json::as_object);
    let objects = [Some(call), function];
    objects.into_iter().flatten().find_map(|object| NAMES.iter().find_map(|name| object.get(name)?.as_str()))
}

/// The members of an object that tell whether it is a call, found in one pass.
#[derive(Default)]
struct CallSigns<'j> {
    sort: Option<&'j str>,
    role: Option<&'j str>,
    function: Option<&'j Object>,
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
        }
        signs
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
            let is_result = signs.is_result();
            for (key, member) in object.iter() {
                // Most values are plain, or texts that quote nothing.
                let is_plain = match member {
                    Json::String(text) => !may_be_json(text) || SAID.contains(&key.as_str()),
                    Json::Array(_) | Json::Object(_) => false,
                    _ => true,
                };
                let is_data =
                    || is_result && matches!(key.as_str(), "content" | "output") || DATA.contains(&key.as_str());
                if is_plain || is_data() {
                    continue;
                }
                let path = ValuePath::add(path, PathElement::Key(key));
                match HOLDERS.contains(&key.as_str()) {
                    true => collect_held(member, &path, found),
                    false => collect(member, Some(&path), found),
                }
            }
        }
        Json::String(text) => collect_in_text(text, path, found),
        _ => {}
    }
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
                    _ => collect(item, Some(&path), found),
                }
            }
        }
        Json::String(text) => {
            if let Ok(parsed @ (Json::Object(_) | Json::Array(_))) = lictor_json::parse_str(text) {
                collect_held(&parsed, path, found);
            }
        }
        _ => {}
    }
}
