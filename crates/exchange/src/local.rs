//! A driver within one process, without waiting: sessions in memory, decisions from a [`LocalDecider`].
//!
//! The Python package drives its clients with it, and the tests of this crate a guard. A call that waits for a reviewer
//! is denied at once, with the id of its approval. Once it is approved ([`LocalSessions::settle`]), it passes when it
//! is made again.

mod decider;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lictor_event::{DELIVERY, Kind};
use lictor_json::{Json, Text};
use lictor_judge::guard::{Action, Capabilities, Decision};
use lictor_wire::Api;

use crate::exchange::Exchange;
use crate::step::{DecideQuestion, ExchangeEnd, ExchangeFailure, ExchangeOptions, ExchangeStep, StepResult};

pub use decider::LocalDecider;
use sessions::LocalSession;
pub use sessions::{LocalSessions, ResumedCall, SessionChoice};

/// An exchange that is driven locally.
#[derive(Debug)]
pub struct LocalExchange {
    api: Api,
    id: String,
    choice: SessionChoice,
    /// The name of the session, as soon as the request is read.
    session: Option<String>,
    /// The principal for which the agent acts, if the request names one.
    principal: Option<String>,
    /// Whether the session of the reply is remembered.
    is_linked: bool,
    options: ExchangeOptions,
    exchange: Option<Exchange>,
    is_streaming: bool,
    /// The next request to the model, after a stream all of whose calls are denied, or that is risky.
    next_request: Option<Bytes>,
    /// Whether the client was sent all of a reply.
    is_complete: bool,
    /// The bytes of the stream that may be sent.
    pieces: Vec<u8>,
    /// Decisions other than forward, for observers.
    decisions: Vec<Arc<Decision>>,
}

/// The sessions, and the decider.
pub type LocalParts<'a> = (&'a mut LocalSessions, &'a mut dyn LocalDecider);

/// What becomes of a reply.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalReply {
    /// The client may see this body.
    Body(Bytes),
    /// All calls of the reply are denied, or another reply is looked for. Send this to the model, and hand its reply to
    /// [`LocalExchange::reply`].
    AskAgain(Bytes),
    /// The forecast needs more replies. Send all of these to the model, at once if possible, and hand its replies to
    /// [`LocalExchange::replies`].
    AskAll {
        /// The requests.
        requests: Vec<Bytes>,
        /// How long to wait for all of them together; none is no limit. What has not come by then is no reply.
        wait: Option<Duration>,
    },
}

/// A step that needs the caller.
enum Pause {
    Upstream(Bytes),
    Again(Bytes),
    All(Vec<Bytes>, Option<Duration>),
    Body(Bytes),
    Read,
    Fail(ExchangeFailure),
    Done,
}

impl LocalExchange {
    /// Creates an exchange of a session. `id` must be unique among exchanges.
    pub fn new(api: Api, id: String, session: impl Into<SessionChoice>, options: ExchangeOptions) -> LocalExchange {
        LocalExchange {
            api,
            id,
            choice: session.into(),
            session: None,
            principal: None,
            is_linked: false,
            options,
            exchange: None,
            is_streaming: false,
            next_request: None,
            is_complete: false,
            pieces: Vec::new(),
            decisions: Vec::new(),
        }
    }

    /// Returns the name of the session; none before a request that could be read.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Judges the body of a request. Returns the body that may be sent.
    pub fn request(&mut self, parts: LocalParts<'_>, body: Bytes) -> Result<Bytes, ExchangeFailure> {
        let mut exchange = Exchange::new(self.api, self.id.as_str(), self.options.clone(), body);
        let step = exchange.start();
        self.exchange = Some(exchange);
        match self.drive(parts, step) {
            Pause::Upstream(bytes) => Ok(bytes),
            pause => Err(failure(pause)),
        }
    }

    /// Judges the body of a reply. Returns the body that the client may see, or the next request to the model.
    pub fn reply(&mut self, parts: LocalParts<'_>, body: Bytes) -> Result<LocalReply, ExchangeFailure> {
        let pause = self.resume(parts, StepResult::Reply(body));
        self.after_reply(pause)
    }

    /// Ends an exchange whose [next request](LocalReply::AskAgain) got no reply. Returns the body that the client may see.
    pub fn no_reply(&mut self, parts: LocalParts<'_>) -> Result<LocalReply, ExchangeFailure> {
        let pause = self.resume(parts, StepResult::Unjudged);
        self.after_reply(pause)
    }

