//! JSON values that span lines: documents, and the elements of a list.
//!
//! The scanner looks at brackets and strings only; what is between them is for the reader of JSON to judge. It finds its
//! way again after damage: a string ends with its line at the latest, and a bracket that opens at the very beginning of
//! a line, where none can stand, begins a new record.

use memchr::memchr3;

use super::chunk::{Chunk, Piece, Place, too_long};
use super::chunks::Blocks;

/// Cuts where brackets close.
#[derive(Default)]
pub(super) struct Values {
    /// How far the buffer is scanned.
    at: usize,
    /// How many lines are behind.
    lines: u32,
    /// Where the line begins; before the buffer if negative.
    line_start: i64,
    /// The record that has begun, if any.
    record: Option<Begun>,
    /// Whether the list is open whose elements are the records.
    list: bool,
    /// Whether a list has just opened, and its first element tells what it is.
    opening: bool,
    /// The brackets that are open in the record, and for each whether it is a brace, the innermost lowest.
    depth: u32,
    braces: u128,
    string: bool,
    escape: bool,
    /// The last byte that was not white space.
    last: u8,
    pieces: Vec<Piece>,
    /// The number of the first piece.
    first: u32,
}

#[derive(Clone, Copy)]
struct Begun {
    start: usize,
    line: u32,
    column: u32,
    /// Whether it is too long, and its bytes are gone.
    skipped: bool,
}

impl Values {
    pub(super) fn line(&self) -> u32 {
        self.lines.saturating_add(1)
    }

    pub(super) fn next(&mut self, blocks: &mut Blocks) -> Option<Chunk> {
        loop {
            if self.scan(blocks) {
                return Some(self.emit(blocks));
            }
            if blocks.ended {
                self.end(blocks);
                return (!self.pieces.is_empty()).then(|| self.emit(blocks));
            }
            match &mut self.record {
                Some(record) if record.skipped || blocks.buffer.len() - record.start > blocks.limits.record => {
                    if !self.pieces.is_empty() {
                        return Some(self.emit(blocks));
                    }
                    record.skipped = true;
                    self.emit(blocks);
                }
                Some(_) => {}
                // Between records nothing is kept.
                None => {
                    let chunk = self.emit(blocks);
                    if !chunk.indices().is_empty() {
                        return Some(chunk);
                    }
                }
            }
            blocks.more();
        }
    }

    /// Takes the records so far out of the buffer, and what is scanned of one that is too long.
    fn emit(&mut self, blocks: &mut Blocks) -> Chunk {
        let length = match &mut self.record {
            Some(record) if !record.skipped => std::mem::take(&mut record.start),
            _ => self.at,
        };
        let bytes = blocks.take(length);
        self.at -= length;
        self.line_start -= length as i64;
        let pieces = std::mem::take(&mut self.pieces);
        let first = self.first;
        self.first = first.saturating_add(pieces.len() as u32);
        blocks.pieces(bytes, first, pieces)
    }

    /// Scans the buffer to its end, or until the records in it make a chunk.
    fn scan(&mut self, blocks: &Blocks) -> bool {
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
                b'\n' => self.line_end(blocks),
                _ => self.solid(blocks, byte),
            };
            self.at += 1;
            if ended && self.at >= blocks.limits.chunk {
                return true;
            }
        }
        false
    }

    /// Takes a line end; says whether a record ends with it.
    fn line_end(&mut self, blocks: &Blocks) -> bool {
        let ended = self.depth == 0 && !self.list && self.finish(blocks, false);
        self.lines = self.lines.saturating_add(1);
        self.line_start = self.at as i64 + 1;
        ended
    }

    /// Takes a byte outside strings; says whether a record ends before it.
    fn solid(&mut self, blocks: &Blocks, byte: u8) -> bool {
        let mut ended = false;
        if self.opening {
            self.opening = false;
            if matches!(byte, b'{' | b'[' | b']') {
                (self.list, self.record, self.depth) = (true, None, 0);
            }
        }
        match byte {
            b'{' | b'[' => {
                if self.at as i64 == self.line_start && self.misplaced() {
                    ended = self.finish(blocks, false);
                    (self.list, self.depth) = (false, 0);
                }
                self.opening = byte == b'[' && self.record.is_none() && !self.list;
                self.begin();
                self.depth = self.depth.saturating_add(1);
                self.braces = self.braces << 1 | u128::from(byte == b'{');
            }
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                self.braces >>= 1;
            }
            b']' | b',' if self.list && self.depth == 0 => {
                ended = self.finish(blocks, false);
                if !ended && (byte == b',' || self.last == b',') {
                    let message = format!("expected a value, found {:?}; take the needless comma out", byte as char);
                    self.pieces.push(Piece::Fault(Box::new(blocks.fault(self.line(), "json.syntax", message))));
                    ended = true;
                }
                self.list = byte == b',';
            }
            b'"' => {
                self.begin();
                self.string = true;
            }
            _ => self.begin(),
        }
        self.last = byte;
        ended
    }

    /// Whether a value cannot begin here: what is open was never closed.
    fn misplaced(&self) -> bool {
        let in_list = if self.depth > 0 { self.braces & 1 == 0 } else { self.list };
        let may_stand = self.last == b'[' || self.last == b':' || self.last == b',' && in_list;
        (self.record.is_some() || self.list) && !may_stand
    }

    fn begin(&mut self) {
        if self.record.is_none() {
            let column = u32::try_from(self.at as i64 - self.line_start + 1).unwrap_or(u32::MAX);
            self.record = Some(Begun { start: self.at, line: self.line(), column, skipped: false });
            (self.depth, self.braces) = (0, 0);
        }
    }

    /// Ends the record before this place; says whether there was one.
    fn finish(&mut self, blocks: &Blocks, ends: bool) -> bool {
        let Some(Begun { start, line, column, skipped }) = self.record.take() else { return false };
        self.pieces.push(if skipped || self.at - start > blocks.limits.record {
            Piece::Fault(Box::new(too_long(&blocks.file, line, blocks.limits.record)))
        } else {
            Piece::Record(Place { bytes: start..self.at, line, column, ends })
        });
        true
    }

    /// Ends with the file.
    fn end(&mut self, blocks: &Blocks) {
        self.finish(blocks, true);
        if std::mem::take(&mut self.list) {
            let message = "the file ends inside a list; its writer is still at work, or died";
            self.pieces.push(Piece::Fault(Box::new(blocks.fault(self.line(), "torn_tail", message))));
        }
    }
}
