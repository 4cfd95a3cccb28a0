//! The entries of other systems, by what they belong to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use lictor_event::{Event, Kind};
use lictor_json::Text;
use lictor_judge::guard::person;

use super::report::{JoinReport, UnmatchedEntry};

/// How many unmatched entries a report names.
const MAX_NAMED_ENTRIES: usize = 10;

/// All entries, by what they belong to. The threads of an audit share them.
#[derive(Debug, Default)]
pub(crate) struct JoinEntries {
    entries: Vec<JoinEntry>,
    /// How many files they were read from.
    files: usize,
    by_session: HashMap<Text, Vec<u32>>,
    by_call: HashMap<Text, Vec<u32>>,
    by_person: HashMap<String, Vec<u32>>,
}

/// An entry, and what became of it.
#[derive(Debug)]
struct JoinEntry {
    event: Event,
    target: JoinTarget,
    /// How many sessions it was joined to.
    sessions: AtomicU32,
    /// Whether a session that it belongs to has no times to place it by.
    lacks_times: AtomicBool,
    /// Whether calls of several sessions have its id.
    is_ambiguous: AtomicBool,
}

/// What an entry belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinTarget {
    /// The call with its id.
    Call,
    /// The session that it names.
    Session,
    /// The sessions in which a person occurs that it names.
    Persons,
    /// Nothing: it does not say.
    Nothing,
}

impl JoinTarget {
    /// The id of an approval or a denial is that of a call; any other entry may have an id of its own.
    fn of(event: &Event) -> JoinTarget {
        let has_persons = event.subjects.as_ref().is_some_and(|subjects| !subjects.is_empty());
        match (&event.kind, &event.id) {
            (Kind::Approval | Kind::Denial, Some(_)) => JoinTarget::Call,
            _ if event.session.is_some() => JoinTarget::Session,
            _ if has_persons => JoinTarget::Persons,
            (_, Some(_)) => JoinTarget::Call,
            (_, None) => JoinTarget::Nothing,
        }
    }
}

impl JoinEntries {
    pub(crate) fn new(events: Vec<Event>, files: usize) -> JoinEntries {
        let mut joins = JoinEntries { files, ..JoinEntries::default() };
        for (number, event) in events.into_iter().enumerate() {
            let (number, target) = (number as u32, JoinTarget::of(&event));
            match (target, &event.session, &event.id) {
                (JoinTarget::Call, _, Some(id)) => joins.by_call.entry(id.clone()).or_default().push(number),
                (JoinTarget::Session, Some(name), _) => joins.by_session.entry(name.clone()).or_default().push(number),
                (JoinTarget::Persons, ..) => {
                    for subject in event.subjects.iter().flatten() {
                        joins.by_person.entry(person(subject).into_owned()).or_default().push(number);
                    }
                }
                _ => {}
            }
            joins.entries.push(JoinEntry {
                event,
                target,
                sessions: AtomicU32::new(0),
                lacks_times: AtomicBool::new(false),
                is_ambiguous: AtomicBool::new(false),
            });
        }
        joins
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn event(&self, number: u32) -> &Event {
        &self.entries[number as usize].event
    }

    /// Returns the entries that name a session.
    pub(super) fn of_session(&self, name: &str) -> &[u32] {
        self.by_session.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the entries of a call, if no call of another session has its id.
    pub(super) fn of_call<'e>(&'e self, id: &str, session: &'e str) -> impl Iterator<Item = u32> + 'e {
        let all = self.by_call.get(id).map_or(&[][..], Vec::as_slice);
        all.iter().copied().filter(move |number| {
            let entry = &self.entries[*number as usize];
            let is_here = entry.event.session.as_ref().is_none_or(|name| name == session);
            is_here && !entry.is_ambiguous.load(Ordering::Relaxed)
        })
    }

    pub(super) fn has_persons(&self) -> bool {
        !self.by_person.is_empty()
    }

    /// Returns the entries of a person, whose identifier has the form in which persons are compared.
    pub(super) fn of_person(&self, person: &str) -> &[u32] {
        self.by_person.get(person).map_or(&[], Vec::as_slice)
    }

    /// Notes that an entry was joined to one more session.
    pub(crate) fn note_joined(&self, number: u32) {
        self.entries[number as usize].sessions.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a session to which an entry belongs has no times to place it by.
    pub(crate) fn note_lack_of_times(&self, number: u32) {
        self.entries[number as usize].lacks_times.store(true, Ordering::Relaxed);
    }

    /// Excludes the entries whose id is that of calls in several sessions: which of them is meant is unknown, and an
    /// approval must not allow the wrong one. Returns whether there are any; then the sessions must be judged again.
    pub(crate) fn exclude_ambiguous(&self) -> bool {
        let is_ambiguous = |entry: &&JoinEntry| {
            let is_free = entry.target == JoinTarget::Call && entry.event.session.is_none();
            is_free && entry.sessions.load(Ordering::Relaxed) > 1
        };
        let mut any = false;
        for entry in self.entries.iter().filter(is_ambiguous) {
            entry.is_ambiguous.store(true, Ordering::Relaxed);
            any = true;
        }
        if any {
            self.entries.iter().for_each(|entry| entry.sessions.store(0, Ordering::Relaxed));
        }
        any
    }

    /// Returns how many entries were joined, and which were not.
    pub(crate) fn report(&self) -> JoinReport {
        let is_unmatched = |entry: &&JoinEntry| entry.sessions.load(Ordering::Relaxed) == 0;
        let unmatched = self.entries.iter().filter(is_unmatched).count();
        let name = |entry: &JoinEntry| UnmatchedEntry { source: entry.event.source.clone(), reason: entry.reason() };
        JoinReport {
            files: self.files,
            joined: self.entries.len() - unmatched,
            unmatched,
            first_unmatched: self.entries.iter().filter(is_unmatched).take(MAX_NAMED_ENTRIES).map(name).collect(),
        }
    }
}

impl JoinEntry {
    /// Returns why it matched nothing.
    fn reason(&self) -> &'static str {
        if self.is_ambiguous.load(Ordering::Relaxed) {
            return "calls of several sessions have its id; add its `session`";
        }
        if self.lacks_times.load(Ordering::Relaxed) {
            return "the log has no times to place it by; without a `time` it comes first";
        }
        match self.target {
            JoinTarget::Call if self.event.session.is_some() => "no call of its session has its id",
            JoinTarget::Call => "no call has its id",
            JoinTarget::Session => "no session has the name in its `session`",
            JoinTarget::Persons => "no event names its subjects",
            JoinTarget::Nothing => "it has no `session`, no `id` of a call and no `subjects`",
        }
    }
}
