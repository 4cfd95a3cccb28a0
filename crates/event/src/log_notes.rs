//! What only a whole log of native events shows.
//!
//! The lines of such a log are decoded apart, by several threads. So each decoder takes notes, and the notes of all are
//! merged, in any order, before they become faults.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lictor_json::Text;

use crate::fault::Fault;
use crate::identifiers::IdentifierValues;
use crate::read_calls::{CallMention, ReadCalls};
use crate::suspects::Suspects;
use crate::{Event, Kind, Source};

/// How many members that may tell sessions apart are counted.
const MAX_MEMBERS: usize = 32;

/// What the decoders of a log noted.
#[derive(Debug, Default)]
pub struct LogNotes {
    files: HashMap<Arc<str>, FileNotes>,
    /// The file that is being read, and its notes.
    current: Option<(Arc<str>, FileNotes)>,
}

/// The notes of one file.
#[derive(Debug, Default)]
struct FileNotes {
    calls: ReadCalls,
    suspects: Suspects,
    unnamed: Option<Box<UnnamedEvents>>,
    keyless: Option<Box<KeylessRecords>>,
}

/// The records without the member that the user named.
#[derive(Debug)]
struct KeylessRecords {
    key: Text,
    first: Fault,
    count: u64,
}

/// The events of a file that name no session.
#[derive(Debug)]
struct UnnamedEvents {
    first: Source,
    /// How many sessions start, and the first two of them.
    starts: u64,
    first_starts: [Option<Source>; 2],
    /// The members that may tell sessions apart, by their paths.
    members: BTreeMap<String, MemberValues>,
}

/// The values of a member that may tell sessions apart, and where it is first.
#[derive(Debug)]
struct MemberValues {
    place: Fault,
    names_session: bool,
    values: IdentifierValues,
}

/// A member that may tell sessions apart, in one event.
#[derive(Debug)]
pub struct SplitMember<'a> {
    /// Where it is in the event.
    pub path: &'a str,
    /// Its value.
    pub value: &'a str,
    /// Whether it names a session or a person, so that any two values tell.
    pub names_session: bool,
    /// Whether the event is a message of the user.
    pub is_user: bool,
}

impl LogNotes {
    /// Notes an event: the tool that it calls, or that it names no session.
    pub(crate) fn note_event(&mut self, event: &Event) {
        if event.kind == Kind::ToolCall {
            self.file(&event.source.file).calls.add(event);
        }
        if event.session.is_none() {
            let (source, is_start) = (&event.source, event.kind == Kind::SessionStart);
            let first_starts = [is_start.then(|| source.clone()), None];
            let one = UnnamedEvents {
                first: source.clone(),
                starts: is_start.into(),
                first_starts,
                members: BTreeMap::new(),
            };
            let notes = self.file(&source.file);
            match &mut notes.unnamed {
                // Most events say nothing new.
                Some(unnamed) if !is_start && is_before(&unnamed.first, source) => {}
                Some(unnamed) => unnamed.merge(one),
                unnamed @ None => *unnamed = Some(Box::new(one)),
            }
        }
    }

    /// Counts a member of a noted event without a session that may tell sessions apart: because it names one, or only reads
    /// like an identifier. `place` is the fault that it is if it does; it needs no message.
    pub fn note_member(&mut self, member: &SplitMember<'_>, place: impl FnOnce() -> Fault, file: &Arc<str>) {
        let Some(unnamed) = &mut self.file(file).unnamed else { return };
        if !unnamed.members.contains_key(member.path) {
            if unnamed.members.len() >= MAX_MEMBERS {
                return;
            }
            let count = MemberValues {
                place: place(),
                names_session: member.names_session,
                values: IdentifierValues::default(),
            };
            unnamed.members.insert(member.path.to_owned(), count);
        }
        if let Some(known) = unnamed.members.get_mut(member.path) {
            known.values.count(member.value, member.is_user);
        }
    }

    /// Drops the members that may tell sessions apart: the user has named the one that does.
    pub fn drop_split_members(&mut self) {
        self.flush();
        self.files.values_mut().filter_map(|notes| notes.unnamed.as_mut()).for_each(|unnamed| unnamed.members.clear());
    }