    /// Takes the replies to [several requests](LocalReply::AskAll), in their order, none where the model gave none, and
    /// how long they took. Returns the body that the client may see, or the next requests.
    pub fn replies(
        &mut self,
        parts: LocalParts<'_>,
        bodies: Vec<Option<Bytes>>,
        elapsed: Duration,
    ) -> Result<LocalReply, ExchangeFailure> {
        let pause = self.resume(parts, StepResult::Replies { bodies, elapsed, is_interrupted: false });
        self.after_reply(pause)
    }

    fn after_reply(&mut self, pause: Pause) -> Result<LocalReply, ExchangeFailure> {
        match pause {
            Pause::Body(bytes) => {
                self.exchange = None;
                Ok(LocalReply::Body(bytes))
            }
            Pause::Again(bytes) => Ok(LocalReply::AskAgain(bytes)),
            Pause::All(requests, wait) => Ok(LocalReply::AskAll { requests, wait }),
            pause => Err(failure(pause)),
        }
    }

    /// Judges bytes of a streamed reply. Returns the bytes that the client may see now.
    pub fn push(&mut self, parts: LocalParts<'_>, bytes: Bytes) -> Vec<u8> {
        self.stream(parts, StepResult::Bytes(bytes))
    }

    /// Ends a streamed reply; `is_cut` if the connection broke. Returns the bytes that the client may still see.
    pub fn end(&mut self, parts: LocalParts<'_>, is_cut: bool) -> Vec<u8> {
        self.stream(parts, if is_cut { StepResult::Cut } else { StepResult::End })
    }

    /// Returns the next request to the model, if all calls of the stream that has ended are denied, or another stream is
    /// looked for. Send it, and hand the stream of its reply to [`push`](LocalExchange::push), or call
    /// [`no_stream`](LocalExchange::no_stream). There may be a further one after each of them.
    pub fn take_next_request(&mut self) -> Option<Bytes> {
        self.next_request.take()
    }

    /// Ends an exchange whose [next request](LocalExchange::take_next_request) got no stream. Returns the bytes that the
    /// client may see.
    pub fn no_stream(&mut self, parts: LocalParts<'_>) -> Vec<u8> {
        self.is_streaming = true;
        self.stream(parts, StepResult::Unjudged)
    }

    /// Whether the client was sent all of a streamed reply. If a connection broke within a stream, another one may have
    /// been sent instead.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Ends the stream because the client disconnected: only the text it received is judged.
    pub fn close(&mut self, parts: LocalParts<'_>) {
        drop(self.stream(parts, StepResult::ClientGone));
    }

    /// Returns the decisions other than forward since the last call.
    pub fn take_decisions(&mut self) -> Vec<Arc<Decision>> {
        std::mem::take(&mut self.decisions)
    }

    fn stream(&mut self, (sessions, decider): LocalParts<'_>, result: StepResult) -> Vec<u8> {
        if !std::mem::replace(&mut self.is_streaming, true) {
            self.resume((&mut *sessions, &mut *decider), StepResult::Stream);
        }
        if self.exchange.is_some() {
            match self.resume((sessions, decider), result) {
                Pause::Read => {}
                Pause::Again(bytes) => (self.next_request, self.is_streaming) = (Some(bytes), false),
                _ => self.exchange = None,
            }
        }
        std::mem::take(&mut self.pieces)
    }

    fn resume(&mut self, parts: LocalParts<'_>, result: StepResult) -> Pause {
        let Some(exchange) = &mut self.exchange else { return Pause::Done };
        let step = exchange.resume(result);
        self.drive(parts, step)
    }

    /// Performs steps until one needs the caller.
    fn drive(&mut self, (sessions, decider): LocalParts<'_>, mut step: ExchangeStep) -> Pause {
        loop {
            if matches!(step, ExchangeStep::SendBody(_) | ExchangeStep::SendPiece(_)) {
                self.link_response(sessions);
            }
            let done = match step {
                ExchangeStep::SendUpstream(bytes) => return Pause::Upstream(bytes),
                ExchangeStep::AskAgain(bytes) => return Pause::Again(bytes),
                ExchangeStep::AskAll { requests, wait } => return Pause::All(requests, wait),
                ExchangeStep::Reserve { calls, hour_calls } => {
                    Ok(StepResult::Reserved(sessions.calls.reserve(decider.now(), calls, hour_calls)))
                }
                ExchangeStep::SendBody(bytes) => return Pause::Body(bytes),
                ExchangeStep::Read => return Pause::Read,
                ExchangeStep::Fail(failure) => return Pause::Fail(failure),
                ExchangeStep::Done(end) => {
                    self.is_complete = end == ExchangeEnd::Complete;
                    return Pause::Done;
                }
                ExchangeStep::SendPiece(bytes) | ExchangeStep::Abort(_, bytes) => {
                    self.pieces.extend_from_slice(&bytes);
                    Ok(StepResult::Done)
                }
                step => self.perform(sessions, decider, step),
            };
            let result = done.unwrap_or_else(|message| {
                StepResult::Failed(ExchangeFailure::failed(503, "audit.unavailable", message))
            });
            let Some(exchange) = &mut self.exchange else { return Pause::Done };
            step = exchange.resume(result);
        }
    }

