//! Calls within texts: how open models write them, and how programs print the objects of a library.
//!
//! A log that keeps only the text of a model holds its calls in that text: after a mark of its chat template, as `Action:`
//! with `Action Input:`, as an object with a name and arguments, in a block of JSON, or as the blocks of an interface. Decoders do not read
//! them, so they are reported unless another event is that call.

mod tagged_calls;

use crate::call_members::call_arguments;
use lictor_event::{Arguments, Event, Kind};
use lictor_json::Json;
use tagged_calls::find_tagged;

/// A call within a text.
pub(super) struct SaidCall<'t> {
    pub(super) tool: &'t str,
    pub(super) id: Option<&'t str>,
    /// Its arguments, where they are JSON.
    pub(super) args: Option<Arguments>,
    /// How it is written.
    pub(super) style: &'static str,
}

/// Classes whose objects are calls, as Python prints them.
const PRINTED: [&str; 7] = [
    "ToolUseBlock(",
    "ServerToolUseBlock(",
    "ToolCall(",
    "ToolCallPart(",
    "ResponseFunctionToolCall(",
    "FunctionCall(",
    "AgentAction(",
];

/// Calls a function with what looks like a call in the text of an event.
pub(super) fn find_said_calls(event: &Event, found: &mut impl FnMut(SaidCall<'_>)) {
    let Some(text) = event.text.as_deref() else { return };
    match event.kind {
        Kind::AssistantMessage if has_sign(text) => {
            find_tagged(text, found);
            find_react(text, found);
            find_bare(text, found);
            find_fenced(text, found);
            find_printed(text, found);
            find_blocks(text, &["tool_use", "tool_call", "tool-call", "function_call", "function"], found);
        }
        Kind::UserMessage => find_blocks(text, &["tool_result", "tool-result"], found),
        _ => {}
    }
}

/// Whether a text has a sign without which no notation writes a call. Most sentences have none, and each notation is
/// looked for in turn.
fn has_sign(text: &str) -> bool {
    let text = text.as_bytes();
    memchr::memchr3(b'<', b'[', b'`', text).is_some()
        || memchr::memchr3(b'{', b'(', b'&', text).is_some()
        || memchr::memchr2(b'=', b'>', text).is_some()
        || memchr::memmem::find(text, b"Action").is_some()
}

/// Returns the name of the tool in a call that Python printed: `name='pay'`, `'name': 'pay'`.
pub(super) fn find_printed_name(text: &str) -> Option<&str> {
    const KEYS: [&str; 6] = ["'name':", "\"name\":", "tool_name=", "tool=", "name=", "'tool':"];
    KEYS.iter().find_map(|key| {
        let (_, rest) = text.split_once(key)?;
        take_quoted(rest)
    })
}

/// Finds the steps of ReAct: a line with the action, and one with its input; or a line with both, as in `pay[10]`. Of
/// JSON after `Action:`, [`find_bare`] knows more.
fn find_react(text: &str, found: &mut impl FnMut(SaidCall<'_>)) {
    if !text.contains("Action") {
        return;
    }
    let mut tool = None;
    for line in text.lines().map(str::trim) {
        if let Some(step) = take_step(line, "Action") {
            tool = Some(step.trim_matches(['`', '"', '\'', '[', ']'])).filter(|name| !name.is_empty());
            let is_name =
                |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
            let (name, rest) = step.split_at(step.find(['[', '(']).unwrap_or(step.len()));
            let is_whole = rest.ends_with([']', ')']) && is_name(name) && !is_end(name);
            if is_whole {
                tool = None;
                found(SaidCall { tool: name, id: None, args: None, style: "`Action:` with a call" });
            }
        } else if take_step(line, "Action Input").is_some()
            && let Some(tool) = tool.take()
        {
            found(SaidCall { tool, id: None, args: None, style: "`Action:` with `Action Input:`" });
        }
    }
}

/// Returns what a line says after the name of a step of ReAct, which may have a number.
fn take_step<'t>(line: &'t str, name: &str) -> Option<&'t str> {
    let rest = line.trim_start_matches(['*', '#', ' ']).strip_prefix(name)?;
    let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ' ' || letter == '*');
    Some(rest.strip_prefix(':')?.trim_start_matches('*').trim())
}

/// Whether the name of an action ends the work of the agent.
fn is_end(name: &str) -> bool {
    ["finish", "final answer", "final_answer", "answer"].iter().any(|end| name.trim().eq_ignore_ascii_case(end))
}

