//! The sessions that one thread judges.

use std::borrow::Cow;
use std::hash::RandomState;
use std::sync::Arc;

use lictor_logic::{Time, Verdict};
use rustc_hash::FxHashMap;

use super::AuditOptions;
use super::answers::AnswerBook;
use super::batch::{ShardItem, ShardedBatch, hash_session};
use super::closed_session::{ClosedSession, EventPlace, SessionKey};
use super::coverage::SeenFacts;
use super::deferred::{DeferredEvents, LEFT_EVENTS, SessionAsker, WantedAnswers};
use super::join::{JoinCursor, JoinEntries};
use super::sayings_spool::{MAX_RESIDENT_BYTES, SayingsSpool, SpooledSayings};
use super::session_records::SessionRecords;
use super::shared_history::{HistoryChange, HistoryEntry};
use super::time_order::{TimeOrder, UnorderedSessions};
use crate::report::{PropertyOutcome, SessionReport};
use lictor_decode::input::{Chunk, ChunkLine};
use lictor_decode::{DecodedEvents, Decoder, Fault, Format, LogNotes};
use lictor_event::order::{Gap, GapCause, ReorderBuffer, ReorderWindow, SequenceStep};
use lictor_event::{Event, Source};
use lictor_json::Text;
use lictor_judge::session::SessionError;
use lictor_judge::{HistoryTimes, Judge, SessionState};

/// The sessions that one thread judges.
pub(super) struct Shard {
    judge: Judge,
    shows_content: bool,
    /// How far numbered events may come out of order; none ignores the numbers.
    window: Option<ReorderWindow>,
    /// The entries of other systems, if there are any.
    joins: Option<Arc<JoinEntries>>,
    /// The answers of labelers, if some are known or asked for.
    answers: Option<Arc<AnswerBook>>,
    sessions: Vec<OpenSession>,
    /// The indices of sessions, by the seeded hash of their names.
    places: FxHashMap<u64, Vec<u32>>,
    /// The session of the last event: events of one session mostly come together.
    last: Option<u32>,
    hasher: RandomState,
    /// The decoder of lines, and its output buffer.
    decoder: Box<dyn Decoder>,
    decoded: DecodedEvents,
    /// How many events each file has.
    pub(super) counts: Vec<u64>,
    /// The faults in lines, each with the number of its file.
    pub(super) faults: Vec<(usize, Fault)>,
    /// The sessions whose events are not in the order of their times.
    pub(super) unordered: UnorderedSessions,
    /// The events, if properties are judged over shared histories.
    pub(super) history: Vec<HistoryEntry>,
    spool: SayingsSpool,
    /// How many bytes of sayings are in memory.
    resident: usize,
    /// Counts events, to find the sessions that were idle longest.
    turn: u64,
    /// The facts and tools that its events had.
    pub(super) seen: SeenFacts,
    /// Why the judge refused a session, if it did: the audit fails then.
    failure: Option<SessionError>,
}

struct OpenSession {
    key: SessionKey,
    file: Arc<str>,
    order: EventPlace,
    state: SessionState,
    /// Its latest times in the histories across sessions.
    times: HistoryTimes,
    /// The last place of an event.
    last_place: EventPlace,
    time_order: TimeOrder,
    /// The entries of other systems that are joined to it.
    join: Option<Box<JoinCursor>>,
    records: SessionRecords,
    numbers: ReorderBuffer<EarlyEvent>,
    gaps: Vec<Gap>,
    /// Whether some event was out of order.
    is_unordered: bool,
    /// The events that questions to labelers may look back at.
    recent: Vec<Event>,
    /// The last events, if questions about them wait.
    deferred: Option<Box<DeferredEvents>>,
    /// Whether some event had a fact that a property asks for.
    has_facts: bool,
    /// How many bytes its sayings take in memory, and where they are if they are not.
    sayings: usize,
    spooled: Option<SpooledSayings>,
    /// The turn of its last event.
    used: u64,
}

/// An event that arrived before its predecessors.
#[derive(Clone, Debug)]
struct EarlyEvent {
    event: Event,
    place: EventPlace,
}

impl OpenSession {
    /// Returns its name, or that of its file.
    fn title(&self) -> Text {
        self.key.name.clone().unwrap_or_else(|| Text::new(&self.file))
    }
}

