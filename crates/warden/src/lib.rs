//! A guard whose sessions outlive the process, and whose every decision is written down before it takes effect.
//!
//! A decision is made in memory, by [`lictor_judge::guard::Guard`]. Before anybody is told of it, the state it leads to is
//! saved, together with the record that is still to be written, and the record is appended to the ledger and durable. A
//! crash at any moment therefore leaves one of two things: the event was never decided, or it was, and its record is
//! written when the process comes back. Every event that was decided has exactly one record.
//!
//! ```text
//!  event ──▶ load the session ──▶ decide ──▶ save state and record ──▶ append to the ledger ──▶ decision
//!                  ▲                               │ somebody else was faster
//!                  └───────────────────────────────┘
//! ```

mod error;
mod handle;
mod held;
mod kept;
mod outbox;
mod record;
mod saving;
mod time;
mod warden;

pub use crate::error::WardenError;
pub use crate::handle::WardenHandle;
pub use crate::record::ContentRetention;
pub use crate::warden::{ExtraChanges, Notice, RefusedInput, TimeOutcome, Warden, WardenAnswer, WardenOptions};
pub use lictor_event::{DELIVERY, EXCHANGE};
