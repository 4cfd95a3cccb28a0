//! The sessions that wait for their events.
//!
//! A session whose last event was read is replayed at once. Events of sessions that the log interleaves over more than
//! memory may hold wait in a file.

use std::collections::HashMap;
use std::io;

use lictor_event::Event;
use lictor_json::Text;

use super::event_spool::EventSpool;
use super::log_events::ReadEvents;
use crate::closed_session::ClosedSession;

/// How many events wait in memory at most, and about how many are read from the file at once.
const MAX_WAITING_EVENTS: u64 = 1 << 15;

/// A session with all of its events.
pub(super) struct CompleteSession<'s> {
    /// Its number among the sessions that are replayed.
    pub(super) number: u32,
    pub(super) session: &'s mut ClosedSession,
    pub(super) events: Vec<Event>,
}

/// The sessions that wait for their events.
pub(super) struct WaitingSessions<'s> {
    sessions: Vec<WaitingSession<'s>>,
    /// The sessions by the file that they belong to and by their names.
    numbers: HashMap<(Option<u32>, Option<Text>), u32>,
    spool: EventSpool,
    /// The first session of each bucket.
    buckets: Vec<u32>,
    /// How many events are in memory.
    waiting: u64,
    max_waiting: u64,
}

struct WaitingSession<'s> {
    /// None once it is replayed.
    session: Option<&'s mut ClosedSession>,
    events: Vec<Event>,
    /// How many events are still to come.
    missing: u32,
    /// Whether its events are in the file.
    is_spooled: bool,
}

impl<'s> WaitingSessions<'s> {
    /// Returns the sessions before their first event.
    pub(super) fn new(sessions: Vec<&'s mut ClosedSession>) -> WaitingSessions<'s> {
        WaitingSessions::with_limit(sessions, MAX_WAITING_EVENTS)
    }

    fn with_limit(sessions: Vec<&'s mut ClosedSession>, max_waiting: u64) -> WaitingSessions<'s> {
        let (mut buckets, mut in_bucket) = (Vec::new(), u64::MAX);
        let mut numbers = HashMap::new();
        let mut waiting = Vec::with_capacity(sessions.len());
        for (number, session) in (0u32..).zip(sessions) {
            let events = session.records.events();
            if in_bucket.saturating_add(u64::from(events)) > max_waiting {
                buckets.push(number);
                in_bucket = 0;
            }
            in_bucket += u64::from(events);
            numbers.insert((session.key.file, session.key.name.clone()), number);
            let (events, missing) = (Vec::new(), events);
            waiting.push(WaitingSession { session: Some(session), events, missing, is_spooled: false });
        }
        let spool = EventSpool::new(buckets.len());
        WaitingSessions { sessions: waiting, numbers, spool, buckets, waiting: 0, max_waiting }
    }

    /// Adds the events that were read next, and returns the sessions that are complete with them.
    pub(super) fn add(&mut self, read: ReadEvents) -> io::Result<Vec<CompleteSession<'s>>> {
        let mut complete = Vec::new();
        for event in read.events {
            let of_file = (!read.spans_files || event.session.is_none()).then_some(read.log);
            let Some(&number) = self.numbers.get(&(of_file, event.session.clone())) else { continue };
            let waiting = &mut self.sessions[number as usize];
            waiting.missing = waiting.missing.saturating_sub(1);
            if waiting.is_spooled {
                let bucket = self.buckets.partition_point(|first| *first <= number) - 1;
                self.spool.push(bucket, number, event)?;
                continue;
            }
            waiting.events.push(event);
            self.waiting += 1;
            if waiting.missing == 0 {
                self.waiting -= waiting.events.len() as u64;
                complete.extend(waiting.take_complete(number));
            }
            if self.waiting > self.max_waiting {
                self.spool_waiting()?;
            }
        }
        Ok(complete)
    }

    /// Writes all events in memory to the file.
    fn spool_waiting(&mut self) -> io::Result<()> {
        for (bucket, first) in self.buckets.iter().enumerate() {
            let end = self.buckets.get(bucket + 1).map_or(self.sessions.len(), |end| *end as usize);
            for (number, waiting) in (*first..).zip(&mut self.sessions[*first as usize..end]) {
                if waiting.events.is_empty() {
                    continue;
                }
                waiting.is_spooled = true;
                for event in std::mem::take(&mut waiting.events) {
                    self.spool.push(bucket, number, event)?;
                }
            }
        }
        self.waiting = 0;
        Ok(())
    }

    /// Returns the sessions of the next bucket that are left at the end of the log; none at the end.
    pub(super) fn take_left(&mut self) -> io::Result<Option<Vec<CompleteSession<'s>>>> {
        let Some(first) = self.buckets.pop() else { return Ok(None) };
        for (number, event) in self.spool.take(self.buckets.len())? {
            self.sessions[number as usize].events.push(event);
        }
        let left = (first..).zip(self.sessions.drain(first as usize..));
        Ok(Some(left.filter_map(|(number, mut waiting)| waiting.take_complete(number)).collect()))
    }
}

