//! A disk that fails on demand and can simulate a power loss.
//!
//! The files are real; only the loss of bytes and names is simulated. Bytes that were not synced may be lost, torn, or
//! present in sectors of 512 bytes in any order; names of files that were not synced with their folder may be old or
//! new. No real sync is made, so that many thousand runs take seconds.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use lictor_ledger::{Disk, DiskFile};

/// How the operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It and all later operations fail until the disk is repaired: no space left.
    Full,
    /// As [`Failure::Full`], with the error of an exceeded quota.
    Quota,
    /// It fails, once: an error of input or output.
    Error,
    /// A write takes some of the bytes, and later operations fail until the disk is repaired.
    Short,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct FaultyDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// How many operations there were.
    count: u64,
    /// The number of the operation that fails, and how.
    fails: Option<(u64, Failure)>,
    is_failing: bool,
    /// The content of each file after a power loss, by its number.
    synced: Vec<Vec<u8>>,
    /// The ranges that were written to a file since a sync of it failed. Bytes that were written before that and not
    /// synced never will be: after a failed write, the system marks a page as clean.
    since_failure: BTreeMap<usize, Vec<(usize, usize)>>,
    /// The file of each name, now and after a power loss.
    names: BTreeMap<PathBuf, usize>,
    synced_names: BTreeMap<PathBuf, usize>,
}

