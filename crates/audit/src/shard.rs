//! The sessions that one thread judges: finds the session of each event, and passes the event to its stages.

use std::hash::RandomState;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::AuditOptions;
use super::batch::{ShardItem, ShardedBatch, hash_session};
use super::closed_session::{ClosedSession, LogEnd, SessionKey};
use super::coverage::SeenFacts;
use super::join::JoinEntries;
use super::session::ask::AskStage;
use super::session::judge::JudgeStage;
use super::session::note::NoteStage;
use super::session::sequence::SequenceOptions;
use super::session::spool::SpoolStage;
use super::session::{OpenSession, SessionOrigin, SessionStages};
use super::shared_history::HistoryEntry;
use super::time_order::UnorderedSessions;
use lictor_decode::input::{Chunk, ChunkLine};
use lictor_decode::{DecodedEvents, Decoder, Fault, Format, LogNotes};
use lictor_event::Event;
use lictor_event::order::ReorderWindow;
use lictor_json::Text;
use lictor_judge::Judge;
use lictor_judge::session::SessionError;

/// The sessions that one thread judges.
pub(super) struct Shard {
    stages: SessionStages,
    sessions: SessionTable,
    /// How far numbered events may come out of order; none ignores the numbers.
    window: Option<ReorderWindow>,
    /// The entries of other systems, if there are any.
    joins: Option<Arc<JoinEntries>>,
    /// The decoder of lines, and its output buffer.
    decoder: Box<dyn Decoder>,
    decoded: DecodedEvents,
    /// What it found in the log beside its events.
    notes: ShardNotes,
    /// Why the judge refused a session, if it did: the audit fails then.
    failure: Option<SessionError>,
}

/// What a shard found in the log beside its events.
#[derive(Debug, Default)]
pub(super) struct ShardNotes {
    /// How many events each file has.
    pub(super) counts: Vec<u64>,
    /// The faults in lines, each with the number of its file.
    pub(super) faults: Vec<(usize, Fault)>,
    /// The sessions whose events are not in the order of their times.
    pub(super) unordered: UnorderedSessions,
    /// What the decoder noted of the lines.
    pub(super) log: LogNotes,
}

/// What a shard knows after the first pass.
pub(super) struct JudgedShard {
    pub(super) sessions: Vec<ClosedSession>,
    /// The facts and tools that its events had.
    pub(super) seen: SeenFacts,
    /// The events, if properties are judged over shared histories.
    pub(super) history: Vec<HistoryEntry>,
}

/// The sessions of a shard, found by their names.
struct SessionTable {
    sessions: Vec<OpenSession>,
    /// The indices of sessions, by the seeded hash of their names.
    places: FxHashMap<u64, Vec<u32>>,
    /// The session of the last event: events of one session mostly come together.
    last: Option<u32>,
    hasher: RandomState,
}

