//! Calls by two members only, a tool and its arguments, under whatever name: `"trace":[{"tool":"pay","args":{}}]`.
//!
//! Such objects are also definitions, examples and what a test expects. So their arguments must be arguments rather than a
//! schema of them, and no member around them may say that they are something else.

use super::value_path::{PathElement, ValuePath};
use crate::member_names::split_words;
use lictor_json::{Json, Object};

/// Members that name a tool, and nothing else.
const TOOL_NAMES: [&str; 6] = ["tool", "tool_name", "toolName", "function_name", "functionName", "function"];

/// How many of [`TOOL_NAMES`] are said of nothing but tools, so that a text or a list beside them is arguments, too.
const CLEAR_TOOL_NAMES: usize = 3;

const ARGUMENTS: [&str; 6] = ["arguments", "args", "input", "params", "parameters", "kwargs"];

/// How many of [`ARGUMENTS`] are arguments in what an agent says, beside a `name`. The others may be settings of anything.
const SAID_ARGUMENTS: usize = 3;

/// Words in the names of members that hold examples, expectations, definitions, settings, or what a tool said.
const OTHER_WORDS: [&str; 41] = [
    "example",
    "examples",
    "few",
    "shot",
    "shots",
    "fewshot",
    "demo",
    "demos",
    "demonstration",
    "demonstrations",
    "sample",
    "samples",
    "expected",
    "expectation",
    "expectations",
    "reference",
    "gold",
    "golden",
    "truth",
    "fixture",
    "fixtures",
    "mock",
    "mocks",
    "schema",
    "schemas",
    "definition",
    "definitions",
    "declarations",
    "available",
    "allowed",
    "template",
    "templates",
    "config",
    "configuration",
    "settings",
    "catalog",
    "result",
    "results",
    "observation",
    "observations",
    "toolset",
];

/// Whether an object is a call by its tool and its arguments alone. Beside a plain `name` only `arguments` are those of a
/// call, unless an agent says it.
pub(super) fn is_unlisted_call(object: &Object, is_said: bool) -> bool {
    if object.get("description").is_some() {
        return false;
    }
    let place = TOOL_NAMES
        .iter()
        .position(|name| object.get(name).and_then(Json::as_str).is_some_and(|name| !name.trim().is_empty()));
    let names = match place {
        Some(_) => &ARGUMENTS[..],
        None if object.get("name").and_then(Json::as_str).is_none_or(str::is_empty) => return false,
        None if is_said => &ARGUMENTS[..SAID_ARGUMENTS],
        None => &ARGUMENTS[..1],
    };
    let takes_any = place.is_some_and(|place| place < CLEAR_TOOL_NAMES);
    names.iter().any(|name| match object.get(name) {
        Some(arguments @ Json::Object(_)) => !is_schema(arguments),
        Some(Json::String(text)) => takes_any || text.trim_start().starts_with('{'),
        Some(Json::Array(_)) => takes_any,
        _ => false,
    })
}

/// Whether arguments are described rather than given.
pub(super) fn is_schema(arguments: &Json) -> bool {
    arguments.get("$schema").is_some()
        || arguments.text("type") == Some("object") && arguments.get("properties").is_some()
}

/// Whether a member around a value says that it holds no calls of the agent.
pub(super) fn is_elsewhere(path: Option<&ValuePath<'_>>) -> bool {
    let mut path = path;
    while let Some(step) = path {
        if let PathElement::Key(key) = step.step
            && split_words(key).iter().any(|word| OTHER_WORDS.contains(&word.as_str()))
        {
            return true;
        }
        path = step.parent;
    }
    false
}

/// Whether a text may be JSON with such a call.
pub(super) fn may_hold_call(text: &str) -> bool {
    let has = |name: &&str| text.contains(&format!("\"{name}\""));
    (text.contains("\"name\"") || TOOL_NAMES.iter().any(&has)) && ARGUMENTS.iter().any(has)
}