/// Finds calls that are a text as a whole, as Llama writes them, or that come after `Action:`.
fn find_bare(text: &str, found: &mut impl FnMut(SaidCall<'_>)) {
    let text = text.split_once("Action:").map_or(text, |(_, rest)| rest).trim();
    let text = text.strip_prefix("```").map_or(text, |text| text.strip_prefix("json").unwrap_or(text));
    let text = text.split_once("```").map_or(text, |(text, _)| text).trim();
    find_json(text, &|_| true, found);
}

/// Finds calls in blocks of JSON after some words: those that name a `tool`, and any that end the text.
fn find_fenced(text: &str, found: &mut impl FnMut(SaidCall<'_>)) {
    let text = text.trim_end();
    for (place, fence) in text.match_indices("```json") {
        let Some((block, after)) = text[place + fence.len()..].split_once("```") else { continue };
        let names_tool = |call: &Json| ["tool", "tool_name"].iter().any(|key| call.get(key).is_some());
        // [`find_bare`] reads what comes first, and after an action.
        if !text[..place].trim().is_empty() && !text[..place].contains("Action:") {
            find_json(block.trim(), &|call| after.is_empty() || names_tool(call), found);
        }
    }
}

/// Finds calls in a text that is JSON as a whole.
fn find_json(text: &str, is_wanted: &dyn Fn(&Json) -> bool, found: &mut impl FnMut(SaidCall<'_>)) {
    if !text.starts_with(['{', '[']) {
        return;
    }
    let Ok(parsed) = lictor_json::parse_str(text) else { return };
    for call in std::slice::from_ref(&parsed).iter().chain(parsed.as_array().unwrap_or_default()) {
        // Blocks with a type are those of an interface.
        let is_plain = |_: &&str| call.get("type").is_none() && is_wanted(call);
        if let Some(tool) = read_call(call).filter(is_plain) {
            let args = call.as_object().and_then(call_arguments);
            found(SaidCall { tool, id: None, args, style: "a name with arguments as JSON text" });
        }
    }
}

/// Returns the tool of an object that has little more than a name and arguments. Models number such calls, so that an id
/// tells nothing.
fn read_call(value: &Json) -> Option<&str> {
    const NAMES: [&str; 5] = ["name", "tool_name", "tool", "function", "action"];
    const ARGUMENTS: [&str; 8] =
        ["arguments", "parameters", "args", "kwargs", "tool_input", "tool_args", "action_input", "input"];
    const MAX_MEMBERS: usize = 6;
    let call = value.as_object().filter(|call| call.len() <= MAX_MEMBERS && call.get("description").is_none())?;
    let (key, name) = NAMES.iter().find_map(|key| Some((*key, call.get(key)?.as_str()?)))?;
    let has_arguments = ARGUMENTS.iter().any(|argument| match call.get(argument) {
        Some(Json::Object(_)) => *argument != "input" || key != "name",
        Some(Json::String(text)) => *argument == "action_input" || text.trim_start().starts_with('{'),
        _ => false,
    });
    (has_arguments && !is_end(name)).then_some(name)
}

/// Finds calls that Python printed as the objects of a library.
fn find_printed(text: &str, found: &mut impl FnMut(SaidCall<'_>)) {
    if !text.contains('(') {
        return;
    }
    for class in PRINTED {
        for (place, class) in text.match_indices(class) {
            let (before, rest) = text.split_at(place);
            let is_longer = before.ends_with(char::is_alphanumeric) && !before.ends_with("Message");
            let rest = rest.get(class.len()..).unwrap_or_default();
            // An object is printed with its members, prose is not.
            let has_members =
                rest.split_once('=').is_some_and(|(key, _)| key.chars().all(|c| c.is_alphanumeric() || c == '_'));
            if !is_longer && has_members {
                let tool = find_printed_name(rest).unwrap_or("?");
                found(SaidCall { tool, id: None, args: None, style: "the printed object of a library" });
            }
        }
    }
}

/// Finds blocks of some types in a text that is JSON as a whole.
fn find_blocks(text: &str, types: &[&str], found: &mut impl FnMut(SaidCall<'_>)) {
    let text = text.trim();
    if !text.starts_with(['[', '{']) || !text.contains("\"type\"") || !types.iter().any(|name| text.contains(name)) {
        return;
    }
    let Ok(parsed) = lictor_json::parse_str(text) else { return };
    let mut calls = vec![&parsed];
    while let Some(value) = calls.pop() {
        match value {
            Json::Array(items) => calls.extend(items),
            Json::Object(block) if value.text("type").is_some_and(|name| types.contains(&name)) => {
                let id = ["id", "tool_use_id", "toolCallId", "call_id"].iter().find_map(|key| value.text(key));
                let name = ["name", "toolName"].iter().find_map(|key| value.text(key));
                let name = name.or_else(|| value.at("function.name").and_then(Json::as_str));
                if id.is_some() || name.is_some() && block.len() > 2 {
                    let args = call_arguments(block);
                    found(SaidCall { tool: name.unwrap_or("?"), id, args, style: "content blocks as JSON text" });
                }
            }
            Json::Object(_) => calls.extend(value.get("tool_calls").or_else(|| value.get("content"))),
            _ => {}
        }
    }
}

/// Returns the quoted text at the beginning of a text.
fn take_quoted(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    text[1..].split_once(quote).map(|(name, _)| name).filter(|name| !name.is_empty())
}
