//! A warden on a thread of its own.
//!
//! Questions that arrive while the warden is busy wait in a queue. The next batch takes all of them and commits once.
//! Notes are not urgent, so they wait for a moment: usually a decision arrives, and they are committed together with
//! it. An idle warden lets time pass.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use lictor_event::Event;
use lictor_judge::guard::{Guard, Preview, ReplyScores};
use lictor_judge::guidance::{Guidance, GuidanceQuery};
use lictor_ledger::Draft;
use lictor_logic::{Span, Time};
use lictor_policy::Property;
use lictor_store::Change;
use serde_json::{Map, Value as Json};

use super::{ReplyCallback, TICK_INTERVAL};
use crate::answer::{DecidedBatch, Notice, OpenQuestions, RefusedInput, WardenAnswer};
use crate::error::WardenError;
use crate::record;
use crate::versions::PolicyMoves;
use crate::warden::{LedgerWrite, Warden};

/// How many events one batch holds: all of a batch is durable at once, and answered at once.
const MAX_BATCH_EVENTS: usize = 512;

/// How long notes wait for a decision that they can be committed with.
const NOTE_LINGER_INTERVAL: Duration = Duration::from_millis(5);

/// The sender of questions.
#[derive(Clone)]
pub(super) struct Queue(Sender<Question>);

impl Queue {
    pub(super) fn ask(&self, question: Question) {
        // A closed handle drops questions together with their callbacks.
        let _ = self.0.send(question);
    }
}

pub(super) fn new() -> (Queue, Receiver<Question>) {
    let (questions, asked) = channel();
    (Queue(questions), asked)
}

/// Events to decide on, and the callback for their decisions.
pub(super) struct DecideRequest {
    pub(super) events: Vec<Event>,
    pub(super) extra: ExtraChangesCallback,
    pub(super) then: ReplyCallback<DecidedBatch>,
}

/// Returns the extra changes for decisions.
type ExtraChangesCallback = Box<dyn Fn(&[WardenAnswer]) -> Vec<Change> + Send>;

