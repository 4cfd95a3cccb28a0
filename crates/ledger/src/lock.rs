//! The writer lock: an advisory file lock, and a generation number that reveals a second writer where the file system
//! ignores locks.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::LedgerError;

/// The name of the locked file, which holds the generation.
const LOCK_FILE: &str = "lock";

/// The right to write, released on drop.
#[derive(Debug)]
pub(crate) struct Lock {
    /// Unlocked by the system when the process is killed.
    file: File,
    path: PathBuf,
    generation: u64,
}

impl Lock {
    pub(crate) fn acquire(folder: &Path) -> Result<Lock, LedgerError> {
        let path = folder.join(LOCK_FILE);
        let failed = |error| LedgerError::file("lock", &path, error);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LedgerError::locked(folder)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let generation = read_generation(&path)?.unwrap_or(0) + 1;
        // Always twenty digits, so that a shorter number overwrites a longer one.
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        file.write_all(format!("{generation:020}\n").as_bytes()).map_err(failed)?;
        Ok(Lock { file, path, generation })
    }

    /// Fails if another writer has taken the ledger despite the lock, or if the folder was deleted or replaced: records
    /// would go to files that no process can open again.
    pub(crate) fn check(&self) -> Result<(), LedgerError> {
        if self.is_replaced().map_err(|error| LedgerError::file("read", &self.path, error))? {
            return Err(LedgerError::refused(format!(
                "{}: the folder of the ledger was replaced while it was open\nhint: put the old folder back, or restart to use \
                 the new one",
                self.path.display()
            )));
        }
        match read_generation(&self.path)? {
            Some(generation) if generation == self.generation => Ok(()),
            _ => Err(LedgerError::refused(format!(
                "{}: another writer took the ledger despite the lock\nhint: this file system does not support file locks; \
                 make sure that only one process writes",
                self.path.display()
            ))),
        }
    }
}

impl Lock {
    /// Whether the file at the path is another one than the locked one.
    #[cfg(unix)]
    fn is_replaced(&self) -> std::io::Result<bool> {
        use std::os::unix::fs::MetadataExt;
        let (locked, named) = (self.file.metadata()?, fs::metadata(&self.path)?);
        Ok((locked.dev(), locked.ino()) != (named.dev(), named.ino()))
    }

    #[cfg(not(unix))]
    fn is_replaced(&self) -> std::io::Result<bool> {
        Ok(false)
    }
}

impl Drop for Lock {
    /// Closing the file is not enough: a process that another thread has just forked holds a copy of it until it runs
    /// its own program, and the lock with it.
    fn drop(&mut self) {
        // Where unlocking fails, closing the file still unlocks.
        let _ = self.file.unlock();
    }
}

fn read_generation(path: &Path) -> Result<Option<u64>, LedgerError> {
    let text = fs::read_to_string(path).map_err(|error| LedgerError::file("read", path, error))?;
    Ok(text.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_notices_deleted_and_replaced_folder() {
        let place = tempfile::tempdir().unwrap();
        let (folder, away) = (place.path().join("log"), place.path().join("away"));
        fs::create_dir(&folder).unwrap();
        let lock = Lock::acquire(&folder).unwrap();
        lock.check().unwrap();
        fs::rename(&folder, &away).unwrap();
        assert!(lock.check().is_err(), "the folder is gone");
        fs::create_dir(&folder).unwrap();
        fs::copy(away.join(LOCK_FILE), folder.join(LOCK_FILE)).unwrap();
        assert!(lock.check().unwrap_err().to_string().contains("was replaced"), "a copy is another ledger");
        fs::remove_dir_all(&folder).unwrap();
        fs::rename(&away, &folder).unwrap();
        lock.check().unwrap();
    }

    #[test]
    fn released_lock_ignores_inherited_copies() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::acquire(folder.path()).unwrap();
        // What a forked process inherits.
        let copy = lock.file.try_clone().unwrap();
        assert!(Lock::acquire(folder.path()).is_err());
        drop(lock);
        Lock::acquire(folder.path()).unwrap();
        drop(copy);
    }
}
