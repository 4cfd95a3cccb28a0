//! Calls after the marks of chat templates: each family of open models has its own.
//!
//! `<tool_call>` is that of Hermes, Qwen and GLM, `<function=pay>` of Llama and Qwen Coder, `<|python_tag|>` of Llama,
//! `[TOOL_CALLS]` of Mistral, `<｜tool▁call▁begin｜>` of DeepSeek and Kimi, `<|START_ACTION|>` of Command, `<|tool_call|>` of
//! Granite and Phi, `to=functions.pay` of gpt-oss, `<invoke name="pay">` of Claude. After the mark comes JSON, or the name
//! of the tool and a mark for its arguments. Cline writes elements with the names of its tools.

use std::borrow::Cow;

use super::{SaidCall, read_call, take_quoted};
use crate::call_members::call_arguments;
use lictor_json::Json;

/// Marks that begin with `<`, after which come calls.
const TAGS: [&str; 16] = [
    "<tool_call>",
    "<tool_calls>",
    "<tool_use>",
    "<tool_code>",
    "<function_call>",
    "<function_calls>",
    "<functioncall>",
    "<function=",
    "<tool_name>",
    "<|tool_call|>",
    "<|tool_calls|>",
    "<|tool_call_begin|>",
    "<|tool_call_start|>",
    "<|python_tag|>",
    "<|START_ACTION|>",
    "<|plugin|>",
];

/// Marks of other kinds.
const MARKS: [&str; 6] = ["[TOOL_CALLS]", "```tool_call", "```tool_code", "```function_call", "to=functions.", ">>>"];

/// The tools of Cline and Roo Code, whose calls are elements with their names.
const ELEMENTS: [&str; 20] = [
    "access_mcp_resource",
    "apply_diff",
    "browser_action",
    "codebase_search",
    "execute_command",
    "fetch_instructions",
    "insert_content",
    "list_code_definition_names",
    "list_files",
    "new_task",
    "read_file",
    "replace_in_file",
    "run_slash_command",
    "search_and_replace",
    "search_files",
    "switch_mode",
    "update_todo_list",
    "use_mcp_tool",
    "web_fetch",
    "write_to_file",
];

/// The mark between the type of a call and the name of its tool, or between the name and the arguments.
const SEPARATOR: &str = "<|tool_sep|>";

/// What may come after the name of a tool.
const ARGUMENT_MARKS: [&str; 14] = [
    SEPARATOR,
    "[ARGS]",
    "[CALL_ID]",
    "<arg_key>",
    "<parameter",
    "<|tool_call_argument_begin|>",
    "<|constrain|>",
    "<|message|>",
    "</tool_call>",
    "</tool_name>",
    "```",
    "{",
    "(",
    ">",
];

/// Keys with the name of the tool, in a call that is no JSON, such as the dictionary of a program or a piece of a text.
const NAME_KEYS: [&str; 4] = ["\"name\"", "'name'", "\"tool_name\"", "'tool_name'"];

const STYLE: &str = "a call between tags";

