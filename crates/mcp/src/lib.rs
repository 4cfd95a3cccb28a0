//! Stands between a client and a server of the Model Context Protocol, and lets nothing pass that was not decided.
//!
//! ```text
//!            ┌──────────────── Relay ────────────────┐
//!  client ──▶│ read ─▶ events ─▶ decide ─▶ forward,   │──▶ server
//!         ◀──│         rewrite, ask, or answer        │◀──
//!            └───────────────────────────────────────┘
//! ```
//!
//! The [`Relay`] is a state machine without input and output: a message goes in, messages come out. `stdio` and `http`
//! carry the bytes.

mod definitions;
mod http;
mod message;
mod methods;
mod outcome;
mod relay;
mod sse;
mod stdio;

pub use crate::http::{McpService, serve};
pub use crate::relay::{OutgoingMessage, Relay, RelayOptions};
pub use crate::stdio::run;
