//! Records that are not in the order of their times, as several writers or a shuffled export leave them.
//!
//! Sessions are judged in the order of their log, so another order would be another verdict. The records of a session are
//! put in the order of their times if each has one and no two of them have the same. An exchange without a time of its own
//! has that of its reply, and is compared with those that begin alike if it names no session. Otherwise the order is unknown, the
//! records stay as they are, and a fault says so. A log is sorted if it is small enough to be held in memory; sessions of
//! larger ones are watched by [`ReversedLogChecker`](super::reversed_logs::ReversedLogChecker).

use std::collections::HashMap;

use super::exchange_log::read_time;
use super::order_faults::{REVERSED_LOG, UNORDERED_LOG, UNSORTED, is_clear_fall};
use super::person_sessions::PersonSessions;
use super::reply_times::TimedReply;
use super::session_key::find_session;
use super::{DecodedEvents, Decoder, Fault, LogRecord};
use lictor_event::Source;
use lictor_event::content_hash::ContentHash;
use lictor_json::Json;
use lictor_logic::Time;

/// How many records are held, and about how many bytes of their values.
const MAX_HELD_RECORDS: usize = 20_000;
const MAX_HELD_BYTES: usize = 4 << 20;

/// How many conversations of a log that is too large are compared.
const MAX_OPENINGS: usize = 100_000;

/// About how many bytes a value takes beside its text.
const VALUE_BYTES: usize = 32;

/// Decodes a format after its records were put in the order of their times.
pub(super) struct TimeSorter {
    inner: Box<dyn Decoder>,
    held: Vec<HeldRecord>,
    held_bytes: usize,
    /// How many bytes the text of the next record has, if that is known.
    text_bytes: Option<usize>,
    /// Whether the log is too large to be held, so that its records are passed on at once.
    is_too_large: bool,
    /// The latest time of a record that was passed on.
    latest: Option<Time>,
    /// The time and the length of the last exchange of each conversation that was passed on, by its opening.
    openings: HashMap<ContentHash, (Time, usize)>,
    /// Names the sessions of messages by their users, where that may be needed.
    persons: Option<PersonSessions>,
    /// The records that are out of order and could not be sorted: the first, and how many.
    unsorted: Option<(Fault, u64)>,
}

struct HeldRecord {
    record: LogRecord,
    time: Option<Time>,
    /// The exchange that it is, if it has no time of its own.
    reply: Option<TimedReply>,
}

impl HeldRecord {
    fn new(record: LogRecord) -> HeldRecord {
        let own_time = read_time(&record.value);
        let reply = if own_time.is_none() { TimedReply::from_record(&record.value) } else { None };
        let time = own_time.or_else(|| reply.as_ref()?.time);
        HeldRecord { record, time, reply }
    }

    /// Returns what sorts it within its session: its time, and the length of its history.
    fn place(&self) -> (Option<Time>, usize) {
        (self.time, self.reply.as_ref().map_or(0, |reply| reply.length))
    }
}

impl TimeSorter {
    /// Wraps a decoder. The messages of several users have a session each if the format names sessions by a member.
    pub(super) fn wrap(inner: Box<dyn Decoder>, takes_session_key: bool) -> Box<dyn Decoder> {
        Box::new(TimeSorter {
            inner,
            held: Vec::new(),
            held_bytes: 0,
            text_bytes: None,
            is_too_large: false,
            latest: None,
            openings: HashMap::new(),
            persons: takes_session_key.then(PersonSessions::default),
            unsorted: None,
        })
    }

    /// Decodes the records that are held.
    fn release(&mut self, out: &mut DecodedEvents) {
        let mut held = std::mem::take(&mut self.held);
        if let Some(persons) = &mut self.persons {
            persons.choose(held.iter().map(|held| &held.record));
            held.iter_mut().for_each(|held| persons.name_session(&mut held.record));
        }
        self.latest = held.iter().filter_map(|held| held.time.filter(|_| held.reply.is_none())).max();
        if held.iter().filter_map(|held| held.time).is_sorted() {
            return held.into_iter().for_each(|held| self.inner.record(held.record, out));
        }
        let order = self.find_order(&held);
        let mut records: Vec<Option<LogRecord>> = held.into_iter().map(|held| Some(held.record)).collect();
        for place in order {
            if let Some(record) = records[place].take() {
                self.inner.record(record, out);
            }
        }
    }

