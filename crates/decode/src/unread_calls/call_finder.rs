//! Finds what looks like a call in a record, wherever it is.

use super::unlisted_calls::{is_elsewhere, is_schema, is_unlisted_call, may_hold_call};
use super::value_path::{PathElement, ValuePath};
use crate::call_members::{ARGUMENTS, HOME_ARGUMENTS, HOME_NAMES, TELLING_ARGUMENTS, call_name};
use crate::said_calls::find_printed_name;
use lictor_json::{Json, Object};

/// How deep calls are looked for.
const MAX_DEPTH: usize = 64;

/// Members that hold calls: one, or a list of them, or of the names of their tools.
const HOLDERS: [&str; 22] = [
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
    "tools_used",
    "toolsUsed",
    "used_tools",
    "called_tools",
    "functions_called",
    "executed_tools",
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

/// The members of an object that tell whether it is a call, found in one pass.
#[derive(Default)]
struct CallSigns<'j> {
    sort: Option<&'j str>,
    role: Option<&'j str>,
    function: Option<&'j Object>,
    /// The method, if it is a JSON-RPC request.
    method: Option<&'j str>,
    /// Whether it names a tool as a program of its own would, and how much it says of the arguments.
    has_home_name: bool,
    has_plain_name: bool,
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
                "method" => signs.method = member.as_str(),
                "name" => signs.has_plain_name = member.as_str().is_some_and(|name| !name.trim().is_empty()),
                _ => {}
            }
            if HOME_NAMES.contains(&key.as_str()) {
                signs.has_home_name |= member.as_str().is_some_and(|name| !name.trim().is_empty());
            } else if let Some(place) = HOME_ARGUMENTS.iter().position(|name| key == name) {
                signs.has_home_arguments |= !member.is_null();
                signs.has_telling_arguments |= place < TELLING_ARGUMENTS && !member.is_null() && !is_schema(member);
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
        let is_described = || object.get("description").is_some();
        let is_told = self.has_telling_arguments && (self.has_home_name || self.has_plain_name && !is_described());
        let is_said = || self.has_home_name && self.is_speaker() && (self.has_home_arguments || is_named());
        !self.is_result() && (is_told || is_said())
    }

    fn is_call(&self, object: &Object) -> bool {
        match self.function {
            Some(function) => function.get("name").is_some() && function.get("arguments").is_some(),
            None => {
                self.sort.is_some_and(|name| TYPES.contains(&name))
                    && call_name(object).is_some()
                    && ARGUMENTS.iter().any(|name| object.get(name).is_some_and(|arguments| !is_schema(arguments)))
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
pub(crate) fn collect_calls(record: &Json, found: &mut impl FnMut(&Object, Option<&ValuePath<'_>>)) {
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
            let (is_result, is_speaker) = (signs.is_result(), signs.is_speaker());
            let is_said = is_speaker || path.is_some_and(|path| path.is_said);
            let is_unlisted = || {
                !is_result
                    && !path.is_some_and(|path| path.is_quoted)
                    && is_unlisted_call(object, is_said)
                    && !is_elsewhere(path)
            };
            let is_call = signs.is_home_call(object) || is_unlisted();
            if is_call {
                found(object, path);
            }
            let is_of_tool =
                is_result && signs.sort.is_none_or(|sort| sort.contains("tool") || sort.contains("function"));
            let is_request = signs.method.is_some_and(|method| method != "tools/call");
            for (key, member) in object.iter() {
                // Most values are plain, or texts that quote nothing.
                let is_plain = match member {
                    Json::String(text) if HOLDERS.contains(&key.as_str()) => !may_print_call(text),
                    Json::String(text) => !may_be_json(text) || SAID.contains(&key.as_str()),
                    Json::Array(_) | Json::Object(_) => false,
                    _ => true,
                };
                let is_data = || {
                    is_result && matches!(key.as_str(), "content" | "output")
                        || is_call && matches!(key.as_str(), "input" | "params")
                        || DATA.contains(&key.as_str())
                };
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
                let is_quoted = path.is_quoted || is_of_tool || is_request && key == "params";
                let path = ValuePath { is_said, is_quoted, ..path };
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
    let is_marked = || HOLDERS.iter().chain(&TYPES[..3]).any(holds);
    if !may_be_json(text) || !is_marked() && !may_hold_call(text) {
        return;
    }
    match lictor_json::parse_str(text) {
        Ok(parsed) => collect(&parsed, path, found),
        Err(error) if error.code == "json.torn" && is_marked() => found(&Object::new(), path),
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
                    Json::String(name) if is_tool_name(name) => {
                        let mut call = Object::new();
                        call.insert("name", name.as_str());
                        found(&call, Some(&path));
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

/// Whether a text among calls is the name of a tool.
fn is_tool_name(text: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-.:/".contains(letter);
    text.chars().any(char::is_alphabetic) && text.chars().all(is_part) && !text.eq_ignore_ascii_case("none")
}

/// Calls a function with a call that a program printed in its own notation rather than as JSON.
fn collect_printed(text: &str, path: &ValuePath<'_>, found: &mut impl FnMut(&Object, Option<&ValuePath<'_>>)) {
    let mut call = Object::new();
    call.insert("name", find_printed_name(text).unwrap_or("?"));
    found(&call, Some(path));
}
