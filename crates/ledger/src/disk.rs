//! The file operations that change something, as a trait, so that tests can make any of them fail.
//!
//! Reads use the file system directly: a read that fails changes nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::LedgerError;

/// The file operations by which a ledger changes its files.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Creates a folder and its parents.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Opens a file for writing and creates it if it is missing; a private file is readable by its owner only.
    fn open(&self, path: &Path, is_private: bool) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file atomically and replaces any file of the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder and its content.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Syncs a folder, so that the names in it survive a power loss.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Syncs files and the folders between them and `below`, so that both survive a power loss.
    fn sync_files(&self, files: &[PathBuf], below: &Path) -> io::Result<()> {
        let mut folders = BTreeSet::new();
        for file in files {
            self.open(file, false)?.sync()?;
            folders.extend(file.ancestors().skip(1).take_while(|above| above.starts_with(below)));
        }
        folders.into_iter().try_for_each(|folder| self.sync_folder(folder))
    }
}

/// An open file.
pub trait DiskFile: Send + fmt::Debug {
    /// Writes at an offset and returns how many bytes were written, which may be fewer than given.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize>;
    /// Truncates the file, or extends it with zeros.
    fn set_len(&mut self, length: u64) -> io::Result<()>;
    /// Syncs the file, so that written bytes survive a power loss.
    fn sync(&mut self) -> io::Result<()>;
}

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn open(&self, path: &Path, is_private: bool) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        if is_private {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        Ok(Box::new(RealFile(options.open(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        // Only Unix opens folders; elsewhere names are as durable as the file system makes them.
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }

    #[cfg(target_os = "linux")]
    fn sync_files(&self, files: &[PathBuf], below: &Path) -> io::Result<()> {
        // Syncing very many files one by one takes longer than syncing all of the file system.
        if files.len() > 64 {
            return Ok(rustix::fs::syncfs(File::open(below)?)?);
        }
        let mut folders = BTreeSet::new();
        for file in files {
            File::open(file)?.sync_data()?;
            folders.extend(file.ancestors().skip(1).take_while(|above| above.starts_with(below)));
        }
        folders.into_iter().try_for_each(|folder| self.sync_folder(folder))
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.write(bytes)
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Writes all bytes at an offset, in as many writes as the disk needs.
pub(crate) fn write_all_at(file: &mut dyn DiskFile, offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    let mut at = offset;
    while !bytes.is_empty() {
        match file.write_at(at, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                at += written as u64;
                bytes = &bytes[written..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Replaces a file atomically: readers see the old content or the new one, also after a power loss.
pub(crate) fn replace_file(disk: &dyn Disk, path: &Path, bytes: &[u8], is_private: bool) -> Result<(), LedgerError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    let write = || -> io::Result<()> {
        let mut file = disk.open(&temporary, is_private)?;
        file.set_len(0)?;
        write_all_at(&mut *file, 0, bytes)?;
        file.sync()?;
        disk.rename(&temporary, path)?;
        path.parent().map_or(Ok(()), |folder| disk.sync_folder(folder))
    };
    write().map_err(|error| LedgerError::file("replace", path, error))
}

/// Writes a whole file and returns it open. It is durable only after a sync.
pub(crate) fn write_file(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<Box<dyn DiskFile>, LedgerError> {
    let write = || -> io::Result<Box<dyn DiskFile>> {
        let mut file = disk.open(path, false)?;
        write_all_at(&mut *file, 0, bytes)?;
        file.set_len(bytes.len() as u64)?;
        Ok(file)
    };
    write().map_err(|error| LedgerError::file("write", path, error))
}
