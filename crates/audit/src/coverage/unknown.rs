//! Facts that are unknown in a log: why a property is inconclusive, and where.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use lictor_event::Event;
use lictor_json::Text;
use lictor_judge::{Coverage, Judge};

use super::name_fact;

/// The most sessions in which the places of an unknown fact are kept.
const MAX_SESSIONS: usize = 1_000;

/// A fact that is unknown at some event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnknownFact {
    /// The fact, as the properties write it.
    pub fact: Text,
    /// The properties that ask for it, in the order of the policy.
    pub properties: Vec<Text>,
    places: UnknownPlaces,
}

/// For each session, the first event of each file at which a fact is unknown: file and line.
///
/// Of too many sessions, those whose names come first are kept. So the result does not depend on the order in which
/// threads see them.
#[derive(Clone, Debug, Default)]
struct UnknownPlaces(BTreeMap<Text, Vec<(Arc<str>, u32)>>);

/// The unknown facts that one thread has seen, by their numbers.
#[derive(Debug, Default)]
pub(super) struct SeenUnknown(BTreeMap<usize, UnknownPlaces>);

impl UnknownFact {
    /// Returns the file and the line of the first event at which it is unknown in a session. A session that spans files
    /// may have it in another file than the one in which it began.
    pub(crate) fn find_place(&self, session: &str, file: &str, spans_files: bool) -> Option<(&str, u32)> {
        let places = self.places.0.get(session)?;
        let own = places.iter().find(|(place, _)| **place == *file);
        own.or_else(|| places.first().filter(|_| spans_files)).map(|(file, line)| (&**file, *line))
    }
}

impl UnknownPlaces {
    fn add(&mut self, session: &Text, file: &Arc<str>, line: u32) {
        match self.0.entry(session.clone()) {
            Entry::Occupied(mut places) => {
                if places.get().iter().all(|(known, _)| known != file) {
                    places.get_mut().push((Arc::clone(file), line));
                }
            }
            Entry::Vacant(places) => {
                places.insert(vec![(Arc::clone(file), line)]);
            }
        }
        if self.0.len() > MAX_SESSIONS {
            self.0.pop_last();
        }
    }
}

impl SeenUnknown {
    /// Notes what is unknown at the event that was judged last.
    pub(super) fn note(&mut self, judge: &Judge, facts: &Coverage, event: &Event) {
        for fact in judge.unknown_facts(facts) {
            let name = event.session.clone().unwrap_or_else(|| Text::new(&event.source.file));
            self.0.entry(fact).or_default().add(&name, &event.source.file, event.source.line);
        }
    }

    pub(super) fn merge(&mut self, other: SeenUnknown) {
        for (fact, places) in other.0 {
            let ours = self.0.entry(fact).or_default();
            for (session, places) in places.0 {
                places.iter().for_each(|(file, line)| ours.add(&session, file, *line));
            }
        }
    }

    /// Returns the unknown facts, with the properties that ask for them.
    pub(super) fn into_facts(self, judge: &Judge, facts: &Coverage) -> Vec<UnknownFact> {
        let named = self.0.into_iter().filter_map(|(number, places)| {
            let fact = facts.fact(number)?;
            let properties = judge.find_asking(fact).into_iter().map(|place| judge.properties()[place].id.clone());
            Some(UnknownFact { fact: name_fact(fact), properties: properties.collect(), places })
        });
        named.collect()
    }
}
