//! The sessions that one thread judges.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use lictor_logic::{Time, Verdict};
use rustc_hash::FxHashMap;

use super::AuditOptions;
use super::batch::{Piece, Share, hash_of};
use super::wide::{Seen, What};
use crate::report::{PropertyOutcome, SessionReport};
use lictor_decode::input::{Chunk, ChunkLine};
use lictor_decode::{DecodedEvents, Decoder, Fault, Format};
use lictor_event::order::{Gap, GapCause, ReorderBuffer, ReorderWindow, Sequenced};
use lictor_event::{Event, Source};
use lictor_json::Text;
use lictor_judge::{Judge, SessionState};

/// The sessions that one thread judges.
pub(super) struct Shard {
    judge: Judge,
    shows_content: bool,
    /// How far numbered events may come out of order; none if their numbers are not looked at.
    window: Option<ReorderWindow>,
    sessions: Vec<Open>,
    /// By the hash of the session's name, which is seeded, and then by the name itself.
    places: FxHashMap<u64, Vec<u32>>,
    /// Events of one session mostly come together.
    last: Option<(u64, u32)>,
    hasher: RandomState,
    /// For lines: what decodes them, and what it makes of one.
    decoder: Box<dyn Decoder>,
    decoded: DecodedEvents,
    /// How many events each file has.
    pub(super) counts: Vec<u64>,
    /// What was wrong with lines, with the number of its file.
    pub(super) faults: Vec<(usize, Fault)>,
    /// The events, where properties are judged over more than sessions.
    pub(super) seen: Vec<Seen>,
}

struct Open {
    key: Key,
    file: Arc<str>,
    order: Place,
    state: SessionState,
    /// The latest time of an event, and the last place of one.
    latest: (Option<Time>, Place),
    records: Records,
    numbers: ReorderBuffer<Waiting>,
    gaps: Vec<Gap>,
    /// Whether some event was not where its number says.
    is_unordered: bool,
}

/// Where an event stands: file, line, place among the events of its piece.
type Place = (u32, u32, u32);

/// An event that came too early.
#[derive(Clone, Debug)]
struct Waiting {
    event: Event,
    place: Place,
}

/// What makes a session that session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The file, unless sessions go on in other files.
    pub(super) file: Option<u32>,
    /// Its name in the log; none is the session of the file.
    pub(super) name: Option<Text>,
}

/// The records that a session was made of. There is a number for every event of the log, so each is kept as its
/// distance from the one before, in as few bytes as it takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    /// From which byte on they are of which file.
    files: Vec<(u32, u32)>,
    distances: Vec<u8>,
    last: u32,
}

/// A session that was judged.
pub(super) struct Closed {
    pub(super) key: Key,
    /// Where its first event stands.
    pub(super) order: Place,
    pub(super) report: SessionReport,
    /// Whether there is something to find out by reading it again.
    pub(super) is_suspect: bool,
    /// Whether some of its events were not where their numbers say.
    pub(super) is_unordered: bool,
    pub(super) records: Records,
}

impl Records {
    fn add(&mut self, file: u32, index: u32) {
        let is_first = self.files.last().is_none_or(|(last, _)| *last != file);
        if is_first {
            self.files.push((file, self.distances.len() as u32));
            self.last = 0;
        } else if self.last == index {
            return;
        }
        // Records of a file come in order.
        let mut distance = index.wrapping_sub(self.last);
        self.last = index;
        while distance >= 0x80 {
            self.distances.push(distance as u8 | 0x80);
            distance >>= 7;
        }
        self.distances.push(distance as u8);
    }

    /// The records of each file.
    pub(super) fn by_file(&self) -> impl Iterator<Item = (u32, Vec<u32>)> {
        let ends = self.files.iter().skip(1).map(|(_, start)| *start).chain([self.distances.len() as u32]);
        self.files.iter().zip(ends).map(|((file, start), end)| {
            let (mut indices, mut last) = (Vec::new(), 0u32);
            let (mut distance, mut shift) = (0u32, 0);
            for byte in &self.distances[*start as usize..end as usize] {
                distance |= u32::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    last = last.wrapping_add(distance);
                    indices.push(last);
                    (distance, shift) = (0, 0);
                }
            }
            (*file, indices)
        })
    }
}

