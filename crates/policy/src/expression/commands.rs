//! The shell commands in a value, whatever the arguments of the tool are called.
//!
//! One tool takes `command`, another `cmd` with a list `args`, a third a `script` within `input`. So every text of the
//! value is read as a command, unless its name says that it describes something.

use super::reason::{NoValue, UnknownCause};
use super::run::Run;
use super::value::{CelValue, List, Map};
use crate::shell::{ShellCommands, read_commands, read_word_list};
use lictor_json::Json;

/// Members that say something about a command and are none.
const PROSE_NAMES: [&str; 22] = [
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
    "rationale",
    "note",
    "notes",
    "plan",
    "goal",
    "markdown",
    "readme",
    "report",
    "documentation",
    "subject",
];

/// Members that name a program whose arguments another member lists.
const PROGRAM_NAMES: [&str; 9] =
    ["command", "cmd", "program", "executable", "exe", "binary", "process", "file", "name"];

/// Members that list the arguments of a program.
const ARGUMENT_NAMES: [&str; 6] = ["args", "arguments", "argv", "params", "parameters", "options"];

/// Members that list whole commands, not the words of one.
const LIST_NAMES: [&str; 5] = ["commands", "cmds", "scripts", "steps", "lines"];

/// Members that name the folder in which a command runs.
const FOLDER_NAMES: [&str; 6] = ["cwd", "workdir", "working_dir", "working_directory", "workingdirectory", "directory"];

/// The folders of a system, in which no project is.
const SYSTEM_FOLDERS: [&str; 19] = [
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "opt",
    "proc",
    "root",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "Users",
    "System",
    "Library",
    "Applications",
    "Volumes",
];

/// The work of reading a byte: commands within commands are read again.
const WORK_PER_BYTE: usize = 4;

/// How often a text may be JSON with texts that are JSON.
const MAX_JSON_DEPTH: usize = 3;

/// The commands in a value, and why there may be more.
pub(super) struct FoundCommands<'a> {
    pub(super) commands: List<'a>,
    pub(super) missing: Option<NoValue>,
}

impl<'a> FoundCommands<'a> {
    /// Finds the commands in all texts of a value, each in one spelling, as `read_commands` has it.
    pub(super) fn new(run: &Run<'a>, value: CelValue<'a>, at: u32) -> FoundCommands<'a> {
        let mut search = CommandSearch { run, at, found: Vec::new(), is_incomplete: false };
        let finished = search.collect(value, 0, find_event_folder(run));
        let incomplete = search.is_incomplete.then(|| UnknownCause::HiddenCommand.to_unknown(at));
        let commands = search.found.into_iter().map(CelValue::owned_text).collect();
        FoundCommands { commands: List::Made(commands), missing: finished.err().or(incomplete) }
    }

    /// Returns them as a list. It is unknown if it may have more.
    pub(super) fn into_value(self) -> Result<CelValue<'a>, NoValue> {
        self.missing.map_or(Ok(CelValue::List(self.commands)), Err)
    }
}

struct CommandSearch<'r, 'a> {
    run: &'r Run<'a>,
    at: u32,
    found: Vec<String>,
    is_incomplete: bool,
}

impl CommandSearch<'_, '_> {
    fn collect(&mut self, value: CelValue<'_>, json_depth: usize, folder: Option<&str>) -> Result<(), NoValue> {
        let mut left = vec![(String::new(), value, folder.map(str::to_owned))];
        while let Some((name, value, folder)) = left.pop() {
            match value {
                CelValue::Text(text) => {
                    self.run.spend(text.len().saturating_mul(WORK_PER_BYTE), self.at)?;
                    match parse_json(&text).filter(|_| json_depth < MAX_JSON_DEPTH) {
                        Some(json) => self.collect(CelValue::from(&json), json_depth + 1, folder.as_deref())?,
                        None => self.add(read_commands(&text, folder.as_deref())),
                    }
                }
                CelValue::List(list) => {
                    self.run.spend(list.len(), self.at)?;
                    match read_words(&list).filter(|_| !LIST_NAMES.contains(&name.as_str())) {
                        Some(words) => self.add_word_list(words, folder.as_deref())?,
                        None => {
                            let items = (0..list.len()).rev();
                            left.extend(
                                items.filter_map(|place| Some((name.clone(), list.get(place)?, folder.clone()))),
                            );
                        }
                    }
                }
                CelValue::Map(map) => {
                    let members = map.members();
                    self.run.spend(members.len(), self.at)?;
                    let members = members.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
                    let members: Vec<_> = members.filter(|(name, _)| !PROSE_NAMES.contains(&name.as_str())).collect();
                    let folder = find_folder(&members).or(folder);
                    if let Some(command) = read_program(&map) {
                        self.add_word_list(command, folder.as_deref())?;
                    }
                    let members = members.into_iter().filter(|(name, _)| !FOLDER_NAMES.contains(&name.as_str()));
                    left.extend(members.rev().map(|(name, value)| (name, value, folder.clone())));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add_word_list(&mut self, words: Vec<String>, folder: Option<&str>) -> Result<(), NoValue> {
        self.run.spend(words.iter().map(String::len).sum::<usize>().saturating_mul(WORK_PER_BYTE), self.at)?;
        self.add(read_word_list(words, folder));
        Ok(())
    }

    fn add(&mut self, read: ShellCommands) {
        self.found.extend(read.commands);
        self.is_incomplete |= read.is_incomplete;
    }
}

/// Returns the folder in which the client runs its commands, if the event says so and it belongs to the system or is a home:
/// `rm -rf *` is another command there. In a project, a path relative to it says more than a whole one.
fn find_event_folder<'a>(run: &Run<'a>) -> Option<&'a str> {
    let folder = run.scope.event.more.get("cwd").and_then(Json::as_str)?;
    let mut parts = folder.split('/').filter(|part| !part.is_empty());
    let is_shared = match (parts.next(), parts.next(), parts.next()) {
        (None, ..) => true,
        (Some("~"), None, _) => true,
        (Some(first), None, _) => SYSTEM_FOLDERS.contains(&first),
        (Some("home" | "Users"), Some(_), None) => true,
        _ => false,
    };
    folder.starts_with(['/', '~']).then_some(folder).filter(|_| is_shared)
}

/// Returns the folder in which commands beside it run, if it is a whole path.
fn find_folder(members: &[(String, CelValue<'_>)]) -> Option<String> {
    members.iter().filter(|(name, _)| FOLDER_NAMES.contains(&name.as_str())).find_map(|(_, value)| match value {
        CelValue::Text(text) if text.starts_with(['/', '~']) => Some(text.to_string()),
        _ => None,
    })
}

/// Returns the list or object that a text is.
fn parse_json(text: &str) -> Option<Json> {
    text.trim_start().starts_with(['{', '[']).then(|| lictor_json::parse_str(text).ok()).flatten()
}

/// Returns the words of a list, if it is one command: several texts, the first of which is a single word. A list of one text
/// is that text: `curl|sh` is no program.
fn read_words(list: &List<'_>) -> Option<Vec<String>> {
    let words = read_texts(list).filter(|words| words.len() > 1)?;
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
