//! Opens a ledger: verifies it from the last settled position, or as a whole; finishes or cuts off an interrupted
//! write, and records the cut.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::checkpoint::{HISTORY_FILE, NEWEST_FILE};
use crate::compose::Composer;
use crate::disk::{self, write_all_at};
use crate::error::{LedgerError, LedgerFault};
use crate::files::settle::SETTLE_RECORDS_IDLE;
use crate::files::{LedgerFiles, Segment};
use crate::lock::Lock;
use crate::note::Signer;
use crate::options::LedgerOptions;
use crate::record::LedgerNotice;
use crate::segment;
use crate::signing_key::{self, NEXT_KEY_FILE, SIGNING_KEY_FILE, SUBJECT_KEYS_FILE};
use crate::subjects::SubjectKeyFile;
use crate::walk::Walk;

impl LedgerFiles {
    /// Opens the ledger in a folder.
    pub(crate) fn open(folder: &Path, options: LedgerOptions) -> Result<(LedgerFiles, Composer), LedgerError> {
        if !folder.join(SIGNING_KEY_FILE).exists() {
            return Err(LedgerError::refused(format!(
                "{}: no ledger to open: `{SIGNING_KEY_FILE}` is missing\nhint: create the ledger first",
                folder.display()
            )));
        }
        let lock = Arc::new(Lock::acquire(folder)?);
        LedgerFiles::load(folder, options, lock)
    }

    /// Verifies the ledger and prepares to append at its end.
    pub(super) fn load(
        folder: &Path,
        options: LedgerOptions,
        lock: Arc<Lock>,
    ) -> Result<(LedgerFiles, Composer), LedgerError> {
        let resumed = Walk::resume(folder, &signing_key::load(&folder.join(SIGNING_KEY_FILE))?.verifier());
        let is_unsettled = resumed.is_none();
        let walk = match resumed {
            Some(walk) => walk,
            None => Walk::repair(folder)?,
        };
        if let Some(tail) = walk.tail.as_ref().filter(|tail| tail.has_batches) {
            let message =
                format!("{}; acknowledged records follow, so this is not an unfinished write", tail.fault.message);
            return Err(LedgerFault { message, ..tail.fault.clone() }.into());
        }
        let signer = load_signer(folder, &options, &walk)?;
        let history = mend_checkpoints(folder, &options, &walk)?;
        let segment = mend_segment(folder, &options, &walk)?;
        let (keys, mut subjects) = SubjectKeyFile::load(&folder.join(SUBJECT_KEYS_FILE))?;
        let mut store = LedgerFiles {
            folder: folder.to_owned(),
            lock,
            signer,
            keys,
            segment,
            signed: walk.tiles.size() - walk.unsigned(),
            tiles: walk.tiles,
            unwritten: walk.unwritten,
            signed_at: (options.clock)(),
            newest: walk.last,
            settled: walk.settled,
            is_unsettled,
            inherited: walk.covered,
            dropped: walk.segments.first().copied().unwrap_or(0),
            history,
            time: walk.time.parse().unwrap_or(Timestamp::UNIX_EPOCH),
            options,
        };
        for (place, hashes) in &walk.lost {
            store.write_tile(*place, hashes)?;
        }
        let unfinished: Vec<String> = walk.erased.into_iter().filter(|pseudonym| subjects.has_key(pseudonym)).collect();
        if !unfinished.is_empty() {
            subjects.forget(&unfinished);
            store.keys.destroy(&*store.options.disk, &subjects)?;
        }
        if let Some(tail) = &walk.tail {
            store.append_notice(&LedgerNotice::Cut { bytes: tail.bytes, lines: tail.lines })?;
        }
        if walk.successor.is_some() {
            store.sign()?;
            store.promote_key()?;
        }
        store.settle_if_due(SETTLE_RECORDS_IDLE)?;
        let composer = Composer::new(subjects, store.options.clock.clone(), store.size(), store.time);
        Ok((store, composer))
    }
}

