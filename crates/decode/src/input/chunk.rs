//! A part of a file that ends where a record ends.

use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memmem};

use super::HELD_CALL;
use super::spare_buffers::ChunkBytes;
use crate::{DecodedEvents, Decoder, Fault, LogRecord};
use lictor_event::Source;
use lictor_json::{self as json, Json, JsonError};

/// The code of a fault for a record that is over the limit. It may hold anything.
pub(super) const TOO_LONG: &str = "record.too_long";

/// A part of a file that ends where a record ends. It owns its bytes, so that another thread may decode it.
#[derive(Debug)]
pub struct Chunk {
    pub(super) file: Arc<str>,
    pub(super) bytes: ChunkBytes,
    pub(super) layout: RecordLayout,
    /// Whether records are JSON; otherwise they are texts.
    pub(super) json: bool,
    /// The longest record.
    pub(super) limit: usize,
    /// Whether the file ends here without a line end.
    pub(super) ends: bool,
}

/// Where the records of a chunk are.
#[derive(Debug)]
pub(super) enum RecordLayout {
    /// One a line, numbered as the lines from zero; these lines.
    Lines(Range<u32>),
    /// In these places, numbered from a first one.
    Entries(u32, Vec<ChunkEntry>),
}

/// A record, or the fault in its place.
#[derive(Debug)]
pub(super) enum ChunkEntry {
    Record(RecordPlace),
    Fault(Box<Fault>),
}

/// Where a record is in the bytes of its chunk, and where it was in the file.
#[derive(Clone, Debug)]
pub(super) struct RecordPlace {
    pub(super) bytes: Range<usize>,
    pub(super) line: u32,
    /// The column, from one; zero where the bytes were joined from several places.
    pub(super) column: u32,
    /// Whether the file ends with it.
    pub(super) ends: bool,
}

/// A line of a chunk.
#[derive(Debug)]
pub struct ChunkLine {
    index: u32,
    place: RecordPlace,
}

impl Chunk {
    /// Returns its size in bytes.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns the numbers that its records may have.
    pub fn indices(&self) -> Range<u32> {
        match &self.layout {
            RecordLayout::Lines(lines) => lines.clone(),
            RecordLayout::Entries(first, entries) => *first..first.saturating_add(entries.len() as u32),
        }
    }

    /// Returns its records in order, with a fault in the place of each that cannot be read.
    pub fn records(&self) -> LogRecords<'_> {
        LogRecords { chunk: self, at: 0, index: self.indices().start, wanted: None }
    }

    /// Returns the records of these numbers, which must be in order. The others are skipped unread.
    pub fn records_at<'a>(&'a self, indices: &'a [u32]) -> LogRecords<'a> {
        LogRecords { wanted: Some(indices), ..self.records() }
    }

    /// Whether its records are lines of JSON.
    pub fn is_lines(&self) -> bool {
        self.json && matches!(self.layout, RecordLayout::Lines(_))
    }

    /// Returns its lines that are not empty.
    pub fn lines(&self) -> impl Iterator<Item = ChunkLine> + '_ {
        let mut records = self.records();
        std::iter::from_fn(move || records.next_place()?.ok().map(|(index, place)| ChunkLine { index, place }))
    }

    /// Returns the text of a line.
    pub fn line(&self, line: &ChunkLine) -> Result<&str, Fault> {
        self.text(&line.place)
    }

    /// Decodes one line.
    pub fn decode_line(&self, line: &ChunkLine, decoder: &mut dyn Decoder, out: &mut DecodedEvents) {
        let decoded = self.decode_place(line.index, &line.place, decoder, out);
        out.faults.extend(decoded.err());
    }

    /// Decodes its records: all, or those of the wanted numbers, which must be in order.
    pub fn decode(&self, wanted: Option<&[u32]>, decoder: &mut dyn Decoder, out: &mut DecodedEvents) {
        let mut records = LogRecords { wanted, ..self.records() };
        // An event a record, mostly: room is made once.
        out.events.reserve(wanted.map_or_else(|| self.indices().len(), <[u32]>::len));
        while let Some(place) = records.next_place() {
            let decoded = place.and_then(|(index, place)| self.decode_place(index, &place, decoder, out));
            out.faults.extend(decoded.err());
        }
    }

    fn decode_place(
        &self,
        index: u32,
        place: &RecordPlace,
        decoder: &mut dyn Decoder,
        out: &mut DecodedEvents,
    ) -> Result<(), Fault> {
        let text = self.text(place)?;
        let source = Source { file: Arc::clone(&self.file), line: place.line, record: index };
        if self.json && decoder.text(text, &source, out) {
            return Ok(());
        }
        let Source { file, line, record: index } = source;
        let value = self.parse_value(text).map_err(|error| self.fault(place, error))?;
        decoder.record(LogRecord { value, file, line, index }, out);
        Ok(())
    }

    /// Reads the record at a place.
    fn read_record(&self, index: u32, place: &RecordPlace) -> Result<LogRecord, Fault> {
        let value = self.parse_value(self.text(place)?).map_err(|error| self.fault(place, error))?;
        Ok(LogRecord { value, file: Arc::clone(&self.file), line: place.line, index })
    }

    fn text(&self, place: &RecordPlace) -> Result<&str, Fault> {
        let bytes = &self.bytes[place.bytes.clone()];
        if bytes.len() > self.limit {
            return Err(too_long_fault(&self.file, place.line, self.limit));
        }
        json::read_utf8(bytes).map_err(|error| self.fault(place, error))
    }

    fn parse_value(&self, text: &str) -> Result<Json, JsonError> {
        match self.json {
            true => json::parse_str(text),
            false => Ok(Json::String(text.trim_end_matches(['\r', '\n']).into())),
        }
    }

    #[cold]
    fn fault(&self, place: &RecordPlace, error: JsonError) -> Fault {
        let file = Arc::clone(&self.file);
        let held = if seems_to_hold_call(&self.bytes[place.bytes.clone()]) { HELD_CALL } else { "" };
        if place.ends && error.code == "json.torn" {
            let message = format!("the file ends inside this record: its writer is still writing, or crashed{held}");
            return Fault { file, line: place.line, column: None, code: "torn_tail", message };
        }
        let message = match advise(error.code) {
            "" => error.message + held,
            advice => format!("{}; {advice}{held}", error.message),
        };
        let (mut line, mut column) = (place.line, None);
        if place.column > 0 {
            let before = String::from_utf8_lossy(&self.bytes[place.bytes.start..place.bytes.start + error.offset]);
            let last = before.rsplit('\n').next().unwrap_or_default();
            line = line.saturating_add(before.matches('\n').count() as u32);
            let first = if line == place.line { place.column } else { 1 };
            column = Some(first.saturating_add(last.chars().count() as u32));
        }
        Fault { file, line, column, code: error.code, message }
    }
}

