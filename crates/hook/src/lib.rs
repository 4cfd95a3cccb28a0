//! What coding agents ask of their hooks, decided by a warden and answered in each agent's own dialect.
//!
//! ```text
//!  bytes ──read──▶ Call ──answer──▶ Reply
//!                          │ warden
//! ```
//!
//! A hook is a process that lives for one question. What it is asked, and how it must answer, is a contract of the
//! client. Both clients let a call through when they do not understand an answer, so an answer is only ever one of the
//! few that the client is known to understand, and whatever fails is answered with the client's own *no*.
//!
//! No input and no output happen here, and no clock is read.

mod answer;
mod call;
mod claude;
mod client;
mod codex;
mod output;
mod reply;
mod settings;

pub use crate::answer::answer;
pub use crate::call::{Hook, HookCall};
pub use crate::client::{HookClient, HookOptions};
pub use crate::reply::{HookReply, refusal};
pub use crate::settings::settings;
