//! One session in the first pass, and the stages through which each of its events passes: `reorder` and `join` make the
//! sequence, `ask` and `judge` judge it, `note` keeps what its events had, `spool` what was said.
//!
//! Each stage owns its fields: those for all sessions of a thread, and those of one session.

pub(super) mod ask;
mod deferred;
mod join;
pub(super) mod judge;
pub(super) mod note;
pub(super) mod reorder;
pub(super) mod sequence;
pub(super) mod spool;

use std::borrow::Cow;
use std::sync::Arc;

use lictor_event::Event;
use lictor_event::order::GapCause;
use lictor_json::Text;
use lictor_judge::session::SessionError;
use lictor_judge::{Judge, SessionState};
use lictor_logic::Verdict;

use self::ask::{AskStage, AskedAbout, SessionQuestions};
use self::deferred::WantedAnswers;
use self::judge::JudgeStage;
use self::note::{NoteStage, SessionNotes};
use self::sequence::{SequenceOptions, SessionSequence, SessionStep, StepSink};
use self::spool::{SessionSayings, SpoolStage};
use crate::closed_session::{ClosedSession, EventPlace, LogEnd, SessionKey};
use crate::join::JoinEntries;
use crate::report::SessionReport;
use crate::session_records::SessionRecords;
use crate::time_order::TimeOrder;

/// The stages after the sequence, for all sessions of a thread.
pub(super) struct SessionStages {
    pub(super) ask: AskStage,
    pub(super) judge: JudgeStage,
    pub(super) note: NoteStage,
    pub(super) spool: SpoolStage,
}

/// Where a session begins, and what it is called.
#[derive(Debug)]
pub(super) struct SessionOrigin {
    pub(super) key: SessionKey,
    pub(super) file: Arc<str>,
    /// The place of its first event.
    pub(super) order: EventPlace,
}

/// A session whose events are judged.
pub(super) struct OpenSession {
    pub(super) origin: SessionOrigin,
    records: SessionRecords,
    /// Whether its times follow the order of the log.
    pub(super) time_order: TimeOrder,
    sequence: SessionSequence<'static, EventPlace>,
    standing: SessionStanding,
}

/// What the stages after the sequence know of a session.
struct SessionStanding {
    state: SessionState,
    questions: SessionQuestions,
    notes: SessionNotes,
    sayings: SessionSayings,
}

impl SessionOrigin {
    /// Returns its name, or that of its file.
    fn title(&self) -> Text {
        self.key.name.clone().unwrap_or_else(|| Text::new(&self.file))
    }
}

impl OpenSession {
    /// Returns a session before its first event.
    pub(super) fn start(origin: SessionOrigin, rules: SequenceOptions<'_>, judge: &mut Judge) -> OpenSession {
        let standing = SessionStanding {
            state: judge.start(),
            questions: SessionQuestions::default(),
            notes: SessionNotes::default(),
            sayings: SessionSayings::default(),
        };
        let sequence = SessionSequence::new(rules, || origin.title());
        let (records, time_order) = (SessionRecords::default(), TimeOrder::default());
        OpenSession { origin, records, time_order, sequence, standing }
    }

    /// Judges the next event of the log.
    #[inline]
    pub(super) fn take(
        &mut self,
        stages: &mut SessionStages,
        rules: SequenceOptions<'_>,
        event: &Event,
        place: EventPlace,
    ) -> Result<(), SessionError> {
        self.records.add(place.0, event.source.record);
        let mut run = StageRun { stages, origin: &self.origin, standing: &mut self.standing, joins: rules.joins };
        self.sequence.take(rules, event, place, |event| Cow::Owned(event.clone()), &mut run)
    }

    /// Judges the events that still wait for missing ones, and the entries of other systems after the last event.
    pub(super) fn release_waiting(
        &mut self,
        stages: &mut SessionStages,
        rules: SequenceOptions<'_>,
    ) -> Result<(), SessionError> {
        let mut run = StageRun { stages, origin: &self.origin, standing: &mut self.standing, joins: rules.joins };
        let unplaced = self.sequence.finish(rules, |run| run.standing.notes.last_place(), &mut run)?;
        if let Some(joins) = rules.joins {
            unplaced.iter().for_each(|number| joins.note_lack_of_times(*number));
        }
        Ok(())
    }

    /// Asks what becomes of the session at its end, if questions wait.
    pub(super) fn ask_at_end(&mut self, stages: &mut SessionStages) -> Result<(), SessionError> {
        if !self.standing.questions.is_waiting() {
            return Ok(());
        }
        let unknown = stages.judge.judge.find_unknown_ends(&mut self.standing.state)?;
        if unknown.is_empty() {
            return Ok(());
        }
        let mut run = StageRun { stages, origin: &self.origin, standing: &mut self.standing, joins: None };
        run.ask_deferred(WantedAnswers::AtEnd(unknown))
    }