/// The records of a chunk.
#[derive(Debug)]
pub struct LogRecords<'a> {
    chunk: &'a Chunk,
    /// How far the bytes are read, for lines.
    at: usize,
    /// The number of the next record.
    index: u32,
    wanted: Option<&'a [u32]>,
}

impl Iterator for LogRecords<'_> {
    type Item = Result<LogRecord, Fault>;

    fn next(&mut self) -> Option<Result<LogRecord, Fault>> {
        let place = self.next_place()?;
        Some(place.and_then(|(index, place)| self.chunk.read_record(index, &place)))
    }
}

impl LogRecords<'_> {
    /// Returns the number of the next record and where it is.
    fn next_place(&mut self) -> Option<Result<(u32, RecordPlace), Fault>> {
        loop {
            let goal = self.next_index()?;
            match &self.chunk.layout {
                RecordLayout::Lines(_) => {
                    while self.index < goal {
                        self.next_line();
                    }
                    let (index, line) = (self.index, self.next_line());
                    let bytes = &self.chunk.bytes[line.clone()];
                    if bytes.trim_ascii().is_empty() {
                        continue;
                    }
                    let ends = self.chunk.ends && line.end == self.chunk.bytes.len();
                    let place = RecordPlace { bytes: line, line: index.saturating_add(1), column: 1, ends };
                    return Some(Ok((index, place)));
                }
                RecordLayout::Entries(first, entries) => {
                    self.index = goal + 1;
                    return Some(match entries.get((goal - first) as usize)? {
                        ChunkEntry::Record(place) => Ok((goal, place.clone())),
                        ChunkEntry::Fault(fault) => Err(Fault::clone(fault)),
                    });
                }
            }
        }
    }

    /// Returns the number of the next record that is wanted.
    fn next_index(&mut self) -> Option<u32> {
        let indices = self.chunk.indices();
        let goal = match &mut self.wanted {
            None => self.index,
            Some(wanted) => {
                let passed = wanted.partition_point(|&index| index < self.index);
                *wanted = &wanted[passed..];
                *wanted.first()?
            }
        };
        indices.contains(&goal).then_some(goal)
    }

    /// Returns the next line without its line end.
    fn next_line(&mut self) -> Range<usize> {
        let bytes = &self.chunk.bytes;
        let start = self.at.min(bytes.len());
        let end = memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length);
        self.at = end + 1;
        self.index += 1;
        start..end
    }
}

/// Whether the text of a record that could not be parsed has members that a call has, or a text with JSON that has them.
fn seems_to_hold_call(bytes: &[u8]) -> bool {
    const SIGNS: [&str; 17] = [
        "tool_calls",
        "toolCalls",
        "tool_call",
        "tool-call",
        "tool_use",
        "toolUse",
        "function_call",
        "functionCall",
        "toolInvocations",
        "tool_input",
        "toolName",
        "arguments",
        "tools/call",
        "handoff",
        "execute_tool",
        "gen_ai.tool.name",
        "gen_ai.tool.call.arguments",
    ];
    SIGNS.iter().any(|sign| {
        let ends = memmem::find_iter(bytes, sign).map(|place| (place, &bytes[place + sign.len()..]));
        let mut quoted = ends.filter(|(place, _)| bytes[..*place].ends_with(b"\""));
        quoted.any(|(_, rest)| rest.first().is_none_or(|next| matches!(next, b'"' | b'\\')))
    })
}

/// Returns the fault of a record that is over the limit.
pub(super) fn too_long_fault(file: &Arc<str>, line: u32, limit: usize) -> Fault {
    let message =
        format!("the record is over the limit of {limit} bytes and was skipped; raise the limit or split the record");
    Fault { file: Arc::clone(file), line, column: None, code: TOO_LONG, message }
}

/// Returns how to correct a mistake in JSON; empty where the message says enough.
fn advise(code: &str) -> &'static str {
    match code {
        "json.duplicate_key" => "JSON readers differ in which one they use, so write each key once",
        "json.trailing" => "write one value a line",
        "json.torn" => "the record is truncated, so write it again in full",
        "json.control_character" => "write it as an escape such as `\\n`",
        "json.lone_surrogate" => "write both halves, or the character itself",
        "json.utf8" => "convert the log to UTF-8",
        "json.too_deep" | "json.too_many_values" => "split the record",
        "json.number_range" => "write it as a string",
        "json.escape" => "a backslash is written `\\\\`",
        _ => "",
    }
}
