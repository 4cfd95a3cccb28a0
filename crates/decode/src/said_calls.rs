//! Calls within texts: how open models write them, and how programs print the objects of a library.
//!
//! A log that keeps only the text of a model holds its calls in that text: `<tool_call>{…}</tool_call>`, `Action:` with
//! `Action Input:`, `<invoke name="…">`, or the blocks of an interface as JSON. Decoders do not read them, so they are
//! reported unless another event is that call.

use lictor_event::{Event, Kind};
use lictor_json::Json;

/// A call within a text.
pub(super) struct SaidCall<'t> {
    pub(super) tool: &'t str,
    pub(super) id: Option<&'t str>,
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
        Kind::AssistantMessage => {
            find_tagged(text, "<tool_call>", '{', "\"name\"", found);
            find_tagged(text, "[TOOL_CALLS]", '[', "\"name\"", found);
            find_tagged(text, "<invoke ", 'n', "name=", found);
            find_react(text, found);
            find_printed(text, found);
            find_blocks(text, &["tool_use", "tool_call", "tool-call", "function_call", "function"], found);
        }
        Kind::UserMessage => find_blocks(text, &["tool_result", "tool-result"], found),
        _ => {}
    }
}

/// Returns the name of the tool in a call that Python printed: `name='pay'`, `'name': 'pay'`.
pub(super) fn find_printed_name(text: &str) -> Option<&str> {
    const KEYS: [&str; 6] = ["'name':", "\"name\":", "tool_name=", "tool=", "name=", "'tool':"];
    KEYS.iter().find_map(|key| {
        let (_, rest) = text.split_once(key)?;
        take_quoted(rest)
    })
}

/// Finds calls after a tag, whose name is a text after a key.
fn find_tagged(text: &str, tag: &str, first: char, key: &str, found: &mut impl FnMut(SaidCall<'_>)) {
    for (_, rest) in text.match_indices(tag).map(|(place, tag)| text.split_at(place + tag.len())) {
        let rest = rest.trim_start();
        if !rest.starts_with(first) {
            continue;
        }
        let named = rest.split_once(key).map(|(_, rest)| rest.trim_start().trim_start_matches(':'));
        if let Some(tool) = named.and_then(take_quoted) {
            found(SaidCall { tool, id: None, style: "a call between tags" });
        }
    }
}

/// Finds the steps of ReAct: a line with the action, and one with its input.
fn find_react(text: &str, found: &mut impl FnMut(SaidCall<'_>)) {
    if !text.contains("Action Input:") {
        return;
    }
    let mut tool = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("Action:") {
            tool = Some(name.trim().trim_matches(['`', '"', '\'', '[', ']'])).filter(|name| !name.is_empty());
        } else if line.starts_with("Action Input:")
            && let Some(tool) = tool.take()
        {
            found(SaidCall { tool, id: None, style: "`Action:` with `Action Input:`" });
        }
    }
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
                found(SaidCall { tool, id: None, style: "the printed object of a library" });
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
                    found(SaidCall { tool: name.unwrap_or("?"), id, style: "content blocks as JSON text" });
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
