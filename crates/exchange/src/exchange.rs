//! The life of a request, from top to bottom.
//!
//! [`Life::run`] is written as one function that asks its driver for each thing it needs. The compiler makes the state
//! machine of it: no runtime is involved, and [`Exchange::resume`] is an ordinary call that returns the next step.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use lictor_event::{DELIVERY, EXCHANGE, Event, Kind};
use lictor_json::{Json, Text};
use lictor_judge::guard::{Action, Decision};
use lictor_wire::{Api, CallFault, OfferedCalls, Request, StrippedFields, WireRefusal};

use crate::memory::SessionMemory;
use crate::step::{
    DecideQuestion, ExchangeCounts, ExchangeEnd, ExchangeFailure, ExchangeOptions, ExchangeStep, StepResult,
};

/// The code of a stream that needs more memory than it may be buffered in.
const HELD_TOO_MUCH: &str = "stream.too_large";

/// A request to a model and its reply: takes results of steps, and returns the next step.
pub struct Exchange {
    life: Pin<Box<dyn Future<Output = ExchangeEnd> + Send>>,
    link: Arc<Link>,
    end: Option<ExchangeEnd>,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("end", &self.end).finish_non_exhaustive()
    }
}

/// Hands over steps and results. Only the thread that calls [`Exchange::resume`] uses it.
#[derive(Debug, Default)]
struct Link(Mutex<Handover>);

#[derive(Debug, Default)]
struct Handover {
    step: Option<ExchangeStep>,
    result: Option<StepResult>,
    counts: ExchangeCounts,
    reply_id: Option<String>,
    stripped: Vec<String>,
    request: Option<Arc<Request>>,
}

impl Link {
    fn open(&self) -> MutexGuard<'_, Handover> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exchange {
    /// Creates an exchange. `id` must be unique: the delivery numbers of its events are derived from it.
    pub fn new(api: Api, id: impl Into<String>, options: ExchangeOptions, body: Bytes) -> Exchange {
        Exchange::after(None, api, id, options, body)
    }

    /// Creates an exchange like [`Exchange::new`]. It reads its body quicker if that begins like an earlier request of any
    /// exchange: only the rest is new.
    pub fn after(
        earlier: Option<Arc<Request>>,
        api: Api,
        id: impl Into<String>,
        options: ExchangeOptions,
        body: Bytes,
    ) -> Exchange {
        let link = Arc::new(Link::default());
        let life = Life {
            api,
            id: id.into(),
            options,
            earlier,
            request: None,
            offered: OnceLock::new(),
            session: String::new(),
            principal: None,
            choices: usize::MAX,
            is_reminded: false,
            replied: AtomicUsize::new(0),
            link: Arc::clone(&link),
        };
        Exchange { life: Box::pin(life.live(body)), link, end: None }
    }

    /// Returns the first step.
    pub fn start(&mut self) -> ExchangeStep {
        self.advance()
    }

    /// Takes the result of the last step, and returns the next one.
    pub fn resume(&mut self, result: StepResult) -> ExchangeStep {
        self.link.open().result = Some(result);
        self.advance()
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> ExchangeCounts {
        self.link.open().counts
    }

    /// Returns the names of fields that were stripped from replies since the last call, as `OBJECT.MEMBER`.
    pub fn take_stripped_names(&self) -> Vec<String> {
        std::mem::take(&mut self.link.open().stripped)
    }

    /// Returns the request, as soon as it was read, for [`Exchange::after`].
    pub fn take_request(&self) -> Option<Arc<Request>> {
        self.link.open().request.take()
    }

    /// Returns the id of the reply, as soon as it is known.
    pub fn reply_id(&self) -> Option<String> {
        self.link.open().reply_id.clone()
    }

    fn advance(&mut self) -> ExchangeStep {
        if let Some(end) = self.end {
            return ExchangeStep::Done(end);
        }
        if let Poll::Ready(end) = self.life.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            self.end = Some(end);
            return ExchangeStep::Done(end);
        }
        // The life of an exchange only ever waits for its driver.
        self.link.open().step.take().unwrap_or(ExchangeStep::Done(ExchangeEnd::Failed))
    }
}

/// Why an exchange ends early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The client is answered with an error.
    Fail(ExchangeFailure),
    /// The client has disconnected.
    Gone,
}

/// The state that the parts of an exchange share.
pub(crate) struct Life {
    pub(crate) api: Api,
    pub(crate) id: String,
    pub(crate) options: ExchangeOptions,
    /// A request that this one may begin like.
    earlier: Option<Arc<Request>>,
    /// The request, once it was read.
    request: Option<Arc<Request>>,
    /// The calls that the request allows, once the reply has a call.
    offered: OnceLock<OfferedCalls>,
    pub(crate) session: String,
    pub(crate) principal: Option<String>,
    /// How many choices the client asks for.
    pub(crate) choices: usize,
    /// Whether the request has a reminder of the rules, because of the forecast before the reply.
    pub(crate) is_reminded: bool,
    /// How many events of earlier replies were decided on, where the model was asked again.
    pub(crate) replied: AtomicUsize,
    link: Arc<Link>,
}