    /// Ends the session and returns it with its outcomes.
    pub(super) fn close(mut self, stages: &mut SessionStages, end: LogEnd) -> Result<ClosedSession, SessionError> {
        let outcomes = stages.judge.close(&mut self.standing.state, end)?;
        let (name, is_unordered, gaps) = (self.origin.title(), self.sequence.is_unordered(), self.sequence.into_gaps());
        let is_suspect = gaps.iter().any(|gap| gap.cause == GapCause::Repeated)
            || outcomes.iter().any(|outcome| outcome.verdict == Verdict::Violated);
        let SessionOrigin { key, file, order } = self.origin;
        let report = SessionReport { name, file, steps: self.standing.state.steps(), outcomes, gaps };
        let has_facts = self.standing.notes.has_facts();
        // Only what is replayed is read again.
        let records = if is_suspect { self.records } else { SessionRecords::default() };
        Ok(ClosedSession { key, order, report, is_suspect, is_unordered, has_facts, records })
    }

    /// Returns the sayings that can be written to the file, with the state that they belong to.
    pub(super) fn idle_sayings(&mut self) -> Option<(&mut SessionSayings, &mut SessionState)> {
        // The copy that questions wait for holds its sayings, too.
        let SessionStanding { state, questions, sayings, .. } = &mut self.standing;
        (!questions.is_waiting()).then_some((sayings, state))
    }
}

/// The stages at work on one session.
struct StageRun<'a> {
    stages: &'a mut SessionStages,
    origin: &'a SessionOrigin,
    standing: &'a mut SessionStanding,
    joins: Option<&'a JoinEntries>,
}

impl StepSink<EventPlace> for StageRun<'_> {
    #[inline]
    fn judge(&self) -> &Judge {
        &self.stages.judge.judge
    }

    #[inline]
    fn take_step(&mut self, step: SessionStep<'_, EventPlace>) -> Result<(), SessionError> {
        match step {
            SessionStep::Event(event, place) => self.judge_event(event, (place, None)),
            SessionStep::Joined(number, place) => {
                let Some(joins) = self.joins else { return Ok(()) };
                joins.note_joined(number);
                self.judge_event(joins.event(number), (place, Some(number)))
            }
            SessionStep::Missing(count, next) => self.miss(count, next),
            SessionStep::Late(_) | SessionStep::Again(_) => Ok(()),
        }
    }
}

impl StageRun<'_> {
    /// Judges an event in its place, with the number of the entry that it is, if it comes from another system.
    #[inline]
    fn judge_event(&mut self, event: &Event, place: (EventPlace, Option<u32>)) -> Result<(), SessionError> {
        let standing = &mut *self.standing;
        self.stages.spool.load(&mut standing.sayings, &mut standing.state);
        if self.stages.ask.is_idle() {
            self.stages.judge.advance(&mut standing.state, event)?;
            self.note(event, place);
        } else {
            self.judge_asking(event, place)?;
        }
        let standing = &mut *self.standing;
        self.stages.spool.count(&mut standing.sayings, &standing.state);
        Ok(())
    }

    /// Judges an event with the answers of labelers, and asks for those that are wanted.
    #[inline(never)]
    fn judge_asking(&mut self, event: &Event, place: (EventPlace, Option<u32>)) -> Result<(), SessionError> {
        let name = self.origin.title();
        let about = AskedAbout { file: &self.origin.file, name: &name };
        let SessionStanding { state, questions, .. } = &mut *self.standing;
        let SessionStages { ask, judge, .. } = &mut *self.stages;
        let (event, wanted) = ask.advance(&mut judge.judge, (about, questions), state, event)?;
        self.note(&event, place);
        wanted.map_or(Ok(()), |wanted| self.ask_deferred(wanted))
    }

    #[inline]
    fn note(&mut self, event: &Event, place: (EventPlace, Option<u32>)) {
        let SessionStanding { state, notes, .. } = &mut *self.standing;
        let judge = &self.stages.judge.judge;
        self.stages.note.note_event(judge, (state, notes), event, place, || self.origin.title());
    }

    /// Asks about events whose questions wait.
    fn ask_deferred(&mut self, wanted: WantedAnswers) -> Result<(), SessionError> {
        let name = self.origin.title();
        let about = AskedAbout { file: &self.origin.file, name: &name };
        let SessionStanding { state, questions, notes, .. } = &mut *self.standing;
        let SessionStages { ask, judge, note, .. } = &mut *self.stages;
        let mut note_answers = |judge: &Judge, event: &Event| note.note_answers(judge, notes, event);
        ask.ask_deferred(&mut judge.judge, (about, questions), state, wanted, &mut note_answers)
    }

    /// Judges missing events before an event, if one follows.
    fn miss(&mut self, count: u64, next: Option<(&Event, EventPlace)>) -> Result<(), SessionError> {
        self.stages.spool.load(&mut self.standing.sayings, &mut self.standing.state);
        // What is missing may be anything, so that nothing before it becomes known later.
        self.ask_deferred(WantedAnswers::Oldest(0))?;
        let SessionStanding { state, notes, .. } = &mut *self.standing;
        let time = next.and_then(|(event, _)| event.time);
        self.stages.judge.miss(state, count, time)?;
        if let Some((_, place)) = next {
            self.stages.note.note_missing(&self.stages.judge.judge, notes, count, (time, place));
        }
        Ok(())
    }
}
