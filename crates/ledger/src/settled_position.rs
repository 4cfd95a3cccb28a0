//! The settled position: everything before it is on the disk, tiles included, so opening a ledger verifies only what
//! follows, however long the ledger is.
//!
//! The file holds the end of the last record and the checkpoint that covers it. It is not trusted: the checkpoint must
//! be signed by the ledger's own key, the tiles at the right edge must have its root, and the record that ends there
//! must be the last one of that tree. Only the writer reads it; without it the ledger is verified from the start.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::checkpoint::{HISTORY_FILE, SignedCheckpoint};
use crate::disk::{self, Disk};
use crate::error::LedgerError;
use crate::note::VerifierKey;
use crate::proof::{check_inclusion, prove_inclusion};
use crate::record::{MAX_LINE_BYTES, RecordLine};
use crate::segment;
use crate::tile::{TileHashes, Tiles};
use crate::tree::Hash;

/// The name of the file.
const SETTLED_FILE: &str = "settled";

/// How many bytes at the end of a file are searched first.
const TAIL_READ_BYTES: u64 = 4096;

/// The position up to which everything is on the disk.
#[derive(Debug)]
pub(crate) struct SettledPosition {
    /// The first index of the segment of the last record, and the offset at which that record ends.
    pub(crate) segment: u64,
    pub(crate) bytes: u64,
    pub(crate) signed: SignedCheckpoint,
}

/// A verified position from which verification can continue.
#[derive(Debug)]
pub(crate) struct ResumePoint {
    pub(crate) settled: SettledPosition,
    pub(crate) tiles: Tiles,
    /// The time of the last record.
    pub(crate) time: String,
    /// The offset of the next checkpoint.
    pub(crate) history: u64,
}

impl SettledPosition {
    pub(crate) fn write(&self, disk: &dyn Disk, folder: &Path) -> Result<(), LedgerError> {
        let text = format!("{} {}\n{}", self.segment, self.bytes, self.signed.note);
        disk::replace_file(disk, &folder.join(SETTLED_FILE), text.as_bytes(), false)
    }

    fn read(folder: &Path) -> Option<SettledPosition> {
        let text = fs::read_to_string(folder.join(SETTLED_FILE)).ok()?;
        let (place, note) = text.split_once('\n')?;
        let (segment, bytes) = place.split_once(' ')?;
        let (segment, bytes) = (segment.parse().ok()?, bytes.parse().ok()?);
        Some(SettledPosition { segment, bytes, signed: SignedCheckpoint::read(note.to_owned()).ok()? })
    }
}

impl ResumePoint {
    /// Returns the position in the file if the ledger matches it. Otherwise the caller verifies from the start, which
    /// finds out what is wrong.
    pub(crate) fn find(folder: &Path, key: &VerifierKey) -> Option<ResumePoint> {
        let settled = SettledPosition::read(folder).filter(|settled| settled.signed.is_by(key))?;
        let (size, root) = (settled.signed.checkpoint.size, settled.signed.checkpoint.root);
        let index = size.checked_sub(1)?;
        let tiles = Tiles::load(folder, size).ok().filter(|tiles| tiles.root() == root)?;
        let line = read_line_before(&folder.join(segment::path(settled.segment)), settled.bytes).ok()??;
        let proof = prove_inclusion(&mut TileHashes { folder, size }, index, size).ok()?;
        if !check_inclusion(Hash::leaf(&line), index, size, root, &proof) {
            return None;
        }
        let time = RecordLine::read(&line).ok()?.time.to_owned();
        let entry = format!("{}\n", settled.signed.note);
        let history = find_last_end(&folder.join(HISTORY_FILE), entry.as_bytes()).ok()??;
        Some(ResumePoint { settled, tiles, time, history })
    }
}

/// Returns the line that ends at an offset, without its newline.
fn read_line_before(path: &Path, end: u64) -> io::Result<Option<Vec<u8>>> {
    let mut file = File::open(path)?;
    let mut length = TAIL_READ_BYTES;
    loop {
        let bytes = read_before(&mut file, end, length)?;
        let Some((b'\n', text)) = bytes.split_last() else { return Ok(None) };
        match text.iter().rposition(|byte| *byte == b'\n') {
            Some(before) => return Ok(Some(text[before + 1..].to_vec())),
            None if length >= end => return Ok(Some(text.to_vec())),
            None if length > MAX_LINE_BYTES as u64 => return Ok(None),
            None => length *= 8,
        }
    }
}

/// Returns the offset at which the last occurrence of an entry ends.
fn find_last_end(path: &Path, entry: &[u8]) -> io::Result<Option<u64>> {
    let mut file = File::open(path)?;
    let end = file.metadata()?.len();
    let mut length = TAIL_READ_BYTES;
    loop {
        let bytes = read_before(&mut file, end, length)?;
        if let Some(at) = bytes.windows(entry.len()).rposition(|window| window == entry) {
            return Ok(Some(end - bytes.len() as u64 + (at + entry.len()) as u64));
        }
        if length >= end {
            return Ok(None);
        }
        length *= 8;
    }
}

/// Returns up to `length` bytes before an offset.
fn read_before(file: &mut File, end: u64, length: u64) -> io::Result<Vec<u8>> {
    let start = end.saturating_sub(length);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(end - start).read_to_end(&mut bytes)?;
    // A file that is too short was changed after the position was written.
    if bytes.len() as u64 == end - start { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