impl Shard {
    pub(super) fn new(
        judge: Judge,
        hasher: RandomState,
        options: &AuditOptions,
        joins: Option<Arc<JoinEntries>>,
    ) -> Shard {
        Shard {
            seen: SeenFacts::new(&judge),
            judge,
            spool: SayingsSpool::default(),
            resident: 0,
            turn: 0,
            shows_content: options.content,
            window: options.reorder,
            joins,
            answers: options.answers.clone(),
            sessions: Vec::new(),
            places: FxHashMap::default(),
            last: None,
            hasher,
            decoder: Format::Native.decoder(),
            decoded: DecodedEvents::default(),
            counts: Vec::new(),
            faults: Vec::new(),
            unordered: UnorderedSessions::default(),
            history: Vec::new(),
            failure: None,
        }
    }

    /// Judges this shard's part of a batch; returns the number of events.
    pub(super) fn judge_batch(&mut self, piece: &ShardedBatch, shard: usize) -> u64 {
        let mut events = 0;
        match (piece.shard_items.get(shard), &piece.lines) {
            (Some(shares), lines) => {
                for share in shares {
                    match (share, lines) {
                        (ShardItem::Event(place, hash), _) => {
                            self.judge_event(piece, &piece.events[*place as usize], *place, Some(*hash));
                            events += 1;
                        }
                        (ShardItem::Line(line, hash), Some(chunk)) => {
                            events += self.judge_line(piece, chunk, line, Some(*hash));
                        }
                        (ShardItem::Line(..), None) => {}
                    }
                }
            }
            (None, Some(chunk)) => {
                for line in chunk.lines() {
                    events += self.judge_line(piece, chunk, &line, None);
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

    /// Takes what its decoder noted of the lines.
    pub(super) fn take_notes(&mut self) -> LogNotes {
        self.decoder.take_notes().unwrap_or_default()
    }

    /// Decodes and judges a line, with the hash of its session if that is known.
    fn judge_line(&mut self, piece: &ShardedBatch, chunk: &Chunk, line: &ChunkLine, hash: Option<u64>) -> u64 {
        let mut decoded = std::mem::take(&mut self.decoded);
        chunk.decode_line(line, self.decoder.as_mut(), &mut decoded);
        let count = decoded.events.len() as u64;
        for (place, event) in decoded.events.iter().enumerate() {
            self.judge_event(piece, event, place as u32, hash);
        }
        decoded.events.clear();
        self.faults.extend(decoded.faults.drain(..).map(|fault| (piece.file, fault)));
        self.decoded = decoded;
        count
    }

    fn judge_event(&mut self, piece: &ShardedBatch, event: &Event, place: u32, hash: Option<u64>) {
        let file = piece.file as u32;
        let session = self.find_session(hash, piece.session_log(event), event.session.as_ref(), || {
            (Arc::clone(&event.source.file), (file, event.source.line, place))
        });
        let open = &mut self.sessions[session as usize];
        open.records.add(file, event.source.record);
        // The decoders of other formats watch their order themselves.
        if let (true, None, Some(time)) = (piece.spans_files, event.seq, event.time)
            && open.time_order.add(time)
        {
            self.unordered.note(piece.file, &event.source);
        }
        let place = (file, event.source.line, place);
        match (event.seq, &self.window) {
            (Some(number), Some(window)) if piece.spans_files && !open.numbers.admits(number) => {
                open.is_unordered = true;
                let waiting = EarlyEvent { event: event.clone(), place };
                let turns = open.numbers.take(number, event.time, waiting, window);
                self.take_turns(session, turns, &event.source);
            }
            _ => self.advance_session(session, event, place),
        }
    }

    /// Judges an event in its place, after the entries of other systems that come before it.
    fn advance_session(&mut self, session: u32, event: &Event, place: EventPlace) {
        if let Some(joins) = self.joins.take() {
            let cursor = self.sessions[session as usize].join.as_mut();
            let due = cursor.map(|cursor| cursor.take_before(&joins, &self.judge, event)).unwrap_or_default();
            self.judge_joined(session, &joins, &due, place);
            self.joins = Some(joins);
        }
        self.judge_in_place(session, event, place, None);
    }

    /// Judges entries of other systems as events of a session.
    fn judge_joined(&mut self, session: u32, joins: &JoinEntries, numbers: &[u32], place: EventPlace) {
        for number in numbers {
            joins.note_joined(*number);
            self.judge_in_place(session, joins.event(*number), place, Some(*number));
        }
    }

    /// Judges an event in its place; `joined` is the number of the entry that it is, if it comes from another system.
    fn judge_in_place(&mut self, session: u32, event: &Event, place: EventPlace, joined: Option<u32>) {
        self.load_sayings(session);
        let judged = match self.answers.clone() {
            None => self
                .judge
                .advance(&mut self.sessions[session as usize].state, event)
                .map(|()| self.note_judged(session, event, place, joined)),
            Some(answers) => self.judge_asking(&answers, session, event, place, joined),
        };
        if let Err(error) = judged {
            self.failure.get_or_insert(error);
            return;
        }
        self.count_sayings(session);
    }

    /// Judges an event with the answers of labelers, and asks for those that are wanted.
    #[inline(never)]
    fn judge_asking(
        &mut self,
        answers: &AnswerBook,
        session: u32,
        event: &Event,
        place: EventPlace,
        joined: Option<u32>,
    ) -> Result<(), SessionError> {
        let (event, wanted) = self.advance_asking(answers, session, event)?;
        self.note_judged(session, &event, place, joined);
        if let Some(wanted) = wanted
            && let Err(error) = self.ask_deferred(answers, session, wanted)
        {
            self.failure.get_or_insert(error);
        }
        Ok(())
    }

    /// Notes what an event that was judged last has, for the coverage and for histories across sessions.
    fn note_judged(&mut self, session: u32, event: &Event, place: EventPlace, joined: Option<u32>) {
        let open = &mut self.sessions[session as usize];
        self.seen.note(&self.judge, event);
        open.has_facts = open.has_facts || self.seen.is_asked(&self.judge);
        let name = || open.key.name.clone().unwrap_or_else(|| Text::new(&open.file));
        if let Some(history_event) = self.judge.last_history_event(&open.state, event, name, self.shows_content) {
            // Events of one session stay in their order, independent of lines and times.
            open.last_place = open.last_place.max(place);
            let order = open.last_place;
            for (time, event) in open.times.place_event(history_event) {
                self.history.push(HistoryEntry { time, order, joined, change: HistoryChange::Event(event) });
            }
        }
    }

    /// Judges an event with the answers of labelers, as far as they are known or cannot wait. Returns the event as it was
    /// judged, and what has to be asked about the events before it.
    fn advance_asking<'e>(
        &mut self,
        answers: &AnswerBook,
        session: u32,
        event: &'e Event,
    ) -> Result<(Cow<'e, Event>, Option<WantedAnswers>), SessionError> {
        let judge = &mut self.judge;
        let open = &mut self.sessions[session as usize];
        let name = open.title();
        let asker = SessionAsker { answers, file: &open.file, session: &name, window: judge.question_window() };
        let step = open.state.steps() + 1;
        let mut event = answers.add_known(&asker.key(step), event);
        let urgent = judge.urgent_questions(&open.state, &event)?;
        if urgent.iter().any(|question| answers.can_ask(question)) {
            asker.ask_about(step, event.to_mut(), &open.recent, urgent);
        }
        if open.deferred.is_none() {
            let waiting = judge.questions(&open.state, &event)?;
            if !waiting.iter().any(|question| answers.can_ask(question)) {
                judge.advance(&mut open.state, &event)?;
                asker.remember(&mut open.recent, &event);
                return Ok((event, None));
            }
            open.deferred = Some(Box::new(DeferredEvents::new(open.state.clone(), open.recent.clone())));
        }
        let before = open.state.clone();
        let mut doubts = judge.advance_doubtful(&mut open.state, &event)?;
        // Mostly the event itself says what is not known about it.
        if !doubts.is_empty() && asker.ask_event(judge, (&before, &open.recent), event.to_mut(), &doubts, &doubts)? {
            open.state = before;
            doubts = judge.advance_doubtful(&mut open.state, &event)?;
        }
        asker.remember(&mut open.recent, &event);
        let mut wanted = (!doubts.is_empty()).then_some(WantedAnswers::AtLastEvent(doubts));
        if let Some(deferred) = &mut open.deferred {
            deferred.push(event.clone().into_owned());
            if wanted.is_none() && deferred.is_full() {
                wanted = Some(WantedAnswers::Oldest(LEFT_EVENTS));
            }
        }
        Ok((event, wanted))
    }

    /// Asks about events whose questions wait.
    fn ask_deferred(&mut self, answers: &AnswerBook, session: u32, wanted: WantedAnswers) -> Result<(), SessionError> {
        let open = &mut self.sessions[session as usize];
        let Some(deferred) = open.deferred.take() else { return Ok(()) };
        let name = open.title();
        let asker = SessionAsker { answers, file: &open.file, session: &name, window: self.judge.question_window() };
        let (seen, has_facts) = (&mut self.seen, &mut open.has_facts);
        let mut note = |judge: &Judge, event: &Event| {
            seen.note_answers(judge, event);
            *has_facts |= seen.is_asked(judge);
        };
        let asked = deferred.ask(&mut self.judge, &asker, wanted, &mut note)?;
        (open.state, open.deferred) = (asked.state, asked.deferred);
        Ok(())
    }

    /// Judges events that were held back, and records gaps, which were detected at an event of that source.
    #[inline(never)]
    fn take_turns(&mut self, session: u32, turns: Vec<SequenceStep<EarlyEvent>>, source: &Source) {
        for place in 0..turns.len() {
            let open = &mut self.sessions[session as usize];
            let mut note = |cause: GapCause, first: i64, last: i64, source: &Source| {
                open.gaps.push(Gap { cause, first, last, source: source.clone() });
            };
            match &turns[place] {
                SequenceStep::Event(EarlyEvent { event, place }) => self.advance_session(session, event, *place),
                SequenceStep::Late(EarlyEvent { event, .. }) => {
                    let number = event.seq.unwrap_or_default();
                    note(GapCause::Late, number, number, &event.source);
                }
                SequenceStep::Again(EarlyEvent { event, .. }) => {
                    let number = event.seq.unwrap_or_default();
                    note(GapCause::Repeated, number, number, &event.source);
                }
                SequenceStep::Missing(first, last) => {
                    note(GapCause::Missing, *first, *last, source);
                    let next = turns[place..].iter().find_map(|turn| match turn {
                        SequenceStep::Event(waiting) => Some(waiting),
                        _ => None,
                    });
                    let count = last.abs_diff(*first).saturating_add(1);
                    self.load_sayings(session);
                    // What is missing may be anything, so that nothing before it becomes known later.
                    if let Some(answers) = self.answers.clone()
                        && let Err(error) = self.ask_deferred(&answers, session, WantedAnswers::Oldest(0))
                    {
                        self.failure.get_or_insert(error);
                        return;
                    }
                    let open = &mut self.sessions[session as usize];
                    let missed =
                        self.judge.advance_missing(&mut open.state, count, next.and_then(|next| next.event.time));
                    if let Err(error) = missed {
                        self.failure.get_or_insert(error);
                        return;
                    }
                    if let (true, Some(next)) = (self.judge.has_shared_histories(), next) {
                        let (time, order) = (open.times.place_gap(next.event.time), open.last_place.max(next.place));
                        let change = HistoryChange::Missing(count);
                        self.history.push(HistoryEntry { time, order, joined: None, change });
                    }
                }
            }
        }
    }

    /// Judges the events that still wait for missing ones, and the entries of other systems after the last event.
    pub(super) fn release_waiting(&mut self) {
        for session in 0..self.sessions.len() {
            let turns = self.sessions[session].numbers.finish();
            let source = turns.iter().find_map(|turn| match turn {
                SequenceStep::Event(waiting) => Some(waiting.event.source.clone()),
                _ => None,
            });
            self.take_turns(session as u32, turns, &source.unwrap_or_default());
            let open = &mut self.sessions[session];
            if let (Some(joins), Some(cursor)) = (self.joins.take(), &mut open.join) {
                let (left, place) = (cursor.finish(), open.last_place);
                left.unplaced.iter().for_each(|number| joins.note_lack_of_times(*number));
                self.judge_joined(session as u32, &joins, &left.after, place);
                self.joins = Some(joins);
            }
        }
    }

    /// Reads the sayings of a session that are in the file.
    fn load_sayings(&mut self, session: u32) {
        let open = &mut self.sessions[session as usize];
        if let Some(spooled) = open.spooled.take() {
            // What cannot be read is unknown, and so is every source of an argument then.
            open.state.restore_sayings(&self.spool.read(spooled).unwrap_or_default());
        }
    }

    /// Counts the sayings of a session in memory, and writes those of idle sessions to the file if they are too many.
    #[inline]
    fn count_sayings(&mut self, session: u32) {
        self.turn += 1;
        let open = &mut self.sessions[session as usize];
        open.used = self.turn;
        let size = open.state.sayings_size();
        if size != open.sayings {
            self.resident = self.resident + size - open.sayings;
            open.sayings = size;
            if self.resident > MAX_RESIDENT_BYTES {
                self.spool_idle();
            }
        }
    }

    /// Writes the sayings of the sessions that were idle longest to the file, until half of the memory is free.
    #[inline(never)]
    fn spool_idle(&mut self) {
        // The copy that questions wait for holds its sayings, too.
        let can_be = |open: &OpenSession| open.sayings > 0 && open.deferred.is_none();
        let mut idle: Vec<usize> = (0..self.sessions.len()).filter(|place| can_be(&self.sessions[*place])).collect();
        idle.sort_unstable_by_key(|place| self.sessions[*place].used);
        for place in idle {
            let open = &mut self.sessions[place];
            if self.resident <= MAX_RESIDENT_BYTES / 2 || open.used == self.turn {
                return;
            }
            let bytes = open.state.take_sayings();
            match self.spool.write(&bytes) {
                Ok(spooled) => {
                    open.spooled = Some(spooled);
                    self.resident -= std::mem::take(&mut open.sayings);
                }
                // Without room on disk they stay in memory.
                Err(_) => return open.state.restore_sayings(&bytes),
            }
        }
    }

    fn find_session(
        &mut self,
        hash: Option<u64>,
        file: Option<u32>,
        name: Option<&Text>,
        first: impl FnOnce() -> (Arc<str>, EventPlace),
    ) -> u32 {
        let is_it = |open: &OpenSession| open.key.file == file && open.key.name.as_ref() == name;
        if let Some(place) = self.last.filter(|place| is_it(&self.sessions[*place as usize])) {
            return place;
        }
        let hash = hash.unwrap_or_else(|| hash_session(&self.hasher, file, name.map(Text::as_str)));
        let places = self.places.entry(hash).or_default();
        let known = places.iter().copied().find(|place| is_it(&self.sessions[*place as usize]));
        let place = known.unwrap_or_else(|| {
            let place = self.sessions.len() as u32;
            places.push(place);
            let (named, order) = first();
            let key = SessionKey { file, name: name.cloned() };
            let state = self.judge.start();
            let title = || name.cloned().unwrap_or_else(|| Text::new(&named));
            let join = self.joins.as_ref().map(|joins| Box::new(JoinCursor::new(joins, title())));
            self.sessions.push(OpenSession {
                key,
                file: named,
                order,
                state,
                times: HistoryTimes::default(),
                last_place: EventPlace::default(),
                time_order: TimeOrder::default(),
                join,
                records: SessionRecords::default(),
                numbers: ReorderBuffer::default(),
                gaps: Vec::new(),
                is_unordered: false,
                recent: Vec::new(),
                deferred: None,
                has_facts: false,
                sayings: 0,
                spooled: None,
                used: 0,
            });
            place
        });
        self.last = Some(place);
        place
    }

    /// Ends all sessions and returns them with their outcomes.
    pub(super) fn close_sessions(mut self, as_of: Option<Time>) -> Result<Vec<ClosedSession>, SessionError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut closed = Vec::with_capacity(self.sessions.len());
        for session in 0..self.sessions.len() {
            let open = &mut self.sessions[session];
            if let (Some(answers), true) = (self.answers.clone(), open.deferred.is_some()) {
                let unknown = self.judge.find_unknown_ends(&mut open.state)?;
                if !unknown.is_empty() {
                    self.ask_deferred(&answers, session as u32, WantedAnswers::AtEnd(unknown))?;
                }
            }
        }
        for mut open in std::mem::take(&mut self.sessions) {
            if let Some(now) = as_of {
                self.judge.advance_time(&mut open.state, now)?;
            }
            let mut is_suspect = open.gaps.iter().any(|gap| gap.cause == GapCause::Repeated);
            let outcomes = (0..open.state.violations().len()).map(|property| {
                let live = self.judge.verdict(&mut open.state, property)?;
                let verdict = self.judge.end(&mut open.state, property)?;
                let tally = open.state.violations()[property];
                let is_owed = match tally.count {
                    0 => verdict == Verdict::Violated,
                    _ => self.judge.is_owed(&mut open.state, property)?,
                };
                is_suspect |= verdict == Verdict::Violated;
                let at_end = (verdict == Verdict::Violated).then_some(open.state.steps());
                Ok(PropertyOutcome {
                    verdict,
                    live: live != Verdict::Inconclusive,
                    violated_at_step: if tally.count > 0 { Some(tally.first) } else { at_end },
                    violations: tally.count + u32::from(is_owed),
                    is_judged: true,
                })
            });
            let outcomes = outcomes.collect::<Result<_, SessionError>>()?;
            let name = open.title();
            let report = SessionReport { name, file: open.file, steps: open.state.steps(), outcomes, gaps: open.gaps };
            closed.push(ClosedSession {
                key: open.key,
                order: open.order,
                report,
                is_suspect,
                is_unordered: open.is_unordered,
                has_facts: open.has_facts,
                records: open.records,
            });
        }
        Ok(closed)
    }
}
