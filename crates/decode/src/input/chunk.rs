//! A piece of a file that ends where a record ends.

use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;

use crate::{DecodedEvents, Decoder, Fault, LogRecord};
use lictor_event::Source;
use lictor_json::{self as json, Json, JsonError};

/// A piece of a file that ends where a record ends. It owns its bytes, so that another thread may decode it.
#[derive(Debug)]
pub struct Chunk {
    pub(super) file: Arc<str>,
    pub(super) bytes: Vec<u8>,
    pub(super) cut: Cut,
    /// Whether records are JSON; otherwise they are texts.
    pub(super) json: bool,
    /// The longest record.
    pub(super) limit: usize,
    /// Whether the file ends here without a line end.
    pub(super) ends: bool,
}

/// Where the records of a chunk are.
#[derive(Debug)]
pub(super) enum Cut {
    /// One a line, numbered as the lines from zero; these lines.
    Lines(Range<u32>),
    /// In these places, numbered from a first one.
    Pieces(u32, Vec<Piece>),
}

#[derive(Debug)]
pub(super) enum Piece {
    Record(Place),
    Fault(Box<Fault>),
}

/// Where a record is in the bytes of its chunk, and where it was in the file.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) bytes: Range<usize>,
    pub(super) line: u32,
    /// The column, from one; zero where the bytes were put together from several places.
    pub(super) column: u32,
    /// Whether the file ends with it.
    pub(super) ends: bool,
}

/// A line of a chunk.
#[derive(Debug)]
pub struct ChunkLine {
    index: u32,
    place: Place,
}

impl Chunk {
    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The numbers that its records may have.
    pub fn indices(&self) -> Range<u32> {
        match &self.cut {
            Cut::Lines(lines) => lines.clone(),
            Cut::Pieces(first, pieces) => *first..first.saturating_add(pieces.len() as u32),
        }
    }

    /// Its records in order, and in their places the mistakes.
    pub fn records(&self) -> LogRecords<'_> {
        LogRecords { chunk: self, at: 0, index: self.indices().start, wanted: None }
    }

    /// The records of these numbers, which are in order. The others are skipped unread.
    pub fn records_at<'a>(&'a self, indices: &'a [u32]) -> LogRecords<'a> {
        LogRecords { wanted: Some(indices), ..self.records() }
    }

    /// Whether its records are lines of JSON.
    pub fn is_lines(&self) -> bool {
        self.json && matches!(self.cut, Cut::Lines(_))
    }

    /// Its lines that are not empty.
    pub fn lines(&self) -> impl Iterator<Item = ChunkLine> + '_ {
        let mut records = self.records();
        std::iter::from_fn(move || records.place()?.ok().map(|(index, place)| ChunkLine { index, place }))
    }

    /// The text of a line.
    pub fn line(&self, line: &ChunkLine) -> Result<&str, Fault> {
        self.text(&line.place)
    }

    /// Gives a line to a decoder.
    pub fn decode_line(&self, line: &ChunkLine, decoder: &mut dyn Decoder, out: &mut DecodedEvents) {
        let decoded = self.decode_at(line.index, &line.place, decoder, out);
        out.faults.extend(decoded.err());
    }

    /// Gives its records to a decoder: all, or those of these numbers, which are in order.
    pub fn decode(&self, wanted: Option<&[u32]>, decoder: &mut dyn Decoder, out: &mut DecodedEvents) {
        let mut records = LogRecords { wanted, ..self.records() };
        // An event a record, mostly: room is made once.
        out.events.reserve(wanted.map_or_else(|| self.indices().len(), <[u32]>::len));
        while let Some(place) = records.place() {
            let decoded = place.and_then(|(index, place)| self.decode_at(index, &place, decoder, out));
            out.faults.extend(decoded.err());
        }
    }

    fn decode_at(
        &self,
        index: u32,
        place: &Place,
        decoder: &mut dyn Decoder,
        out: &mut DecodedEvents,
    ) -> Result<(), Fault> {
        let text = self.text(place)?;
        let source = Source { file: Arc::clone(&self.file), line: place.line, record: index };
        if self.json && decoder.text(text, &source, out) {
            return Ok(());
        }
        let Source { file, line, record: index } = source;
        let value = self.value(text).map_err(|error| self.fault(place, error))?;
        decoder.record(LogRecord { value, file, line, index }, out);
        Ok(())
    }

    /// Reads the record in a place.
    fn read(&self, index: u32, place: &Place) -> Result<LogRecord, Fault> {
        let value = self.value(self.text(place)?).map_err(|error| self.fault(place, error))?;
        Ok(LogRecord { value, file: Arc::clone(&self.file), line: place.line, index })
    }

    fn text(&self, place: &Place) -> Result<&str, Fault> {
        let bytes = &self.bytes[place.bytes.clone()];
        if bytes.len() > self.limit {
            return Err(too_long(&self.file, place.line, self.limit));
        }
        std::str::from_utf8(bytes).map_err(|error| self.fault(place, JsonError::utf8(error)))
    }

    fn value(&self, text: &str) -> Result<Json, JsonError> {
        match self.json {
            true => json::parse_str(text),
            false => Ok(Json::String(text.trim_end_matches(['\r', '\n']).into())),
        }
    }

    #[cold]
    fn fault(&self, place: &Place, error: JsonError) -> Fault {
        let file = Arc::clone(&self.file);
        if place.ends && error.code == "json.torn" {
            let message = "the file ends inside this record; its writer is still at work, or died".to_owned();
            return Fault { file, line: place.line, column: None, code: "torn_tail", message };
        }
        let message = match advice(error.code) {
            "" => error.message,
            advice => format!("{}; {advice}", error.message),
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
        let place = self.place()?;
        Some(place.and_then(|(index, place)| self.chunk.read(index, &place)))
    }
}

