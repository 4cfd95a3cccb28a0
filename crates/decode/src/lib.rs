//! Decodes logs of many formats into events.
//!
//! A file is cut into records by its [`Framing`] (see [`input`]), and each record is a JSON value: a line
//! of JSONL, an element of an array, the payload of a server-sent event, or a plain text as a JSON string. A
//! [`Decoder`] turns the records of one file, in order, into events. Formats are detected by content, never by file
//! name.

mod a2a;
mod actions;
mod agentdojo;
mod anthropic;
mod anthropic_agents;
mod attributes;
mod call_pairing;
mod chat;
mod claude_code;
mod codex;
mod content;
mod conversation;
mod dialect;
mod envelope;
mod format;
pub mod input;
mod langfuse;
mod langsmith;
mod mcp;
mod openai_agents;
mod openai_chat;
mod openai_responses;
mod openinference;
mod otlp;
pub mod piece;
mod spans;
mod tau_bench;
mod toolemu;
mod unknown_record;
mod xes;

pub use format::{Format, Framing};
pub use mcp::{McpExchange, Side};

pub use lictor_event::record::{DecodedEvents, Decoder, Fault, LogRecord};
