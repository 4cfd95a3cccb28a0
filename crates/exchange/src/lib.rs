//! A request to a model and its reply, under a policy: a state machine without sockets, clocks or threads.
//!
//! ```text
//!  body ──read──▶ items ──diff──▶ events ──decide──▶ body that is sent ──▶ upstream
//!                                                                             │
//!  client ◀── bytes that are sent ◀──decide── events ◀──read── reply ◀────────┘
//! ```
//!
//! An [`Exchange`] returns the next [`ExchangeStep`]. A driver performs it and reports the [`StepResult`]. The gateway
//! is a driver over HTTP, with sessions in a store. A [`LocalExchange`] is a driver within one process, which the
//! Python package uses. Both give the same answers, since only this crate decides:
//!
//! - which items of a request are new, and the [memory](SessionMemory) of a session between requests,
//! - what a decision means for the bytes: [`ruling`], [`denial`],
//! - the delivery numbers by which a retry is not decided twice,
//! - notes for the model, added to its next request (steer),
//! - guidance of each request: open obligations, and tools that would be stopped (steering),
//! - replies with a bad forecast: which other ones are asked for, and which one is judged,
//! - approvals: calls that wait for a reviewer, and the grants that let them pass when they are made again,
//! - masks in text that is still streamed, and the records of the text that was shown.
//!
//! ```
//! use lictor_exchange::{Exchange, ExchangeOptions, ExchangeStep, StepResult};
//! use lictor_wire::Api;
//!
//! let body = r#"{"model":"m","messages":[{"role":"user","content":"Hello."}]}"#;
//! let mut exchange = Exchange::new(Api::Chat, "exchange-1", ExchangeOptions::default(), body.into());
//! let ExchangeStep::Identify(_) = exchange.start() else { panic!() };
//! let step = exchange.resume(StepResult::Identity { session: "s".into(), principal: None });
//! let ExchangeStep::Load { .. } = step else { panic!() };
//! let ExchangeStep::Decide(question) = exchange.resume(StepResult::Memory(Default::default())) else { panic!() };
//! assert_eq!(question.events[0].text.as_deref(), Some("Hello."));
//! ```
//!
//! **Invariant:** no byte is sent before its events are decided on. **Invariant:** the same results of the driver give
//! the same steps.

mod approval;
mod bound_count;
mod bounds;
mod continuations;
mod exchange;
mod guide;
mod hold;
mod hourly_calls;
mod intervene;
mod local;
mod memory;
mod new_event;
mod notes;
mod reply;
mod request;
mod ruling;
mod shadow;
mod step;
mod stored_event;
mod stream;
mod texts;

pub use approval::{ApprovalRequest, Grant, call_hash};
pub use bound_count::BoundCount;
pub use bounds::count_text_bytes;
pub use continuations::Continuations;
pub use exchange::Exchange;
pub use hourly_calls::HourlyCalls;
pub use local::{LocalDecider, LocalExchange, LocalParts, LocalReply, LocalSessions, ResumedCall, SessionChoice};
pub use memory::{ModelNote, SessionMemory};
pub use notes::denial_note;
pub use ruling::{denial, ruling};
pub use step::{
    DecideQuestion, ExchangeCounts, ExchangeEnd, ExchangeFailure, ExchangeOptions, ExchangeStep, ShownText, StepResult,
};
pub use texts::{changes_texts, reads_texts};
