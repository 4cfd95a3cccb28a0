//! A warden on a thread of its own, for many askers at once.
//!
//! Whoever asks while the desk is busy waits in a queue; all that wait are decided next, as one batch, and what it costs
//! to be durable is paid once for all of them. When nobody asks, the desk lets time pass: deadlines fire by themselves.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use lictor::event::Event;
use lictor::guard::{Guard, Preview};
use lictor_logic::{Span, Time};
use lictor_store::Change;
use serde_json::{Map, Value as Json};

use crate::error::WardenError;
use crate::record;
use crate::warden::{Answer, Begun, Notice, Warden};

/// How many events are decided together: what is one batch is durable at once, and answered at once.
const MOST_TOGETHER: usize = 512;

/// How often time passes.
const BEAT: Duration = Duration::from_millis(100);

/// Where many ask one warden. Cheap to clone; the desk closes when it is told to.
#[derive(Clone)]
pub struct Desk {
    questions: Sender<Question>,
    thread: Arc<Mutex<Option<Worker>>>,
}

/// The thread of a desk; it tells whether all was written at the end.
type Worker = JoinHandle<Result<(), WardenError>>;

type Then<T> = Box<dyn FnOnce(Result<T, Arc<WardenError>>) + Send>;

/// Decisions that somebody waits for.
struct Asked {
    events: Vec<Event>,
    along: Others,
    then: Then<Decided>,
}

/// What else is saved, by what was decided.
type Others = Box<dyn Fn(&[Answer]) -> Vec<Change> + Send>;

/// What was decided, and the version under which it was saved.
type Decided = (Vec<Answer>, Option<u64>);

