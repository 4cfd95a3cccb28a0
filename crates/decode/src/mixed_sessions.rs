//! Signs that what is judged as one session is several: members that split what no session splits, another member that
//! names a session and is finer, different users.
//!
//! The words of one person would count for another, in silence. So each sign is a fault. `--session-key` answers it.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::member_names::{CONTAINERS, is_identifier_name, is_person_name, is_session_name, name_of, read_identifier};
use super::{Fault, LogRecord};
use lictor_event::identifiers::IdentifierValues;
use lictor_json::{Json, Object, Text};

/// The code of these faults.
pub(super) const MIXED_SESSIONS: &str = "decode.mixed_sessions";

/// How many sessions, members and values are compared. What is beyond is of the same kind.
const MAX_SESSIONS: usize = 1_000_000;
const MAX_MEMBERS: usize = 32;
const MAX_SPLITS: usize = 16;

/// Members with what was said and done, not with what a record belongs to.
const CONTENTS: [&str; 14] = [
    "content",
    "function_call",
    "function",
    "arguments",
    "args",
    "input",
    "output",
    "result",
    "response",
    "request",
    "usage",
    "response_metadata",
    "additional_kwargs",
    "usage_metadata",
];

/// Calls a function with each member of a record, and with the members one level deeper, which have a parent.
pub(super) fn each_member<'r>(record: &'r Object, found: &mut impl FnMut(Option<&'r str>, &'r Text, &'r Json)) {
    for (key, value) in record.iter() {
        found(None, key, value);
        if let Some(inner) = value.as_object().filter(|_| !CONTENTS.contains(&key.as_str())) {
            inner.iter().for_each(|(name, value)| found(Some(key.as_str()), name, value));
        }
    }
}

/// Counts the values of members that read like identifiers, in messages without a session.
#[derive(Debug, Default)]
pub(super) struct IdentifierCounts {
    members: Vec<MemberCount>,
}

/// The values of a member.
#[derive(Debug)]
struct MemberCount {
    path: String,
    first: Fault,
    values: IdentifierValues,
}

impl IdentifierCounts {
    /// Counts the identifiers of a message.
    pub(super) fn count(&mut self, record: &LogRecord, is_user: bool) {
        let Some(object) = record.value.as_object() else { return };
        each_member(object, &mut |parent, name, value| self.count_member(parent, name, value, record, is_user));
    }

    fn count_member(&mut self, parent: Option<&str>, name: &str, value: &Json, record: &LogRecord, is_user: bool) {
        let is_known = |path: &str| path == name || parent.is_some_and(|parent| is_path(path, parent, name));
        let known = self.members.iter().position(|member| is_known(&member.path));
        if known.is_none() && (self.members.len() == MAX_MEMBERS || !is_identifier_name(name) || is_person_name(name)) {
            return;
        }
        let Some(value) = read_identifier(value) else { return };
        let place = known.unwrap_or_else(|| {
            let path = parent.map_or_else(|| name.to_owned(), |parent| format!("{parent}.{name}"));
            self.members.push(MemberCount {
                path,
                first: record.fault(MIXED_SESSIONS, ""),
                values: IdentifierValues::default(),
            });
            self.members.len() - 1
        });
        self.members[place].values.count(&value, is_user);
    }

    /// Returns the fault of a member that splits the messages.
    pub(super) fn fault(&mut self) -> Option<Fault> {
        let member = std::mem::take(&mut self.members).into_iter().find(|member| member.values.splits(&member.path))?;
        let (path, count) = (member.path, member.values.count_values());
        let message = format!(
            "no message names a session, but `{path}` has {count} values: all messages are judged as one session; \
             if it names the conversation, say --session-key {path}, else write a file for each conversation"
        );
        Some(Fault { message, ..member.first })
    }
}

fn is_path(path: &str, parent: &str, name: &str) -> bool {
    path.strip_prefix(parent).and_then(|rest| rest.strip_prefix('.')) == Some(name)
}

/// Compares what the records of each named session say beside its name.
#[derive(Debug, Default)]
pub(super) struct SessionMixtures {
    /// Seeded, so that an attacker cannot choose a name that hides another.
    hasher: RandomState,
    persons: HashMap<u64, SessionPersons>,
    splits: HashMap<(u64, u64), SessionSplit>,
    /// The first session with several persons, and the first one that another member splits; and how many are so.
    several: Option<(Fault, u64)>,
    split: Option<(Fault, u64)>,
}

/// The persons that the records of a session name.
#[derive(Debug, Default)]
struct SessionPersons {
    key: u64,
    user: Option<u64>,
    others: [Option<u64>; 2],
    is_reported: bool,
}

