//! The pass compares the tree with its tiles, and finds the record that was changed.

use std::fs;
use std::io;

use crate::checkpoint::{HISTORY_FILE, SignedCheckpoint};
use crate::error::{LedgerError, LedgerFault};
use crate::tile::{self, TILE_WIDTH, TilePosition, encode_hashes};
use crate::tree::Hash;
use crate::walk::{Walk, WalkMode};

/// How many lost tiles are rebuilt at most. A power loss costs those of the last seconds.
const MAX_LOST_TILES: usize = 4096;

/// A tile that contradicts the records. The next checkpoint shows which of the two was changed.
#[derive(Clone, Debug)]
pub(super) struct SuspectTile {
    /// The first record that the differing hash covers.
    pub(super) index: u64,
    pub(super) fault: LedgerFault,
}

impl Walk<'_> {
    /// Compares a full tile and its partial tiles with their files.
    pub(super) fn compare_full(&mut self, place: TilePosition, hashes: &[Hash]) -> Result<(), LedgerError> {
        self.compare(place, hashes)?;
        for width in tile::list_widths(&self.folder.join(place.partial_folder()))? {
            if let Some(part) = hashes.get(..width) {
                self.compare(place, part)?;
            }
        }
        Ok(())
    }

    /// Compares the partial tiles of the present tree with their files. Each checkpoint has a partial tile of its own
    /// until the tile is full.
    pub(super) fn compare_partial(&mut self) -> Result<(), LedgerError> {
        let partial: Vec<(TilePosition, Vec<Hash>)> =
            self.tiles.partial().map(|(place, hashes)| (place, hashes.to_vec())).collect();
        for (place, hashes) in partial {
            if !self.folder.join(place.path()).exists() {
                self.compare(place, &hashes)?;
            }
        }
        Ok(())
    }

    fn compare(&mut self, place: TilePosition, hashes: &[Hash]) -> Result<(), LedgerError> {
        let file = place.path_of_width(hashes.len());
        let path = self.folder.join(&file);
        let expected = encode_hashes(hashes);
        let (offset, message, is_lost) = match fs::read(&path) {
            Ok(bytes) if bytes == expected => return Ok(()),
            Ok(bytes) if bytes.len() != expected.len() => {
                let is_lost = bytes.len() < expected.len();
                (0, format!("the tile has {} bytes, expected {}", bytes.len(), expected.len()), is_lost)
            }
            Ok(bytes) => {
                let (there, _) = bytes.as_chunks::<32>();
                let differing = |place: &usize| there[*place] != hashes[*place].0;
                let first = (0..there.len()).find(differing).unwrap_or(0);
                // Sectors that never reached the disk read as zeros.
                let is_lost = (0..there.len()).filter(differing).all(|place| there[place] == [0; 32]);
                (first, format!("hash {} of the tile does not match the records", first + 1), is_lost)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (0, "the tile is missing".to_owned(), true),
            Err(error) => return Err(LedgerError::file("read", &path, error)),
        };
        if is_lost && self.mode == WalkMode::Repair && self.lost.len() < MAX_LOST_TILES {
            self.lost.push((place, hashes.to_vec()));
            return Ok(());
        }
        let hash = place.index * TILE_WIDTH as u64 + offset as u64;
        let (index, count) = (hash << (8 * place.level), 1 << (8 * place.level));
        // A hash differs because one below it does; the lower one is the better place to report.
        if self.suspect.as_ref().is_none_or(|suspect| index < suspect.index && suspect.index - index >= count) {
            self.suspect =
                Some(SuspectTile { index, fault: LedgerFault { file, line: 0, index: Some(index), message } });
        }
        Ok(())
    }

    /// Returns the fault of the changed record when the root of a checkpoint does not match the records.
    pub(super) fn find_culprit(&mut self, line: u64, signed: &SignedCheckpoint) -> Result<LedgerFault, LedgerError> {
        let size = signed.checkpoint.size;
        let differing = match self.suspect.take() {
            Some(suspect) => Some(suspect.index),
            None => self.differing_leaf(),
        };
        Ok(match differing {
            Some(index) => {
                let message = format!("its hash is not the one in the tree of {size} records");
                self.fault(index, message)
            }
            None => {
                let message =
                    format!("the root of {size} records does not match; hashes and records were both changed");
                LedgerFault { file: HISTORY_FILE.into(), line, index: None, message }
            }
        })
    }

    /// Returns the first record in the partial lowest tile whose hash differs from the file.
    pub(super) fn differing_leaf(&self) -> Option<u64> {
        let (place, hashes) = self.tiles.partial().find(|(place, _)| place.level == 0)?;
        let there = tile::read(self.folder, place, hashes.len()).ok()?;
        let same = hashes.iter().zip(&there).take_while(|(a, b)| a == b).count();
        (same < hashes.len()).then(|| place.index * TILE_WIDTH as u64 + same as u64)
    }
}
