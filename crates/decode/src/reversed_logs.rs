//! Sessions whose times fall: the newest record is first, as tables and interfaces list them, or records are shuffled and
//! could not be put in order. Sessions are judged in the order of their log, so such a log would be judged wrongly in
//! silence.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::order_faults::{REVERSED_LOG, UNORDERED_LOG, UNSORTED, is_clear_fall};
use super::{DecodedEvents, Decoder, Fault, LogRecord};
use lictor_event::{Event, Source};
use lictor_logic::Time;

/// How many sessions are compared.
const MAX_SESSIONS: usize = 1_000_000;

/// How often the time of a session falls at least, and never rises, if the newest record is first.
const MIN_FALLS: u32 = 2;

/// Decodes a format, and compares the times of events in one session.
pub(super) struct ReversedLogChecker {
    inner: Box<dyn Decoder>,
    /// Seeded, so that an attacker cannot choose a name that hides another.
    hasher: RandomState,
    sessions: HashMap<u64, SessionTimes>,
    /// Where the time of a session fell first.
    first: Option<Source>,
    /// Where it first fell by more than writers differ.
    first_clear: Option<Source>,
}

/// How the times of a session change.
#[derive(Default)]
struct SessionTimes {
    last: Option<Time>,
    /// The record of the last time. The order within a record is that of its writer.
    record: u32,
    falls: u32,
    has_clear_fall: bool,
    rises: bool,
}

impl ReversedLogChecker {
    pub(super) fn wrap(inner: Box<dyn Decoder>) -> Box<dyn Decoder> {
        Box::new(ReversedLogChecker {
            inner,
            hasher: RandomState::new(),
            sessions: HashMap::new(),
            first: None,
            first_clear: None,
        })
    }

    fn compare(&mut self, events: &[Event]) {
        for event in events {
            let Some(time) = event.time else { continue };
            let name = self.hasher.hash_one(event.session.as_deref());
            if self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(&name) {
                continue;
            }
            let session = self.sessions.entry(name).or_default();
            let is_same_record = std::mem::replace(&mut session.record, event.source.record) == event.source.record;
            let Some(last) = session.last.replace(time).filter(|_| !is_same_record) else { continue };
            session.rises |= time > last;
            if time < last {
                session.falls += 1;
                self.first.get_or_insert_with(|| event.source.clone());
            }
            if is_clear_fall(last, time) {
                session.has_clear_fall = true;
                self.first_clear.get_or_insert_with(|| event.source.clone());
            }
        }
    }

    fn fault(&mut self) -> Option<Fault> {
        let count = |is_meant: fn(&&SessionTimes) -> bool| self.sessions.values().filter(is_meant).count();
        let reversed = count(|session| session.falls >= MIN_FALLS && !session.rises);
        let (code, source, count, how) = match reversed {
            0 => {
                let count = count(|session| session.has_clear_fall);
                (UNORDERED_LOG, self.first_clear.take()?, count, "records that are not in the order of their times")
            }
            count => (REVERSED_LOG, self.first.take()?, count, "the newest record first, by its times"),
        };
        let sessions = if count == 1 { "1 session has".to_owned() } else { format!("{count} sessions have") };
        let message = format!("{sessions} {how}; {UNSORTED}");
        Some(Fault { file: source.file, line: source.line, column: None, code, message })
    }
}

impl Decoder for ReversedLogChecker {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        let before = out.events.len();
        self.inner.record(record, out);
        self.compare(&out.events[before..]);
    }

    fn text(&mut self, text: &str, source: &Source, out: &mut DecodedEvents) -> bool {
        let before = out.events.len();
        let is_read = self.inner.text(text, source, out);
        self.compare(&out.events[before..]);
        is_read
    }

    fn session<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.inner.session(text)
    }

    fn checks_parts(&self) -> bool {
        self.inner.checks_parts()
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        let before = out.events.len();
        self.inner.finish(out);
        self.compare(&out.events[before..]);
        out.faults.extend(self.fault());
    }
}
