//! A proxy between a client and a server of the Model Context Protocol: no message passes without a decision.
//!
//! ```text
//!            ┌──────────────── Relay ────────────────┐
//!  client ──▶│ read ─▶ events ─▶ decide ─▶ forward,   │──▶ server
//!         ◀──│         rewrite, ask, or answer        │◀──
//!            └───────────────────────────────────────┘
//! ```
//!
//! The [`Relay`] is a state machine without input and output: one message in, messages out. `stdio` and `http` are the
//! transports.

mod definitions;
mod http;
mod message;
mod methods;
mod relay;
mod stdio;
mod tool_result;
mod tool_schemas;
mod unread;

pub use crate::http::{McpService, serve};
pub use crate::relay::{OutgoingMessage, Relay, RelayOptions};
pub use crate::stdio::run;
