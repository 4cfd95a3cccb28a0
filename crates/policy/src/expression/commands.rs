//! The shell commands in a value, whatever the arguments of the tool are called.
//!
//! One tool takes `command`, another `cmd` with a list `args`, a third a `script` within `input`. So every text of the
//! value is read as a command, unless its name says that it describes something.

use super::reason::NoValue;
use super::run::Run;
use super::value::{CelValue, List, Map};
use crate::shell::{read_commands, read_word_list};
use lictor_json::Json;

/// Members that say something about a command and are none.
const PROSE_NAMES: [&str; 12] = [
    "description",
    "explanation",
    "reason",
    "reasoning",
    "comment",
    "thought",
    "thinking",
    "title",
    "summary",
    "message",
    "justification",
    "intent",
];

/// Members that name a program whose arguments another member lists.
const PROGRAM_NAMES: [&str; 9] =
    ["command", "cmd", "program", "executable", "exe", "binary", "process", "file", "name"];

/// Members that list the arguments of a program.
const ARGUMENT_NAMES: [&str; 6] = ["args", "arguments", "argv", "params", "parameters", "options"];

/// Members that list whole commands, not the words of one.
const LIST_NAMES: [&str; 5] = ["commands", "cmds", "scripts", "steps", "lines"];

/// From how many bytes on a text costs more than its length.
const WORK_GROWS_AT_BYTES: usize = 4096;

/// How often a text may be JSON with texts that are JSON.
const MAX_JSON_DEPTH: usize = 3;

/// Returns the commands in all texts of a value, each in one spelling, as `read_commands` has it.
pub(super) fn find_commands<'a>(run: &Run<'a>, value: CelValue<'a>, at: u32) -> Result<CelValue<'a>, NoValue> {
    let mut found = Vec::new();
    collect_commands(run, value, at, 0, &mut found)?;
    Ok(CelValue::List(List::Made(found.into_iter().map(CelValue::owned_text).collect())))
}

fn collect_commands(
    run: &Run<'_>,
    value: CelValue<'_>,
    at: u32,
    json_depth: usize,
    found: &mut Vec<String>,
) -> Result<(), NoValue> {
    let mut left = vec![(String::new(), value)];
    while let Some((name, value)) = left.pop() {
        match value {
            CelValue::Text(text) => {
                // Reading quotes and redirections may look at the rest of a text again and again.
                run.spend(text.len().saturating_mul(1 + text.len() / WORK_GROWS_AT_BYTES), at)?;
                match parse_json(&text).filter(|_| json_depth < MAX_JSON_DEPTH) {
                    Some(json) => collect_commands(run, CelValue::from(&json), at, json_depth + 1, found)?,
                    None => found.extend(read_commands(&text)),
                }
            }
            CelValue::List(list) => {
                run.spend(list.len(), at)?;
                match read_words(&list).filter(|_| !LIST_NAMES.contains(&name.as_str())) {
                    Some(words) => {
                        run.spend(words.iter().map(String::len).sum(), at)?;
                        found.extend(read_word_list(words));
                    }
                    None => {
                        left.extend((0..list.len()).rev().filter_map(|place| Some((name.clone(), list.get(place)?))));
                    }
                }
            }
            CelValue::Map(map) => {
                let members = map.members();
                run.spend(members.len(), at)?;
                if let Some(command) = read_program(&map) {
                    run.spend(command.iter().map(String::len).sum(), at)?;
                    found.extend(read_word_list(command));
                }
                let members = members.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
                left.extend(members.filter(|(name, _)| !PROSE_NAMES.contains(&name.as_str())).rev());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the list or object that a text is.
fn parse_json(text: &str) -> Option<Json> {
    text.trim_start().starts_with(['{', '[']).then(|| lictor_json::parse_str(text).ok()).flatten()
}

/// Returns the words of a list, if it is one command: only texts, and the first is a single word.
fn read_words(list: &List<'_>) -> Option<Vec<String>> {
    let words = read_texts(list)?;
    words.first().filter(|first| !first.trim().contains(char::is_whitespace))?;
    Some(words)
}

fn read_texts(list: &List<'_>) -> Option<Vec<String>> {
    let text = |place| match list.get(place) {
        Some(CelValue::Text(text)) => Some(text.into_owned()),
        _ => None,
    };
    (0..list.len()).map(text).collect()
}

/// Returns the words of a command whose program and arguments are two members.
fn read_program(map: &Map<'_>) -> Option<Vec<String>> {
    let CelValue::Text(program) = PROGRAM_NAMES.iter().find_map(|name| map.get(name))? else { return None };
    let arguments = match ARGUMENT_NAMES.iter().find_map(|name| map.get(name))? {
        CelValue::List(list) => read_texts(&list)?,
        CelValue::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
        _ => return None,
    };
    Some(program.split_whitespace().map(str::to_owned).chain(arguments).collect())
}