impl LogRecords<'_> {
    /// The number of the next record and where it is.
    fn place(&mut self) -> Option<Result<(u32, Place), Fault>> {
        loop {
            let goal = self.goal()?;
            match &self.chunk.cut {
                Cut::Lines(_) => {
                    while self.index < goal {
                        self.line();
                    }
                    let (index, line) = (self.index, self.line());
                    let bytes = &self.chunk.bytes[line.clone()];
                    if bytes.trim_ascii().is_empty() {
                        continue;
                    }
                    let ends = self.chunk.ends && line.end == self.chunk.bytes.len();
                    let place = Place { bytes: line, line: index.saturating_add(1), column: 1, ends };
                    return Some(Ok((index, place)));
                }
                Cut::Pieces(first, pieces) => {
                    self.index = goal + 1;
                    return Some(match pieces.get((goal - first) as usize)? {
                        Piece::Record(place) => Ok((goal, place.clone())),
                        Piece::Fault(fault) => Err(Fault::clone(fault)),
                    });
                }
            }
        }
    }

    /// The number of the next record that is wanted.
    fn goal(&mut self) -> Option<u32> {
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

    /// The next line, without its end.
    fn line(&mut self) -> Range<usize> {
        let bytes = &self.chunk.bytes;
        let start = self.at.min(bytes.len());
        let end = memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length);
        self.at = end + 1;
        self.index += 1;
        start..end
    }
}

/// A record that is longer than it may be.
pub(super) fn too_long(file: &Arc<str>, line: u32, limit: usize) -> Fault {
    let message =
        format!("the record is longer than {limit} bytes and was skipped; raise the limit or log less in one record");
    Fault { file: Arc::clone(file), line, column: None, code: "record.too_long", message }
}

/// What to do about a mistake in JSON.
fn advice(code: &str) -> &'static str {
    match code {
        "json.duplicate_key" => "readers differ in which one they see, so write each key once",
        "json.trailing" => "write one value a line",
        "json.torn" => "the record was cut off, so write it again in full",
        "json.control_character" => "write it as an escape such as `\\n`",
        "json.lone_surrogate" => "write both halves, or the character itself",
        "json.utf8" => "convert the log to UTF-8",
        "json.too_deep" | "json.too_many_values" => "split the record",
        "json.number_range" => "write it as a string",
        "json.escape" => "a backslash is written `\\\\`",
        _ => "",
    }
}
