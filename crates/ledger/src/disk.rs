//! The file operations that change something, behind a trait, so that tests can make any of them fail.
//!
//! Reading goes to the file system directly: a read that fails changes nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::LedgerError;

/// A file system as far as a ledger changes it.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Makes a folder and those above it.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Opens a file for writing; creates it if it is not there, readable by its owner only if it is private.
    fn open(&self, path: &Path, is_private: bool) -> io::Result<Box<dyn DiskFile>>;
    /// Gives a file another name, in place of what had that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder with all that is in it.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a folder survive a loss of power.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes files survive a loss of power, with the names that lead to them from a folder on.
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
    /// Writes at an offset, perhaps not all, and says how much.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file off, or fills it up with zeros.
    fn set_len(&mut self, length: u64) -> io::Result<()>;
    /// Makes what was written survive a loss of power.
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

/// Writes all bytes at an offset, however small the pieces are that the disk takes.
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

/// Replaces a file as a whole: whoever looks, also after a loss of power, sees the old content or the new.
pub(crate) fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8], is_private: bool) -> Result<(), LedgerError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let write = || -> io::Result<()> {
        let mut file = disk.open(&beside, is_private)?;
        file.set_len(0)?;
        write_all_at(&mut *file, 0, bytes)?;
        file.sync()?;
        disk.rename(&beside, path)?;
        path.parent().map_or(Ok(()), |folder| disk.sync_folder(folder))
    };
    write().map_err(|error| LedgerError::file("replace", path, error))
}

/// Writes a file that is not there yet, or only in part. It is not durable before it is synced.
pub(crate) fn write_whole(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<Box<dyn DiskFile>, LedgerError> {
    let write = || -> io::Result<Box<dyn DiskFile>> {
        let mut file = disk.open(path, false)?;
        write_all_at(&mut *file, 0, bytes)?;
        file.set_len(bytes.len() as u64)?;
        Ok(file)
    };
    write().map_err(|error| LedgerError::file("write", path, error))
}
