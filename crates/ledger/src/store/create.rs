//! A ledger is created: keys, the first record, the first checkpoint. The signing key gets its name last, so a
//! creation that was interrupted is known from one that was not, and is begun again.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::checkpoint::{HISTORY, NEWEST, Signed};
use crate::compose::Composer;
use crate::disk::Disk;
use crate::error::LedgerError;
use crate::keyfile::{self, KEYS, NEXT, SIGNING, SUBJECTS};
use crate::lock::Lock;
use crate::note::Signer;
use crate::options::LedgerOptions;
use crate::record::LedgerNotice;
use crate::segment;
use crate::store::{Segment, Store};
use crate::subjects::KeyFile;
use crate::tile::Tiles;
use crate::walk::VERSION;

impl Store {
    /// Creates a ledger in a folder that holds none; perhaps to take the place of one with this last checkpoint.
    pub(crate) fn create(
        folder: &Path,
        origin: &str,
        options: LedgerOptions,
        after: Option<&str>,
    ) -> Result<(Store, Composer), LedgerError> {
        if let Some(note) = after {
            Signed::read(note.to_owned()).map_err(|what| {
                LedgerError::refused(format!("what the ledger should continue is no checkpoint: {what}"))
            })?;
        }
        let signer = Signer::random(origin)?;
        let disk = options.disk.clone();
        let made = |action, path: &Path, result: std::io::Result<()>| {
            result.map_err(|error| LedgerError::file(action, path, error))
        };
        made("create", folder, disk.create_folder(folder))?;
        let lock = Arc::new(Lock::take(folder)?);
        let is_there = |name: &str| folder.join(name).exists();
        let has_records = !segment::list(folder)?.is_empty() || is_there(HISTORY) || is_there(NEWEST);
        if is_there(SIGNING) || (has_records && !is_there(NEXT)) {
            return Err(LedgerError::refused(format!(
                "{}: there is a ledger already\nhint: open it, or choose another folder; a ledger whose signing key is lost \
                 is not continued, but a new one can name its last checkpoint",
                folder.display()
            )));
        }
        clear(&*disk, folder)?;
        let create = |name: &str| made("create", &folder.join(name), disk.create_folder(&folder.join(name)));
        create(KEYS)?;
        made("sync", folder, disk.sync_folder(folder))?;
        if let Some(above) = folder.canonicalize().ok().as_deref().and_then(Path::parent) {
            made("sync", above, disk.sync_folder(above))?;
        }
        keyfile::save(&*disk, &folder.join(NEXT), &signer)?;
        create(segment::FOLDER)?;
        made("sync", folder, disk.sync_folder(folder))?;
        let (keys, subjects) = KeyFile::create(&*disk, &folder.join(SUBJECTS))?;
        let first = folder.join(segment::path(0));
        let file = disk.open(&first, false).map_err(|error| LedgerError::file("create", &first, error))?;
        made("sync", folder, disk.sync_folder(&folder.join(segment::FOLDER)))?;
        let mut store = Store {
            folder: folder.to_owned(),
            lock,
            keys,
            segment: Segment { file, first: 0, length: 0 },
            tiles: Tiles::default(),
            unwritten: Vec::new(),
            signed: 0,
            signed_at: (options.clock)(),
            newest: None,
            settled: 0,
            is_unsettled: true,
            inherited: 0,
            dropped: 0,
            history: 0,
            time: Timestamp::UNIX_EPOCH,
            signer,
            options,
        };
        let key = store.signer.verifier().to_string();
        store.append_notice(&LedgerNotice::Created { version: VERSION, key })?;
        if let Some(note) = after {
            store.append_notice(&LedgerNotice::Continues { checkpoint: note.to_owned() })?;
        }
        store.sign()?;
        store.promote_key()?;
        let composer = Composer::new(subjects, store.options.clock.clone(), store.size(), store.time);
        Ok((store, composer))
    }
}

/// Removes what an interrupted creation left.
fn clear(disk: &dyn Disk, folder: &Path) -> Result<(), LedgerError> {
    for name in [segment::FOLDER, "tile"] {
        let path = folder.join(name);
        if path.exists() {
            disk.remove_folder(&path).map_err(|error| LedgerError::file("remove", &path, error))?;
        }
    }
    for name in [HISTORY, NEWEST] {
        let path = folder.join(name);
        if path.exists() {
            disk.remove(&path).map_err(|error| LedgerError::file("remove", &path, error))?;
        }
    }
    Ok(())
}
