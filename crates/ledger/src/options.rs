//! How a ledger is written: when checkpoints are signed, when a new segment begins, what time it is.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::disk::{Disk, RealDisk};

/// How a ledger is written. What is not said stays as it is.
///
/// ```
/// let options = lictor_ledger::LedgerOptions::new(jiff::Timestamp::now).checkpoint_records(100);
/// ```
#[derive(Clone)]
pub struct LedgerOptions {
    pub(crate) clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) segment_bytes: u64,
    pub(crate) checkpoint_records: u64,
    pub(crate) checkpoint_interval: Duration,
    pub(crate) batch_records: usize,
    pub(crate) batch_bytes: usize,
    pub(crate) queue: usize,
}

impl LedgerOptions {
    /// The usual, with a clock: only the outermost layer of a program knows what time it is.
    pub fn new(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> LedgerOptions {
        LedgerOptions {
            clock: Arc::new(clock),
            disk: Arc::new(RealDisk),
            segment_bytes: 64 * 1024 * 1024,
            checkpoint_records: 64 * 1024,
            checkpoint_interval: Duration::from_secs(1),
            batch_records: 4096,
            batch_bytes: 8 * 1024 * 1024,
            queue: 4096,
        }
    }

    /// After how many bytes a new segment begins; 64 MiB unless given.
    pub fn segment_bytes(self, segment_bytes: u64) -> LedgerOptions {
        LedgerOptions { segment_bytes, ..self }
    }

    /// After how many records a checkpoint is signed at the latest; 65,536 unless given.
    pub fn checkpoint_records(self, checkpoint_records: u64) -> LedgerOptions {
        LedgerOptions { checkpoint_records, ..self }
    }

    /// After what time a checkpoint is signed at the latest, if there is anything new; a second unless given.
    pub fn checkpoint_interval(self, checkpoint_interval: Duration) -> LedgerOptions {
        LedgerOptions { checkpoint_interval, ..self }
    }

    /// How many records are made durable together at most; 4,096 unless given.
    pub fn batch_records(self, batch_records: usize) -> LedgerOptions {
        LedgerOptions { batch_records: batch_records.max(1), ..self }
    }

    /// Through what files are changed; the file system of the machine unless given. For tests that make it fail.
    pub fn disk(self, disk: Arc<dyn Disk>) -> LedgerOptions {
        LedgerOptions { disk, ..self }
    }
}

impl fmt::Debug for LedgerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("disk", &self.disk)
            .field("segment_bytes", &self.segment_bytes)
            .field("checkpoint_records", &self.checkpoint_records)
            .field("checkpoint_interval", &self.checkpoint_interval)
            .finish_non_exhaustive()
    }
}
