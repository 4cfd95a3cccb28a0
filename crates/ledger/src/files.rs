//! The files of a ledger, used by one thread at a time: appends records durably, signs checkpoints, destroys keys.
//!
//! INVARIANT: everything in this value is on the disk. A failure leaves the value unchanged; the files may then differ,
//! and [`LedgerFiles::recover`] brings them back together.

mod create;
mod forget;
mod load;
mod settle;
mod sign;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use crate::checkpoint::SignedCheckpoint;
use crate::compose::{Batch, Composer, next_batch_time};
use crate::disk::{DiskFile, write_all_at};
use crate::error::LedgerError;
use crate::lock::Lock;
use crate::note::Signer;
use crate::options::LedgerOptions;
use crate::record::LedgerNotice;
use crate::segment;
use crate::subjects::SubjectKeyFile;
use crate::tile::{TilePosition, Tiles};
use crate::tree::Hash;

/// The files of a ledger that is open for writing.
#[derive(Debug)]
pub(crate) struct LedgerFiles {
    folder: PathBuf,
    options: LedgerOptions,
    lock: Arc<Lock>,
    signer: Signer,
    keys: SubjectKeyFile,
    segment: Segment,
    tiles: Tiles,
    /// Full tiles that are not in their files yet.
    unwritten: Vec<(TilePosition, Vec<Hash>)>,
    /// How many records the last checkpoint covers, and when it was signed.
    signed: u64,
    signed_at: Timestamp,
    /// The last checkpoint.
    newest: Option<SignedCheckpoint>,
    /// How many records are settled, and whether the mark must be rewritten: the key changed, or there was no mark.
    settled: u64,
    is_unsettled: bool,
    /// How many records had tiles when the ledger was opened; an earlier sync of those tiles may have failed.
    inherited: u64,
    /// The first index that is still kept.
    dropped: u64,
    /// The length of the file with all checkpoints, in bytes.
    history: u64,
    /// The time of the last batch.
    time: Timestamp,
}

/// The segment that records are appended to.
#[derive(Debug)]
struct Segment {
    file: Box<dyn DiskFile>,
    first: u64,
    /// How many bytes are durable.
    length: u64,
}

impl LedgerFiles {
    /// Returns how many records there are.
    pub(crate) fn size(&self) -> u64 {
        self.tiles.size()
    }

    /// Returns the time of the last record.
    pub(crate) fn time(&self) -> Timestamp {
        self.time
    }

    /// Whether some records are not covered by a checkpoint.
    pub(crate) fn has_unsigned(&self) -> bool {
        self.signed < self.size()
    }

    /// Appends a batch, which is durable when this returns.
    pub(crate) fn write(&mut self, batch: &Batch) -> Result<(), LedgerError> {
        self.lock.check()?;
        self.check_segment()?;
        // A key is durable before the first record that needs it.
        self.keys.add(&*self.options.disk, &batch.keys)?;
        if self.segment.length > 0 && self.segment.length + batch.text.len() as u64 > self.options.segment_bytes {
            self.segment = self.begin_segment(self.size())?;
        }
        let Segment { file, length, .. } = &mut self.segment;
        write_all_at(&mut **file, *length, batch.text.as_bytes()).and_then(|()| file.sync()).map_err(|error| {
            LedgerError::file("append records to", &self.folder.join(segment::path(self.segment.first)), error)
        })?;
        self.segment.length += batch.text.len() as u64;
        self.time = batch.time;
        batch.leaves.iter().for_each(|leaf| self.tiles.push(*leaf));
        self.unwritten.extend(self.tiles.take_full());
        Ok(())
    }

    /// Fails if the file of the last records was deleted or shortened: later records would be lost with it.
    fn check_segment(&self) -> Result<(), LedgerError> {
        let path = self.folder.join(segment::path(self.segment.first));
        let found = std::fs::metadata(&path).map_err(|error| LedgerError::file("find", &path, error))?;
        if found.len() < self.segment.length {
            return Err(LedgerError::refused(format!(
                "{}: records were removed while the ledger was open\nhint: restore the file",
                path.display()
            )));
        }
        Ok(())
    }

    /// Appends a notice and returns its index.
    fn append_notice(&mut self, notice: &LedgerNotice) -> Result<u64, LedgerError> {
        let index = self.size();
        let time = next_batch_time(self.time, &*self.options.clock);
        self.write(&Batch::from_notice(notice, index, time))?;
        Ok(index)
    }

    /// Creates the file of a new segment. Its name is durable before its content.
    fn begin_segment(&self, first: u64) -> Result<Segment, LedgerError> {
        let (disk, path) = (&self.options.disk, self.folder.join(segment::path(first)));
        let open = || {
            let file = disk.open(&path, false)?;
            disk.sync_folder(&self.folder.join(segment::FOLDER))?;
            Ok(file)
        };
        let file = open().map_err(|error| LedgerError::file("begin the segment", &path, error))?;
        Ok(Segment { file, first, length: 0 })
    }

    /// Truncates the segment after the durable records. Anything later was not acknowledged and may be incomplete.
    fn truncate_to_durable(&mut self) -> Result<(), LedgerError> {
        let Segment { file, first, length } = &mut self.segment;
        file.set_len(*length)
            .and_then(|()| file.sync())
            .map_err(|error| LedgerError::file("cut back", &self.folder.join(segment::path(*first)), error))
    }

    /// Removes a partial write after a failure, so that the next open does not take it for records. An error is
    /// ignored: recovering repeats this step and reports it.
    pub(crate) fn discard_unacknowledged(&mut self) {
        let _ = self.truncate_to_durable();
    }

    /// Reloads the ledger after a failure, as if it were opened again.
    pub(crate) fn recover(&mut self) -> Result<Composer, LedgerError> {
        self.truncate_to_durable()?;
        let (store, composer) = LedgerFiles::load(&self.folder, self.options.clone(), self.lock.clone())?;
        *self = store;
        Ok(composer)
    }
}
