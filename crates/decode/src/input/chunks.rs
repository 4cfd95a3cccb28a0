//! A file in chunks.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use super::chunk::{Chunk, Cut, Piece, Place};
use super::events::Events;
use super::framing::{Layout, binary, layout};
use super::http::Http;
use super::lines::Lines;
use super::source::{Source, trouble};
use super::values::Values;
use super::{InputError, InputLimits};
use crate::{Fault, Framing};

/// How much is read at least to see what a file is.
const GLANCE: usize = 1 << 16;

/// Reads a file from the beginning in chunks that end where a record ends.
pub struct Chunks {
    blocks: Blocks,
    layout: Layout,
    cutter: Cutter,
}

/// Finds where records end.
enum Cutter {
    Lines(Lines),
    Values(Values),
    Events(Events),
    Http(Http),
    Whole,
}

/// What is read of a file and not yet cut.
pub(super) struct Blocks {
    pub(super) file: Arc<str>,
    pub(super) limits: InputLimits,
    pub(super) buffer: Vec<u8>,
    /// Whether the buffer reaches to the end of the file.
    pub(super) ended: bool,
    /// What was read to see what the file is, and how much of it is in the buffer again.
    ahead: Vec<u8>,
    taken: usize,
    source: Source,
    /// Whether the source has nothing more.
    dry: bool,
    /// Why the file is not read further, though it goes on.
    fault: Option<(&'static str, String)>,
}

impl Chunks {
    pub(super) fn open(
        file: Arc<str>,
        reader: Box<dyn Read + Send>,
        limits: InputLimits,
    ) -> Result<Chunks, InputError> {
        let source = Source::new(reader, limits.clone()).map_err(|error| InputError::from_io(&file, &error))?;
        let mut blocks = Blocks {
            file,
            limits,
            buffer: Vec::new(),
            ended: false,
            ahead: Vec::new(),
            taken: 0,
            source,
            dry: false,
            fault: None,
        };
        while blocks.buffer.len() < GLANCE && !blocks.ended {
            blocks.more();
        }
        if let Some((message, hint)) = binary(&blocks.buffer) {
            return Err(InputError::new(&blocks.file, message).hint(hint));
        }
        if blocks.buffer.starts_with(b"\xef\xbb\xbf") {
            blocks.buffer.drain(..3);
        }
        let layout = loop {
            let enough = blocks.ended || blocks.buffer.len() > blocks.limits.record;
            match layout(&blocks.buffer, enough) {
                Some(layout) => break layout,
                None => blocks.more(),
            }
        };
        blocks.rewind();
        let cutter = match layout {
            Layout::JsonLines | Layout::Lines => Cutter::Lines(Lines::default()),
            Layout::Values => Cutter::Values(Values::default()),
            Layout::Events => Cutter::Events(Events::default()),
            Layout::Http => Cutter::Http(Http::default()),
            Layout::Whole => Cutter::Whole,
        };
        Ok(Chunks { blocks, layout, cutter })
    }

    /// How the file is cut into records.
    pub fn framing(&self) -> Framing {
        match self.layout {
            Layout::JsonLines | Layout::Values => Framing::Json,
            Layout::Events => Framing::Events,
            Layout::Http => Framing::Http,
            Layout::Whole => Framing::Whole,
            Layout::Lines => Framing::Lines,
        }
    }
}

impl Iterator for Chunks {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let chunk = match &mut self.cutter {
            Cutter::Lines(cutter) => cutter.next(&mut self.blocks, self.layout == Layout::JsonLines),
            Cutter::Values(cutter) => cutter.next(&mut self.blocks),
            Cutter::Events(cutter) => cutter.next(&mut self.blocks),
            Cutter::Http(cutter) => cutter.next(&mut self.blocks),
            Cutter::Whole => self.blocks.whole(),
        };
        chunk.or_else(|| {
            let (code, message) = self.blocks.fault.take()?;
            let fault = self.blocks.fault(self.cutter.line(), code, message);
            Some(self.blocks.pieces(Vec::new(), u32::MAX - 1, vec![Piece::Fault(Box::new(fault))]))
        })
    }
}

impl Cutter {
    /// The line that is reached.
    fn line(&self) -> u32 {
        match self {
            Cutter::Lines(cutter) => cutter.line(),
            Cutter::Values(cutter) => cutter.line(),
            Cutter::Events(cutter) => cutter.line(),
            Cutter::Http(cutter) => cutter.line(),
            Cutter::Whole => 1,
        }
    }
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks").field("file", &self.blocks.file).field("layout", &self.layout).finish_non_exhaustive()
    }
}

impl Blocks {
    /// Reads on, about a chunk.
    pub(super) fn more(&mut self) {
        let mut length = self.limits.chunk.max(1);
        self.buffer.reserve(length);
        let again = length.min(self.ahead.len() - self.taken);
        self.buffer.extend_from_slice(&self.ahead[self.taken..self.taken + again]);
        self.taken += again;
        length -= again;
        if length > 0 && !self.dry {
            (self.ahead, self.taken) = (Vec::new(), 0);
            match self.source.by_ref().take(length as u64).read_to_end(&mut self.buffer) {
                Ok(count) => self.dry = count < length,
                Err(error) => self.stop(trouble(&error)),
            }
        }
        self.ended = self.dry && self.taken == self.ahead.len();
    }

    /// Begins again with what was read so far.
    fn rewind(&mut self) {
        (self.ahead, self.taken) = (std::mem::take(&mut self.buffer), 0);
        self.ended = self.dry && self.ahead.is_empty();
    }

    /// Reads no further.
    pub(super) fn stop(&mut self, fault: (&'static str, String)) {
        (self.dry, self.ended, self.fault) = (true, true, Some(fault));
        (self.ahead, self.taken) = (Vec::new(), 0);
    }

    /// Takes the first bytes out of the buffer.
    pub(super) fn take(&mut self, length: usize) -> Vec<u8> {
        let mut rest = Vec::with_capacity(self.buffer.len() - length + self.limits.chunk);
        rest.extend_from_slice(&self.buffer[length..]);
        self.buffer.truncate(length);
        std::mem::replace(&mut self.buffer, rest)
    }

    pub(super) fn fault(&self, line: u32, code: &'static str, message: impl Into<String>) -> Fault {
        Fault { file: Arc::clone(&self.file), line, column: None, code, message: message.into() }
    }

    pub(super) fn pieces(&self, bytes: Vec<u8>, first: u32, pieces: Vec<Piece>) -> Chunk {
        Chunk {
            file: Arc::clone(&self.file),
            bytes,
            cut: Cut::Pieces(first, pieces),
            json: true,
            limit: self.limits.record,
            ends: false,
        }
    }

    /// All that is left, as one text.
    fn whole(&mut self) -> Option<Chunk> {
        while !self.ended && self.buffer.len() <= self.limits.whole {
            self.more();
        }
        if self.buffer.len() > self.limits.whole {
            let message = format!("the text is longer than {} bytes and was not read; split it", self.limits.whole);
            self.stop(("record.too_long", message));
            self.buffer = Vec::new();
        }
        if self.buffer.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.buffer);
        let place = Place { bytes: 0..bytes.len(), line: 1, column: 1, ends: false };
        let chunk = self.pieces(bytes, 0, vec![Piece::Record(place)]);
        Some(Chunk { json: false, limit: self.limits.whole, ..chunk })
    }
}
