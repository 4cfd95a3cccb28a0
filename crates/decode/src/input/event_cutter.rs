//! Files of server-sent events: each payload is a record.

use lictor_json::SseFramer;

use super::blocks::Blocks;
use super::chunk::Chunk;
use super::limits::InputLimits;
use super::payloads::Payloads;

/// How many bytes of names, ids and comments an event may have beside its data.
const MAX_EVENT_OVERHEAD_BYTES: usize = 1 << 16;

/// Cuts a file after events.
pub(super) struct EventCutter {
    framer: SseFramer,
    /// The number of the next record.
    first: u32,
}

/// Returns a framer for events whose data may be as long as a record.
pub(super) fn event_framer(max_record_bytes: usize) -> SseFramer {
    SseFramer::with_max_frame_bytes(max_record_bytes.saturating_add(MAX_EVENT_OVERHEAD_BYTES))
}

impl EventCutter {
    pub(super) fn new(limits: &InputLimits) -> EventCutter {
        EventCutter { framer: event_framer(limits.record), first: 0 }
    }

    pub(super) fn line(&self) -> u32 {
        self.framer.line()
    }

    pub(super) fn next_chunk(&mut self, blocks: &mut Blocks) -> Option<Chunk> {
        let mut payloads = Payloads::new(blocks);
        while payloads.len() < blocks.limits.chunk {
            if !blocks.buffer.is_empty() {
                for frame in self.framer.push(&blocks.buffer) {
                    payloads.add_event(&frame, 0, false);
                }
                blocks.buffer.clear();
            } else if blocks.ended {
                // Many logs lack the last empty line.
                if let Some(frame) = self.framer.finish() {
                    payloads.add_event(&frame, 0, true);
                }
                break;
            } else {
                blocks.read_more();
            }
        }
        payloads.into_chunk(&mut self.first, blocks)
    }
}
