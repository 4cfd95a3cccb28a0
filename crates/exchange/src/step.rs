//! The steps of an exchange, and the results that its driver reports.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lictor_event::Event;
use lictor_json::Text;
use lictor_judge::guard::{Decision, Preview, ReplyScores};
use lictor_judge::guidance::{Guidance, GuidanceQuery};
use lictor_policy::{PredictSettings, Steering};
use lictor_wire::{SessionHints, UnknownFields};
use serde_json::{Map, Value, json};

use crate::approval::ApprovalRequest;
use crate::bound_count::BoundCount;
use crate::memory::SessionMemory;

/// The settings of an exchange.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExchangeOptions {
    /// Whether everything is judged but forwarded unchanged (shadow mode).
    pub shadow: bool,
    /// Whether streamed text is previewed before it is sent: a property [may change it](crate::changes_texts).
    pub previews_text: bool,
    /// Whether a property [looks at texts](crate::reads_texts): then all clients must read the same words. By default one does.
    pub reads_texts: bool,
    /// How many bytes of streamed text are held back at most; `usize::MAX` holds each text until it is whole. Text that is
    /// previewed waits only from where a match may begin that is not complete.
    pub hold_back: usize,
    /// How many bytes of a stream may be buffered until they are decided on.
    pub held: usize,
    /// How many items of a session are remembered.
    pub items: usize,
    /// How many bytes of text one event may have to be judged. By default there is no bound.
    pub text: usize,
    /// How many calls a reply may have. By default there is no bound.
    pub calls: usize,
    /// What happens to fields of replies that Lictor does not know.
    pub unknown_fields: UnknownFields,
    /// How often the model is asked again after all its calls were denied, so that the agent gets a reply it can go on
    /// with. A streamed reply is asked for again if it begins with its calls.
    pub corrections: usize,
    /// How often the model is asked again in one session. After that it is not told why, as after the last correction of a
    /// reply.
    pub session_corrections: usize,
    /// Whether the reply is judged; a count of tokens has nothing to judge.
    pub judges_reply: bool,
    /// How replies with a bad forecast are replaced; none are without it.
    pub interventions: Option<Arc<PredictSettings>>,
    /// How the policy steers the model. Without steering, requests need no further work.
    pub steering: Steering,
}

impl Default for ExchangeOptions {
    fn default() -> ExchangeOptions {
        ExchangeOptions {
            shadow: false,
            previews_text: false,
            reads_texts: true,
            hold_back: 0,
            held: 16 << 20,
            items: 20_000,
            text: usize::MAX,
            calls: usize::MAX,
            unknown_fields: UnknownFields::default(),
            corrections: 2,
            session_corrections: 20,
            judges_reply: true,
            interventions: None,
            steering: Steering::default(),
        }
    }
}

/// The next step. The comments say what the driver reports; it may always report [`Failed`](StepResult::Failed) or
/// [`ClientGone`](StepResult::ClientGone) instead.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Debug)]
pub enum ExchangeStep {
    /// Name the session, by the hints in the body: [`Identity`](StepResult::Identity).
    Identify(Box<SessionHints>),
    /// Load the memory of the session: [`Memory`](StepResult::Memory). No other exchange may change it until the first
    /// step other than this one, [`Decide`](ExchangeStep::Decide) and [`Save`](ExchangeStep::Save).
    Load {
        /// Whether changes by other processes must be seen.
        is_fresh: bool,
    },
    /// Decide on events: [`Decided`](StepResult::Decided), or [`Conflict`](StepResult::Conflict) if nothing was decided
    /// because the memory was changed elsewhere.
    Decide(Box<DecideQuestion>),
    /// Save the memory that was loaded, as it is now: [`Done`](StepResult::Done) or [`Conflict`](StepResult::Conflict).
    Save(Arc<SessionMemory>),
    /// Preview what would be decided on an event: [`Preview`](StepResult::Preview).
    Preview(Box<Event>),
    /// Score possible replies by what they would lead to: [`Scores`](StepResult::Scores).
    Score(Vec<Vec<Event>>),
    /// Find out what the model should know now: [`Guidance`](StepResult::Guidance).
    Guide(Box<GuidanceQuery>),
    /// Store a call for a reviewer: [`Approval`](StepResult::Approval), the id by which the reviewer answers.
    Ask(Box<ApprovalRequest>),
    /// Wait until these approvals are answered, for as long as the driver keeps an exchange open:
    /// [`Done`](StepResult::Done).
    Wait(Vec<String>),
    /// Look up whether an approval is still unanswered: [`Pending`](StepResult::Pending).
    LookUp(String),
    /// Write a record that is no decision: [`Done`](StepResult::Done).
    Note(Map<String, Value>),
    /// Write a [record](ShownText::record) of what the client was shown of a text: [`Done`](StepResult::Done).
    NoteShown(Box<ShownText>),
    /// Record a refusal of input that is no event: [`Done`](StepResult::Done).
    Refuse {
        /// The reason, for programs.
        code: String,
        /// The refused bytes.
        bytes: Bytes,
    },
    /// Send the request: [`Reply`](StepResult::Reply), [`Stream`](StepResult::Stream), or
    /// [`Unjudged`](StepResult::Unjudged) if the driver forwarded an answer without anything to judge.
    SendUpstream(Bytes),
    /// Send a request to the upstream again, with what was wrong with its last reply: [`Reply`](StepResult::Reply), or
    /// [`Unjudged`](StepResult::Unjudged) if it gives none. Nothing of it reaches the client.
    AskAgain(Bytes),
    /// Count calls of the process before they are made, of which `hour_calls` are allowed in an hour:
    /// [`Reserved`](StepResult::Reserved).
    Reserve {
        /// How many calls are wanted.
        calls: usize,
        /// How many are allowed in an hour.
        hour_calls: usize,
    },
    /// Send several requests to the upstream, at once where the driver can: [`Replies`](StepResult::Replies). None of it
    /// reaches the client.
    AskAll {
        /// The requests.
        requests: Vec<Bytes>,
        /// How long to wait for the replies together; those that are not there by then are none.
        wait: Option<Duration>,
    },
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

/// What the client was shown of a text, if that differs from the decision on the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownText {
    /// The id of the exchange.
    pub exchange: String,
    /// How many places were masked.
    pub masked: usize,
    /// Whether the rest of the text was withheld.
    pub is_stopped: bool,
    /// The properties that asked for it.
    pub properties: Vec<Text>,
    /// How many bytes were sent before the decision on the whole text.
    pub left: usize,
}