impl Shard {
    pub(super) fn new(
        judge: Judge,
        hasher: RandomState,
        options: &AuditOptions,
        joins: Option<Arc<JoinEntries>>,
    ) -> Shard {
        let stages = SessionStages {
            ask: AskStage::new(options.answers.clone()),
            note: NoteStage::new(&judge, options.content),
            judge: JudgeStage { judge },
            spool: SpoolStage::default(),
        };
        Shard {
            stages,
            sessions: SessionTable { sessions: Vec::new(), places: FxHashMap::default(), last: None, hasher },
            window: options.reorder,
            joins,
            decoder: Format::Native.decoder(),
            decoded: DecodedEvents::default(),
            notes: ShardNotes::default(),
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
        self.notes.count_events(piece.file, events);
        events
    }

    /// Takes what it found in the log beside its events.
    pub(super) fn take_notes(&mut self) -> ShardNotes {
        ShardNotes { log: self.decoder.take_notes().unwrap_or_default(), ..std::mem::take(&mut self.notes) }
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
        self.notes.faults.extend(decoded.faults.drain(..).map(|fault| (piece.file, fault)));
        self.decoded = decoded;
        count
    }

    /// Passes an event to the stages of its session.
    fn judge_event(&mut self, piece: &ShardedBatch, event: &Event, index: u32, hash: Option<u64>) {
        let place = (piece.file as u32, event.source.line, index);
        // Only native events are numbered, and the decoders of other formats watch their order themselves.
        let window = self.window.as_ref().filter(|_| piece.spans_files);
        let rules = SequenceOptions { window, joins: self.joins.as_deref() };
        let (log, name) = (piece.session_log(event), event.session.as_ref());
        let open = self.sessions.find(hash, log, name, || {
            let key = SessionKey { file: log, name: name.cloned() };
            let origin = SessionOrigin { key, file: Arc::clone(&event.source.file), order: place };
            OpenSession::start(origin, rules, &mut self.stages.judge.judge)
        });
        if let (true, None, Some(time)) = (piece.spans_files, event.seq, event.time)
            && open.time_order.add(time)
        {
            self.notes.unordered.note(piece.file, &event.source);
        }
        let judged = open.take(&mut self.stages, rules, event, place);
        self.note_failure(judged);
        if self.stages.spool.is_full() {
            let sessions = self.sessions.sessions.iter_mut();
            self.stages.spool.write_idle(sessions.filter_map(OpenSession::idle_sayings));
        }
    }

    #[inline]
    fn note_failure(&mut self, judged: Result<(), SessionError>) {
        if let Err(error) = judged {
            self.failure.get_or_insert(error);
        }
    }

    /// Judges the events that still wait for missing ones, and the entries of other systems after the last event.
    pub(super) fn release_waiting(&mut self) {
        let rules = SequenceOptions { window: self.window.as_ref(), joins: self.joins.as_deref() };
        for session in &mut self.sessions.sessions {
            if let Err(error) = session.release_waiting(&mut self.stages, rules) {
                self.failure.get_or_insert(error);
            }
        }
    }

    /// Ends all sessions and returns them with their outcomes.
    pub(super) fn close(mut self, end: LogEnd) -> Result<JudgedShard, SessionError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        for session in self.sessions.sessions.iter_mut().filter(|_| end != LogEnd::Cut) {
            session.ask_at_end(&mut self.stages)?;
        }
        let stages = &mut self.stages;
        let closed = self.sessions.sessions.into_iter().map(|session| session.close(stages, end));
        let sessions = closed.collect::<Result<_, SessionError>>()?;
        let (seen, history) = self.stages.note.into_parts();
        Ok(JudgedShard { sessions, seen, history })
    }
}

impl ShardNotes {
    fn count_events(&mut self, file: usize, events: u64) {
        if self.counts.len() <= file {
            self.counts.resize(file + 1, 0);
        }
        self.counts[file] += events;
    }
}

impl SessionTable {
    /// Returns the session of a log and a name, or starts it; `hash` is that of both, if it is known.
    fn find(
        &mut self,
        hash: Option<u64>,
        log: Option<u32>,
        name: Option<&Text>,
        start: impl FnOnce() -> OpenSession,
    ) -> &mut OpenSession {
        let is_it = |open: &OpenSession| open.origin.key.file == log && open.origin.key.name.as_ref() == name;
        let last = self.last.filter(|place| is_it(&self.sessions[*place as usize]));
        let place = last.unwrap_or_else(|| {
            let hash = hash.unwrap_or_else(|| hash_session(&self.hasher, log, name.map(Text::as_str)));
            let places = self.places.entry(hash).or_default();
            let known = places.iter().copied().find(|place| is_it(&self.sessions[*place as usize]));
            known.unwrap_or_else(|| {
                let place = self.sessions.len() as u32;
                places.push(place);
                self.sessions.push(start());
                place
            })
        });
        self.last = Some(place);
        &mut self.sessions[place as usize]
    }
}
