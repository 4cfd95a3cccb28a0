//! One spelling for a command: without the programs that only run another one, and with resolved paths.

use std::path::Path;

/// The programs and keywords that run the command after them, and their options that take a value.
const WRAPPERS: [(&str, &str); 35] = [
    ("sudo", "ughpCrtUDRT"),
    ("doas", "uC"),
    ("env", "uCS"),
    ("nice", "n"),
    ("ionice", "cnp"),
    ("timeout", "sk"),
    ("stdbuf", "ioe"),
    ("xargs", "nPIdLsaE"),
    ("parallel", "jI"),
    ("watch", "n"),
    ("nohup", ""),
    ("setsid", ""),
    ("time", ""),
    ("exec", "a"),
    ("command", ""),
    ("builtin", ""),
    ("busybox", ""),
    ("toybox", ""),
    ("call", ""),
    ("start", ""),
    ("if", ""),
    ("then", ""),
    ("else", ""),
    ("elif", ""),
    ("do", ""),
    ("while", ""),
    ("until", ""),
    ("!", ""),
    ("{", ""),
    ("&", ""),
    ("@", ""),
    ("RUN", ""),
    ("strace", "eop"),
    ("unbuffer", ""),
    ("winpty", ""),
];

/// Removes the programs that only run another one. Returns the assignments before the command, and its words with the
/// bare name of its program.
pub(super) fn skip_wrappers(words: Vec<String>) -> (Vec<String>, Vec<String>) {
    let mut assignments = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if is_assignment(&word) {
            assignments.push(word);
            continue;
        }
        if word.starts_with('>') {
            // A redirection may come before its command, which changes nothing.
            let rest: Vec<String> = words.chain([word]).collect();
            if rest.len() == 1 {
                return (assignments, rest);
            }
            words = rest.into_iter().peekable();
            continue;
        }
        let program = find_program_name(&word);
        let Some((name, valued)) = WRAPPERS.iter().find(|(name, _)| *name == program) else {
            let command = [program.to_owned()].into_iter().chain(words).collect();
            return (assignments, command);
        };
        while let Some(option) = words.next_if(|word| word.starts_with('-') && word.len() > 1) {
            if option.len() == 2 && option.ends_with(|c| valued.contains(c)) {
                words.next();
            }
        }
        if *name == "timeout" {
            words.next();
        }
    }
    (assignments, Vec::new())
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns the name of a program without its folder and `.exe`.
fn find_program_name(word: &str) -> &str {
    let name = match word.contains(char::is_whitespace) {
        true => word,
        false => word.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(word),
    };
    let is_executable = Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("exe"));
    if is_executable { &name[..name.len() - ".exe".len()] } else { name }
}

/// Returns a path without `.`, `..` and repeated slashes, from the current folder on if that is known. Options and
/// other words are returned unchanged.
pub(super) fn resolve_path(word: &str, folder: Option<&str>) -> String {
    if word.starts_with(['-', '>', '$', '%', '+']) || word.is_empty() {
        return word.to_owned();
    }
    if is_drive_path(word) {
        return word.to_owned();
    }
    let whole = match folder {
        Some(folder) if !word.starts_with(['/', '~']) => {
            if is_drive_path(folder) {
                return format!("{}\\{word}", folder.trim_end_matches('\\'));
            }
            format!("{folder}/{word}")
        }
        _ => word.to_owned(),
    };
    if !whole.starts_with(['/', '~']) {
        return whole;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| last.starts_with('~')) => parts = vec!["home"],
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let is_home = parts.first().is_some_and(|part| part.starts_with('~')) && whole.starts_with('~');
    format!("{}{}", if is_home { "" } else { "/" }, parts.join("/"))
}

fn is_drive_path(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

/// Joins words with blanks. White space within a word becomes `_`, so that a blank always ends a word.
pub(super) fn join_words(words: &[String]) -> String {
    let words = words.iter().map(|word| word.replace(char::is_whitespace, "_"));
    words.collect::<Vec<_>>().join(" ")
}
