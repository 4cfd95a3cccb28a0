//! Files with one record a line.

use std::sync::Arc;

use memchr::{memchr, memchr_iter, memrchr};

use super::blocks::Blocks;
use super::chunk::{Chunk, ChunkEntry, RecordLayout, too_long_fault};

/// Cuts at line ends.
#[derive(Default)]
pub(super) struct LineCutter {
    /// How many lines have been cut.
    lines: u32,
}

impl LineCutter {
    pub(super) fn line(&self) -> u32 {
        self.lines.saturating_add(1)
    }

    pub(super) fn next_chunk(&mut self, blocks: &mut Blocks, json: bool) -> Option<Chunk> {
        let mut searched = 0;
        if blocks.buffer.len() < blocks.limits.chunk {
            blocks.read_more();
        }
        let length = loop {
            if let Some(place) = memrchr(b'\n', &blocks.buffer[searched..]) {
                break searched + place + 1;
            }
            if blocks.ended {
                break blocks.buffer.len();
            }
            if blocks.buffer.len() > blocks.limits.record {
                return self.skip_line(blocks);
            }
            searched = blocks.buffer.len();
            blocks.read_more();
        };
        if length == 0 {
            return None;
        }
        let bytes = blocks.take(length);
        let ends = bytes.last() != Some(&b'\n');
        let count = memchr_iter(b'\n', &bytes).count() + usize::from(ends);
        let first = self.lines;
        let Some(next) = u32::try_from(count).ok().and_then(|count| first.checked_add(count)) else {
            blocks.buffer.clear();
            let message = "the file has more than 4294967295 lines; the rest was not read; split it";
            blocks.stop(("input.too_long", message.to_owned()));
            return None;
        };
        self.lines = next;
        let (file, limit, bytes) = (Arc::clone(&blocks.file), blocks.limits.record, blocks.spare.lend(bytes));
        Some(Chunk { file, bytes, layout: RecordLayout::Lines(first..next), json, limit, ends })
    }

    /// Skips a line that is over the limit, and reports it.
    fn skip_line(&mut self, blocks: &mut Blocks) -> Option<Chunk> {
        loop {
            blocks.buffer.clear();
            blocks.read_more();
            match memchr(b'\n', &blocks.buffer) {
                Some(place) => {
                    blocks.buffer.drain(..=place);
                    break;
                }
                None if blocks.ended => {
                    blocks.buffer.clear();
                    break;
                }
                None => {}
            }
        }
        let fault = too_long_fault(&blocks.file, self.line(), blocks.limits.record);
        let index = self.lines;
        self.lines = self.lines.saturating_add(1);
        Some(blocks.chunk(Vec::new(), index, vec![ChunkEntry::Fault(Box::new(fault))]))
    }
}