enum Question {
    Decide(Asked),
    Refuse(String, Vec<u8>, Then<()>),
    Note(Map<String, Json>, Then<()>),
    Preview(Box<Event>, Then<Preview>),
    ChangePolicy(Box<Guard>, String, Then<()>),
    Close,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl Desk {
    /// Opens a desk. `clock` says what time it is; `told` is told what time brings about, on the desk's thread.
    pub fn open(
        warden: Warden,
        clock: impl Fn() -> Time + Send + 'static,
        told: impl FnMut(Result<Notice, WardenError>) + Send + 'static,
    ) -> Result<Desk, std::io::Error> {
        let (questions, asked) = channel();
        let work = move || keep_working(warden, &asked, &clock, told);
        let thread = std::thread::Builder::new().name("lictor-desk".into()).spawn(work)?;
        Ok(Desk { questions, thread: Arc::new(Mutex::new(Some(thread))) })
    }

    /// Decides on events in their order. `then` is called on the desk's thread when all of it is durable; it is not called
    /// if the desk is closed.
    pub fn decide(
        &self,
        events: Vec<Event>,
        then: impl FnOnce(Result<Vec<Answer>, Arc<WardenError>>) + Send + 'static,
    ) {
        self.decide_along(events, |_| Vec::new(), |decided| then(decided.map(|(answers, _)| answers)));
    }

    /// The same, and saves [something else](crate::Along) along with it.
    pub fn decide_along(
        &self,
        events: Vec<Event>,
        along: impl Fn(&[Answer]) -> Vec<Change> + Send + 'static,
        then: impl FnOnce(Result<Decided, Arc<WardenError>>) + Send + 'static,
    ) {
        // A desk that is closed drops what it is asked, and with it whoever waits.
        let _ = self.questions.send(Question::Decide(Asked { events, along: Box::new(along), then: Box::new(then) }));
    }

    /// Writes down something that is no event and does not go on.
    pub fn refuse(
        &self,
        reason: impl Into<String>,
        bytes: Vec<u8>,
        then: impl FnOnce(Result<(), Arc<WardenError>>) + Send + 'static,
    ) {
        let _ = self.questions.send(Question::Refuse(reason.into(), bytes, Box::new(then)));
    }

    /// Writes down [something that is no decision](Warden::note).
    pub fn note(&self, body: Map<String, Json>, then: impl FnOnce(Result<(), Arc<WardenError>>) + Send + 'static) {
        let _ = self.questions.send(Question::Note(body, Box::new(then)));
    }

    /// Says [what would be decided](Warden::preview) about an event.
    pub fn preview(&self, event: Event, then: impl FnOnce(Result<Preview, Arc<WardenError>>) + Send + 'static) {
        let _ = self.questions.send(Question::Preview(Box::new(event), Box::new(then)));
    }

    /// Goes on [by another policy](Warden::change_policy); what was asked before is decided by the old one.
    pub fn change_policy(
        &self,
        guard: Guard,
        fingerprint: impl Into<String>,
        then: impl FnOnce(Result<(), Arc<WardenError>>) + Send + 'static,
    ) {
        let _ = self.questions.send(Question::ChangePolicy(Box::new(guard), fingerprint.into(), Box::new(then)));
    }

    /// Answers what was asked before, and ends the writing.
    pub fn close(self) -> Result<(), WardenError> {
        let _ = self.questions.send(Question::Close);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        match thread.map(JoinHandle::join) {
            Some(Ok(closed)) => closed,
            Some(Err(_)) => Err(WardenError::Broken),
            None => Ok(()),
        }
    }
}

/// Answers questions until the desk is closed. A panic is the end of what was being answered, and of nothing else: whoever
/// waited for it is not answered, and what is in memory is read anew.
fn keep_working(
    mut warden: Warden,
    asked: &Receiver<Question>,
    clock: &impl Fn() -> Time,
    mut told: impl FnMut(Result<Notice, WardenError>),
) -> Result<(), WardenError> {
    while catch_unwind(AssertUnwindSafe(|| work(&mut warden, asked, clock, &mut told))).is_err() {
        loop {
            match catch_unwind(AssertUnwindSafe(|| warden.start_over())) {
                Ok(Ok(())) => break,
                Ok(Err(error)) => told(Err(error)),
                Err(_) => told(Err(WardenError::Broken)),
            }
            // Until then nothing is decided: a question that is dropped is one that is not answered.
            match asked.recv_timeout(BEAT) {
                Ok(Question::Close) | Err(RecvTimeoutError::Disconnected) => return warden.close(),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
    warden.close()
}

/// Answers questions until the desk is closed or nobody can ask any more.
fn work(
    warden: &mut Warden,
    asked: &Receiver<Question>,
    clock: &impl Fn() -> Time,
    told: &mut impl FnMut(Result<Notice, WardenError>),
) {
    let mut last_beat = clock();
    loop {
        let first = match asked.recv_timeout(BEAT) {
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
                Question::Refuse(reason, bytes, then) => {
                    let draft = warden.refusal(&reason, &bytes, clock());
                    batch.records.push((warden.begin(draft), then));
                }
                Question::Note(body, then) => {
                    let draft = record::note(body, Some(clock()));
                    batch.records.push((warden.begin(draft), then));
                }
                Question::Preview(event, then) => {
                    std::mem::take(&mut batch).answer(warden, clock());
                    then(warden.preview(&event).map_err(Arc::new));
                }
                Question::ChangePolicy(guard, fingerprint, then) => {
                    std::mem::take(&mut batch).answer(warden, clock());
                    then(warden.change_policy(*guard, fingerprint).map_err(Arc::new));
                }
                Question::Close => {
                    batch.answer(warden, clock());
                    return;
                }
            }
            next = if batch.is_full() { None } else { asked.try_recv().ok() };
        }
        batch.answer(warden, clock());
        let now = clock();
        if nobody_asks || now >= last_beat.plus(Span(BEAT.as_nanos() as u64)) {
            match warden.tick(now) {
                Ok(notices) => notices.into_iter().for_each(|notice| told(Ok(notice))),
                Err(error) => told(Err(error)),
            }
            last_beat = now;
        }
    }
}

/// What is answered together.
#[derive(Default)]
struct Batch {
    decisions: Vec<Asked>,
    /// Records that the ledger has been handed and that are durable along with those of the decisions.
    records: Vec<(Begun, Then<()>)>,
}

impl Batch {
    fn is_full(&self) -> bool {
        let events: usize = self.decisions.iter().map(|asked| asked.events.len()).sum();
        events + self.records.len() >= MOST_TOGETHER
    }

    fn answer(self, warden: &mut Warden, now: Time) {
        decide(warden, self.decisions, now);
        for (begun, then) in self.records {
            then(warden.end(begun).map_err(Arc::new));
        }
    }
}

/// Decides on what several have asked. If that fails, each is decided alone: what is wrong with one must not harm another.
fn decide(warden: &mut Warden, batch: Vec<Asked>, now: Time) {
    if batch.is_empty() {
        return;
    }
    if batch.len() > 1 {
        let events: Vec<Event> = batch.iter().flat_map(|asked| &asked.events).cloned().collect();
        let along = |answers: &[Answer]| {
            let mut rest = answers;
            let mut changes = Vec::new();
            for asked in &batch {
                let (own, others) = rest.split_at(asked.events.len().min(rest.len()));
                changes.extend((asked.along)(own));
                rest = others;
            }
            changes
        };
        match warden.decide_along(&events, &along, Some(now)) {
            Ok((answers, version)) => {
                let mut answers = answers.into_iter();
                for Asked { events, then, .. } in batch {
                    then(Ok((answers.by_ref().take(events.len()).collect(), version)));
                }
                return;
            }
            // It is decided and saved, so to ask again gives the same; but nobody is answered before it is written.
            Err(error @ WardenError::Ledger(_)) => {
                let error = Arc::new(error);
                batch.into_iter().for_each(|asked| (asked.then)(Err(Arc::clone(&error))));
                return;
            }
            Err(_) => {}
        }
    }
    for Asked { events, along, then } in batch {
        then(warden.decide_along(&events, &*along, Some(now)).map_err(Arc::new));
    }
}