/// Returns the key that signs the next checkpoint; finishes an interrupted rotation.
fn load_signer(folder: &Path, options: &LedgerOptions, walk: &Walk<'_>) -> Result<Signer, LedgerError> {
    let (path, next) = (folder.join(SIGNING_KEY_FILE), folder.join(NEXT_KEY_FILE));
    let current = signing_key::load(&path)?;
    let successor = if next.exists() { Some(signing_key::load(&next)?) } else { None };
    let stranger = || {
        LedgerError::refused(format!(
            "{}: this key does not match the checkpoints of the ledger\nhint: restore the key of this ledger, or \
             create a new ledger",
            path.display()
        ))
    };
    let due = walk.keys.last();
    let waits = |key: &Signer| walk.successor.as_ref().is_none_or(|waiting| *waiting == key.verifier());
    match successor {
        _ if due == Some(&current.verifier()) && walk.successor.is_none() => Ok(current),
        Some(successor) if due == Some(&current.verifier()) && waits(&successor) => Ok(current),
        Some(successor) if due == Some(&successor.verifier()) => {
            signing_key::save(&*options.disk, &path, &successor)?;
            Ok(successor)
        }
        _ => Err(stranger()),
    }
}

/// Cuts off an unfinished checkpoint, rewrites the last one, and copies it to the file of the newest.
///
/// The rewrite is needed because a failed sync may have left bytes that can be read but are not on the disk.
fn mend_checkpoints(folder: &Path, options: &LedgerOptions, walk: &Walk<'_>) -> Result<u64, LedgerError> {
    let path = folder.join(HISTORY_FILE);
    let length = walk.history;
    let Some(last) = &walk.last else { return Ok(length) };
    // The newest is copied to its own file only once it is durable here.
    if !walk.is_newest_behind && fs::metadata(&path).is_ok_and(|metadata| metadata.len() == length) {
        return Ok(length);
    }
    let note = format!("{}\n", last.note);
    let mend = || {
        let mut file = options.disk.open(&path, false)?;
        file.set_len(length)?;
        write_all_at(&mut *file, length - note.len() as u64, note.as_bytes())?;
        file.sync()
    };
    mend().map_err(|error| LedgerError::file("mend", &path, error))?;
    if walk.is_newest_behind {
        disk::replace_file(&*options.disk, &folder.join(NEWEST_FILE), last.note.as_bytes(), false)?;
    }
    Ok(length)
}

/// Cuts off the segment after the last good record, and rewrites the records that no checkpoint covers: as above, a
/// failed sync may have left bytes that are not on the disk.
fn mend_segment(folder: &Path, options: &LedgerOptions, walk: &Walk<'_>) -> Result<Segment, LedgerError> {
    let Some(first) = walk.segments.last().copied() else {
        let message = "no segment found, so there are no records".to_owned();
        return Err(LedgerFault { file: segment::FOLDER.into(), line: 0, index: None, message }.into());
    };
    let path = folder.join(segment::path(first));
    let mend = || {
        if walk.unsigned_from == walk.length && fs::metadata(&path)?.len() == walk.length {
            return options.disk.open(&path, false);
        }
        let mut unsigned = Vec::new();
        let mut reader = File::open(&path)?;
        reader.seek(SeekFrom::Start(walk.unsigned_from))?;
        reader.take(walk.length - walk.unsigned_from).read_to_end(&mut unsigned)?;
        let mut file = options.disk.open(&path, false)?;
        if fs::metadata(&path)?.len() > walk.length {
            file.set_len(walk.length)?;
        }
        write_all_at(&mut *file, walk.unsigned_from, &unsigned)?;
        file.sync()?;
        Ok(file)
    };
    let file = mend().map_err(|error| LedgerError::file("mend", &path, error))?;
    Ok(Segment { file, first, length: walk.length })
}