/// Finds the calls after marks.
pub(super) fn find_tagged(text: &str, found: &mut impl FnMut(SaidCall<'_>)) {
    let text = fold_marks(text);
    for (place, _) in text.match_indices('<') {
        let rest = &text[place..];
        if let Some(tag) = TAGS.iter().find(|tag| rest.starts_with(**tag)) {
            read_calls(&rest[tag.len()..], *tag == "<|python_tag|>", found);
        }
        if let Some((name, inside)) = rest[1..].split_once('>')
            && ELEMENTS.contains(&name)
            && inside.contains(&format!("</{name}>"))
        {
            found(SaidCall { tool: name, id: None, args: None, style: "an element with the name of the tool" });
        }
    }
    for mark in MARKS {
        for (place, _) in text.match_indices(mark) {
            let (before, rest) = (&text[..place], &text[place + mark.len()..]);
            // Python prompts so, too.
            let is_recipient =
                |(name, arguments): (&str, &str)| !name.contains([' ', '(']) && arguments.starts_with('{');
            if mark != ">>>"
                || (before.is_empty() || before.ends_with('\n')) && rest.split_once('\n').is_some_and(is_recipient)
            {
                read_calls(rest.strip_prefix('s').filter(|_| mark.starts_with('`')).unwrap_or(rest), false, found);
            }
        }
    }
    for (place, attribute) in text.match_indices("invoke name=") {
        let is_tag = text[..place].ends_with(['<', ':']);
        if let Some(tool) = take_quoted(&text[place + attribute.len()..]).filter(|_| is_tag) {
            found(SaidCall { tool, id: None, args: None, style: STYLE });
        }
    }
}

/// Returns a text whose marks are in ASCII: DeepSeek writes them in wide letters, and exports escape them.
fn fold_marks(text: &str) -> Cow<'_, str> {
    let is_wide = text.contains(['｜', '▁']);
    let is_escaped = text.contains("&lt;");
    if !is_wide && !is_escaped {
        return Cow::Borrowed(text);
    }
    let text = text.replace('｜', "|").replace('▁', "_");
    Cow::Owned(text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\""))
}

/// Reads the calls after a mark. Code without a name of a tool is a call too, if the mark says so.
fn read_calls(text: &str, is_code: bool, found: &mut impl FnMut(SaidCall<'_>)) {
    let text = text.trim_start();
    let text = text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).unwrap_or(text).trim_start();
    if text.starts_with(['{', '[']) {
        let parsed = take_balanced(text).and_then(|json| lictor_json::parse_str(json).ok());
        let items = parsed.as_ref().and_then(Json::as_array).unwrap_or(parsed.as_slice());
        let calls: Vec<_> = items.iter().filter_map(|call| Some((read_call(call)?, call.as_object()?))).collect();
        if !calls.is_empty() {
            return calls.into_iter().for_each(|(tool, call)| {
                found(SaidCall { tool, id: None, args: call_arguments(call), style: STYLE });
            });
        }
        let name = NAME_KEYS.iter().find_map(|key| {
            let (_, rest) = text.split_once(key)?;
            take_quoted(rest.trim_start().strip_prefix(':')?)
        });
        if let Some(tool) = name {
            return found(SaidCall { tool, id: None, args: None, style: STYLE });
        }
    }
    let tool = take_name(text.strip_prefix('[').unwrap_or(text));
    if let Some(tool) = tool.or_else(|| (is_code && !text.is_empty()).then_some("?")) {
        found(SaidCall { tool, id: None, args: None, style: STYLE });
    }
}

/// Returns the name of a tool at the beginning of a text, if a mark for its arguments comes after it.
fn take_name(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let text = text.strip_prefix("print(").unwrap_or(text);
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':' | '/');
    let (name, rest) = text.split_at(text.find(|letter| !is_part(letter)).unwrap_or(text.len()));
    let rest = rest.trim_start();
    if let Some(rest) = rest.strip_prefix(SEPARATOR).filter(|_| name == "function") {
        return take_name(rest);
    }
    if !ARGUMENT_MARKS.iter().any(|mark| rest.starts_with(mark)) {
        return None;
    }
    // Models say the namespace, the number of the call or the method beside the name.
    let name = name.strip_prefix("functions.").or_else(|| name.strip_prefix("default_api.")).unwrap_or(name);
    let name = name.strip_suffix(".call").unwrap_or(name);
    let name = match name.rsplit_once(':') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    };
    (!name.is_empty()).then_some(name)
}

/// Returns the object or the list at the beginning of a text.
fn take_balanced(text: &str) -> Option<&str> {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => depth += 1,
            b'}' | b']' if !is_text => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return text.get(..=place);
                }
            }
            _ => {}
        }
    }
    None
}
