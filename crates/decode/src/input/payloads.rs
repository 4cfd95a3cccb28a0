//! Payloads that do not lie in the file as they are read, gathered into chunks.

use std::sync::Arc;

use lictor_json::SseFrame;

use super::blocks::Blocks;
use super::chunk::{Chunk, ChunkEntry, RecordPlace, too_long_fault};

/// Payloads joined from several places of a file, one after the other.
pub(super) struct Payloads {
    bytes: Vec<u8>,
    entries: Vec<ChunkEntry>,
    file: Arc<str>,
    /// The longest payload, in bytes.
    limit: usize,
}

impl Payloads {
    pub(super) fn new(blocks: &Blocks) -> Payloads {
        let (file, limit) = (Arc::clone(&blocks.file), blocks.limits.record);
        Payloads { bytes: Vec::new(), entries: Vec::new(), file, limit }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a payload that begins on a line; a column of zero says that it was joined.
    pub(super) fn add(&mut self, payload: &[u8], line: u32, column: u32, ends: bool) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.entries.push(ChunkEntry::Record(RecordPlace { bytes: start..self.bytes.len(), line, column, ends }));
    }

    /// Adds the data of an event, whose stream begins after `lines_before` lines of the file.
    ///
    /// No record: an event without data, the `[DONE]` that ends some streams, and the address by which one transport of
    /// MCP begins.
    pub(super) fn add_event(&mut self, frame: &SseFrame, lines_before: u32, ends: bool) {
        let line = lines_before.saturating_add(frame.data_line());
        let data = frame.data();
        if frame.is_oversized() || data.as_ref().is_some_and(|data| data.len() > self.limit) {
            return self.add_too_long(line);
        }
        if let Some(data) = data
            && frame.name() != Some(b"endpoint")
            && !matches!(data.trim_ascii(), b"" | b"[DONE]")
        {
            self.add(&data, line, 0, ends);
        }
    }

    /// Adds the fault of a payload that is over the limit.
    pub(super) fn add_too_long(&mut self, line: u32) {
        self.entries.push(ChunkEntry::Fault(Box::new(too_long_fault(&self.file, line, self.limit))));
    }

    /// Returns the payloads as a chunk whose records are numbered from `first` on.
    pub(super) fn into_chunk(self, first: &mut u32, blocks: &Blocks) -> Option<Chunk> {
        if self.entries.is_empty() {
            return None;
        }
        let chunk = blocks.chunk(self.bytes, *first, self.entries);
        *first = chunk.indices().end;
        Some(chunk)
    }
}