    /// Notes how many records of a file do not have the member that the user named. `first` is the fault of the first of
    /// them; it needs no message.
    pub fn note_keyless(&mut self, key: &Text, first: Fault, count: u64) {
        let notes = self.file(&Arc::clone(&first.file));
        let one = FileNotes {
            keyless: Some(Box::new(KeylessRecords { key: key.clone(), first, count })),
            ..FileNotes::default()
        };
        notes.merge(one);
    }

    /// Notes what looks like a call. It is a fault unless an event of the file is that call.
    pub fn suspect(&mut self, mention: CallMention, fault: impl FnOnce() -> Fault, file: &Arc<str>) {
        self.file(file).suspects.add(mention, fault);
    }

    /// Adds the notes of another decoder.
    pub fn merge(&mut self, mut other: LogNotes) {
        self.flush();
        other.flush();
        for (file, notes) in other.files {
            self.files.entry(file).or_default().merge(notes);
        }
    }

    /// Returns the faults that the notes show, in the order of each log.
    pub fn into_faults(mut self) -> Vec<Fault> {
        self.flush();
        let mut faults: Vec<Fault> = self.files.into_values().flat_map(FileNotes::into_faults).collect();
        faults.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)).then_with(|| a.message.cmp(&b.message)));
        faults
    }

    /// Returns the notes of a file. Lines of one file mostly come together.
    fn file(&mut self, file: &Arc<str>) -> &mut FileNotes {
        if !self.current.as_ref().is_some_and(|(current, _)| Arc::ptr_eq(current, file)) {
            self.flush();
            let notes = self.files.remove(file).unwrap_or_default();
            return &mut self.current.insert((Arc::clone(file), notes)).1;
        }
        &mut self.current.get_or_insert_with(Default::default).1
    }

    fn flush(&mut self) {
        if let Some((file, notes)) = self.current.take() {
            self.files.insert(file, notes);
        }
    }
}

impl FileNotes {
    fn merge(&mut self, other: FileNotes) {
        self.calls.merge(other.calls);
        self.suspects.merge(other.suspects);
        match (&mut self.unnamed, other.unnamed) {
            (Some(unnamed), Some(other)) => unnamed.merge(*other),
            (unnamed @ None, other) => *unnamed = other,
            (Some(_), None) => {}
        }
        match (&mut self.keyless, other.keyless) {
            (Some(keyless), Some(other)) => {
                keyless.count += other.count;
                if other.first.line < keyless.first.line {
                    keyless.first = other.first;
                }
            }
            (keyless @ None, other) => *keyless = other,
            (Some(_), None) => {}
        }
    }

    fn into_faults(self) -> Vec<Fault> {
        let FileNotes { calls, suspects, unnamed, keyless } = self;
        let unnamed = unnamed.into_iter().flat_map(|unnamed| unnamed.into_faults());
        suspects.into_unread(&calls).chain(unnamed).chain(keyless.map(|keyless| keyless.into_fault())).collect()
    }
}

impl UnnamedEvents {
    fn merge(&mut self, other: UnnamedEvents) {
        self.starts += other.starts;
        let mut starts: Vec<Source> = self
            .first_starts
            .iter_mut()
            .filter_map(Option::take)
            .chain(other.first_starts.into_iter().flatten())
            .collect();
        starts.sort_by_key(|source| (source.line, source.record));
        let mut starts = starts.into_iter();
        self.first_starts = [starts.next(), starts.next()];
        for (path, other) in other.members {
            if let Some(own) = self.members.get_mut(&path) {
                own.merge(other);
            } else if self.members.len() < MAX_MEMBERS {
                self.members.insert(path, other);
            }
        }
        if !is_before(&self.first, &other.first) {
            self.first = other.first;
        }
    }

    fn into_faults(self) -> impl Iterator<Item = Fault> {
        let UnnamedEvents { first, starts, first_starts: [start, second], members } = self;
        // What comes before the first start is a session, too.
        let (restart, count) = match start {
            Some(start) if is_before(&first, &start) => (Some(start), starts + 1),
            _ => (second, starts),
        };
        let restarted = restart.map(|source| Fault {
            message: format!(
                "the events name no session, but {count} sessions start in this file: they are judged as one session; name \
                 the member that tells with --session-key"
            ),
            file: source.file,
            line: source.line,
            column: None,
            code: "decode.no_session",
        });
        let splits = members.into_iter().filter(|(path, member)| member.split(path));
        let split = splits.min_by_key(|(_, member)| (!member.names_session, member.place.line)).map(|(path, member)| Fault {
            message: format!(
                "the events name no `session`, but `{path}` has several values: they are judged as one session; if it tells \
                 conversations apart, say --session-key {path}"
            ),
            ..member.place
        });
        restarted.into_iter().chain(split)
    }
}

