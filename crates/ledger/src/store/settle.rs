//! A ledger is settled: all of it is made durable up to the last checkpoint, and that is noted, so that whoever opens it
//! next can begin there.
//!
//! Records and checkpoints are durable anyway. Tiles are not synced when they are written, for they can be made anew; what
//! was not settled is gone over when the ledger is opened, and so is what a loss of power took of them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::error::LedgerError;
use crate::settled::Settled;
use crate::store::Store;
use crate::tile::{self, Place, Tiles, WIDTH};

/// Behind how many records a ledger is settled while nobody waits: going over so many takes about a millisecond.
pub(super) const CALM: u64 = 512;

/// Behind how many records it is settled at the latest, while many are written.
pub(super) const BUSY: u64 = 256 * 1024;

impl Store {
    /// Signs a checkpoint, and settles the ledger if it is time to: when nobody waits for a while, and at the end.
    pub(crate) fn rest(&mut self) -> Result<(), LedgerError> {
        self.sign()?;
        self.settle_if_due(CALM)
    }

    /// Settles the ledger if it never was under its present key, or if so many records came since.
    pub(super) fn settle_if_due(&mut self, records: u64) -> Result<(), LedgerError> {
        if self.is_unsettled || self.signed - self.settled >= records { self.settle() } else { Ok(()) }
    }

    /// Makes everything durable up to the last checkpoint, which covers all records.
    pub(super) fn settle(&mut self) -> Result<(), LedgerError> {
        let key = self.signer.verifier();
        let newest = self.newest.as_ref().filter(|newest| newest.is_by(&key));
        // The last act of an old key is to sign for the new one. That one has to sign before anything is settled with it.
        let Some(signed) = newest.filter(|newest| newest.checkpoint.size == self.size()) else { return Ok(()) };
        let signed = signed.clone();
        let tiles = self.unsettled_tiles()?;
        if self.settled < self.inherited {
            self.write_again(&tiles)?;
        }
        let path = |place: Place, width: &usize| self.folder.join(place.path_of_width(*width));
        let files: Vec<PathBuf> =
            tiles.iter().flat_map(|(place, widths)| widths.iter().map(|width| path(*place, width))).collect();
        self.sync_tiles(&files)?;
        let settled = Settled { segment: self.segment.first, bytes: self.segment.length, signed };
        settled.write(&*self.options.disk, &self.folder)?;
        (self.settled, self.is_unsettled) = (self.signed, false);
        Ok(())
    }

    /// The tiles that came since the ledger was last settled, with their widths, the present one last. Each checkpoint has
    /// its own until a tile is full.
    fn unsettled_tiles(&self) -> Result<Vec<(Place, Vec<usize>)>, LedgerError> {
        let mut tiles = Vec::new();
        for (place, widths) in Tiles::since(self.settled, self.signed) {
            let there = match *widths.end() {
                WIDTH => vec![WIDTH],
                _ => tile::widths(&self.folder.join(place.partial_folder()))?,
            };
            tiles.push((place, there.into_iter().filter(|width| widths.contains(width)).collect()));
        }
        Ok(tiles)
    }

    /// Writes those tiles again that were there when the ledger was opened. A failed sync may have left bytes that can be
    /// read but are not on the disk, and that another sync would not put there.
    fn write_again(&self, tiles: &[(Place, Vec<usize>)]) -> Result<(), LedgerError> {
        let inherited: BTreeSet<Place> =
            Tiles::since(self.settled, self.inherited).into_iter().map(|(place, _)| place).collect();
        for (place, widths) in tiles.iter().filter(|(place, _)| inherited.contains(place)) {
            let Some(present) = widths.last() else { continue };
            let hashes = tile::read(&self.folder, *place, *present)?;
            widths
                .iter()
                .filter_map(|width| hashes.get(..*width))
                .try_for_each(|part| self.write_tile(*place, part))?;
        }
        Ok(())
    }

    /// Makes tiles durable, with the names of the folders they are in.
    pub(super) fn sync_tiles(&self, files: &[PathBuf]) -> Result<(), LedgerError> {
        let synced = self.options.disk.sync_files(files, &self.folder);
        synced.map_err(|error| LedgerError::file("sync the tiles of", &self.folder, error))
    }
}
