//! Whether a log has the member that a user named for its sessions, and which of its members could be meant.
//!
//! If no record has it, every record would be judged as one session. That is a slip of the user, not a fault of the log.

use super::member_names::{is_identifier_name, is_person_name, is_session_name, name_of};
use super::mixed_sessions::each_member;
use super::record_opener::{OpenedValue, open_value};
use super::session_key::{SESSION_KEYS, find_named};
use super::{Format, LogRecord};
use lictor_json::{Json, Text};

/// How many members are kept for the message.
const MAX_MEMBERS: usize = 32;

/// The search for the member that names sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionMembers {
    key: Text,
    has_records: bool,
    is_found: bool,
    /// Members that could tell sessions, and whether each names one in the usual way.
    others: Vec<(Text, bool)>,
}

impl SessionMembers {
    /// Starts a search for the member at a path.
    pub fn new(key: &str) -> SessionMembers {
        SessionMembers { key: key.into(), ..SessionMembers::default() }
    }

    /// Reads a record of a format. One of a format that names sessions itself does not count.
    pub fn read(&mut self, record: LogRecord, format: Format) {
        if !format.takes_session_key() {
            return;
        }
        match open_value(record.value, format) {
            OpenedValue::One(value) => self.read_value(&value),
            OpenedValue::List(list) => list.iter().for_each(|value| self.read_value(value)),
        }
    }

    /// Whether a record has the member.
    pub fn is_found(&self) -> bool {
        self.is_found
    }

    /// Whether there are records, and none has the member.
    pub fn is_missing(&self) -> bool {
        self.has_records && !self.is_found
    }

    /// Returns the paths of members that could tell sessions, those first that name sessions in the usual way.
    pub fn others(&self) -> impl Iterator<Item = &Text> {
        let of = |usual: bool| self.others.iter().filter(move |(_, is_usual)| *is_usual == usual);
        of(true).chain(of(false)).map(|(path, _)| path)
    }

    fn read_value(&mut self, record: &Json) {
        self.has_records = true;
        self.is_found |= find_named(record, &self.key).is_some();
        let Some(object) = record.as_object().filter(|_| !self.is_found) else { return };
        // An object may be named by its `id`, or hold the members that say what a record belongs to.
        each_member(object, &mut |parent, key, value| self.note(parent, key, value));
    }

    fn note(&mut self, parent: Option<&str>, key: &str, value: &Json) {
        let is_usual = SESSION_KEYS.contains(&key) || is_session_name(key);
        if !is_usual && !is_identifier_name(key) && !is_person_name(key) || name_of(value).is_none() {
            return;
        }
        let path = parent.map_or_else(|| Text::new(key), |parent| Text::new(format!("{parent}.{key}")));
        if self.others.len() < MAX_MEMBERS && !self.others.iter().any(|(known, _)| *known == path) {
            self.others.push((path, is_usual));
        }
    }
}
