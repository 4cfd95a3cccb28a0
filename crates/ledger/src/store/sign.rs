//! Checkpoints are signed, and the key that signs them is replaced by another.

use crate::checkpoint::{Checkpoint, HISTORY, NEWEST, Signed};
use crate::disk::{self, write_all_at, write_whole};
use crate::error::LedgerError;
use crate::keyfile::{self, NEXT, SIGNING};
use crate::note::{Signer, VerifierKey};
use crate::record::LedgerNotice;
use crate::store::Store;
use crate::store::settle::BUSY;
use crate::tile::{Place, WIDTH, bytes_of};
use crate::tree::Hash;

impl Store {
    /// Signs a checkpoint if the last one is old enough or far enough behind.
    pub(crate) fn sign_if_due(&mut self) -> Result<(), LedgerError> {
        let age = self.time.duration_since(self.signed_at);
        let is_old = age.try_into().is_ok_and(|age: std::time::Duration| age >= self.options.checkpoint_interval);
        if self.size() - self.signed >= self.options.checkpoint_records || (is_old && self.has_unsigned()) {
            self.sign()?;
            self.settle_if_due(BUSY)?;
        }
        Ok(())
    }

    /// Signs a checkpoint of all records, unless the last one covers them. They are durable before.
    pub(crate) fn sign(&mut self) -> Result<(), LedgerError> {
        if !self.has_unsigned() {
            return Ok(());
        }
        self.lock.check()?;
        self.write_tiles()?;
        let (size, root) = (self.size(), self.tiles.root());
        let checkpoint = Checkpoint { origin: self.signer.verifier().name().to_owned(), size, root };
        let note = checkpoint.sign(&self.signer);
        let (path, entry) = (self.folder.join(HISTORY), format!("{note}\n"));
        let disk = &self.options.disk;
        let add = || {
            let mut file = disk.open(&path, false)?;
            write_all_at(&mut *file, self.history, entry.as_bytes())?;
            file.sync()
        };
        add().map_err(|error| LedgerError::file("add a checkpoint to", &path, error))?;
        // This also makes the name of the file above durable, for both are in one folder.
        disk::replace(&**disk, &self.folder.join(NEWEST), note.as_bytes(), false)?;
        self.history += entry.len() as u64;
        self.signed = size;
        self.signed_at = self.time;
        self.newest = Some(Signed { checkpoint, note });
        Ok(())
    }

    /// Writes the tiles of the tree as it is now. Partial ones that became full are no longer needed.
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

    /// Writes a tile. It is not synced: should it be lost, the records make it anew when the ledger is opened. Only
    /// where the records are no longer kept is the tile all there is.
    pub(super) fn write_tile(&self, place: Place, hashes: &[Hash]) -> Result<(), LedgerError> {
        let path = self.folder.join(place.path_of_width(hashes.len()));
        let Some(folder) = path.parent() else { return Ok(()) };
        self.options.disk.create_folder(folder).map_err(|error| LedgerError::file("create", folder, error))?;
        write_whole(&*self.options.disk, &path, &bytes_of(hashes))?;
        if place.level == 0 && place.index * (WIDTH as u64) < self.dropped { self.sync_tiles(&[path]) } else { Ok(()) }
    }

    /// Replaces the signing key: a record names the new one, and the old one signs for that record as its last act.
    pub(crate) fn rotate(&mut self) -> Result<VerifierKey, LedgerError> {
        // Whatever is open is covered first, so that one checkpoint stands between two rotations.
        self.sign()?;
        let successor = Signer::random(self.signer.verifier().name())?;
        let verifier = successor.verifier();
        keyfile::save(&*self.options.disk, &self.folder.join(NEXT), &successor)?;
        self.append_notice(&LedgerNotice::Rotated { key: verifier.to_string() })?;
        self.sign()?;
        self.promote_key()?;
        Ok(verifier)
    }

    /// Lets the next key sign from now on.
    pub(super) fn promote_key(&mut self) -> Result<(), LedgerError> {
        let (from, to) = (self.folder.join(NEXT), self.folder.join(SIGNING));
        let signer = keyfile::load(&from)?;
        let promote = || {
            self.options.disk.rename(&from, &to)?;
            to.parent().map_or(Ok(()), |folder| self.options.disk.sync_folder(folder))
        };
        promote().map_err(|error| LedgerError::file("put the new key in place of", &to, error))?;
        self.signer = signer;
        // What was settled is signed by a key that no longer signs.
        self.is_unsettled = true;
        Ok(())
    }
}
