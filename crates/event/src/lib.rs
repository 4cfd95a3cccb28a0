//! What an agent did, one step at a time.

use std::sync::Arc;

use lictor_logic::{Fact, Time};

use lictor_json::{Json, Object, Text};

mod kind;
mod line;
pub mod native;
pub mod order;
pub mod print;
pub mod record;
mod time;

pub use kind::Kind;
pub use time::{parse_time, write_time};

/// The text that takes the place of what is redacted.
pub const MASK: &str = "[redacted]";

/// A field of events by which whoever drives a warden tells one from another that says the same, where it has no number of
/// its own: an event that comes again with the same one is the same.
pub const DELIVERY: &str = "delivery";

/// A field of events by which whoever drives a warden tells with which exchange they came, if it has records of those. It is
/// no part of what is decided on, and stands in the body of the record: 32 hexadecimal digits, and nothing else is taken for it.
pub const EXCHANGE: &str = "exchange";

/// The JSON Schema of Lictor's own event lines.
pub const SCHEMA: &str = include_str!("../schema/event.schema.json");

/// One thing that happened in a session.
///
/// A decoder fills in what its format says and leaves the rest empty: time is never invented, and an annotation that
/// is absent (`None`) is computed later, while one that is given, even as an empty list, is trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// What sort of thing it was.
    pub kind: Kind,
    /// The session it belongs to; none is the session of its file.
    pub session: Option<Text>,
    /// Its number in the session, where the log numbers its events: see [`order`](crate::order).
    pub seq: Option<i64>,
    /// When it happened.
    pub time: Option<Time>,
    /// The agent that acted.
    pub agent: Option<Text>,
    /// On whose behalf it acts.
    pub principal: Option<Text>,
    /// The id that pairs a call with its result, an approval with what it approves.
    pub id: Option<Text>,
    /// The tool that was called or answered.
    pub tool: Option<Text>,
    /// The arguments of a call.
    pub args: Option<Arguments>,
    /// The answer of a tool, where the log holds it as a value; as text it is in [`text`](Event::text).
    pub result: Option<Json>,
    /// What was said or returned, as text.
    pub text: Option<Text>,
    /// Whether a call failed or an answer reports an error.
    pub failed: bool,
    /// To whom: the agent handed to, the recipient of a disclosure.
    pub to: Option<Text>,
    /// The purposes it serves.
    pub purposes: Option<Vec<Text>>,
    /// The categories of personal data it carries.
    pub categories: Option<Vec<Text>>,
    /// The persons it is about.
    pub subjects: Option<Vec<Text>>,
    /// What others found out about it: names of facts that hold.
    pub labels: Vec<Text>,
    /// The facts themselves, for logs that hold nothing but facts.
    pub facts: Vec<Fact>,
    /// Fields that no decoder knows.
    pub more: Object,
    /// Where it was read.
    pub source: Source,
}

/// Arguments as they were logged.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// A JSON value.
    Value(Json),
    /// A text that should have been JSON and is not: whatever it says is unknown, never absent.
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
    /// Arguments as agents log them: an object, or a string that holds one. A string is parsed once; one that is empty
    /// stands for no arguments.
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

    /// The value, unless it could not be read.
    pub fn value(&self) -> Option<&Json> {
        match self {
            Arguments::Value(value) => Some(value),
            Arguments::Unparsed(_) => None,
        }
    }
}

impl From<&Event> for Event {
    fn from(event: &Event) -> Event {
        event.clone()
    }
}

impl Event {
    /// An event of a kind, empty otherwise.
    pub fn new(kind: Kind) -> Event {
        Event { kind, ..Event::default() }
    }
}