impl ShownText {
    /// Returns the record.
    pub fn record(&self) -> Map<String, Value> {
        let ShownText { exchange, masked, is_stopped, properties, left } = self;
        let properties: Vec<&str> = properties.iter().map(Text::as_str).collect();
        let members = [
            ("type", json!("shown")),
            ("exchange", json!(exchange)),
            ("masked", json!(masked)),
            ("stopped", json!(is_stopped)),
            ("properties", json!(properties)),
            ("left", json!(left)),
        ];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
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

/// The result of a step, which the driver reports.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Debug)]
pub enum StepResult {
    /// The step is done.
    Done,
    /// The session, and the principal for which the agent acts.
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
    /// The decision that the event would get.
    Preview(Box<Preview>),
    /// A score for each reply.
    Scores(Box<ReplyScores>),
    /// What the model should know.
    Guidance(Box<Guidance>),
    /// The id by which a reviewer answers.
    Approval(String),
    /// Whether an approval is still unanswered.
    Pending(bool),
    /// The whole body of a reply.
    Reply(Bytes),
    /// How many calls may be made; they count as made.
    Reserved(usize),
    /// The replies to several requests.
    Replies {
        /// The whole body of each reply, in the order of the requests; none where the upstream gave none.
        bodies: Vec<Option<Bytes>>,
        /// How long all of them took.
        elapsed: Duration,
        /// Whether the client disconnected meanwhile, so that the driver stopped waiting.
        is_interrupted: bool,
    },
    /// The reply is a stream.
    Stream,
    /// The driver has forwarded an answer without anything to judge.
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
    /// How the exchange ends because of it.
    pub end: ExchangeEnd,
}

impl ExchangeFailure {
    /// Returns a refusal of the client's or the model's input.
    pub fn refused(status: u16, code: impl Into<String>, message: impl Into<String>) -> ExchangeFailure {
        ExchangeFailure { status, code: code.into(), message: message.into(), end: ExchangeEnd::Refused }
    }

    /// Returns a failure that is not the client's fault.
    pub fn failed(status: u16, code: impl Into<String>, message: impl Into<String>) -> ExchangeFailure {
        ExchangeFailure { status, code: code.into(), message: message.into(), end: ExchangeEnd::Failed }
    }
}

/// How an exchange ended.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// The client was sent all of the reply.
    Complete,
    /// The reply ended before it was complete.
    Truncated,
    /// The connection to the model broke within the reply: the connection to the client must break, too.
    Cut,
    /// The client disconnected.
    ClientGone,
    /// The request or the reply was refused.
    Refused,
    /// The driver could not perform a step.
    Failed,
}

/// The counts of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeCounts {
    /// Decisions and refusals.
    pub decisions: u64,
    /// Decisions and refusals other than forward.
    pub changed: u64,
    /// Those of `changed` that were forwarded all the same, in shadow mode.
    pub unchecked: u64,
    /// Whether the history of the session was edited, cut or rewound.
    pub history_changed: bool,
    /// Fields and events of the reply that the client did not get, because Lictor does not know them.
    pub stripped: u64,
    /// How often the model was asked again.
    pub corrections: u64,
    /// How many other replies were received, because the forecast was bad.
    pub candidates: u64,
    /// How many plans of the model were received, to score replies.
    pub samples: u64,
    /// How many calls were made for both, answered or not.
    pub extra_calls: u64,
    /// The tokens of these calls, as far as the upstream reports them.
    pub extra_tokens: u64,
    /// How many replies were replaced by one of them.
    pub replaced: u64,
    /// How many forecasts were wanted, and could not be made: the session is unlike those that the chain was learnt from.
    pub forecasts_missing: u64,
    /// How many requests got a reminder, because the forecast before the reply was bad.
    pub reminded: u64,
    /// How many streams were held until they were complete, because the forecast before the reply was bad.
    pub streams_held: u64,
    /// How many calls wait for a reviewer because of a forecast.
    pub forecast_asked: u64,
    /// How many calls were blocked because of a forecast.
    pub forecast_stopped: u64,
    /// Open obligations that the model was told of.
    pub obligations_told: u64,
    /// Tools, and values of arguments, that were taken out of the request.
    pub tools_removed: u64,
    /// Tools, and values of arguments, that the model was told not to use.
    pub tools_named: u64,
    /// The bound on the text of an event.
    pub text: BoundCount,
    /// The bound on the calls of a reply.
    pub calls: BoundCount,
    /// The bound on the items of a session.
    pub items: BoundCount,
    /// The bound on the bytes of a stream that are buffered.
    pub held: BoundCount,
}
