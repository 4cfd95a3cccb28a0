//! Settles a ledger: makes everything durable up to the last checkpoint and records that position, so that the next
//! open starts there.
//!
//! Records and checkpoints are durable anyway. Tiles are not synced when they are written, because they can be rebuilt:
//! opening a ledger checks everything since the settled position and rebuilds tiles that a power loss took.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::error::LedgerError;
use crate::files::LedgerFiles;
use crate::settled_position::SettledPosition;
use crate::tile::{self, TILE_WIDTH, TilePosition, Tiles};

/// How many unsettled records are settled when the writer is idle. Checking so many takes about a millisecond.
pub(super) const SETTLE_RECORDS_IDLE: u64 = 512;

/// How many unsettled records are settled at the latest, under load.
pub(super) const SETTLE_RECORDS_BUSY: u64 = 256 * 1024;

impl LedgerFiles {
    /// Signs a checkpoint, and settles the ledger if it is due. Called when the writer is idle and when it ends.
    pub(crate) fn sign_and_settle(&mut self) -> Result<(), LedgerError> {
        self.sign()?;
        self.settle_if_due(SETTLE_RECORDS_IDLE)
    }

    /// Settles the ledger if it was never settled under its present key, or if at least so many records are unsettled.
    pub(super) fn settle_if_due(&mut self, records: u64) -> Result<(), LedgerError> {
        if self.is_unsettled || self.signed - self.settled >= records { self.settle() } else { Ok(()) }
    }

    /// Makes everything durable up to the last checkpoint, if that covers all records.
    pub(super) fn settle(&mut self) -> Result<(), LedgerError> {
        let key = self.signer.verifier();
        let newest = self.newest.as_ref().filter(|newest| newest.is_by(&key));
        // After a rotation the new key must sign a checkpoint before anything is settled under it.
        let Some(signed) = newest.filter(|newest| newest.checkpoint.size == self.size()) else { return Ok(()) };
        let signed = signed.clone();
        let tiles = self.unsettled_tiles()?;
        if self.settled < self.inherited {
            self.rewrite_inherited(&tiles)?;
        }
        let path = |place: TilePosition, width: &usize| self.folder.join(place.path_of_width(*width));
        let files: Vec<PathBuf> =
            tiles.iter().flat_map(|(place, widths)| widths.iter().map(|width| path(*place, width))).collect();
        self.sync_tiles(&files)?;
        let settled = SettledPosition { segment: self.segment.first, bytes: self.segment.length, signed };
        settled.write(&*self.options.disk, &self.folder)?;
        (self.settled, self.is_unsettled) = (self.signed, false);
        Ok(())
    }

    /// Returns the tiles written since the ledger was last settled, with their widths, the present one last. Each
    /// checkpoint has a partial tile of its own until the tile is full.
    fn unsettled_tiles(&self) -> Result<Vec<(TilePosition, Vec<usize>)>, LedgerError> {
        let mut tiles = Vec::new();
        for (place, widths) in Tiles::changed_between(self.settled, self.signed) {
            let there = match *widths.end() {
                TILE_WIDTH => vec![TILE_WIDTH],
                _ => tile::list_widths(&self.folder.join(place.partial_folder()))?,
            };
            tiles.push((place, there.into_iter().filter(|width| widths.contains(width)).collect()));
        }
        Ok(tiles)
    }

    /// Rewrites the tiles that existed when the ledger was opened. A failed sync may have left bytes that can be read
    /// but are not on the disk, and another sync would not write them.
    fn rewrite_inherited(&self, tiles: &[(TilePosition, Vec<usize>)]) -> Result<(), LedgerError> {
        let inherited: BTreeSet<TilePosition> =
            Tiles::changed_between(self.settled, self.inherited).into_iter().map(|(place, _)| place).collect();
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

    /// Syncs tiles and their folders.
    pub(super) fn sync_tiles(&self, files: &[PathBuf]) -> Result<(), LedgerError> {
        let synced = self.options.disk.sync_files(files, &self.folder);
        synced.map_err(|error| LedgerError::file("sync the tiles of", &self.folder, error))
    }
}
