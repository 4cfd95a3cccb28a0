//! Options of a ledger writer: checkpoint and segment sizes, the clock, the disk.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::disk::{Disk, RealDisk};

/// Options of a ledger writer. Options that are not set keep their defaults.
///
/// ```
/// let options = lictor_ledger::LedgerOptions::new(jiff::Timestamp::now).checkpoint_records(100);
/// ```
#[derive(Clone)]
#[non_exhaustive]
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
    /// Returns the defaults with a clock. The clock is a parameter: only the outermost layer of a program reads one.
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

    /// Sets the size in bytes after which a new segment begins; 64 MiB by default.
    pub fn segment_bytes(self, segment_bytes: u64) -> LedgerOptions {
        LedgerOptions { segment_bytes, ..self }
    }

    /// Sets the most records between two checkpoints; 65,536 by default.
    pub fn checkpoint_records(self, checkpoint_records: u64) -> LedgerOptions {
        LedgerOptions { checkpoint_records, ..self }
    }

    /// Sets the longest time until new records are covered by a checkpoint; one second by default.
    pub fn checkpoint_interval(self, checkpoint_interval: Duration) -> LedgerOptions {
        LedgerOptions { checkpoint_interval, ..self }
    }

    /// Sets the most records in one batch, which is synced as a whole; 4,096 by default.
    pub fn batch_records(self, batch_records: usize) -> LedgerOptions {
        LedgerOptions { batch_records: batch_records.max(1), ..self }
    }

    /// Sets the disk that file changes go through; [`RealDisk`] by default. Tests use it to inject failures.
    pub fn disk(self, disk: Arc<dyn Disk>) -> LedgerOptions {
        LedgerOptions { disk, ..self }
    }
}

impl fmt::Debug for LedgerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerOptions")
            .field("disk", &self.disk)
            .field("segment_bytes", &self.segment_bytes)
            .field("checkpoint_records", &self.checkpoint_records)
            .field("checkpoint_interval", &self.checkpoint_interval)
            .finish_non_exhaustive()
    }
}
