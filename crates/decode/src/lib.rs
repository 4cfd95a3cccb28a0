//! Decodes logs of many formats into events.
//!
//! A file is cut into records by its [`Framing`] (see [`input`]), and each record is a JSON value: a line
//! of JSONL, an element of an array, the payload of a server-sent event, or a plain text as a JSON string. A
//! [`Decoder`] turns the records of one file, in order, into events. Formats are detected by content, never by file
//! name.

mod a2a;
mod actions;
mod adk;
mod agentdojo;
mod anthropic;
mod anthropic_agents;
mod attachments;
mod attributes;
mod autogen;
mod bedrock;
mod call_members;
mod call_pairing;
mod chat;
mod claude_code;
mod closest_format;
mod codex;
mod content;
mod content_text;
mod conversation;
mod dialect;
mod envelope;
mod exchange_log;
mod format;
mod gemini;
mod gemini_cli;
mod haystack;
pub mod input;
mod inspect;
mod jaeger;
mod langchain;
mod langfuse;
mod langsmith;
mod mcp;
mod member_names;
mod message_log;
mod mixed_sessions;
mod native_calls;
mod openai_agents;
mod openai_assistants;
mod openai_chat;
mod openai_responses;
mod openhands;
mod openinference;
mod order_faults;
mod otlp;
pub mod packed;
mod person_sessions;
pub mod piece;
mod pydantic_ai;
mod record_opener;
mod repeated_history;
mod reply_times;
mod restart_signs;
mod reversed_logs;
mod said_calls;
mod semantic_kernel;
mod session_key;
mod session_members;
mod sliding_windows;
mod smolagents;
mod spans;
pub mod spool_file;
mod swe_agent;
mod tau_bench;
mod time_sorter;
mod toolemu;
mod unknown_record;
mod unmade_calls;
mod unread_calls;
mod unread_times;
mod vercel;
mod xes;

pub use format::{Format, Framing};
pub use mcp::{McpExchange, Side};
pub use session_members::SessionMembers;

pub use lictor_event::record::{DecodedEvents, Decoder, Fault, LogNotes, LogRecord};
