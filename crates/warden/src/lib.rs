//! A guard whose sessions survive restarts, and whose every decision is recorded before it takes effect.
//!
//! A [`lictor_judge::guard::Guard`] decides in memory. Before the warden answers, it saves the new state together with
//! the record, and appends the record durably to the ledger. After a crash at any moment, either the event was never
//! decided, or its record is written at the next start. Every decided event has exactly one record.
//!
//! ```text
//!  event ──▶ load the session ──▶ decide ──▶ save state and record ──▶ append to the ledger ──▶ decision
//!                  ▲                               │ conflict: another process was faster
//!                  └───────────────────────────────┘
//! ```

mod activation;
mod answer;
mod deciding;
mod error;
mod handle;
mod held;
mod held_sessions;
mod histories;
mod kept;
mod live;
mod live_saving;
mod loading;
mod outbox;
mod published;
mod record;
mod saving;
mod time;
mod versions;
mod warden;

pub use crate::answer::{ExtraChanges, Notice, OpenQuestions, RefusedInput, TimeOutcome, WardenAnswer};
pub use crate::error::WardenError;
pub use crate::handle::WardenHandle;
pub use crate::record::ContentRetention;
pub use crate::versions::PolicyMoves;
pub use crate::warden::{Warden, WardenOptions};
pub use lictor_event::{DELIVERY, EXCHANGE};