impl FaultyDisk {
    /// Returns a disk whose nth operation fails, counted from 1.
    pub(crate) fn failing(at: u64, failure: Failure) -> FaultyDisk {
        let disk = FaultyDisk::default();
        disk.state().fails = Some((at, failure));
        disk
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Whether the operation that fails was reached.
    pub(crate) fn has_failed(&self) -> bool {
        let state = self.state();
        state.fails.is_some_and(|(at, _)| state.count >= at)
    }

    /// Repairs the disk: nothing fails from now on.
    pub(crate) fn mend(&self) {
        let mut state = self.state();
        state.is_failing = false;
        state.fails = state.fails.map(|(_, failure)| (0, failure));
    }

    fn step(&self) -> io::Result<()> {
        let mut state = self.state();
        state.count += 1;
        if let Some((at, failure)) = state.fails {
            if state.count == at {
                state.is_failing = failure != Failure::Error;
                return Err(error(failure));
            }
            if state.is_failing {
                return Err(error(failure));
            }
        }
        Ok(())
    }

    /// Copies a folder as a power loss at this moment could leave it.
    pub(crate) fn lose_power(&self, from: &Path, to: &Path, random: &mut Random) {
        let state = self.state();
        let mut names = state.synced_names.clone();
        let all = state.names.keys().chain(state.synced_names.keys());
        for path in all {
            // A change of a name that was not synced survives or does not.
            if state.names.get(path) != names.get(path) && random.below(2) == 0 {
                match state.names.get(path) {
                    Some(file) => names.insert(path.clone(), *file),
                    None => names.remove(path),
                };
            }
        }
        // A renamed file has the old or the new name, never none.
        for (path, file) in &state.names {
            let had_name = state.synced_names.values().any(|synced| synced == file);
            if had_name && !names.values().any(|other| other == file) {
                names.insert(path.clone(), *file);
            }
        }
        copy_folders(from, to);
        for (path, file) in names {
            let live = state.names.iter().find(|(_, other)| **other == file).map(|(path, _)| fs::read(path).unwrap());
            let synced = &state.synced[file];
            let content = live.map_or_else(|| synced.clone(), |live| tear(synced, &live, random));
            let target = to.join(path.strip_prefix(from).unwrap());
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            let mut options = OpenOptions::new();
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.write(true).create(true).truncate(true).open(target).unwrap().write_all(&content).unwrap();
        }
    }
}

fn error(failure: Failure) -> io::Error {
    // The numbers of EIO, EDQUOT and ENOSPC.
    io::Error::from_raw_os_error(match failure {
        Failure::Error => 5,
        Failure::Quota => 122,
        Failure::Full | Failure::Short => 28,
    })
}

/// Returns a folder in memory, if the system has one: none of this needs to reach a disk.
pub(crate) fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// Copies a folder, without a child process: that would hold the locks of all ledgers while it starts.
pub(crate) fn copy_all(from: &Path, to: &Path) {
    copy_folders(from, to);
    for entry in fs::read_dir(from).unwrap() {
        let (path, target) = entry.map(|entry| (entry.path(), to.join(entry.file_name()))).unwrap();
        if path.is_dir() {
            copy_all(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

fn copy_folders(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            copy_folders(&path, &to.join(path.file_name().unwrap()));
        }
    }
}

/// Returns a possible state of a file after a power loss: as synced, as written, a prefix, or some of its sectors.
fn tear(synced: &[u8], live: &[u8], random: &mut Random) -> Vec<u8> {
    if synced == live {
        return synced.to_vec();
    }
    match random.below(4) {
        0 => synced.to_vec(),
        1 => live.to_vec(),
        2 if live.starts_with(synced) => live[..synced.len() + random.below(live.len() - synced.len() + 1)].to_vec(),
        _ => {
            let length = synced.len().min(live.len()) + random.below(synced.len().abs_diff(live.len()) + 1);
            let mut content = Vec::new();
            for start in (0..length).step_by(512) {
                let source = if random.below(2) == 0 { synced } else { live };
                let end = (start + 512).min(length);
                content.extend((start..end).map(|at| {
                    let kept = if at < synced.len() && live.starts_with(synced) { synced } else { source };
                    kept.get(at).copied().unwrap_or(0)
                }));
            }
            content
        }
    }
}

impl Disk for FaultyDisk {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        fs::create_dir_all(path)
    }

    fn open(&self, path: &Path, _is_private: bool) -> io::Result<Box<dyn DiskFile>> {
        self.step()?;
        let mut options = OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let real = options.read(true).write(true).create(true).truncate(false).open(path)?;
        let mut state = self.state();
        let file = match state.names.get(path) {
            Some(file) => *file,
            None => {
                state.synced.push(Vec::new());
                let file = state.synced.len() - 1;
                state.names.insert(path.to_owned(), file);
                file
            }
        };
        drop(state);
        Ok(Box::new(FaultyFile { disk: self.clone(), file, real }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        // Locked, so that a power loss comes before or after the rename, never between the file and this state.
        let mut state = self.state();
        fs::rename(from, to)?;
        if let Some(file) = state.names.remove(from) {
            state.names.insert(to.to_owned(), file);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        let mut state = self.state();
        fs::remove_file(path)?;
        state.names.remove(path);
        Ok(())
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        let mut state = self.state();
        fs::remove_dir_all(path)?;
        state.names.retain(|name, _| !name.starts_with(path));
        Ok(())
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        let mut state = self.state();
        state.synced_names.retain(|name, _| name.parent() != Some(path));
        let there: Vec<(PathBuf, usize)> = state
            .names
            .iter()
            .filter(|(name, _)| name.parent() == Some(path))
            .map(|(name, file)| (name.clone(), *file))
            .collect();
        state.synced_names.extend(there);
        Ok(())
    }
}

#[derive(Debug)]
struct FaultyFile {
    disk: FaultyDisk,
    file: usize,
    real: File,
}

impl DiskFile for FaultyFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.real.seek(SeekFrom::Start(offset))?;
        let mut bytes = bytes;
        if let Err(error) = self.disk.step() {
            let state = self.disk.state();
            if !matches!(state.fails, Some((at, Failure::Short)) if state.count == at) || bytes.len() < 2 {
                return Err(error);
            }
            bytes = &bytes[..bytes.len() / 2];
        }
        if let Some(written) = self.disk.state().since_failure.get_mut(&self.file) {
            let offset = usize::try_from(offset).unwrap();
            written.push((offset, offset + bytes.len()));
        }
        self.real.write(bytes)
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        self.disk.step()?;
        self.real.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        if let Err(error) = self.disk.step() {
            self.disk.state().since_failure.insert(self.file, Vec::new());
            return Err(error);
        }
        let mut content = Vec::new();
        self.real.seek(SeekFrom::Start(0))?;
        self.real.read_to_end(&mut content)?;
        let mut state = self.disk.state();
        if let Some(written) = state.since_failure.get(&self.file).cloned() {
            let live = content;
            content = state.synced[self.file].clone();
            content.resize(live.len(), 0);
            for (from, to) in written {
                content[from.min(live.len())..to.min(live.len())]
                    .copy_from_slice(&live[from.min(live.len())..to.min(live.len())]);
            }
        }
        state.synced[self.file] = content;
        Ok(())
    }
}

/// A reproducible pseudo-random sequence (splitmix64).
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut random = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((random ^ (random >> 31)) >> 8).unwrap() % limit.max(1)
    }
}
