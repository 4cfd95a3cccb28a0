//! Events: the steps of an agent.

use std::sync::Arc;

use lictor_logic::{Fact, Time};

use lictor_json::{Json, Object, Text};

pub mod annotator;
mod answer;
pub mod content_hash;
mod declaration;
mod fault;
pub mod identifiers;
mod kind;
pub mod labeler;
mod line;
mod log_notes;
mod log_time;
mod machine_turn;
pub mod native;
pub mod order;
pub mod read_calls;
pub mod record;
mod record_time;
mod suspects;
mod time;

pub use answer::{Answer, AnswerValue, DRIFT};
pub use declaration::{Declared, find_contradiction};
pub use kind::Kind;
use log_time::parse_log_time;
pub use machine_turn::{is_machine_made, is_machine_turn};
pub use record_time::{TIME_KEYS, find_history_time, find_time, find_unread_time, read_time};
pub use time::{parse_time, time_since_1970, write_time};

/// The text that replaces a redacted part.
pub const MASK: &str = "[redacted]";

/// The event field with the caller's delivery number. It tells events with equal content and no `seq` apart: a warden
/// treats an event with a known delivery number and the same content as a duplicate.
pub const DELIVERY: &str = "delivery";

/// The event field with the id of the exchange that the event came with, if the caller records exchanges: 32 lower-case
/// hexadecimal digits. It does not affect the decision; the warden moves it to the body of the record and ignores any
/// other value.
pub const EXCHANGE: &str = "exchange";

/// The event field that says that the tool takes free text, not JSON: the text is the argument `input`, and other arguments
/// may be written in it. So those are unknown, not absent. Callers also set it if some arguments cannot be read.
pub const FREE_TEXT: &str = "free_text";

/// The JSON Schema of Lictor's own event lines.
pub const SCHEMA: &str = include_str!("../schema/event.schema.json");

/// One thing that happened in a session.
///
/// A decoder fills in what its format says and leaves the rest empty: time is never invented, and an annotation that
/// is absent (`None`) is computed later, while one that is given, even as an empty list, is trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// The kind of event.
    pub kind: Kind,
    /// The session it belongs to; none is the session of its file.
    pub session: Option<Text>,
    /// Its number in the session, where the log numbers its events: see [`order`].
    pub seq: Option<i64>,
    /// When it happened.
    pub time: Option<Time>,
    /// The agent that acted.
    pub agent: Option<Text>,
    /// The principal on whose behalf the agent acts.
    pub principal: Option<Text>,
    /// The id that pairs a call with its result, an approval with what it approves.
    pub id: Option<Text>,
    /// The tool that was called or answered.
    pub tool: Option<Text>,
    /// The arguments of a call.
    pub args: Option<Arguments>,
    /// The answer of a tool, where the log holds it as a value; as text it is in [`text`](Event::text).
    pub result: Option<Json>,
    /// The message or the answer, as text.
    pub text: Option<Text>,
    /// Whether a call failed or an answer reports an error.
    pub failed: bool,
    /// The recipient: the agent that takes over, or the one that receives disclosed data.
    pub to: Option<Text>,
    /// The purposes it serves.
    pub purposes: Option<Vec<Text>>,
    /// The categories of personal data it carries.
    pub categories: Option<Vec<Text>>,
    /// The persons it is about.
    pub subjects: Option<Vec<Text>>,
    /// Names of facts that other tools found to hold for it.
    pub labels: Vec<Text>,
    /// The answers of labelers about it, with their names.
    pub answers: Vec<Answer>,
    /// The facts themselves, for logs that hold nothing but facts.
    pub facts: Vec<Fact>,
    /// Fields that no decoder knows.
    pub more: Object,
    /// Where it was read.
    pub source: Source,
}

/// Arguments as they were logged.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// A JSON value.
    Value(Json),
    /// A text that should have been JSON and is not: its content is unknown, never absent. It is empty if the arguments
    /// were not recorded.
    Unparsed(Text),
}

/// Where an event was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The line, from one.
    pub line: u32,
    /// The number of the record in the file, from zero: to read it again.
    pub record: u32,
}

impl Arguments {
    /// Reads arguments as agents log them: an object, or a string that holds one. A string is parsed once; an empty one
    /// means no arguments.
    pub fn from_json(value: Json) -> Arguments {
        match value {
            Json::String(text) if text.trim().is_empty() => Arguments::Value(Json::Object(Object::new())),
            Json::String(text) => match lictor_json::parse_str(&text) {
                Ok(value) => Arguments::Value(value),
                Err(_) => Arguments::Unparsed(text),
            },
            Json::Null => Arguments::Value(Json::Object(Object::new())),
            other => Arguments::Value(other),
        }
    }

    /// Returns the value, unless it could not be parsed.
    pub fn value(&self) -> Option<&Json> {
        match self {
            Arguments::Value(value) => Some(value),
            Arguments::Unparsed(_) => None,
        }
    }
}

impl Event {
    /// Whether its arguments are one text, under `input`; see [`FREE_TEXT`].
    pub fn has_free_text(&self) -> bool {
        self.more.get(FREE_TEXT).is_some_and(|value| *value == Json::Bool(true))
    }
}

impl From<&Event> for Event {
    fn from(event: &Event) -> Event {
        event.clone()
    }
}

impl Event {
    /// Returns an event of a kind without any other field.
    pub fn new(kind: Kind) -> Event {
        Event { kind, ..Event::default() }
    }
}

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
