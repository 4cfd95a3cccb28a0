//! Records of a log, and the output of decoders: events, and faults with their places.

use std::sync::Arc;

use lictor_json::Json;

pub use crate::fault::Fault;
pub use crate::log_notes::{LogNotes, SplitMember};
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

/// The events and faults of a file so far.
#[derive(Clone, Debug, Default)]
pub struct DecodedEvents {
    /// The events, in the order of the log.
    pub events: Vec<Event>,
    /// The places that could not be read.
    pub faults: Vec<Fault>,
}

/// Turns the records of one file into events.
pub trait Decoder: Send {
    /// Decodes the next record.
    fn record(&mut self, record: LogRecord, out: &mut DecodedEvents);

    /// Decodes the next record from its text, if that is faster; returns false to get the parsed value instead.
    fn text(&mut self, _text: &str, _source: &Source, _out: &mut DecodedEvents) -> bool {
        false
    }

    /// Returns the session of a record from its text, if that is quick to find.
    fn session<'a>(&self, _text: &'a str) -> Option<&'a str> {
        None
    }

    /// Whether it reports content parts of unknown type itself.
    fn checks_parts(&self) -> bool {
        false
    }

    /// Returns what it noted so far, if several decoders share the records of a file: then their notes are merged, and
    /// none of them is finished.
    fn take_notes(&mut self) -> Option<LogNotes> {
        None
    }

    /// Adds the events that only the end of the file shows, such as spans that had to be sorted.
    fn finish(&mut self, _out: &mut DecodedEvents) {}
}

impl LogRecord {
    /// Returns the source of events of this record.
    pub fn source(&self) -> Source {
        Source { file: Arc::clone(&self.file), line: self.line, record: self.index }
    }

    /// Returns a fault of this record.
    pub fn fault(&self, code: &'static str, message: impl Into<String>) -> Fault {
        Fault { file: Arc::clone(&self.file), line: self.line, column: None, code, message: message.into() }
    }

    /// Returns the fault of a member that is meant as the time of this record but is none. The record is still read.
    pub fn unread_time_fault(&self, key: &str, text: &str) -> Fault {
        let message = format!(
            "`{key}` is {text:?}, which is no time with its offset from UTC, so nothing says when it was; write it as \
             \"2026-05-01T10:00:03Z\""
        );
        self.fault("decode.no_time", message)
    }
}
