//! Creates a ledger: keys, the first record, the first checkpoint. The signing key gets its final name last, so an
//! interrupted creation is recognized and restarted.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::checkpoint::{HISTORY_FILE, NEWEST_FILE, SignedCheckpoint};
use crate::compose::Composer;
use crate::disk::Disk;
use crate::error::LedgerError;
use crate::files::{LedgerFiles, Segment};
use crate::lock::Lock;
use crate::note::Signer;
use crate::options::LedgerOptions;
use crate::record::LedgerNotice;
use crate::segment;
use crate::signing_key::{self, KEYS_FOLDER, NEXT_KEY_FILE, SIGNING_KEY_FILE, SUBJECT_KEYS_FILE};
use crate::subjects::SubjectKeyFile;
use crate::tile::Tiles;
use crate::walk::FORMAT_VERSION;

impl LedgerFiles {
    /// Creates a ledger in a folder that holds none. `after` is the last checkpoint of the ledger it replaces, if any.
    pub(crate) fn create(
        folder: &Path,
        origin: &str,
        options: LedgerOptions,
        after: Option<&str>,
    ) -> Result<(LedgerFiles, Composer), LedgerError> {
        if let Some(note) = after {
            SignedCheckpoint::read(note.to_owned()).map_err(|what| {
                LedgerError::refused(format!("the checkpoint to continue from is not a checkpoint: {what}"))
            })?;
        }
        if folder.is_file() {
            return Err(LedgerError::refused(format!(
                "{}: is a file, and a ledger is a folder\nhint: name a folder that is new or empty",
                folder.display()
            )));
        }
        let signer = Signer::random(origin)?;
        let disk = options.disk.clone();
        let made = |action, path: &Path, result: std::io::Result<()>| {
            result.map_err(|error| LedgerError::file(action, path, error))
        };
        made("create", folder, disk.create_folder(folder))?;
        let lock = Arc::new(Lock::acquire(folder)?);
        let is_there = |name: &str| folder.join(name).exists();
        let has_records = !segment::list(folder)?.is_empty() || is_there(HISTORY_FILE) || is_there(NEWEST_FILE);
        if is_there(SIGNING_KEY_FILE) || (has_records && !is_there(NEXT_KEY_FILE)) {
            return Err(LedgerError::refused(format!(
                "{}: a ledger already exists here\nhint: open it, or choose another folder; if its signing key is lost, \
                 create a new ledger that names its last checkpoint",
                folder.display()
            )));
        }
        clear(&*disk, folder)?;
        let create = |name: &str| made("create", &folder.join(name), disk.create_folder(&folder.join(name)));
        create(KEYS_FOLDER)?;
        made("sync", folder, disk.sync_folder(folder))?;
        if let Some(above) = folder.canonicalize().ok().as_deref().and_then(Path::parent) {
            made("sync", above, disk.sync_folder(above))?;
        }
        signing_key::save(&*disk, &folder.join(NEXT_KEY_FILE), &signer)?;
        create(segment::FOLDER)?;
        made("sync", folder, disk.sync_folder(folder))?;
        let (keys, subjects) = SubjectKeyFile::create(&*disk, &folder.join(SUBJECT_KEYS_FILE))?;
        let first = folder.join(segment::path(0));
        let file = disk.open(&first, false).map_err(|error| LedgerError::file("create", &first, error))?;
        made("sync", folder, disk.sync_folder(&folder.join(segment::FOLDER)))?;
        let mut store = LedgerFiles {
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
        store.append_notice(&LedgerNotice::Created { version: FORMAT_VERSION, key })?;
        if let Some(note) = after {
            store.append_notice(&LedgerNotice::Continues { checkpoint: note.to_owned() })?;
        }
        store.sign()?;
        store.promote_key()?;
        let composer = Composer::new(subjects, store.options.clock.clone(), store.size(), store.time);
        Ok((store, composer))
    }
}

/// Removes the files of an interrupted creation.
fn clear(disk: &dyn Disk, folder: &Path) -> Result<(), LedgerError> {
    for name in [segment::FOLDER, "tile"] {
        let path = folder.join(name);
        if path.exists() {
            disk.remove_folder(&path).map_err(|error| LedgerError::file("remove", &path, error))?;
        }
    }
    for name in [HISTORY_FILE, NEWEST_FILE] {
        let path = folder.join(name);
        if path.exists() {
            disk.remove(&path).map_err(|error| LedgerError::file("remove", &path, error))?;
        }
    }
    Ok(())
}
