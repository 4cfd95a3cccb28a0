//! Members and kinds by other names than this format has. They would be kept and read by no property: a limit on an
//! argument would never see one that is called `arguments`.

use lictor_logic::distance;

use crate::{Event, Kind};

/// Names that other formats have for a member, by the kinds that need it and the name here.
const MISNAMED: [(&[Kind], &str, &[&str]); 3] = [
    (
        &[Kind::ToolCall],
        "args",
        &["arguments", "arg", "argument", "input", "params", "parameters", "tool_input", "kwargs"],
    ),
    (&[Kind::ToolResult], "result", &["output", "content", "tool_output", "tool_response", "response"]),
    (
        &[Kind::UserMessage, Kind::AssistantMessage, Kind::SystemMessage],
        "text",
        &["content", "message", "msg", "body", "utterance"],
    ),
];

/// Names that other formats have for a kind.
const OTHER_KINDS: [(&str, &[&str]); 2] = [
    ("tool_call", &["functioncall", "tooluse", "toolinvocation", "toolrequest", "functionuse", "mcpcall"]),
    ("tool_result", &["functioncalloutput", "functionresult", "functionresponse", "tooloutput", "toolresponse"]),
];

/// The shortest kind that is taken for a misspelt one if a letter differs.
const MIN_KIND_LETTERS: usize = 6;

/// Returns the message for a member whose content no property would read, because it has another name here.
pub(super) fn find_misnamed(event: &Event) -> Option<String> {
    if event.more.is_empty() {
        return None;
    }
    let (_, name, others) = MISNAMED.iter().find(|(kinds, ..)| kinds.contains(&event.kind))?;
    let is_there = match *name {
        "args" => event.args.is_some(),
        "result" => event.result.is_some() || event.text.is_some(),
        _ => event.text.is_some(),
    };
    // What bare facts say needs no member.
    if is_there || !event.facts.is_empty() {
        return None;
    }
    let other = others.iter().find(|other| event.more.get(other).is_some_and(|value| !value.is_null()))?;
    Some(format!("a `{}` has no `{name}`, but `{other}`, which no property reads; write `{name}`", event.kind))
}

/// Returns the message for a kind that is empty, that differs from a known one in spelling or by one letter, or that
/// is what other formats call it.
pub(super) fn find_misspelling(kind: &str) -> Option<String> {
    if kind.is_empty() {
        return Some("the `kind` is empty; an event needs one, such as \"tool_call\"".to_owned());
    }
    if Kind::names().any(|known| known == kind) {
        return None;
    }
    let folded =
        |name: &str| name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let meant: String = folded(kind);
    let is_meant = |known: &&str| {
        let known: String = folded(known);
        let is_near = || known.len() >= MIN_KIND_LETTERS && known.len().abs_diff(meant.len()) <= 1;
        known == meant || (is_near() && distance(&known, &meant) == 1)
    };
    let other = || OTHER_KINDS.iter().find(|(_, others)| others.contains(&meant.as_str())).map(|(known, _)| *known);
    let known = Kind::names().find(is_meant).or_else(other)?;
    Some(format!("unknown kind `{kind}`; write `{known}`, or another name if it is something else"))
}