pub(super) enum Question {
    Decide(DecideRequest),
    Refuse(RefusedInput, ReplyCallback<()>),
    Note(Map<String, Json>, ReplyCallback<()>),
    Open(Vec<Event>, ReplyCallback<Vec<(Event, OpenQuestions)>>),
    Preview(Box<Event>, ReplyCallback<Preview>),
    Score(String, Vec<Vec<Event>>, ReplyCallback<ReplyScores>),
    Guide(String, Box<GuidanceQuery>, ReplyCallback<Guidance>),
    Objectives(String, ReplyCallback<Vec<Arc<Property>>>),
    ChangePolicy(Box<Guard>, String, ReplyCallback<PolicyMoves>),
    Finish(String, &'static str, ReplyCallback<Vec<Notice>>),
    Close,
}

/// Answers questions until the handle is closed. A panic affects only the current batch: its callbacks are not called,
/// and the state in memory is loaded again.
pub(super) fn keep_working(
    mut warden: Warden,
    asked: &Receiver<Question>,
    clock: &impl Fn() -> Time,
    mut on_notice: impl FnMut(Result<Notice, WardenError>),
) -> Result<(), WardenError> {
    while catch_unwind(AssertUnwindSafe(|| work(&mut warden, asked, clock, &mut on_notice))).is_err() {
        loop {
            match catch_unwind(AssertUnwindSafe(|| warden.start_over())) {
                Ok(Ok(())) => break,
                Ok(Err(error)) => on_notice(Err(error)),
                Err(_) => on_notice(Err(WardenError::Broken)),
            }
            // Until the state is loaded, questions are dropped, and so not answered.
            match asked.recv_timeout(TICK_INTERVAL) {
                Ok(Question::Close) | Err(RecvTimeoutError::Disconnected) => return warden.close(),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
    warden.close()
}

/// Answers questions until the handle is closed or all senders are dropped.
fn work(
    warden: &mut Warden,
    asked: &Receiver<Question>,
    clock: &impl Fn() -> Time,
    on_notice: &mut impl FnMut(Result<Notice, WardenError>),
) {
    let mut last_tick = clock();
    loop {
        let first = match asked.recv_timeout(TICK_INTERVAL) {
            Ok(question) => Some(question),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let nobody_asks = first.is_none();
        let mut batch = Batch::default();
        let mut next = first;
        while let Some(question) = next.take() {
            match question {
                Question::Decide(asked) => batch.decisions.push(asked),
                Question::Refuse(refused, then) => {
                    // A refusal after decisions starts another batch, so that answers keep the order of the questions.
                    if !batch.decisions.is_empty() {
                        std::mem::take(&mut batch).answer(warden, clock());
                    }
                    batch.refusals.push((warden.refusal(&refused, Some(clock())), then));
                }
                Question::Note(body, then) => {
                    let now = clock();
                    batch.lingers.get_or_insert(now.plus(Span(NOTE_LINGER_INTERVAL.as_nanos() as u64)));
                    batch.notes.push((record::note(body, Some(now)), then));
                }
                Question::Open(events, then) => {
                    // Like a preview, it depends on its session alone.
                    if events.iter().any(|event| batch.is_about(event.session.as_deref())) {
                        std::mem::take(&mut batch).answer(warden, clock());
                    }
                    let asked = warden.questions(&events).map_err(Arc::new);
                    then(asked.map(|asked| events.into_iter().zip(asked).collect()));
                }
                Question::Preview(event, then) => {
                    // A preview depends on its session alone, so it waits only for earlier decisions on that session.
                    if batch.is_about(event.session.as_deref()) {
                        std::mem::take(&mut batch).answer(warden, clock());
                    }
                    then(warden.preview(&event).map_err(Arc::new));
                }
                Question::Score(session, replies, then) => {
                    if batch.is_about(Some(&session)) {
                        std::mem::take(&mut batch).answer(warden, clock());
                    }
                    then(warden.score(&session, &replies).map_err(Arc::new));
                }
                Question::Guide(session, query, then) => {
                    if batch.is_about(Some(&session)) {
                        std::mem::take(&mut batch).answer(warden, clock());
                    }
                    then(warden.guide(&session, &query, Some(clock())).map_err(Arc::new));
                }
                Question::Objectives(session, then) => {
                    if batch.is_about(Some(&session)) {
                        std::mem::take(&mut batch).answer(warden, clock());
                    }
                    then(warden.objectives(&session).map_err(Arc::new));
                }
                Question::ChangePolicy(guard, fingerprint, then) => {
                    std::mem::take(&mut batch).answer(warden, clock());
                    then(warden.change_policy(*guard, fingerprint).map_err(Arc::new));
                }
                Question::Finish(session, cause, then) => {
                    std::mem::take(&mut batch).answer(warden, clock());
                    then(warden.finish_with_cause(&session, cause, clock()).map_err(Arc::new));
                }
                Question::Close => {
                    batch.answer(warden, clock());
                    return;
                }
            }
            next = batch.next(asked, clock);
        }
        batch.answer(warden, clock());
        let now = clock();
        if nobody_asks || now >= last_tick.plus(Span(TICK_INTERVAL.as_nanos() as u64)) {
            match warden.tick(now) {
                Ok(notices) => notices.into_iter().for_each(|notice| on_notice(Ok(notice))),
                Err(error) => on_notice(Err(error)),
            }
            last_tick = now;
        }
    }
}

/// Questions that are answered together.
#[derive(Default)]
struct Batch {
    decisions: Vec<DecideRequest>,
    /// Records that are committed together with those of the decisions.
    refusals: Vec<(Draft, ReplyCallback<()>)>,
    notes: Vec<(Draft, ReplyCallback<()>)>,
    /// The time until which notes may wait.
    lingers: Option<Time>,
}

impl Batch {
    /// Returns the next question for the batch. Waits for one if the batch has only notes.
    fn next(&self, asked: &Receiver<Question>, clock: &impl Fn() -> Time) -> Option<Question> {
        let events: usize = self.decisions.iter().map(|asked| asked.events.len()).sum();
        if events + self.refusals.len() + self.notes.len() >= MAX_BATCH_EVENTS {
            return None;
        }
        match self.lingers {
            Some(until) if self.decisions.is_empty() && self.refusals.is_empty() => {
                let left = u64::try_from(until.0.saturating_sub(clock().0)).unwrap_or(0);
                asked.recv_timeout(Duration::from_nanos(left).min(NOTE_LINGER_INTERVAL)).ok()
            }
            _ => asked.try_recv().ok(),
        }
    }

    /// Whether the batch has a decision on this session.
    fn is_about(&self, session: Option<&str>) -> bool {
        self.decisions.iter().flat_map(|asked| &asked.events).any(|event| event.session.as_deref() == session)
    }

    fn answer(self, warden: &mut Warden, now: Time) {
        // The ledger commits together the records that it gets together.
        let refusals = begin(warden, self.refusals);
        let notes = begin(warden, self.notes);
        end(warden, refusals);
        decide(warden, self.decisions, now);
        end(warden, notes);
    }
}

fn begin(warden: &Warden, records: Vec<(Draft, ReplyCallback<()>)>) -> Vec<(LedgerWrite, ReplyCallback<()>)> {
    records.into_iter().map(|(draft, then)| (warden.begin(draft), then)).collect()
}

fn end(warden: &mut Warden, begun: Vec<(LedgerWrite, ReplyCallback<()>)>) {
    begun.into_iter().for_each(|(begun, then)| then(warden.end(begun).map_err(Arc::new)));
}

/// Decides on the questions of a batch together. If that fails, decides on each alone: one must not fail the others.
fn decide(warden: &mut Warden, batch: Vec<DecideRequest>, now: Time) {
    if batch.is_empty() {
        return;
    }
    if batch.len() > 1 {
        let events: Vec<Event> = batch.iter().flat_map(|asked| &asked.events).cloned().collect();
        let extra = |answers: &[WardenAnswer]| {
            let mut rest = answers;
            let mut changes = Vec::new();
            for asked in &batch {
                let (own, others) = rest.split_at(asked.events.len().min(rest.len()));
                changes.extend((asked.extra)(own));
                rest = others;
            }
            changes
        };
        match warden.decide_together(&events, &extra, Some(now)) {
            Ok((answers, version)) => {
                let mut answers = answers.into_iter();
                for DecideRequest { events, then, .. } in batch {
                    then(Ok((answers.by_ref().take(events.len()).collect(), version)));
                }
                return;
            }
            // The decisions are saved, so a retry returns the same. No answer is given before the records are written.
            Err(error @ WardenError::Ledger(_)) => {
                let error = Arc::new(error);
                batch.into_iter().for_each(|asked| (asked.then)(Err(Arc::clone(&error))));
                return;
            }
            Err(_) => {}
        }
    }
    for DecideRequest { events, extra, then } in batch {
        then(warden.decide_with_extra(&events, &*extra, Some(now)).map_err(Arc::new));
    }
}