    /// Returns the places of records in the order in which they are decoded. A session keeps the places that its records
    /// have.
    fn find_order(&mut self, held: &[HeldRecord]) -> Vec<usize> {
        let mut sessions: HashMap<_, Vec<usize>> = HashMap::new();
        let has_timed_reply = held.iter().any(|held| held.reply.is_some() && held.time.is_some());
        for (place, HeldRecord { record, reply, .. }) in held.iter().enumerate() {
            let session = find_session(&record.value);
            let is_by_opening = session.is_none() && has_timed_reply;
            let opening = reply.as_ref().filter(|_| is_by_opening).map(|reply| reply.opening);
            sessions.entry((session, opening)).or_default().push(place);
        }
        let mut order: Vec<usize> = (0..held.len()).collect();
        for places in sessions.into_values() {
            let timed = || places.iter().filter_map(|place| Some((*place, held[*place].time?)));
            let mut falls = timed().zip(timed().skip(1)).filter(|((_, before), (_, after))| after < before);
            let Some((_, (late, _))) = falls.clone().next() else { continue };
            let is_in_doubt = falls.any(|((_, before), (_, after))| is_clear_fall(before, after));
            let mut sorted = places.clone();
            sorted.sort_by_key(|place| held[*place].place());
            let is_ambiguous = |pair: &[usize]| {
                let (first, second) = (&held[pair[0]], &held[pair[1]]);
                first.time.is_none() || first.place() == second.place() && first.record.value != second.record.value
            };
            match sorted.windows(2).any(is_ambiguous) {
                true if is_in_doubt => self.note_unsorted(&held[late].record),
                true => {}
                false => places.iter().zip(sorted).for_each(|(place, from)| order[*place] = from),
            }
        }
        order
    }

    fn note_unsorted(&mut self, record: &LogRecord) {
        let fault = record.fault(UNORDERED_LOG, "");
        let (first, count) = self.unsorted.get_or_insert_with(|| (fault.clone(), 0));
        *count += 1;
        if fault.line < first.line {
            *first = fault;
        }
    }

    /// Notes a record of a log that is too large to be sorted, if it names no session: its events may be in any.
    fn note_passed(&mut self, held: &HeldRecord) {
        let Some(time) = held.time else { return };
        let is_late = match &held.reply {
            Some(reply)
                if reply.is_telling
                    && (self.openings.len() < MAX_OPENINGS || self.openings.contains_key(&reply.opening)) =>
            {
                let last = self.openings.insert(reply.opening, (time, reply.length));
                last.is_some_and(|(last, length)| is_clear_fall(last, time) && reply.length < length)
            }
            Some(_) => false,
            None => {
                let is_late = self.latest.is_some_and(|latest| is_clear_fall(latest, time));
                self.latest = self.latest.max(Some(time));
                is_late
            }
        };
        if is_late && find_session(&held.record.value).is_none() {
            self.note_unsorted(&held.record);
        }
    }
}

impl Decoder for TimeSorter {
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents) {
        if self.is_too_large {
            let mut held = HeldRecord::new(record);
            self.persons.iter_mut().for_each(|persons| persons.name_session(&mut held.record));
            self.note_passed(&held);
            return self.inner.record(held.record, out);
        }
        self.held_bytes += self.text_bytes.take().unwrap_or_else(|| estimate_size(&record.value));
        self.held.push(HeldRecord::new(record));
        if self.held.len() >= MAX_HELD_RECORDS || self.held_bytes >= MAX_HELD_BYTES {
            self.is_too_large = true;
            self.release(out);
        }
    }

    fn text(&mut self, text: &str, _source: &Source, _out: &mut DecodedEvents) -> bool {
        self.text_bytes = Some(text.len());
        false
    }

    fn session<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.inner.session(text)
    }

    fn checks_parts(&self) -> bool {
        self.inner.checks_parts()
    }

    fn finish(&mut self, out: &mut DecodedEvents) {
        if !self.is_too_large {
            self.release(out);
        }
        self.inner.finish(out);
        out.faults.extend(self.persons.as_mut().and_then(PersonSessions::take_fault));
        let is_reported = out.faults.iter().any(|fault| [REVERSED_LOG, UNORDERED_LOG].contains(&fault.code));
        if let Some((fault, count)) = self.unsorted.take().filter(|_| !is_reported) {
            let places = if count == 1 { "one place".to_owned() } else { format!("{count} places") };
            let message = format!("records are not in the order of their times in {places}; {UNSORTED}");
            out.faults.push(Fault { message, ..fault });
        }
    }
}

/// Returns about how many bytes a value takes.
fn estimate_size(value: &Json) -> usize {
    let (mut bytes, mut left) = (0, vec![value]);
    while let Some(value) = left.pop() {
        bytes += VALUE_BYTES;
        match value {
            Json::String(text) => bytes += text.len(),
            Json::Array(items) => left.extend(items),
            Json::Object(object) => {
                for (key, member) in object.iter() {
                    bytes += key.len();
                    left.push(member);
                }
            }
            _ => {}
        }
    }
    bytes
}
