//! A warden for concurrent callers, which also lets time pass.
//!
//! If a decision is durable only after a disk or a server has confirmed it, the warden has a [thread of its
//! own](queue), which commits all waiting decisions together. Otherwise callers [call it directly](direct): to wake a
//! thread would take longer than to decide. In both modes deadlines fire without an event.

mod direct;
mod queue;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use lictor_event::Event;
use lictor_judge::guard::{Guard, Preview, ReplyScores};
use lictor_judge::guidance::{Guidance, GuidanceQuery};
use lictor_logic::Time;
use lictor_policy::Property;
use lictor_store::Change;
use serde_json::{Map, Value as Json};

use crate::answer::{DecidedBatch, Notice, OpenQuestions, RefusedInput, WardenAnswer};
use crate::error::WardenError;
use crate::versions::PolicyMoves;
use crate::warden::Warden;
use direct::Direct;
use queue::{DecideRequest, Question, Queue};

/// The interval between two ticks.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// A handle that many callers share. Cheap to clone; [`close`](WardenHandle::close) closes it.
#[derive(Clone)]
pub struct WardenHandle {
    mode: Mode,
    thread: Arc<Mutex<Option<Worker>>>,
}

/// How callers reach the warden.
#[derive(Clone)]
enum Mode {
    Queue(Queue),
    Direct(Arc<Direct>),
}

/// The thread of a handle; it returns whether everything was written at the end.
type Worker = JoinHandle<Result<(), WardenError>>;

type ReplyCallback<T> = Box<dyn FnOnce(Result<T, Arc<WardenError>>) + Send>;

impl fmt::Debug for WardenHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WardenHandle").finish_non_exhaustive()
    }
}

impl WardenHandle {
    /// Opens a handle. `clock` returns the time; `on_notice` is called with each notice, on the thread of the handle.
    pub fn open(
        warden: Warden,
        clock: impl Fn() -> Time + Send + Sync + 'static,
        on_notice: impl FnMut(Result<Notice, WardenError>) + Send + 'static,
    ) -> Result<WardenHandle, std::io::Error> {
        let thread = std::thread::Builder::new().name("lictor-warden".into());
        let (mode, thread) = if warden.is_slow() {
            let (queue, asked) = queue::new();
            (Mode::Queue(queue), thread.spawn(move || queue::keep_working(warden, &asked, &clock, on_notice))?)
        } else {
            let (direct, closed) = Direct::new(warden, clock);
            let beating = Arc::clone(&direct);
            (Mode::Direct(direct), thread.spawn(move || beating.keep_time(&closed, on_notice))?)
        };
        Ok(WardenHandle { mode, thread: Arc::new(Mutex::new(Some(thread))) })
    }

    /// Decides on events in their order. `then` is called when all decisions are durable, on any thread; it is not
    /// called if the handle is closed.
    pub fn decide(
        &self,
        events: Vec<Event>,
        then: impl FnOnce(Result<Vec<WardenAnswer>, Arc<WardenError>>) + Send + 'static,
    ) {
        self.decide_with_extra(events, |_| Vec::new(), |decided| then(decided.map(|(answers, _)| answers)));
    }

    /// [`decide`](WardenHandle::decide) that saves [extra changes](crate::ExtraChanges) together with the decisions.
    pub fn decide_with_extra(
        &self,
        events: Vec<Event>,
        extra: impl Fn(&[WardenAnswer]) -> Vec<Change> + Send + 'static,
        then: impl FnOnce(Result<DecidedBatch, Arc<WardenError>>) + Send + 'static,
    ) {
        match &self.mode {
            Mode::Queue(queue) => {
                queue.ask(Question::Decide(DecideRequest { events, extra: Box::new(extra), then: Box::new(then) }));
            }
            Mode::Direct(direct) => {
                direct.ask(|warden, now| warden.decide_with_extra(&events, &extra, Some(now)), then)
            }
        }
    }

    /// [Ends a session](Warden::finish_with_cause).
    pub fn finish(
        &self,
        session: String,
        cause: &'static str,
        then: impl FnOnce(Result<Vec<Notice>, Arc<WardenError>>) + Send + 'static,
    ) {
        match &self.mode {
            Mode::Queue(queue) => queue.ask(Question::Finish(session, cause, Box::new(then))),
            Mode::Direct(direct) => {
                direct.ask(|warden, now| warden.finish_with_cause(&session, cause, now), then);
            }
        }
    }

