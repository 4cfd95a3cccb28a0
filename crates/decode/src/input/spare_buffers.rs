//! Buffers that are used again for later chunks of a file.
//!
//! A file has thousands of chunks. If each had memory of its own, the system would clear all of it, which took a
//! twentieth of an audit.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many buffers are kept.
const MAX_BUFFERS: usize = 16;

/// The largest buffer that is kept, in bytes.
const MAX_BUFFER_BYTES: usize = 1 << 18;

/// The buffers of chunks that were dropped.
#[derive(Clone, Default)]
pub(super) struct SpareBuffers(Arc<Mutex<Vec<Vec<u8>>>>);

/// The bytes of a chunk, whose buffer is used again after it.
#[derive(Debug)]
pub(super) struct ChunkBytes {
    bytes: Vec<u8>,
    spare: SpareBuffers,
}

impl SpareBuffers {
    /// Returns an empty buffer with room for so many bytes.
    pub(super) fn take(&self, length: usize) -> Vec<u8> {
        let mut buffer = self.lock().pop().unwrap_or_default();
        buffer.reserve(length);
        buffer
    }

    /// Returns bytes that give their buffer back when they are dropped.
    pub(super) fn lend(&self, bytes: Vec<u8>) -> ChunkBytes {
        ChunkBytes { bytes, spare: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SpareBuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpareBuffers").finish_non_exhaustive()
    }
}

impl Deref for ChunkBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for ChunkBytes {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.bytes);
        if buffer.capacity() == 0 || buffer.capacity() > MAX_BUFFER_BYTES {
            return;
        }
        buffer.clear();
        let mut spare = self.spare.lock();
        if spare.len() < MAX_BUFFERS {
            spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_buffers_are_used_again_within_limits() {
        let spare = SpareBuffers::default();
        let buffer = spare.take(1000);
        let place = buffer.as_ptr();
        drop(spare.lend(buffer));
        let again = spare.take(1000);
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
        drop(spare.lend(Vec::with_capacity(MAX_BUFFER_BYTES + 1)));
        drop(spare.lend(Vec::new()));
        assert!(spare.lock().is_empty());
        (0..2 * MAX_BUFFERS).map(|_| spare.lend(Vec::with_capacity(10))).for_each(drop);
        assert!(spare.lock().len() <= MAX_BUFFERS);
    }
}
