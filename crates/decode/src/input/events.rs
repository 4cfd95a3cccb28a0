//! Server-sent events, by the rules of the HTML standard.

use std::sync::Arc;

use memchr::{memchr, memchr2};

use super::chunk::{Chunk, Piece, Place, too_long};
use super::chunks::Blocks;

/// Cuts after events.
#[derive(Default)]
pub(super) struct Events {
    lines: LineReader,
    stream: Stream,
    first: u32,
}

impl Events {
    pub(super) fn line(&self) -> u32 {
        self.lines.line()
    }

    pub(super) fn next(&mut self, blocks: &mut Blocks) -> Option<Chunk> {
        let mut payloads = Payloads::new(blocks);
        let enough = blocks.limits.chunk;
        while payloads.len() < enough {
            let Some(line) = self.lines.next(blocks) else {
                self.stream.end(&mut payloads, true);
                break;
            };
            self.stream.line(&line, &mut payloads);
        }
        payloads.chunk(&mut self.first, blocks)
    }
}

/// Payloads that were put together, one behind the other.
pub(super) struct Payloads {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    file: Arc<str>,
    limit: usize,
}

impl Payloads {
    pub(super) fn new(blocks: &Blocks) -> Payloads {
        let (file, limit) = (Arc::clone(&blocks.file), blocks.limits.record);
        Payloads { bytes: Vec::new(), pieces: Vec::new(), file, limit }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a payload that was written from a line on; a column of zero says that it was put together.
    pub(super) fn add(&mut self, payload: &[u8], line: u32, column: u32, ends: bool) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.pieces.push(Piece::Record(Place { bytes: start..self.bytes.len(), line, column, ends }));
    }

    pub(super) fn too_long(&mut self, line: u32) {
        self.pieces.push(Piece::Fault(Box::new(too_long(&self.file, line, self.limit))));
    }

    /// The payloads as a chunk, numbered from `first` on.
    pub(super) fn chunk(self, first: &mut u32, blocks: &Blocks) -> Option<Chunk> {
        if self.pieces.is_empty() {
            return None;
        }
        let chunk = blocks.pieces(self.bytes, *first, self.pieces);
        *first = chunk.indices().end;
        Some(chunk)
    }
}

/// A line of a file.
pub(super) struct Line<'a> {
    /// What it says, without its end.
    pub(super) text: &'a [u8],
    /// The same with its end.
    pub(super) whole: &'a [u8],
    pub(super) number: u32,
    /// Whether it was too long: what it says is left out.
    pub(super) skipped: bool,
}

/// Lines that end with CR, LF or both.
#[derive(Default)]
pub(super) struct LineReader {
    at: usize,
    lines: u32,
}

impl LineReader {
    pub(super) fn line(&self) -> u32 {
        self.lines.saturating_add(1)
    }

    pub(super) fn next<'a>(&mut self, blocks: &'a mut Blocks) -> Option<Line<'a>> {
        if self.at > blocks.limits.chunk {
            blocks.buffer.drain(..self.at);
            self.at = 0;
        }
        let mut searched = self.at;
        let mut skipped = false;
        let (end, next) = loop {
            let found = memchr2(b'\r', b'\n', &blocks.buffer[searched..]).map(|length| searched + length);
            match found {
                // Whether LF follows CR shows in the next byte.
                Some(end) if end + 1 == blocks.buffer.len() && blocks.buffer[end] == b'\r' && !blocks.ended => {
                    searched = end;
                }
                Some(end) => {
                    let both = blocks.buffer[end..].starts_with(b"\r\n");
                    break (end, end + 1 + usize::from(both));
                }
                None if blocks.ended => break (blocks.buffer.len(), blocks.buffer.len()),
                None => searched = blocks.buffer.len(),
            }
            if searched - self.at > blocks.limits.record {
                skipped = true;
                blocks.buffer.drain(self.at..searched);
                searched = self.at;
            }
            blocks.more();
        };
        let start = self.at;
        if next == start && !skipped {
            return None;
        }
        self.at = next;
        self.lines = self.lines.saturating_add(1);
        if skipped || end - start > blocks.limits.record {
            return Some(Line { text: &[], whole: &[], number: self.lines, skipped: true });
        }
        let (text, whole) = (&blocks.buffer[start..end], &blocks.buffer[start..next]);
        Some(Line { text, whole, number: self.lines, skipped: false })
    }
}

/// The event that is being put together.
#[derive(Default)]
pub(super) struct Stream {
    data: Option<Vec<u8>>,
    /// The line on which the data begins.
    line: u32,
    /// Whether the event only says where messages go to, as one transport of MCP begins.
    address: bool,
    too_long: bool,
}

impl Stream {
    /// Takes the next line.
    pub(super) fn line(&mut self, line: &Line<'_>, payloads: &mut Payloads) {
        if line.text.is_empty() && !line.skipped {
            return self.end(payloads, false);
        }
        let colon = memchr(b':', line.text).unwrap_or(line.text.len());
        let (field, value) = line.text.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                match &mut self.data {
                    Some(data) => data.push(b'\n'),
                    none => (*none, self.line) = (Some(Vec::new()), line.number),
                }
                if let Some(data) = &mut self.data {
                    data.extend_from_slice(value);
                    self.too_long |= data.len() > payloads.limit;
                    if self.too_long {
                        data.clear();
                    }
                }
            }
            b"event" => self.address = value == b"endpoint",
            _ => {}
        }
        if line.skipped {
            self.too_long = true;
            self.line = line.number;
        }
    }

    /// Ends the event. One that the file ends in is taken too, since many logs lack the last empty line.
    pub(super) fn end(&mut self, payloads: &mut Payloads, file_ends: bool) {
        let Stream { data, line, address, too_long } = std::mem::take(self);
        if too_long {
            payloads.too_long(line);
        } else if let Some(data) = data
            && !address
            && !data.trim_ascii().is_empty()
            && data.trim_ascii() != b"[DONE]"
        {
            payloads.add(&data, line, 0, file_ends);
        }
    }
}