impl MemberValues {
    fn merge(&mut self, other: MemberValues) {
        self.values.merge(other.values);
        if other.place.line < self.place.line {
            self.place = other.place;
        }
    }

    fn split(&self, path: &str) -> bool {
        match self.names_session {
            true => self.values.count_values() > 1,
            false => self.values.splits(path),
        }
    }
}

impl KeylessRecords {
    fn into_fault(self) -> Fault {
        let KeylessRecords { key, first, count } = self;
        let records = if count == 1 { "one record has".to_owned() } else { format!("{count} records have") };
        Fault { message: format!("{records} no member `{key}` that names a session; this is the first"), ..first }
    }
}

/// Whether a record comes before another of its file.
fn is_before(first: &Source, second: &Source) -> bool {
    (first.line, first.record) < (second.line, second.record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(line: u32, kind: Kind, tool: Option<&str>) -> Event {
        let source = Source { file: "log".into(), line, record: line };
        Event { kind, tool: tool.map(Text::from), source, ..Event::default() }
    }

    fn fault(line: u32, message: &str) -> Fault {
        Fault { file: "log".into(), line, column: None, code: "test", message: message.to_owned() }
    }

    fn mention(tool: &str) -> CallMention {
        CallMention::new(tool, [], None)
    }

    /// Notes of each line in one of some decoders, merged.
    fn gather(lines: usize, decoders: usize, note: impl Fn(&mut LogNotes, u32)) -> Vec<Fault> {
        let mut all: Vec<LogNotes> = (0..decoders).map(|_| LogNotes::default()).collect();
        (1..=lines).for_each(|line| note(&mut all[line % decoders], line as u32));
        let mut notes = LogNotes::default();
        all.into_iter().rev().for_each(|part| notes.merge(part));
        notes.into_faults()
    }

    #[test]
    fn merged_notes_are_those_of_one_decoder() {
        // A letter is the kind of an event, or the value of its member.
        for (log, wanted) in [
            ("s.s", &[(3, "2 sessions start")][..]),
            (".s.", &[(2, "2 sessions start")]),
            ("s..", &[]),
            ("ssss", &[(2, "4 sessions start")]),
            ("aaab", &[(1, "several values")]),
            ("aaaa", &[]),
            ("pP", &[]),
            ("Pp", &[]),
            ("p.p", &[(1, "call of pay")]),
            ("..ppq", &[(3, "call of pay"), (5, "call of quit")]),
        ] {
            for decoders in 1..=4 {
                let faults = gather(log.len(), decoders, |notes, line| {
                    let letter = log.as_bytes()[line as usize - 1];
                    let (kind, tool) = match letter {
                        b's' => (Kind::SessionStart, None),
                        b'P' => (Kind::ToolCall, Some("pay")),
                        _ => (Kind::UserMessage, None),
                    };
                    let event = event(line, kind, tool);
                    notes.note_event(&event);
                    match letter {
                        b'p' => notes.suspect(mention("pay"), || fault(line, "call of pay"), &event.source.file),
                        b'q' => notes.suspect(mention("quit"), || fault(line, "call of quit"), &event.source.file),
                        b'a' | b'b' => {
                            let (value, is_user) = (letter.to_string(), false);
                            let member = SplitMember { path: "id", value: &value, names_session: true, is_user };
                            notes.note_member(&member, || fault(line, ""), &event.source.file);
                        }
                        _ => {}
                    }
                });
                let found: Vec<u32> = faults.iter().map(|fault| fault.line).collect();
                assert_eq!(
                    found,
                    wanted.iter().map(|(line, _)| *line).collect::<Vec<_>>(),
                    "{log} {decoders}: {faults:?}"
                );
                for (fault, (_, part)) in faults.iter().zip(wanted) {
                    assert!(fault.message.contains(part), "{log} {decoders}: {fault:?}");
                }
            }
        }
    }
}
