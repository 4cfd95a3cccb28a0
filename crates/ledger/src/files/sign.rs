//! Signs checkpoints and rotates the signing key.

use crate::checkpoint::{Checkpoint, HISTORY_FILE, NEWEST_FILE, SignedCheckpoint};
use crate::disk::{self, write_all_at, write_file};
use crate::error::LedgerError;
use crate::files::LedgerFiles;
use crate::files::settle::SETTLE_RECORDS_BUSY;
use crate::note::{Signer, VerifierKey};
use crate::record::LedgerNotice;
use crate::signing_key::{self, NEXT_KEY_FILE, SIGNING_KEY_FILE};
use crate::tile::{TILE_WIDTH, TilePosition, encode_hashes};
use crate::tree::Hash;

impl LedgerFiles {
    /// Signs a checkpoint if the last one is too old or covers too few records.
    pub(crate) fn sign_if_due(&mut self) -> Result<(), LedgerError> {
        let age = self.time.duration_since(self.signed_at);
        let is_old = age.try_into().is_ok_and(|age: std::time::Duration| age >= self.options.checkpoint_interval);
        if self.size() - self.signed >= self.options.checkpoint_records || (is_old && self.has_unsigned()) {
            self.sign()?;
            self.settle_if_due(SETTLE_RECORDS_BUSY)?;
        }
        Ok(())
    }

    /// Signs a checkpoint of all records, which are already durable, unless the last checkpoint covers them.
    pub(crate) fn sign(&mut self) -> Result<(), LedgerError> {
        if !self.has_unsigned() {
            return Ok(());
        }
        self.lock.check()?;
        self.write_tiles()?;
        let (size, root) = (self.size(), self.tiles.root());
        let checkpoint = Checkpoint { origin: self.signer.verifier().name().to_owned(), size, root };
        let note = checkpoint.sign(&self.signer);
        let (path, entry) = (self.folder.join(HISTORY_FILE), format!("{note}\n"));
        let disk = &self.options.disk;
        let add = || {
            let mut file = disk.open(&path, false)?;
            write_all_at(&mut *file, self.history, entry.as_bytes())?;
            file.sync()
        };
        add().map_err(|error| LedgerError::file("add a checkpoint to", &path, error))?;
        // This also makes the name of the file above durable, because both are in one folder.
        disk::replace_file(&**disk, &self.folder.join(NEWEST_FILE), note.as_bytes(), false)?;
        self.history += entry.len() as u64;
        self.signed = size;
        self.signed_at = self.time;
        self.newest = Some(SignedCheckpoint { checkpoint, note });
        Ok(())
    }

    /// Writes the tiles of the present tree, and removes the partial tiles of those that are full.
    fn write_tiles(&mut self) -> Result<(), LedgerError> {
        for (place, hashes) in self.unwritten.iter().map(|(place, hashes)| (*place, hashes.as_slice())) {
            self.write_tile(place, hashes)?;
        }
        for (place, hashes) in self.tiles.partial() {
            self.write_tile(place, hashes)?;
        }
        for (place, _) in std::mem::take(&mut self.unwritten) {
            let partial = self.folder.join(place.partial_folder());
            if partial.exists() {
                self.options
                    .disk
                    .remove_folder(&partial)
                    .map_err(|error| LedgerError::file("remove", &partial, error))?;
            }
        }
        Ok(())
    }

    /// Writes a tile without syncing it: a lost tile is rebuilt from the records when the ledger is opened. Tiles of
    /// dropped records are synced, because they cannot be rebuilt.
    pub(super) fn write_tile(&self, place: TilePosition, hashes: &[Hash]) -> Result<(), LedgerError> {
        let path = self.folder.join(place.path_of_width(hashes.len()));
        let Some(folder) = path.parent() else { return Ok(()) };
        self.options.disk.create_folder(folder).map_err(|error| LedgerError::file("create", folder, error))?;
        write_file(&*self.options.disk, &path, &encode_hashes(hashes))?;
        if place.level == 0 && place.index * (TILE_WIDTH as u64) < self.dropped {
            self.sync_tiles(&[path])
        } else {
            Ok(())
        }
    }

    /// Rotates the signing key: a record names the new key, and the last checkpoint of the old key covers that record.
    pub(crate) fn rotate(&mut self) -> Result<VerifierKey, LedgerError> {
        // Sign first, so that there is a checkpoint between two rotations.
        self.sign()?;
        let successor = Signer::random(self.signer.verifier().name())?;
        let verifier = successor.verifier();
        signing_key::save(&*self.options.disk, &self.folder.join(NEXT_KEY_FILE), &successor)?;
        self.append_notice(&LedgerNotice::Rotated { key: verifier.to_string() })?;
        self.sign()?;
        self.promote_key()?;
        Ok(verifier)
    }

    /// Makes the next key the signing key.
    pub(super) fn promote_key(&mut self) -> Result<(), LedgerError> {
        let (from, to) = (self.folder.join(NEXT_KEY_FILE), self.folder.join(SIGNING_KEY_FILE));
        let signer = signing_key::load(&from)?;
        let promote = || {
            self.options.disk.rename(&from, &to)?;
            to.parent().map_or(Ok(()), |folder| self.options.disk.sync_folder(folder))
        };
        promote().map_err(|error| LedgerError::file("put the new key in place of", &to, error))?;
        self.signer = signer;
        // The settled position is signed by the old key.
        self.is_unsettled = true;
        Ok(())
    }
}
