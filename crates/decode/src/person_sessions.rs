//! Messages of several users in one file, told apart by the member that names the user.
//!
//! Without a session, the file is one, and the "yes" of one user would count for another. If every message names its user,
//! those of the agent too, each user has a session. Otherwise [`LoneMessages`](super::session_key::LoneMessages) says that
//! sessions may be mixed.

use std::collections::HashSet;

use super::member_names::{find_person, name_of};
use super::mixed_sessions::{IdentifierCounts, MIXED_SESSIONS};
use super::session_key::{MessageRole, SESSION_KEYS, find_session, read_role};
use super::{Fault, LogRecord};
use lictor_json::{Json, Text};

/// Names the sessions of messages by their users.
#[derive(Debug, Default)]
pub(super) struct PersonSessions {
    /// The member that names the user, with the one that it is in.
    key: Option<(Option<&'static str>, Text)>,
    /// The messages that came after the choice and name no user: the first, and how many.
    without: Option<(Fault, u64)>,
}

impl PersonSessions {
    /// Chooses the member, if all of these records are messages without a session that name several users by it.
    pub(super) fn choose<'r>(&mut self, records: impl Iterator<Item = &'r LogRecord>) {
        let (mut users, mut others) = (HashSet::new(), HashSet::new());
        let mut identifiers = IdentifierCounts::default();
        let mut key = None;
        for record in records {
            let value = &record.value;
            let (Some(role), None) = (read_role(value), find_session(value)) else { return };
            let Some((parent, name, person)) = find_person(value) else { return };
            if *key.get_or_insert((parent, name)) != (parent, name) {
                return;
            }
            let is_user = role == MessageRole::User;
            identifiers.count(record, is_user);
            let known = if is_user { &mut users } else { &mut others };
            if !known.contains(person.as_ref()) {
                known.insert(person.into_owned());
            }
        }
        // An agent may have a name of its own, and another member may tell conversations apart.
        if users.len() > 1 && !others.is_empty() && others.is_subset(&users) && identifiers.fault().is_none() {
            self.key = key.map(|(parent, name)| (parent, name.clone()));
        }
    }

    /// Names the session of a record by its user.
    pub(super) fn name_session(&mut self, record: &mut LogRecord) {
        let Some((parent, key)) = &self.key else { return };
        if find_session(&record.value).is_some() {
            return;
        }
        let holder = parent.map_or(Some(&record.value), |parent| record.value.get(parent));
        let person = holder.and_then(|holder| name_of(holder.get(key)?)).map(|person| Text::from(person.into_owned()));
        match (person, &mut record.value) {
            (Some(person), Json::Object(object)) => {
                object.insert(SESSION_KEYS[0], person);
            }
            _ => match &mut self.without {
                Some((_, count)) => *count += 1,
                None => self.without = Some((record.fault(MIXED_SESSIONS, ""), 1)),
            },
        }
    }

    /// Returns the fault of messages that belong to no user.
    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        let (_, key) = self.key.as_ref()?;
        let (fault, count) = self.without.take()?;
        let message = format!(
            "the messages are told apart by `{key}`, but {count} of them have none, and may belong to any of the users; \
             name the member that tells conversations apart with --session-key"
        );
        Some(Fault { message, ..fault })
    }
}