impl Shard {
    pub(super) fn new(judge: Judge, hasher: RandomState, options: &AuditOptions) -> Shard {
        Shard {
            judge,
            shows_content: options.content,
            window: options.reorder,
            sessions: Vec::new(),
            places: FxHashMap::default(),
            last: None,
            hasher,
            decoder: Format::Native.decoder(),
            decoded: DecodedEvents::default(),
            counts: Vec::new(),
            faults: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Judges this shard's part of a piece; gives how many events that were.
    pub(super) fn judge(&mut self, piece: &Piece, shard: usize) -> u64 {
        let mut events = 0;
        match (piece.of_shard.get(shard), &piece.lines) {
            (Some(shares), lines) => {
                for share in shares {
                    match (share, lines) {
                        (Share::Event(place, hash), _) => {
                            self.step(piece, &piece.events[*place as usize], *place, *hash);
                            events += 1;
                        }
                        (Share::Line(line), Some(chunk)) => events += self.line(piece, chunk, line),
                        (Share::Line(_), None) => {}
                    }
                }
            }
            (None, Some(chunk)) => {
                for line in chunk.lines() {
                    events += self.line(piece, chunk, &line);
                }
            }
            (None, None) => {}
        }
        if self.counts.len() <= piece.file {
            self.counts.resize(piece.file + 1, 0);
        }
        self.counts[piece.file] += events;
        events
    }

    /// Decodes and judges a line.
    fn line(&mut self, piece: &Piece, chunk: &Chunk, line: &ChunkLine) -> u64 {
        let mut decoded = std::mem::take(&mut self.decoded);
        chunk.decode_line(line, self.decoder.as_mut(), &mut decoded);
        let count = decoded.events.len() as u64;
        for (place, event) in decoded.events.iter().enumerate() {
            let hash = match &event.session {
                Some(session) => hash_of(&self.hasher, Some(session)),
                None => self.hasher.hash_one((piece.file, None::<&str>)),
            };
            self.step(piece, event, place as u32, hash);
        }
        decoded.events.clear();
        self.faults.extend(decoded.faults.drain(..).map(|fault| (piece.file, fault)));
        self.decoded = decoded;
        count
    }

    fn step(&mut self, piece: &Piece, event: &Event, place: u32, hash: u64) {
        let file = piece.file as u32;
        let of_file = (!piece.spans_files || event.session.is_none()).then_some(file);
        let session = self.session(hash, of_file, event.session.as_ref(), || {
            (Arc::clone(&event.source.file), (file, event.source.line, place))
        });
        let open = &mut self.sessions[session as usize];
        open.records.add(file, event.source.record);
        let place = (file, event.source.line, place);
        match (event.seq, &self.window) {
            (Some(number), Some(window)) if piece.spans_files && !open.numbers.admits(number) => {
                open.is_unordered = true;
                let waiting = Waiting { event: event.clone(), place };
                let turns = open.numbers.take(number, event.time, waiting, window);
                self.take_turns(session, turns, &event.source);
            }
            _ => self.read(session, event, place),
        }
    }

    /// Judges an event in its place.
    fn read(&mut self, session: u32, event: &Event, place: Place) {
        let open = &mut self.sessions[session as usize];
        self.judge.advance(&mut open.state, event);
        let name = || event.session.clone().unwrap_or_else(|| Text::new(&open.file));
        if let Some(history_event) = self.judge.last_history_event(&open.state, event, name, self.shows_content) {
            // Events of one session stay in their order, whatever their lines and times.
            open.latest = (open.latest.0.max(event.time), open.latest.1.max(place));
            let (time, order) = open.latest;
            self.seen.push(Seen { time, order, what: What::Happened(history_event) });
        }
    }

    /// Judges what could not be judged as it came. What is out of place was found out at an event of that source.
    #[inline(never)]
    fn take_turns(&mut self, session: u32, turns: Vec<Sequenced<Waiting>>, source: &Source) {
        for place in 0..turns.len() {
            let open = &mut self.sessions[session as usize];
            let mut note = |cause: GapCause, first: i64, last: i64, source: &Source| {
                open.gaps.push(Gap { cause, first, last, source: source.clone() });
            };
            match &turns[place] {
                Sequenced::Event(Waiting { event, place }) => self.read(session, event, *place),
                Sequenced::Late(Waiting { event, .. }) => {
                    let number = event.seq.unwrap_or_default();
                    note(GapCause::Late, number, number, &event.source);
                }
                Sequenced::Again(Waiting { event, .. }) => {
                    let number = event.seq.unwrap_or_default();
                    note(GapCause::Repeated, number, number, &event.source);
                }
                Sequenced::Missing(first, last) => {
                    note(GapCause::Missing, *first, *last, source);
                    let next = turns[place..].iter().find_map(|turn| match turn {
                        Sequenced::Event(waiting) => Some(waiting),
                        _ => None,
                    });
                    let count = last.abs_diff(*first).saturating_add(1);
                    self.judge.advance_missing(&mut open.state, count, next.and_then(|next| next.event.time));
                    if let (true, Some(next)) = (self.judge.has_shared_histories(), next) {
                        let (time, order) = (open.latest.0.max(next.event.time), open.latest.1.max(next.place));
                        self.seen.push(Seen { time, order, what: What::Missed(count) });
                    }
                }
            }
        }
    }

    /// Judges what still waits for events that did not come.
    pub(super) fn settle(&mut self) {
        for session in 0..self.sessions.len() {
            let turns = self.sessions[session].numbers.finish();
            let source = turns.iter().find_map(|turn| match turn {
                Sequenced::Event(waiting) => Some(waiting.event.source.clone()),
                _ => None,
            });
            self.take_turns(session as u32, turns, &source.unwrap_or_default());
        }
    }

    fn session(
        &mut self,
        hash: u64,
        file: Option<u32>,
        name: Option<&Text>,
        first: impl FnOnce() -> (Arc<str>, Place),
    ) -> u32 {
        let is_it = |open: &Open| open.key.file == file && open.key.name.as_ref() == name;
        if let Some((last, place)) = self.last
            && last == hash
            && is_it(&self.sessions[place as usize])
        {
            return place;
        }
        let places = self.places.entry(hash).or_default();
        let known = places.iter().copied().find(|place| is_it(&self.sessions[*place as usize]));
        let place = known.unwrap_or_else(|| {
            let place = self.sessions.len() as u32;
            places.push(place);
            let (named, order) = first();
            let key = Key { file, name: name.cloned() };
            let state = self.judge.start();
            self.sessions.push(Open {
                key,
                file: named,
                order,
                state,
                latest: Default::default(),
                records: Records::default(),
                numbers: ReorderBuffer::default(),
                gaps: Vec::new(),
                is_unordered: false,
            });
            place
        });
        self.last = Some((hash, place));
        place
    }

    /// Ends all sessions.
    pub(super) fn close(mut self, as_of: Option<Time>) -> Vec<Closed> {
        let mut closed = Vec::with_capacity(self.sessions.len());
        for mut open in std::mem::take(&mut self.sessions) {
            if let Some(now) = as_of {
                self.judge.advance_time(&mut open.state, now);
            }
            let mut is_suspect = open.gaps.iter().any(|gap| gap.cause == GapCause::Repeated);
            let outcomes = (0..open.state.violations().len()).map(|property| {
                let live = self.judge.verdict(&mut open.state, property);
                let verdict = self.judge.end(&mut open.state, property);
                let tally = open.state.violations()[property];
                is_suspect |= verdict == Verdict::Violated;
                let at_end = (verdict == Verdict::Violated).then_some(open.state.steps());
                PropertyOutcome {
                    verdict,
                    live: live != Verdict::Inconclusive,
                    violated_at_step: if tally.count > 0 { Some(tally.first) } else { at_end },
                    violations: tally.count.max(u32::from(verdict == Verdict::Violated)),
                }
            });
            let outcomes = outcomes.collect();
            let name = open.key.name.clone().unwrap_or_else(|| Text::new(&open.file));
            let report = SessionReport { name, file: open.file, steps: open.state.steps(), outcomes, gaps: open.gaps };
            closed.push(Closed {
                key: open.key,
                order: open.order,
                report,
                is_suspect,
                is_unordered: open.is_unordered,
                records: open.records,
            });
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_records_round_trip_compactly() {
        let mut records = Records::default();
        let added = [(0, 0), (0, 0), (0, 5), (0, 200), (0, 4_000_000_000), (2, 7), (2, 8), (3, 0)];
        for (file, index) in added {
            records.add(file, index);
        }
        let kept: Vec<_> = records.by_file().collect();
        assert_eq!(kept, [(0, vec![0, 5, 200, 4_000_000_000]), (2, vec![7, 8]), (3, vec![0])]);
    }
}