impl<'s> WaitingSession<'s> {
    fn take_complete(&mut self, number: u32) -> Option<CompleteSession<'s>> {
        let events = std::mem::take(&mut self.events);
        self.session.take().map(|session| CompleteSession { number, session, events })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::closed_session::SessionKey;
    use crate::report::SessionReport;
    use crate::session_records::SessionRecords;

    fn session(name: &str, events: u32) -> ClosedSession {
        let (file, mut records): (Arc<str>, _) = ("log".into(), SessionRecords::default());
        (0..events).for_each(|index| records.add(0, index));
        ClosedSession {
            key: SessionKey { file: Some(0), name: Some(name.into()) },
            order: (0, 0, 0),
            report: SessionReport { name: name.into(), file, steps: events, outcomes: Vec::new(), gaps: Vec::new() },
            is_suspect: true,
            is_unordered: false,
            has_facts: true,
            records,
        }
    }

    /// The names of sessions in the order in which they are complete, and whether some were written.
    fn complete(sizes: &[(&str, u32)], log: &[&str], max_waiting: u64) -> (Vec<String>, bool) {
        let mut sessions: Vec<ClosedSession> = sizes.iter().map(|(name, events)| session(name, *events)).collect();
        let mut waiting = WaitingSessions::with_limit(sessions.iter_mut().collect(), max_waiting);
        let mut found = Vec::new();
        let mut note = |complete: Vec<CompleteSession<'_>>| {
            for CompleteSession { session, events, .. } in complete {
                let numbers: Vec<i64> = events.iter().filter_map(|event| event.seq).collect();
                assert!(numbers.is_sorted(), "{numbers:?}");
                assert_eq!(numbers.len() as u32, session.report.steps);
                found.push(session.report.name.to_string());
            }
        };
        for (number, name) in (0i64..).zip(log) {
            let event = Event { session: Some((*name).into()), seq: Some(number), ..Event::default() };
            note(waiting.add(ReadEvents { log: 0, spans_files: false, events: vec![event] }).unwrap());
        }
        let is_spooled = waiting.sessions.iter().any(|session| session.is_spooled);
        while let Some(left) = waiting.take_left().unwrap() {
            note(left);
        }
        (found, is_spooled)
    }

    #[test]
    fn waiting_sessions_complete_with_last_event() {
        let sizes = [("a", 2), ("b", 1), ("c", 3)];
        let log = ["a", "other", "b", "c", "a", "c", "c"];
        assert_eq!(complete(&sizes, &log, 9), (vec!["b".to_owned(), "a".into(), "c".into()], false));
    }

    #[test]
    fn waiting_sessions_spool_what_is_interleaved() {
        let sizes = [("a", 3), ("b", 3), ("c", 3), ("d", 1)];
        let log = ["a", "b", "c", "a", "b", "c", "d", "c", "b", "a"];
        let (mut names, is_spooled) = complete(&sizes, &log, 3);
        names.sort();
        assert_eq!((names, is_spooled), (["a", "b", "c", "d"].map(str::to_owned).to_vec(), true));
    }
}
