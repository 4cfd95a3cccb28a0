//! The entries of other systems, by what they belong to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use lictor_event::{Event, Kind};
use lictor_json::Text;
use lictor_judge::guard::person;
use lictor_logic::{Span, Time};

use super::report::{JoinReport, UnmatchedEntry};

/// How many unmatched entries a report names.
const MAX_NAMED_ENTRIES: usize = 10;

/// By how much the clock of the other system may be behind that of the log.
const MAX_SKEW: Span = Span::from_seconds(60);

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
    /// Why the call with its id is not the one that it means, if so.
    is_too_early: AtomicBool,
    is_of_other_tool: AtomicBool,
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
                is_too_early: AtomicBool::new(false),
                is_of_other_tool: AtomicBool::new(false),
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

    /// Whether an entry with the id of a call is about that call, which comes after an event at `last`. Notes why it is
    /// not.
    pub(super) fn fits_call(&self, number: u32, call: &Event, last: Option<Time>) -> bool {
        let entry = &self.entries[number as usize];
        let is_of_other_tool = entry.event.tool.is_some() && entry.event.tool != call.tool;
        // The call had no id yet. Placed before its call, the entry would look as new as the event before it.
        let is_too_early = matches!((entry.event.time, last), (Some(time), Some(last)) if last.since(time) > MAX_SKEW);
        entry.is_of_other_tool.fetch_or(is_of_other_tool, Ordering::Relaxed);
        entry.is_too_early.fetch_or(is_too_early, Ordering::Relaxed);
        !is_of_other_tool && !is_too_early
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
        if self.is_of_other_tool.load(Ordering::Relaxed) {
            return "its `tool` is not that of the call with its id";
        }
        if self.is_too_early.load(Ordering::Relaxed) {
            return "its `time` is before the event that precedes the call with its id";
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
