//! A ledger in its files, as one thread sees it: records are appended durably, checkpoints signed, keys destroyed.
//!
//! INVARIANT: what is in this value is on the disk. A failure leaves it as it was; the files are then behind or ahead,
//! and [`Store::recover`] brings them back together.

mod create;
mod forget;
mod load;
mod settle;
mod sign;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use crate::checkpoint::Signed;
use crate::compose::{Batch, Composer, time_after};
use crate::disk::{DiskFile, write_all_at};
use crate::error::LedgerError;
use crate::lock::Lock;
use crate::note::Signer;
use crate::options::LedgerOptions;
use crate::record::LedgerNotice;
use crate::segment;
use crate::subjects::KeyFile;
use crate::tile::{Place, Tiles};
use crate::tree::Hash;

/// The ledger.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    options: LedgerOptions,
    lock: Arc<Lock>,
    signer: Signer,
    keys: KeyFile,
    segment: Segment,
    tiles: Tiles,
    /// Full tiles that are not in their files yet.
    unwritten: Vec<(Place, Vec<Hash>)>,
    /// How many records the last checkpoint covers, and when it was signed.
    signed: u64,
    signed_at: Timestamp,
    /// The last checkpoint.
    newest: Option<Signed>,
    /// How many records are settled, and whether that has to be noted anew: for another key signs, or it never was.
    settled: u64,
    is_unsettled: bool,
    /// How many records had tiles when the ledger was opened, of which nobody knows whether a sync failed.
    inherited: u64,
    /// Below which index records are no longer kept.
    dropped: u64,
    /// How long the file with all checkpoints is.
    history: u64,
    /// The time of the last batch.
    time: Timestamp,
}

/// The segment that is written.
#[derive(Debug)]
struct Segment {
    file: Box<dyn DiskFile>,
    first: u64,
    /// How many bytes are durable.
    length: u64,
}

impl Store {
    /// How many records there are.
    pub(crate) fn size(&self) -> u64 {
        self.tiles.size()
    }

    /// The time of the last record.
    pub(crate) fn time(&self) -> Timestamp {
        self.time
    }

    /// Whether there are records that no checkpoint covers.
    pub(crate) fn has_unsigned(&self) -> bool {
        self.signed < self.size()
    }

    /// Appends a batch. When this returns, it is durable.
    pub(crate) fn write(&mut self, batch: &Batch) -> Result<(), LedgerError> {
        self.lock.check()?;
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

    /// Appends what the ledger says about itself, and gives its index.
    fn append_notice(&mut self, notice: &LedgerNotice) -> Result<u64, LedgerError> {
        let index = self.size();
        let time = time_after(self.time, &*self.options.clock);
        self.write(&Batch::notice(notice, index, time))?;
        Ok(index)
    }

    /// Makes the file of a new segment, whose name is durable before anything is in it.
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

    /// Cuts off what is in the segment behind the durable records. They were not acknowledged, and may be half there.
    fn cut_back(&mut self) -> Result<(), LedgerError> {
        let Segment { file, first, length } = &mut self.segment;
        file.set_len(*length)
            .and_then(|()| file.sync())
            .map_err(|error| LedgerError::file("cut back", &self.folder.join(segment::path(*first)), error))
    }

    /// After a failure: what was half written must not look like records to whoever opens the ledger next. If this
    /// fails too, recovering will not succeed either.
    pub(crate) fn give_up(&mut self) {
        let _ = self.cut_back();
    }

    /// Takes the ledger up again after a failure, as if it were opened anew.
    pub(crate) fn recover(&mut self) -> Result<Composer, LedgerError> {
        self.cut_back()?;
        let (store, composer) = Store::load(&self.folder, self.options.clone(), self.lock.clone())?;
        *self = store;
        Ok(composer)
    }
}
