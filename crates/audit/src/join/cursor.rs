//! The entries that come before the next event of a session, found from its sequence of events alone.

use std::collections::{BTreeSet, HashSet};

use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_judge::Judge;
use lictor_judge::guard::person;
use lictor_logic::Time;

use super::entries::JoinEntries;

/// The place of one session in the entries that are joined to it.
#[derive(Debug)]
pub(crate) struct JoinCursor {
    /// The session's name, as reports show it.
    name: Text,
    /// Entries that are due at the next event.
    due: Vec<u32>,
    /// Entries of this session that come before the first event with a later time.
    waiting: BTreeSet<(Time, u32)>,
    /// The entries that were joined to this session.
    joined: HashSet<u32>,
    /// The persons with entries that the session has named.
    persons: HashSet<String>,
    /// The time of the last event that has one.
    last_time: Option<Time>,
}

/// The entries that are left at the end of a session.
#[derive(Debug, Default)]
pub(crate) struct RemainingEntries {
    /// Those after its last event, in the order of their times.
    pub(crate) after: Vec<u32>,
    /// Those that have a time, while no event of the session has one.
    pub(crate) unplaced: Vec<u32>,
}

impl JoinCursor {
    /// Returns the cursor of a session at its beginning.
    pub(crate) fn new(joins: &JoinEntries, name: Text) -> JoinCursor {
        let mut cursor = JoinCursor {
            due: Vec::new(),
            waiting: BTreeSet::new(),
            joined: HashSet::new(),
            persons: HashSet::new(),
            last_time: None,
            name,
        };
        let own = joins.of_session(&cursor.name);
        own.iter().for_each(|number| cursor.admit(joins, *number));
        cursor
    }

    /// Adds an entry of this session: one without a time is due at once.
    fn admit(&mut self, joins: &JoinEntries, number: u32) {
        match joins.event(number).time {
            _ if self.joined.contains(&number) => {}
            Some(time) => {
                self.waiting.insert((time, number));
            }
            None => self.due.push(number),
        }
    }

    /// Returns the entries that come before an event, in the order of their times, those without a time first.
    pub(crate) fn take_before(&mut self, joins: &JoinEntries, judge: &Judge, event: &Event) -> Vec<u32> {
        let last_time = self.last_time;
        self.last_time = last_time.max(event.time);
        if let (Kind::ToolCall, Some(id)) = (&event.kind, &event.id) {
            let name = self.name.clone();
            let own = joins.of_call(id, &name).filter(|number| !self.joined.contains(number));
            for number in own.filter(|number| joins.fits_call(*number, event, last_time)).collect::<Vec<_>>() {
                match (joins.event(number).time, event.time) {
                    (Some(time), Some(now)) if time > now => self.admit(joins, number),
                    // It is the answer to this call, even if there are no times to say so.
                    (time, _) => {
                        time.map(|time| self.waiting.remove(&(time, number)));
                        self.due.push(number);
                    }
                }
            }
        }
        if joins.has_persons() {
            self.admit_persons(joins, judge, event);
        }
        if let Some(now) = event.time {
            let later = self.waiting.split_off(&(now, 0));
            self.due.extend(std::mem::replace(&mut self.waiting, later).into_iter().map(|(_, number)| number));
        }
        self.due.sort_unstable_by_key(|number| (joins.event(*number).time, *number));
        self.due.dedup();
        self.joined.extend(&self.due);
        std::mem::take(&mut self.due)
    }

    /// Adds the entries of the persons that an event is the first to name.
    fn admit_persons(&mut self, joins: &JoinEntries, judge: &Judge, event: &Event) {
        let mut named = judge.find_persons(event);
        let args = event.args.as_ref().and_then(|args| args.value());
        args.into_iter().chain(&event.result).for_each(|value| collect_texts(value, &mut named));
        for name in named {
            let entries = joins.of_person(&name);
            if !entries.is_empty() && self.persons.insert(name) {
                entries.iter().for_each(|number| self.admit(joins, *number));
            }
        }
    }

    /// Ends the session.
    pub(crate) fn finish(&mut self) -> RemainingEntries {
        let left = std::mem::take(&mut self.waiting).into_iter().map(|(_, number)| number).collect();
        match self.last_time.is_some() {
            true => RemainingEntries { after: left, ..RemainingEntries::default() },
            false => RemainingEntries { unplaced: left, ..RemainingEntries::default() },
        }
    }
}

/// Collects the texts in a value that may be the whole identifier of a person, such as a number of a customer.
fn collect_texts(value: &Json, texts: &mut Vec<String>) {
    match value {
        Json::String(text) => texts.push(person(text).into_owned()),
        Json::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Json::Object(object) => object.iter().for_each(|(_, member)| collect_texts(member, texts)),
        _ => {}
    }
}
