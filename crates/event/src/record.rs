//! Records of a log, and what decoders make of them: events, and faults with their places.

use std::sync::Arc;

use lictor_json::Json;

use crate::native::NativeDecoder;
use crate::{Event, Source};

/// One record of a file.
#[derive(Clone, Debug)]
pub struct LogRecord {
    /// Its content.
    pub value: Json,
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The line on which it begins, from one.
    pub line: u32,
    /// Its number in the file, from zero.
    pub index: u32,
}

/// A place in a log that could not be taken as an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The line, from one.
    pub line: u32,
    /// The column, from one, where it is known.
    pub column: Option<u32>,
    /// The kind of mistake, for programs: `json.duplicate_key`.
    pub code: &'static str,
    /// What is wrong, and what to do about it.
    pub message: String,
}

/// What came out of a file so far.
#[derive(Clone, Debug, Default)]
pub struct DecodedEvents {
    /// The events, in the order of the log.
    pub events: Vec<Event>,
    /// The places that could not be read.
    pub faults: Vec<Fault>,
}

/// Turns the records of one file into events.
pub trait Decoder: Send {
    /// Takes the next record.
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents);

    /// Takes the next record as it is written, if it can do so faster; false asks for the value instead.
    fn text(&mut self, _text: &str, _source: &Source, _out: &mut DecodedEvents) -> bool {
        false
    }

    /// The session of a record as it is written, if that shows at a glance.
    fn session<'a>(&self, _text: &'a str) -> Option<&'a str> {
        None
    }

    /// Says what only the end of the file shows, such as spans that had to be put in order.
    fn finish(&mut self, _out: &mut DecodedEvents) {}
}

impl LogRecord {
    /// The one event that a record of Lictor's own format is, or the first thing that is wrong with it.
    pub fn native_event(self) -> Result<Event, Fault> {
        self.event_by(&mut NativeDecoder::default())
    }

    /// The same of an event that Lictor wrote itself. It may come from a format that says less than ours asks for.
    pub fn kept_event(self) -> Result<Event, Fault> {
        self.event_by(&mut NativeDecoder::of_own())
    }

    fn event_by(self, decoder: &mut dyn Decoder) -> Result<Event, Fault> {
        let nothing = self.fault("native.record", "this is no event");
        let mut decoded = DecodedEvents::default();
        decoder.record(self, &mut decoded);
        match (decoded.events.pop(), decoded.faults.into_iter().next()) {
            (Some(event), None) => Ok(event),
            (_, fault) => Err(fault.unwrap_or(nothing)),
        }
    }

    /// Where events of this record were read.
    pub fn source(&self) -> Source {
        Source { file: Arc::clone(&self.file), line: self.line, record: self.index }
    }

    /// A fault of this record.
    pub fn fault(&self, code: &'static str, message: impl Into<String>) -> Fault {
        Fault { file: Arc::clone(&self.file), line: self.line, column: None, code, message: message.into() }
    }
}
