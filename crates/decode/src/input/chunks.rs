//! A file as a sequence of chunks.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use super::blocks::Blocks;
use super::chunk::{Chunk, ChunkEntry};
use super::error::InputError;
use super::event_cutter::EventCutter;
use super::http_cutter::HttpCutter;
use super::layout::{Layout, detect_binary, detect_layout};
use super::limits::InputLimits;
use super::line_cutter::LineCutter;
use super::value_cutter::ValueCutter;
use crate::Framing;

/// How many bytes are read at least before the layout of a file is detected.
const MIN_DETECTION_BYTES: usize = 1 << 16;

/// Reads a file from the beginning in chunks that end where a record ends.
pub struct Chunks {
    blocks: Blocks,
    layout: Layout,
    cutter: Cutter,
}

/// The cutter for the layout of the file: it finds where records end.
enum Cutter {
    Lines(LineCutter),
    Values(ValueCutter),
    Events(EventCutter),
    Http(HttpCutter),
    Whole,
}

impl Chunks {
    pub(super) fn open(
        file: Arc<str>,
        reader: Box<dyn Read + Send>,
        limits: InputLimits,
    ) -> Result<Chunks, InputError> {
        let mut blocks = Blocks::open(file, reader, limits)?;
        while blocks.buffer.len() < MIN_DETECTION_BYTES && !blocks.ended {
            blocks.read_more();
        }
        if let Some((message, hint)) = detect_binary(&blocks.buffer) {
            return Err(InputError::new(&blocks.file, message).with_hint(hint));
        }
        if blocks.buffer.starts_with(b"\xef\xbb\xbf") {
            blocks.buffer.drain(..3);
        }
        let layout = loop {
            let enough = blocks.ended || blocks.buffer.len() > blocks.limits.record;
            match detect_layout(&blocks.buffer, enough) {
                Some(layout) => break layout,
                None => blocks.read_ahead(),
            }
        };
        blocks.rewind();
        let cutter = match layout {
            Layout::JsonLines | Layout::Lines => Cutter::Lines(LineCutter::default()),
            Layout::Values => Cutter::Values(ValueCutter::default()),
            Layout::Events => Cutter::Events(EventCutter::new(&blocks.limits)),
            Layout::Http => Cutter::Http(HttpCutter::default()),
            Layout::Whole => Cutter::Whole,
        };
        Ok(Chunks { blocks, layout, cutter })
    }

    /// Returns how the file is cut into records.
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
            Cutter::Lines(cutter) => cutter.next_chunk(&mut self.blocks, self.layout == Layout::JsonLines),
            Cutter::Values(cutter) => cutter.next_chunk(&mut self.blocks),
            Cutter::Events(cutter) => cutter.next_chunk(&mut self.blocks),
            Cutter::Http(cutter) => cutter.next_chunk(&mut self.blocks),
            Cutter::Whole => self.blocks.read_whole(),
        };
        chunk.or_else(|| {
            let (code, message) = self.blocks.take_failure()?;
            let fault = self.blocks.fault(self.cutter.line(), code, message);
            Some(self.blocks.chunk(Vec::new(), u32::MAX - 1, vec![ChunkEntry::Fault(Box::new(fault))]))
        })
    }
}

impl Cutter {
    /// Returns the number of the line that is reached.
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
