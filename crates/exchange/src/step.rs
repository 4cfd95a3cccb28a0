//! What an exchange wants to be done, and what its driver reports back.

use std::sync::Arc;

use bytes::Bytes;
use lictor_event::Event;
use lictor_judge::guard::{Decision, Preview};
use lictor_wire::SessionHints;
use serde_json::{Map, Value};

use crate::approval::ApprovalRequest;
use crate::memory::SessionMemory;

/// How an exchange works.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeOptions {
    /// Whether everything is judged and forwarded unchanged.
    pub shadow: bool,
    /// Whether streamed text is previewed before it is sent: a property [may change it](crate::changes_texts).
    pub previews_text: bool,
    /// How many bytes of streamed text are held back; `usize::MAX` holds each text until it is whole.
    pub hold_back: usize,
    /// How many bytes of a stream may be held until they are decided on.
    pub held: usize,
    /// How many items of a session are remembered.
    pub items: usize,
}

impl Default for ExchangeOptions {
    fn default() -> ExchangeOptions {
        ExchangeOptions { shadow: false, previews_text: false, hold_back: 0, held: 16 << 20, items: 20_000 }
    }
}

/// What is to be done next. The comments say what the driver reports; it may always report
/// [`Failed`](StepResult::Failed) instead, and [`ClientGone`](StepResult::ClientGone).
#[derive(Debug)]
pub enum ExchangeStep {
    /// Name the session, by what the body says about it: [`Identity`](StepResult::Identity).
    Identify(Box<SessionHints>),
    /// Load the memory of the session: [`Memory`](StepResult::Memory). No other exchange may change it until a step comes
    /// that is neither this one nor [`Decide`](ExchangeStep::Decide) nor [`Save`](ExchangeStep::Save).
    Load {
        /// Whether another process may have changed it and that matters.
        is_fresh: bool,
    },
    /// Decide on events: [`Decided`](StepResult::Decided), or [`Conflict`](StepResult::Conflict) if nothing was decided
    /// because the memory was changed elsewhere.
    Decide(Box<DecideQuestion>),
    /// Save the memory that was loaded, as it is now: [`Done`](StepResult::Done) or [`Conflict`](StepResult::Conflict).
    Save(Arc<SessionMemory>),
    /// Preview what would be decided on an event: [`Preview`](StepResult::Preview).
    Preview(Box<Event>),
    /// Keep a call for a reviewer: [`Approval`](StepResult::Approval), the id by which the reviewer answers.
    Ask(Box<ApprovalRequest>),
    /// Wait until these approvals are answered, for as long as the driver keeps an exchange open:
    /// [`Done`](StepResult::Done).
    Wait(Vec<String>),
    /// Look up whether an approval is still unanswered: [`Pending`](StepResult::Pending).
    LookUp(String),
    /// Write a record that is no decision: [`Done`](StepResult::Done).
    Note(Map<String, Value>),
    /// Record that something was refused that is no event: [`Done`](StepResult::Done).
    Refuse {
        /// Why.
        code: String,
        /// What was refused.
        bytes: Bytes,
    },
    /// Send the request: [`Reply`](StepResult::Reply), [`Stream`](StepResult::Stream), or
    /// [`Unjudged`](StepResult::Unjudged) if the driver passed an answer on that holds nothing to judge.
    SendUpstream(Bytes),
    /// Read more of the stream: [`Bytes`](StepResult::Bytes), [`End`](StepResult::End) or [`Cut`](StepResult::Cut).
    Read,
    /// Send the client the whole body of its reply: [`Done`](StepResult::Done).
    SendBody(Bytes),
    /// Send the client the next bytes of its stream: [`Done`](StepResult::Done).
    SendPiece(Bytes),
    /// Answer with an error; the exchange is over.
    Fail(ExchangeFailure),
    /// Send these bytes, which report an error within the stream, and end the stream: [`Done`](StepResult::Done).
    Abort(ExchangeFailure, Bytes),
    /// The exchange is over.
    Done(ExchangeEnd),
}

/// Events to decide on, in their order.
#[derive(Debug)]
pub struct DecideQuestion {
    /// The events, with their session, principal and delivery number.
    pub events: Vec<Event>,
    /// Whether they come from the request.
    pub is_request: bool,
    /// Whether the memory that was loaded must still be the latest, and is saved together with the decisions.
    pub is_atomic: bool,
    /// The memory to save if all events are new and forwarded; otherwise it stays as it was loaded.
    pub next: Option<Arc<SessionMemory>>,
}

/// What the driver reports of a step.
#[derive(Debug)]
pub enum StepResult {
    /// It is done.
    Done,
    /// The session, and on whose behalf the agent acts.
    Identity {
        /// The name of the session.
        session: String,
        /// The principal, if one is known.
        principal: Option<String>,
    },
    /// The memory of the session.
    Memory(Arc<SessionMemory>),
    /// One decision for each event.
    Decided {
        /// The decisions, in the order of the events.
        decisions: Vec<Arc<Decision>>,
        /// Whether [`DecideQuestion::next`] was saved.
        is_next: bool,
    },
    /// The memory was changed elsewhere since it was loaded.
    Conflict,
    /// What would be decided.
    Preview(Box<Preview>),
    /// The id by which a reviewer answers.
    Approval(String),
    /// Whether an approval is still unanswered.
    Pending(bool),
    /// The whole body of a reply.
    Reply(Bytes),
    /// The reply is a stream.
    Stream,
    /// The driver has answered with something that holds nothing to judge.
    Unjudged,
    /// The next bytes of the stream.
    Bytes(Bytes),
    /// The stream has ended.
    End,
    /// The connection broke within the stream.
    Cut,
    /// The client has disconnected.
    ClientGone,
    /// The step could not be done.
    Failed(ExchangeFailure),
}

/// An error that the client is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeFailure {
    /// The status of HTTP.
    pub status: u16,
    /// The kind of error, for programs.
    pub code: String,
    /// What happened and what to do, for people.
    pub message: String,
    /// How the exchange ends by it.
    pub end: ExchangeEnd,
}

impl ExchangeFailure {
    /// Something is refused.
    pub fn refused(status: u16, code: impl Into<String>, message: impl Into<String>) -> ExchangeFailure {
        ExchangeFailure { status, code: code.into(), message: message.into(), end: ExchangeEnd::Refused }
    }

    /// Something failed that is not the client's fault.
    pub fn failed(status: u16, code: impl Into<String>, message: impl Into<String>) -> ExchangeFailure {
        ExchangeFailure { status, code: code.into(), message: message.into(), end: ExchangeEnd::Failed }
    }
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// The client was sent all of the reply.
    Complete,
    /// The reply ended before it was whole.
    Truncated,
    /// The connection to the model broke within the reply: that to the client is to break, too.
    Cut,
    /// The client disconnected.
    ClientGone,
    /// Something was refused.
    Refused,
    /// The driver could not do what was needed.
    Failed,
}

/// What was counted of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeCounts {
    /// Decisions and refusals.
    pub decisions: u64,
    /// Those of them that were not simply forwarded.
    pub changed: u64,
    /// Those of them that were forwarded all the same, in shadow mode.
    pub unchecked: u64,
    /// Whether the history of the session was edited, cut or rewound.
    pub history_changed: bool,
}