    /// Remembers the session of the response before the client can continue it.
    fn link_response(&mut self, sessions: &mut LocalSessions) {
        let id = self.exchange.as_ref().filter(|_| self.api == Api::Responses && !self.is_linked);
        if let (Some(id), Some(session)) = (id.and_then(Exchange::reply_id), &self.session) {
            sessions.link_response(&id, self.principal.as_deref(), session);
            self.is_linked = true;
        }
    }

    /// Performs a step that needs nothing from the caller.
    fn perform(
        &mut self,
        sessions: &mut LocalSessions,
        decider: &mut dyn LocalDecider,
        step: ExchangeStep,
    ) -> Result<StepResult, String> {
        let name = self.session.clone().unwrap_or_default();
        Ok(match step {
            ExchangeStep::Identify(hints) => {
                let session = sessions.identify(&self.choice, &hints);
                self.session = Some(session.clone());
                self.principal = hints.user.as_ref().map(ToString::to_string);
                StepResult::Identity { session, principal: self.principal.clone() }
            }
            ExchangeStep::Load { .. } => StepResult::Memory(sessions.session(&name).load(decider.now())),
            ExchangeStep::Decide(question) => self.decide(sessions.session(&name), decider, *question)?,
            ExchangeStep::Save(memory) => {
                sessions.session(&name).memory = memory;
                StepResult::Done
            }
            ExchangeStep::Preview(event) => StepResult::Preview(Box::new(decider.preview(&event)?)),
            ExchangeStep::Score(replies) => StepResult::Scores(Box::new(decider.score(&name, &replies)?)),
            ExchangeStep::Guide(query) => StepResult::Guidance(Box::new(decider.guide(&name, &query)?)),
            ExchangeStep::Ask(request) => {
                let id = request.id.clone();
                sessions.session(&name).approvals.insert(id.clone(), *request);
                StepResult::Approval(id)
            }
            ExchangeStep::LookUp(id) => StepResult::Pending(decider.is_pending(&name, &id)?),
            ExchangeStep::Note(record) => {
                decider.note(record)?;
                StepResult::Done
            }
            ExchangeStep::NoteShown(shown) => {
                decider.note(shown.record())?;
                StepResult::Done
            }
            ExchangeStep::Refuse { code, bytes } => {
                decider.refuse(&code, &bytes, &self.id)?;
                StepResult::Done
            }
            _ => StepResult::Done,
        })
    }

    fn decide(
        &mut self,
        session: &mut LocalSession,
        decider: &mut dyn LocalDecider,
        question: DecideQuestion,
    ) -> Result<StepResult, String> {
        let (mut decisions, mut all_forwarded) = (Vec::with_capacity(question.events.len()), true);
        for event in question.events {
            let delivery = event.more.get(DELIVERY).and_then(Json::as_str).map(Text::from);
            let known = session.delivered.iter().find(|(known, _)| Some(known) == delivery.as_ref());
            if let Some((_, decision)) = known {
                decisions.push(Arc::clone(decision));
                all_forwarded = false;
                continue;
            }
            // A reviewer is asked about calls only: a request or a text does not wait.
            let capabilities = Capabilities { ask: event.kind == Kind::ToolCall, ..Capabilities::default() };
            let decision = decider.decide(event, capabilities)?;
            if decision.action != Action::Forward {
                all_forwarded = false;
                self.decisions.push(Arc::clone(&decision));
            }
            if let Some(delivery) = delivery {
                session.note_delivery(delivery, Arc::clone(&decision));
            }
            decisions.push(decision);
        }
        let next = question.next.filter(|_| all_forwarded && question.is_atomic);
        let is_next = next.is_some();
        if let Some(next) = next {
            session.memory = next;
        }
        Ok(StepResult::Decided { decisions, is_next })
    }
}

fn failure(pause: Pause) -> ExchangeFailure {
    match pause {
        Pause::Fail(failure) => failure,
        _ => ExchangeFailure::failed(500, "exchange.order", "a request comes before its reply, and each comes once"),
    }
}
