//! What the members of a call are called: the name of its tool, its arguments and its ids, in the interfaces of models and in
//! the calls that programs write in their own ways.

use lictor_event::Arguments;
use lictor_json::{Json, Object};

/// Members with the name of the tool, and with its arguments, as the interfaces of models write them.
const NAMES: [&str; 3] = ["name", "toolName", "tool_name"];

pub(super) const ARGUMENTS: [&str; 6] = ["arguments", "input", "args", "rawInput", "raw_input", "parameters"];

/// Members with the name of the tool in a call that a program wrote in its own way, and with its arguments.
pub(super) const HOME_NAMES: [&str; 8] =
    ["tool", "tool_name", "toolName", "function_name", "functionName", "function", "action", "command"];
pub(super) const HOME_ARGUMENTS: [&str; 17] = [
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
pub(super) const TELLING_ARGUMENTS: usize = 11;

/// Members with the id of a call.
const IDS: [&str; 6] = ["call_id", "id", "toolUseId", "toolCallId", "tool_call_id", "tool_use_id"];

/// Returns the name of the tool in an object that is a call. A step may have a name beside its tool.
pub(super) fn call_name(call: &Object) -> Option<&str> {
    if let Some(name) = call.get("tool").and_then(Json::as_str).filter(|name| !name.is_empty()) {
        return Some(name);
    }
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

/// Returns the arguments of an object that is a call.
pub(super) fn call_arguments(call: &Object) -> Option<Arguments> {
    let function = call.get("function").or_else(|| call.get("custom")).and_then(Json::as_object);
    let names = || HOME_ARGUMENTS.iter().chain(&ARGUMENTS);
    let objects = function.into_iter().chain([call]);
    let arguments = objects.flat_map(|object| names().find_map(|name| object.get(name))).next()?;
    Some(Arguments::from_json(arguments.clone()))
}

/// Whether a call has a shape that a program made up. Its id, if any, is of that program.
pub(super) fn is_home_made(call: &Object) -> bool {
    plain_name(call).is_none() && home_name(call).is_some()
        || HOME_ARGUMENTS[..TELLING_ARGUMENTS].iter().any(|key| call.get(key).is_some())
}

/// Returns the ids of what looks like a call.
pub(super) fn call_ids(call: &Object) -> impl Iterator<Item = &str> {
    IDS.iter().filter_map(|id| call.get(id)?.as_str())
}
