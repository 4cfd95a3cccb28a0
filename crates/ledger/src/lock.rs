//! One writer at a time: an advisory lock, and a number that grows with every writer for file systems whose locks
//! cannot be relied on.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fs4::{FileExt, TryLockError};

use crate::error::LedgerError;

/// The file that is locked. It holds the generation.
const LOCK: &str = "lock";

/// The right to write, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    /// Unlocked by the system when it is closed, however that comes about.
    _file: File,
    path: PathBuf,
    generation: u64,
}

impl Lock {
    pub(crate) fn take(folder: &Path) -> Result<Lock, LedgerError> {
        let path = folder.join(LOCK);
        let failed = |error| LedgerError::file("lock", &path, error);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match FileExt::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LedgerError::locked(folder)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let generation = read(&path)?.unwrap_or(0) + 1;
        // Twenty digits always, so that a shorter number never leaves digits of a longer one behind.
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        file.write_all(format!("{generation:020}\n").as_bytes()).map_err(failed)?;
        Ok(Lock { _file: file, path, generation })
    }

    /// Fails if somebody else has taken the ledger in spite of the lock.
    pub(crate) fn check(&self) -> Result<(), LedgerError> {
        match read(&self.path)? {
            Some(generation) if generation == self.generation => Ok(()),
            _ => Err(LedgerError::refused(format!(
                "{}: another writer took this ledger although it was locked\nhint: the file system does not keep locks; \
                 see to it that one process writes",
                self.path.display()
            ))),
        }
    }
}

fn read(path: &Path) -> Result<Option<u64>, LedgerError> {
    let text = fs::read_to_string(path).map_err(|error| LedgerError::file("read", path, error))?;
    Ok(text.trim().parse().ok())
}
