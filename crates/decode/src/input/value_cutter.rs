//! JSON values that span lines: documents, and the elements of a list.
//!
//! The scanner looks at brackets and strings only; the JSON reader judges the rest. It recovers after damage: a string
//! ends with its line at the latest, and a bracket at the very beginning of a line, where JSON allows none, begins a
//! new record.

use memchr::memchr3;

use super::blocks::Blocks;
use super::chunk::{Chunk, ChunkEntry, RecordPlace, too_long_fault};

/// Cuts a file where brackets close.
#[derive(Default)]
pub(super) struct ValueCutter {
    /// How far the buffer is scanned.
    at: usize,
    /// How many lines have ended.
    lines: u32,
    /// Where the line begins; before the buffer if negative.
    line_start: i64,
    /// The record that is open, if any.
    record: Option<OpenRecord>,
    /// Whether the list is open whose elements are the records.
    list: bool,
    /// Whether a list has just opened, so that its first element decides what it is.
    opening: bool,
    /// The brackets that are open in the record, and for each whether it is a brace, the innermost lowest.
    depth: u32,
    braces: u128,
    string: bool,
    escape: bool,
    /// The last byte that was not white space.
    last: u8,
    entries: Vec<ChunkEntry>,
    /// The number of the first entry.
    first: u32,
}

/// A record whose end is not yet found.
#[derive(Clone, Copy)]
struct OpenRecord {
    start: usize,
    line: u32,
    column: u32,
    /// Whether it is too long, and its bytes are gone.
    skipped: bool,
}

impl ValueCutter {
    pub(super) fn line(&self) -> u32 {
        self.lines.saturating_add(1)
    }

    pub(super) fn next_chunk(&mut self, blocks: &mut Blocks) -> Option<Chunk> {
        loop {
            if self.scan_buffer(blocks) {
                return Some(self.take_chunk(blocks));
            }
            if blocks.ended {
                self.end_file(blocks);
                return (!self.entries.is_empty()).then(|| self.take_chunk(blocks));
            }
            match &mut self.record {
                Some(record) if record.skipped || blocks.buffer.len() - record.start > blocks.limits.record => {
                    if !self.entries.is_empty() {
                        return Some(self.take_chunk(blocks));
                    }
                    record.skipped = true;
                    self.take_chunk(blocks);
                }
                Some(_) => {}
                // Between records nothing is kept.
                None => {
                    let chunk = self.take_chunk(blocks);
                    if !chunk.indices().is_empty() {
                        return Some(chunk);
                    }
                }
            }
            blocks.read_more();
        }
    }

    /// Takes the finished records out of the buffer, and the scanned part of one that is over the limit.
    fn take_chunk(&mut self, blocks: &mut Blocks) -> Chunk {
        let length = match &mut self.record {
            Some(record) if !record.skipped => std::mem::take(&mut record.start),
            _ => self.at,
        };
        let bytes = blocks.take(length);
        self.at -= length;
        self.line_start -= length as i64;
        let entries = std::mem::take(&mut self.entries);
        let first = self.first;
        self.first = first.saturating_add(entries.len() as u32);
        blocks.chunk(bytes, first, entries)
    }

    /// Scans the buffer to its end, or until the records in it make a chunk.
    fn scan_buffer(&mut self, blocks: &Blocks) -> bool {
        let bytes = &blocks.buffer[..];
        while let Some(&byte) = bytes.get(self.at) {
            if self.escape {
                self.escape = false;
                // A line end is never escaped away.
                if byte != b'\n' {
                    self.at += 1;
                    continue;
                }
            }
            if self.string {
                let Some(length) = memchr3(b'"', b'\\', b'\n', &bytes[self.at..]) else {
                    self.at = bytes.len();
                    return false;
                };
                self.at += length;
                match bytes[self.at] {
                    b'\\' => self.escape = true,
                    b'"' => self.string = false,
                    _ => {
                        self.string = false;
                        continue;
                    }
                }
                self.at += 1;
                continue;
            }
            let ended = match byte {
                b' ' | b'\t' | b'\r' => false,
                b'\n' => self.end_line(blocks),
                _ => self.take_byte(blocks, byte),
            };
            self.at += 1;
            if ended && self.at >= blocks.limits.chunk {
                return true;
            }
        }
        false
    }

    /// Takes a line end; returns whether a record ends with it.
    fn end_line(&mut self, blocks: &Blocks) -> bool {
        let ended = self.depth == 0 && !self.list && self.end_record(blocks, false);
        self.lines = self.lines.saturating_add(1);
        self.line_start = self.at as i64 + 1;
        ended
    }

    /// Takes a byte outside strings; returns whether a record ends before it.
    fn take_byte(&mut self, blocks: &Blocks, byte: u8) -> bool {
        let mut ended = false;
        if self.opening {
            self.opening = false;
            if matches!(byte, b'{' | b'[' | b']') {
                (self.list, self.record, self.depth) = (true, None, 0);
            }
        }
        match byte {
            b'{' | b'[' => {
                if self.at as i64 == self.line_start && self.is_misplaced() {
                    ended = self.end_record(blocks, false);
                    (self.list, self.depth) = (false, 0);
                }
                self.opening = byte == b'[' && self.record.is_none() && !self.list;
                self.begin_record();
                self.depth = self.depth.saturating_add(1);
                self.braces = self.braces << 1 | u128::from(byte == b'{');
            }
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                self.braces >>= 1;
            }
            b']' | b',' if self.list && self.depth == 0 => {
                ended = self.end_record(blocks, false);
                if !ended && (byte == b',' || self.last == b',') {
                    let message = format!("expected a value, found {:?}; remove the extra comma", byte as char);
                    self.entries.push(ChunkEntry::Fault(Box::new(blocks.fault(self.line(), "json.syntax", message))));
                    ended = true;
                }
                self.list = byte == b',';
            }
            b'"' => {
                self.begin_record();
                self.string = true;
            }
            _ => self.begin_record(),
        }
        self.last = byte;
        ended
    }

    /// Whether no value can begin here, so that the open record or list was never closed.
    fn is_misplaced(&self) -> bool {
        let in_list = if self.depth > 0 { self.braces & 1 == 0 } else { self.list };
        let may_stand = self.last == b'[' || self.last == b':' || self.last == b',' && in_list;
        (self.record.is_some() || self.list) && !may_stand
    }

    fn begin_record(&mut self) {
        if self.record.is_none() {
            let column = u32::try_from(self.at as i64 - self.line_start + 1).unwrap_or(u32::MAX);
            self.record = Some(OpenRecord { start: self.at, line: self.line(), column, skipped: false });
            (self.depth, self.braces) = (0, 0);
        }
    }

    /// Ends the record before the current byte; returns whether there was one.
    fn end_record(&mut self, blocks: &Blocks, ends: bool) -> bool {
        let Some(OpenRecord { start, line, column, skipped }) = self.record.take() else { return false };
        self.entries.push(if skipped || self.at - start > blocks.limits.record {
            ChunkEntry::Fault(Box::new(too_long_fault(&blocks.file, line, blocks.limits.record)))
        } else {
            ChunkEntry::Record(RecordPlace { bytes: start..self.at, line, column, ends })
        });
        true
    }

    /// Ends the record and the list that the file ends in.
    fn end_file(&mut self, blocks: &Blocks) {
        self.end_record(blocks, true);
        if std::mem::take(&mut self.list) {
            let message = "the file ends inside a list: its writer is still writing, or crashed";
            self.entries.push(ChunkEntry::Fault(Box::new(blocks.fault(self.line(), "torn_tail", message))));
        }
    }
}
