//! The bytes of a file that are read and not yet cut into records.

use std::io::Read;
use std::sync::Arc;

use super::byte_source::{ByteSource, describe_failure};
use super::chunk::{Chunk, ChunkEntry, RecordLayout, RecordPlace};
use super::error::InputError;
use super::limits::InputLimits;
use super::spare_buffers::SpareBuffers;
use crate::Fault;

/// A buffer over a file: what is read and not yet cut.
pub(super) struct Blocks {
    pub(super) file: Arc<str>,
    pub(super) limits: InputLimits,
    pub(super) buffer: Vec<u8>,
    /// Whether the buffer reaches to the end of the file.
    pub(super) ended: bool,
    /// The bytes by which the layout was detected, and how many of them are in the buffer again.
    ahead: Vec<u8>,
    ahead_taken: usize,
    source: ByteSource,
    pub(super) spare: SpareBuffers,
    /// Whether the source has no more bytes.
    is_drained: bool,
    /// Why reading stopped before the end of the file, as code and message.
    failure: Option<(&'static str, String)>,
}

impl Blocks {
    pub(super) fn open(
        file: Arc<str>,
        reader: Box<dyn Read + Send>,
        limits: InputLimits,
    ) -> Result<Blocks, InputError> {
        let source = ByteSource::new(reader, limits.clone()).map_err(|error| InputError::from_io(&file, &error))?;
        Ok(Blocks {
            file,
            limits,
            buffer: Vec::new(),
            ended: false,
            ahead: Vec::new(),
            ahead_taken: 0,
            source,
            spare: SpareBuffers::default(),
            is_drained: false,
            failure: None,
        })
    }

    /// Reads about a chunk more into the buffer.
    pub(super) fn read_more(&mut self) {
        let mut length = self.limits.chunk.max(1);
        self.buffer.reserve(length);
        let again = length.min(self.ahead.len() - self.ahead_taken);
        self.buffer.extend_from_slice(&self.ahead[self.ahead_taken..self.ahead_taken + again]);
        self.ahead_taken += again;
        length -= again;
        if length > 0 && !self.is_drained {
            (self.ahead, self.ahead_taken) = (Vec::new(), 0);
            match self.source.read_block(length, &mut self.buffer) {
                Ok(count) => self.is_drained = count < length,
                Err(error) => self.stop(describe_failure(&error)),
            }
        }
        self.ended = self.is_drained && self.ahead_taken == self.ahead.len();
    }

    /// Doubles what is in the buffer, up to just over the longest record. The caller looks at the whole buffer again
    /// after each call, so that growing by a constant would take quadratic time on a long run of blanks.
    pub(super) fn read_ahead(&mut self) {
        let goal = self.buffer.len().saturating_mul(2).min(self.limits.record.saturating_add(1));
        self.read_more();
        while self.buffer.len() < goal && !self.ended {
            self.read_more();
        }
    }

    /// Starts again with the bytes that were read so far.
    pub(super) fn rewind(&mut self) {
        (self.ahead, self.ahead_taken) = (std::mem::take(&mut self.buffer), 0);
        self.ended = self.is_drained && self.ahead.is_empty();
    }

    /// Stops reading, for a reason given as code and message.
    pub(super) fn stop(&mut self, failure: (&'static str, String)) {
        (self.is_drained, self.ended, self.failure) = (true, true, Some(failure));
        (self.ahead, self.ahead_taken) = (Vec::new(), 0);
    }

    /// Takes the first bytes out of the buffer.
    pub(super) fn take(&mut self, length: usize) -> Vec<u8> {
        let mut rest = self.spare.take(self.buffer.len() - length + self.limits.chunk);
        rest.extend_from_slice(&self.buffer[length..]);
        self.buffer.truncate(length);
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Takes the reason why reading stopped early, if it did.
    pub(super) fn take_failure(&mut self) -> Option<(&'static str, String)> {
        self.failure.take()
    }

    pub(super) fn fault(&self, line: u32, code: &'static str, message: impl Into<String>) -> Fault {
        Fault { file: Arc::clone(&self.file), line, column: None, code, message: message.into() }
    }

    /// Returns a chunk of entries that are numbered from `first` on.
    pub(super) fn chunk(&self, bytes: Vec<u8>, first: u32, entries: Vec<ChunkEntry>) -> Chunk {
        Chunk {
            file: Arc::clone(&self.file),
            bytes: self.spare.lend(bytes),
            layout: RecordLayout::Entries(first, entries),
            json: true,
            limit: self.limits.record,
            ends: false,
        }
    }

    /// Returns the rest of the file as one text.
    pub(super) fn read_whole(&mut self) -> Option<Chunk> {
        while !self.ended && self.buffer.len() <= self.limits.whole {
            self.read_more();
        }
        if self.buffer.len() > self.limits.whole {
            let message =
                format!("the text is over the limit of {} bytes and was not read; split it", self.limits.whole);
            self.stop(("record.too_long", message));
            self.buffer = Vec::new();
        }
        if self.buffer.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.buffer);
        let place = RecordPlace { bytes: 0..bytes.len(), line: 1, column: 1, ends: false };
        let chunk = self.chunk(bytes, 0, vec![ChunkEntry::Record(place)]);
        Some(Chunk { json: false, limit: self.limits.whole, ..chunk })
    }
}