/// The values of another member that names sessions.
#[derive(Debug, Default)]
struct SessionSplit {
    values: Vec<u64>,
    joins: bool,
    is_reported: bool,
}

impl SessionMixtures {
    /// Takes a record of a session. A request counts as the user's.
    pub(super) fn take(&mut self, record: &LogRecord, session: &str, is_user: bool) {
        let Some(object) = record.value.as_object() else { return };
        let name = self.hasher.hash_one(session);
        let containers =
            CONTAINERS.iter().filter_map(|key| object.get(key)?.as_object().map(|inner| (Some(*key), inner)));
        let objects: Vec<(Option<&str>, &Object)> = std::iter::once((None, object)).chain(containers).collect();
        let mut is_person_known = false;
        for (parent, object) in objects {
            for (key, value) in object.iter() {
                if !is_person_known
                    && is_person_name(key)
                    && self.take_person(record, (session, name), key, value, is_user)
                {
                    is_person_known = true;
                } else if is_session_name(key) {
                    self.take_member(record, (session, name), (parent, key), value);
                }
            }
        }
    }

    fn take_person(
        &mut self,
        record: &LogRecord,
        (session, name): (&str, u64),
        key: &Text,
        value: &Json,
        is_user: bool,
    ) -> bool {
        let Some(person) = name_of(value).map(|person| self.hasher.hash_one(person.as_ref())) else { return false };
        if self.persons.len() >= MAX_SESSIONS && !self.persons.contains_key(&name) {
            return false;
        }
        let key_hash = self.hasher.hash_one(key.as_str());
        let persons =
            self.persons.entry(name).or_insert_with(|| SessionPersons { key: key_hash, ..Default::default() });
        if persons.key != key_hash || persons.is_reported {
            return persons.key == key_hash;
        }
        if persons.is_another(person, is_user) {
            persons.is_reported = true;
            let describe = || {
                format!(
                    "session `{session}` has records of different users (`{key}`), and is judged as one: words of one \
                     could count for another; name the member that tells conversations apart with --session-key"
                )
            };
            note(&mut self.several, record, describe);
        }
        true
    }

    fn take_member(
        &mut self,
        record: &LogRecord,
        (session, name): (&str, u64),
        (parent, key): (Option<&str>, &Text),
        value: &Json,
    ) {
        let Some(value) = name_of(value).filter(|value| value != session) else { return };
        let (value, key_hash) = (self.hasher.hash_one(value.as_ref()), self.hasher.hash_one((parent, key.as_str())));
        if self.splits.len() >= MAX_SESSIONS && !self.splits.contains_key(&(name, key_hash)) {
            return;
        }
        let split = self.splits.entry((name, key_hash)).or_default();
        match split.values.contains(&value) {
            true => split.joins = true,
            false if split.values.len() < MAX_SPLITS => split.values.push(value),
            false => {}
        }
        if split.joins && split.values.len() > 1 && !std::mem::replace(&mut split.is_reported, true) {
            let path = parent.map_or_else(|| key.to_string(), |parent| format!("{parent}.{key}"));
            let describe = || {
                format!(
                    "session `{session}` has several values of `{path}`, and is judged as one: words of one \
                     conversation could count for another; choose the member with --session-key {path}"
                )
            };
            note(&mut self.split, record, describe);
        }
    }

    /// Returns the faults of sessions that may be several.
    pub(super) fn faults(&mut self) -> impl Iterator<Item = Fault> {
        [self.several.take(), self.split.take()].into_iter().flatten().map(|(fault, count)| match count {
            1 => fault,
            count => Fault { message: format!("{}; {count} sessions of this file are so", fault.message), ..fault },
        })
    }
}

impl SessionPersons {
    /// Adds the person of a record. Whether the session now has several: two who say something, or one beside the user
    /// where the records of the agent name the user too.
    fn is_another(&mut self, person: u64, is_user: bool) -> bool {
        if is_user {
            if *self.user.get_or_insert(person) != person {
                return true;
            }
        } else if !self.others.contains(&Some(person))
            && let Some(free) = self.others.iter_mut().find(|place| place.is_none())
        {
            *free = Some(person);
        }
        self.user.is_some() && self.others.contains(&self.user) && self.others.iter().all(Option::is_some)
    }
}

/// Counts a session that may be several; the first is described.
fn note(noted: &mut Option<(Fault, u64)>, record: &LogRecord, describe: impl Fn() -> String) {
    match noted {
        Some((_, count)) => *count += 1,
        None => *noted = Some((Fault { message: describe(), ..record.fault(MIXED_SESSIONS, "") }, 1)),
    }
}