impl Life {
    async fn live(mut self, body: Bytes) -> ExchangeEnd {
        match self.run(body).await {
            Ok(end) => end,
            Err(Stop::Gone) => ExchangeEnd::ClientGone,
            Err(Stop::Fail(failure)) => {
                let end = failure.end;
                let _ = self.perform(ExchangeStep::Fail(failure)).await;
                end
            }
        }
    }

    /// Judges the request, sends it, and judges its reply.
    async fn run(&mut self, body: Bytes) -> Result<ExchangeEnd, Stop> {
        if self.options.shadow {
            return self.run_in_shadow(body).await;
        }
        let request = match self.read_request(&body) {
            Ok(request) => request,
            Err(refused) => return Err(self.refuse_input(400, refused, body).await?),
        };
        self.choices = request.choices;
        self.identify(&request).await?;
        let (memory, changes) = self.judge_request(&request).await?;
        let sent = match changes.is_empty() {
            true => body,
            false => match request.answered(&changes.items, &changes.answers) {
                Ok(bytes) => Bytes::from(bytes),
                Err(refused) => return Err(self.refuse_input(403, refused, Bytes::new()).await?),
            },
        };
        let sent = self.guide(&request, sent).await?;
        let (sent, is_held) = self.look_ahead(&memory, &request, sent).await?;
        match self.perform(ExchangeStep::SendUpstream(sent.clone())).await? {
            StepResult::Reply(bytes) if !self.options.judges_reply => self.send_body(bytes).await,
            StepResult::Reply(bytes) => self.judge_reply(&memory, sent, bytes).await,
            StepResult::Stream if is_held => self.judge_held_stream(&memory, sent).await,
            StepResult::Stream => self.judge_stream(&memory, sent).await,
            StepResult::Unjudged => Ok(ExchangeEnd::Complete),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads the body of the request.
    pub(crate) fn read_request(&mut self, body: &[u8]) -> Result<Arc<Request>, WireRefusal> {
        let read = match self.earlier.take() {
            Some(earlier) => Request::read_after(&earlier, self.api, body),
            None => Request::read(self.api, body),
        };
        let request = Arc::new(read?);
        self.link.open().request = Some(Arc::clone(&request));
        self.request = Some(Arc::clone(&request));
        Ok(request)
    }

    /// Returns why a client may read a call of the reply as another one than is judged.
    pub(crate) fn find_fault(&self, event: &Event) -> Option<CallFault> {
        let request = self.request.as_ref().filter(|_| event.kind == Kind::ToolCall)?;
        self.offered.get_or_init(|| OfferedCalls::read(request)).find_fault(event)
    }

    pub(crate) async fn identify(&mut self, request: &Request) -> Result<(), Stop> {
        match self.perform(ExchangeStep::Identify(Box::new(request.hints.clone()))).await? {
            StepResult::Identity { session, principal } => (self.session, self.principal) = (session, principal),
            other => return Err(unexpected(&other)),
        }
        Ok(())
    }

    /// Hands a step to the driver and waits for its result.
    pub(crate) async fn perform(&self, step: ExchangeStep) -> Result<StepResult, Stop> {
        self.link.open().step = Some(step);
        let result = poll_fn(|_| self.link.open().result.take().map_or(Poll::Pending, Poll::Ready)).await;
        match result {
            StepResult::Failed(failure) => Err(Stop::Fail(failure)),
            StepResult::ClientGone => Err(Stop::Gone),
            result => Ok(result),
        }
    }

    pub(crate) async fn load(&self, is_fresh: bool) -> Result<Arc<SessionMemory>, Stop> {
        match self.perform(ExchangeStep::Load { is_fresh }).await? {
            StepResult::Memory(memory) => Ok(memory),
            other => Err(unexpected(&other)),
        }
    }

    /// Saves the memory that was loaded last. Returns `false` if it was changed elsewhere: load it and retry.
    pub(crate) async fn save(&self, memory: Arc<SessionMemory>) -> Result<bool, Stop> {
        match self.perform(ExchangeStep::Save(memory)).await? {
            StepResult::Done => Ok(true),
            StepResult::Conflict => Ok(false),
            other => Err(unexpected(&other)),
        }
    }

    /// Changes the memory of the session, and retries if it was changed elsewhere.
    pub(crate) async fn update(&self, change: impl Fn(&mut SessionMemory)) -> Result<(), Stop> {
        loop {
            let mut memory = self.load(false).await?;
            change(Arc::make_mut(&mut memory));
            if self.save(memory).await? {
                return Ok(());
            }
        }
    }

    /// Decides on events of the request or the reply.
    pub(crate) async fn decide(&self, events: Vec<Event>, is_request: bool) -> Result<Vec<Arc<Decision>>, Stop> {
        let question = DecideQuestion { events, is_request, is_atomic: false, next: None };
        match self.ask(question).await? {
            Some((decisions, _)) => Ok(decisions),
            None => Err(unexpected(&StepResult::Conflict)),
        }
    }

    /// Decides on events together with the memory that was loaded last, and returns whether `next` was saved. Returns
    /// none, and decides nothing, if the memory was changed elsewhere.
    pub(crate) async fn decide_atomic(
        &self,
        events: Vec<Event>,
        is_request: bool,
        next: Option<Arc<SessionMemory>>,
    ) -> Result<Option<(Vec<Arc<Decision>>, bool)>, Stop> {
        self.ask(DecideQuestion { events, is_request, is_atomic: true, next }).await
    }

    async fn ask(&self, question: DecideQuestion) -> Result<Option<(Vec<Arc<Decision>>, bool)>, Stop> {
        let count = question.events.len();
        match self.perform(ExchangeStep::Decide(Box::new(question))).await? {
            StepResult::Decided { decisions, is_next } if decisions.len() == count => {
                let changed = decisions.iter().filter(|decision| decision.action != Action::Forward).count() as u64;
                let foreseen = |action: Action| {
                    let is_foreseen = |it: &&Arc<Decision>| it.forecast.is_some() && it.action == action;
                    decisions.iter().filter(is_foreseen).count() as u64
                };
                let unforeseen = decisions.iter().filter(|decision| decision.is_unforeseen).count() as u64;
                self.count(|counts| {
                    counts.decisions += count as u64;
                    counts.changed += changed;
                    counts.forecasts_missing += unforeseen;
                    match self.options.shadow {
                        true => counts.unchecked += changed,
                        false => {
                            counts.forecast_asked += foreseen(Action::Ask);
                            counts.forecast_stopped += foreseen(Action::Block);
                        }
                    }
                });
                Ok(Some((decisions, is_next)))
            }
            StepResult::Conflict => Ok(None),
            other => Err(unexpected(&other)),
        }
    }

    /// Records a refusal of input that is no event.
    pub(crate) async fn record_refusal(&self, code: &str, bytes: Bytes) -> Result<(), Stop> {
        self.perform(ExchangeStep::Refuse { code: code.to_owned(), bytes }).await?;
        self.count(|counts| {
            counts.decisions += 1;
            counts.changed += 1;
        });
        Ok(())
    }

    /// Records that input cannot be read, and returns the reason to stop.
    pub(crate) async fn refuse_input(&self, status: u16, refused: WireRefusal, bytes: Bytes) -> Result<Stop, Stop> {
        if refused.code == HELD_TOO_MUCH {
            self.count(|counts| counts.held.refused += 1);
        }
        self.record_refusal(refused.code, bytes).await?;
        Ok(Stop::Fail(ExchangeFailure::refused(status, refused.code, refused.message)))
    }

    /// Refuses a reply of which clients read different words.
    pub(crate) async fn refuse_split_word(&self, bytes: Bytes) -> Result<Stop, Stop> {
        const CODE: &str = "reply.split_word";
        self.record_refusal(CODE, bytes).await?;
        let message =
            "a word of the reply is split between two parts of its text, so that clients would read different words";
        Ok(Stop::Fail(ExchangeFailure::refused(502, CODE, message)))
    }

    /// Takes note of the id of the reply.
    pub(crate) fn replies_as(&self, id: Option<&str>) {
        if let Some(id) = id {
            self.link.open().reply_id = Some(id.to_owned());
        }
    }

    /// Takes note of fields that were stripped from a reply.
    pub(crate) fn note_stripped(&self, fields: &StrippedFields) {
        let mut handover = self.link.open();
        handover.counts.stripped += fields.count as u64;
        handover.stripped.extend_from_slice(&fields.names);
    }

    pub(crate) fn count(&self, add: impl FnOnce(&mut ExchangeCounts)) {
        add(&mut self.link.open().counts);
    }

    /// Returns the event with its session, principal and delivery number, which distinguishes it from an equal event.
    pub(crate) fn stamp(&self, mut event: Event, number: i64) -> Event {
        event.more.insert(DELIVERY, Json::from(number.to_string().as_str()));
        event.more.insert(EXCHANGE, Json::from(self.id.as_str()));
        self.assign(event)
    }

    /// Returns the event with its session and its principal.
    pub(crate) fn assign(&self, mut event: Event) -> Event {
        event.session = Some(self.session.as_str().into());
        if event.principal.is_none() {
            event.principal = self.principal.as_deref().map(Text::from);
        }
        event
    }
}

/// Returns the failure for a driver whose result does not fit the step.
pub(crate) fn unexpected(result: &StepResult) -> Stop {
    let message = format!("the driver of the exchange reported something unexpected: {result:?}");
    Stop::Fail(ExchangeFailure::failed(500, "exchange.driver", message.chars().take(200).collect::<String>()))
}

/// Returns a number derived from a hash, never negative.
pub(crate) fn number(hash: blake3::Hash) -> i64 {
    let first = hash.as_bytes().iter().take(8).fold(0u64, |number, byte| (number << 8) | u64::from(*byte));
    i64::try_from(first >> 1).unwrap_or_default()
}
