//! The part of the pass that compares the tree with its tiles, and finds out which record is to blame.

use std::fs;
use std::io;

use crate::checkpoint::{HISTORY, Signed};
use crate::error::{LedgerError, LedgerFault};
use crate::tile::{self, Place, WIDTH, bytes_of};
use crate::tree::Hash;
use crate::walk::{Manner, Walk};

/// How many lost tiles are made anew at most. A loss of power costs those of the last seconds.
const MAX_LOST: usize = 4096;

/// A tile that is not what the records make it. Which of both was changed is known at the next checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Suspect {
    /// The first record that the differing hash covers.
    pub(super) index: u64,
    pub(super) fault: LedgerFault,
}

impl Walk<'_> {
    /// Compares a full tile, and the partial ones that became it, with their files.
    pub(super) fn compare_full(&mut self, place: Place, hashes: &[Hash]) -> Result<(), LedgerError> {
        self.compare(place, hashes)?;
        for width in tile::widths(&self.folder.join(place.partial_folder()))? {
            if let Some(part) = hashes.get(..width) {
                self.compare(place, part)?;
            }
        }
        Ok(())
    }

    /// Compares the partial tiles of the tree as it is now with their files: each checkpoint has its own, until the
    /// tile is full.
    pub(super) fn compare_partial(&mut self) -> Result<(), LedgerError> {
        let partial: Vec<(Place, Vec<Hash>)> =
            self.tiles.partial().map(|(place, hashes)| (place, hashes.to_vec())).collect();
        for (place, hashes) in partial {
            if !self.folder.join(place.path()).exists() {
                self.compare(place, &hashes)?;
            }
        }
        Ok(())
    }

    fn compare(&mut self, place: Place, hashes: &[Hash]) -> Result<(), LedgerError> {
        let file = place.path_of_width(hashes.len());
        let path = self.folder.join(&file);
        let expected = bytes_of(hashes);
        let (offset, message, is_lost) = match fs::read(&path) {
            Ok(bytes) if bytes == expected => return Ok(()),
            Ok(bytes) if bytes.len() != expected.len() => {
                let is_lost = bytes.len() < expected.len();
                (0, format!("the tile has {} bytes where {} belong", bytes.len(), expected.len()), is_lost)
            }
            Ok(bytes) => {
                let (there, _) = bytes.as_chunks::<32>();
                let differing = |place: &usize| there[*place] != hashes[*place].0;
                let first = (0..there.len()).find(differing).unwrap_or(0);
                // Sectors that never reached the disk read as zeros.
                let is_lost = (0..there.len()).filter(differing).all(|place| there[place] == [0; 32]);
                (first, format!("hash {} of the tile is not that of the records", first + 1), is_lost)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (0, "the tile is missing".to_owned(), true),
            Err(error) => return Err(LedgerError::file("read", &path, error)),
        };
        if is_lost && self.manner == Manner::Mending && self.lost.len() < MAX_LOST {
            self.lost.push((place, hashes.to_vec()));
            return Ok(());
        }
        let hash = place.index * WIDTH as u64 + offset as u64;
        let (index, count) = (hash << (8 * place.level), 1 << (8 * place.level));
        // A hash further up differs because one below it does; that one says more.
        if self.suspect.as_ref().is_none_or(|suspect| index < suspect.index && suspect.index - index >= count) {
            self.suspect = Some(Suspect { index, fault: LedgerFault { file, line: 0, index: Some(index), message } });
        }
        Ok(())
    }

    /// Which record is to blame when the root of a checkpoint is not that of the records.
    pub(super) fn accuse(&mut self, line: u64, signed: &Signed) -> Result<LedgerFault, LedgerError> {
        let size = signed.checkpoint.size;
        let differing = match self.suspect.take() {
            Some(suspect) => Some(suspect.index),
            None => self.differing_leaf(),
        };
        Ok(match differing {
            Some(index) => {
                let message = format!("it is not the record whose hash is in the tree of {size} records");
                self.fault(index, message)
            }
            None => {
                let message = format!("the root of {size} records is another; hashes and records were both changed");
                LedgerFault { file: HISTORY.into(), line, index: None, message }
            }
        })
    }

    /// The first record in the unfinished lowest tile whose hash is another in the file.
    pub(super) fn differing_leaf(&self) -> Option<u64> {
        let (place, hashes) = self.tiles.partial().find(|(place, _)| place.level == 0)?;
        let there = tile::read(self.folder, place, hashes.len()).ok()?;
        let same = hashes.iter().zip(&there).take_while(|(a, b)| a == b).count();
        (same < hashes.len()).then(|| place.index * WIDTH as u64 + same as u64)
    }
}