    /// Records refused input that is no event.
    pub fn refuse(&self, refused: RefusedInput, then: impl FnOnce(Result<(), Arc<WardenError>>) + Send + 'static) {
        match &self.mode {
            Mode::Queue(queue) => queue.ask(Question::Refuse(refused, Box::new(then))),
            Mode::Direct(direct) => direct.ask(|warden, now| warden.refuse(&refused, Some(now)), then),
        }
    }

    /// Writes [a record that is no decision](Warden::note).
    pub fn note(&self, body: Map<String, Json>, then: impl FnOnce(Result<(), Arc<WardenError>>) + Send + 'static) {
        match &self.mode {
            Mode::Queue(queue) => queue.ask(Question::Note(body, Box::new(then))),
            Mode::Direct(direct) => direct.ask(|warden, now| warden.note(body, Some(now)), then),
        }
    }

    /// Returns [the open questions](Warden::questions) about events of one session, together with the events.
    pub fn questions(
        &self,
        events: Vec<Event>,
        then: impl FnOnce(Result<Vec<(Event, OpenQuestions)>, Arc<WardenError>>) + Send + 'static,
    ) {
        match &self.mode {
            Mode::Queue(queue) => queue.ask(Question::Open(events, Box::new(then))),
            Mode::Direct(direct) => {
                direct.ask(|warden, _| Ok(events.iter().cloned().zip(warden.questions(&events)?).collect()), then);
            }
        }
    }

    /// Returns [the decision that an event would get](Warden::preview).
    pub fn preview(&self, event: Event, then: impl FnOnce(Result<Preview, Arc<WardenError>>) + Send + 'static) {
        match &self.mode {
            Mode::Queue(queue) => queue.ask(Question::Preview(Box::new(event), Box::new(then))),
            Mode::Direct(direct) => direct.ask(|warden, _| warden.preview(&event), then),
        }
    }

    /// Returns [how likely replies lead to a violation](Warden::score).
    pub fn score(
        &self,
        session: String,
        replies: Vec<Vec<Event>>,
        then: impl FnOnce(Result<ReplyScores, Arc<WardenError>>) + Send + 'static,
    ) {
        match &self.mode {
            Mode::Queue(queue) => queue.ask(Question::Score(session, replies, Box::new(then))),
            Mode::Direct(direct) => direct.ask(|warden, _| warden.score(&session, &replies), then),
        }
    }

    /// Returns [what the model of a session should know](Warden::guide).
    pub fn guide(
        &self,
        session: String,
        query: GuidanceQuery,
        then: impl FnOnce(Result<Guidance, Arc<WardenError>>) + Send + 'static,
    ) {
        match &self.mode {
            Mode::Queue(queue) => queue.ask(Question::Guide(session, Box::new(query), Box::new(then))),
            Mode::Direct(direct) => direct.ask(|warden, now| warden.guide(&session, &query, Some(now)), then),
        }
    }

    /// Returns [the properties that a session is judged by](Warden::objectives).
    pub fn objectives(
        &self,
        session: String,
        then: impl FnOnce(Result<Vec<Arc<Property>>, Arc<WardenError>>) + Send + 'static,
    ) {
        match &self.mode {
            Mode::Queue(queue) => queue.ask(Question::Objectives(session, Box::new(then))),
            Mode::Direct(direct) => direct.ask(|warden, _| warden.objectives(&session), then),
        }
    }

    /// Continues [with another policy](Warden::change_policy). Earlier questions are decided by the old one.
    pub fn change_policy(
        &self,
        guard: Guard,
        fingerprint: impl Into<String>,
        then: impl FnOnce(Result<PolicyMoves, Arc<WardenError>>) + Send + 'static,
    ) {
        match &self.mode {
            Mode::Queue(queue) => {
                queue.ask(Question::ChangePolicy(Box::new(guard), fingerprint.into(), Box::new(then)));
            }
            Mode::Direct(direct) => direct.ask(|warden, _| warden.change_policy(guard, fingerprint.into()), then),
        }
    }

    /// Answers the earlier questions, and closes the warden.
    pub fn close(self) -> Result<(), WardenError> {
        match &self.mode {
            Mode::Queue(queue) => queue.ask(Question::Close),
            Mode::Direct(direct) => direct.close(),
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        match thread.map(JoinHandle::join) {
            Some(Ok(closed)) => closed,
            Some(Err(_)) => Err(WardenError::Broken),
            None => Ok(()),
        }
    }
}
