//! Sessions that have the same name in several files. Each file is judged as a log of its own, unless the files are parts
//! of one rotated log, so a note says what was not joined.

use std::collections::{HashMap, HashSet};

use lictor::decode::Format;
use lictor::report::{FileReport, SessionReport, escape_hidden};

/// Returns a note about sessions that several files name alike; none if there are none.
pub(super) fn describe_split_sessions(files: &[FileReport], sessions: &[SessionReport]) -> Option<String> {
    // Sessions of native logs continue from file to file. Formats that define sessions themselves number their runs.
    let is_named = |file: &&FileReport| file.format != Format::Native && file.format.takes_session_key();
    let named: HashSet<&str> = files.iter().filter(is_named).map(|file| &*file.name).collect();
    let mut firsts: HashMap<&str, &str> = HashMap::new();
    let mut split: HashSet<&str> = HashSet::new();
    let mut shown = None;
    for session in sessions.iter().filter(|session| named.contains(&*session.file)) {
        let first = *firsts.entry(&session.name).or_insert(&session.file);
        if first != &*session.file && split.insert(&session.name) && shown.is_none() {
            shown = Some((&session.name, first, &session.file));
        }
    }
    let (name, first, other) = shown?;
    let more = match split.len() - 1 {
        0 => String::new(),
        1 => ", and so is one more session".to_owned(),
        count => format!(", and so are {count} more sessions"),
    };
    Some(format!(
        "session `{}` is in {} and in {}{more}: each file is judged as a log of its own; if they are parts of one log, put \
         them into one file, in their order",
        escape_hidden(name),
        escape_hidden(first),
        escape_hidden(other)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str, file: &str) -> SessionReport {
        SessionReport { name: name.into(), file: file.into(), steps: 1, outcomes: Vec::new(), gaps: Vec::new() }
    }

    #[test]
    fn split_sessions_are_named_with_their_files() {
        let file = |name: &str, format| FileReport { name: name.into(), format, events: 1 };
        let chats = [file("a", Format::OpenaiChat), file("b", Format::OpenaiChat), file("c", Format::TauBench)];
        let apart = [session("1", "a"), session("2", "b"), session("1", "c")];
        assert_eq!(describe_split_sessions(&chats, &apart), None);
        let alike = [session("1", "a"), session("2", "a"), session("1", "b"), session("2", "b")];
        let note = describe_split_sessions(&chats, &alike).unwrap();
        assert!(note.starts_with("session `1` is in a and in b, and so is one more session: each file"), "{note}");
        let native = [file("a", Format::Native), file("b", Format::Native)];
        assert_eq!(describe_split_sessions(&native, &alike), None);
    }
}
