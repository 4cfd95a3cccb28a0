//! Hooks of coding agents: reads what a client passes, decides with a warden, and answers in the dialect of the client.
//!
//! ```text
//!  bytes ──read──▶ HookCall ──answer_call──▶ HookReply
//!                              │ warden
//! ```
//!
//! A hook is a process that runs for one call. The client defines its input and its output. Both clients let a tool
//! call through when they do not understand an answer. So every answer is one that the client is known to understand,
//! and a failure is answered with the denial of the client.
//!
//! This crate does no input or output and reads no clock.

mod answer;
mod call;
mod claude;
mod client;
mod codex;
mod decision;
mod hook;
mod output;
mod reply;
mod settings;

pub use crate::answer::{answer_call, answer_failure};
pub use crate::call::HookCall;
pub use crate::client::{HookClient, HookOptions};
pub use crate::hook::Hook;
pub use crate::reply::HookReply;
pub use crate::settings::client_settings;
