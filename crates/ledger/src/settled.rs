//! Up to where a writer knows all of its ledger to be on the disk, tiles included: from there on it is verified when it
//! is opened, however long it is.
//!
//! The file holds where the last record ends and the checkpoint that covers it. It is not believed: the checkpoint must
//! be signed by the ledger's own key, the tiles at the right edge must have its root, and the record that ends there must
//! be the last one of that tree. Nobody else reads it, and without it the ledger is verified from its beginning.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::checkpoint::{HISTORY, Signed};
use crate::disk::{self, Disk};
use crate::error::LedgerError;
use crate::note::VerifierKey;
use crate::proof::{check_inclusion, inclusion};
use crate::record::{Line, MAX_LINE};
use crate::segment;
use crate::tile::{FromTiles, Tiles};
use crate::tree::Hash;

/// The name of the file.
const SETTLED: &str = "settled";

/// How much of the end of a file is read at first, in search of something near it.
const PIECE: u64 = 4096;

/// Where everything is on the disk.
#[derive(Debug)]
pub(crate) struct Settled {
    /// The first record of the segment that the last record is in, and where it ends there.
    pub(crate) segment: u64,
    pub(crate) bytes: u64,
    pub(crate) signed: Signed,
}

/// A place from which a ledger can be verified, itself verified.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) settled: Settled,
    pub(crate) tiles: Tiles,
    /// The time of the last record.
    pub(crate) time: String,
    /// Where the next checkpoint begins.
    pub(crate) history: u64,
}

impl Settled {
    pub(crate) fn write(&self, disk: &dyn Disk, folder: &Path) -> Result<(), LedgerError> {
        let text = format!("{} {}\n{}", self.segment, self.bytes, self.signed.note);
        disk::replace(disk, &folder.join(SETTLED), text.as_bytes(), false)
    }

    fn read(folder: &Path) -> Option<Settled> {
        let text = fs::read_to_string(folder.join(SETTLED)).ok()?;
        let (place, note) = text.split_once('\n')?;
        let (segment, bytes) = place.split_once(' ')?;
        let (segment, bytes) = (segment.parse().ok()?, bytes.parse().ok()?);
        Some(Settled { segment, bytes, signed: Signed::read(note.to_owned()).ok()? })
    }
}

impl Start {
    /// The place that the file names, if it is there and everything fits; whoever opens a ledger starts at its beginning
    /// otherwise, and so finds out what is wrong.
    pub(crate) fn find(folder: &Path, key: &VerifierKey) -> Option<Start> {
        let settled = Settled::read(folder).filter(|settled| settled.signed.is_by(key))?;
        let (size, root) = (settled.signed.checkpoint.size, settled.signed.checkpoint.root);
        let index = size.checked_sub(1)?;
        let tiles = Tiles::of_size(folder, size).ok().filter(|tiles| tiles.root() == root)?;
        let line = line_before(&folder.join(segment::path(settled.segment)), settled.bytes).ok()??;
        let proof = inclusion(&mut FromTiles { folder, size }, index, size).ok()?;
        if !check_inclusion(Hash::leaf(&line), index, size, root, &proof) {
            return None;
        }
        let time = Line::read(&line).ok()?.time.to_owned();
        let entry = format!("{}\n", settled.signed.note);
        let history = end_of_last(&folder.join(HISTORY), entry.as_bytes()).ok()??;
        Some(Start { settled, tiles, time, history })
    }
}

/// The line that ends at an offset, without its newline.
fn line_before(path: &Path, end: u64) -> io::Result<Option<Vec<u8>>> {
    let mut file = File::open(path)?;
    let mut length = PIECE;
    loop {
        let bytes = read_before(&mut file, end, length)?;
        let Some((b'\n', text)) = bytes.split_last() else { return Ok(None) };
        match text.iter().rposition(|byte| *byte == b'\n') {
            Some(before) => return Ok(Some(text[before + 1..].to_vec())),
            None if length >= end => return Ok(Some(text.to_vec())),
            None if length > MAX_LINE as u64 => return Ok(None),
            None => length *= 8,
        }
    }
}

/// Where the last occurrence of an entry in a file ends.
fn end_of_last(path: &Path, entry: &[u8]) -> io::Result<Option<u64>> {
    let mut file = File::open(path)?;
    let end = file.metadata()?.len();
    let mut length = PIECE;
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

/// So many bytes before an offset, or as many as there are.
fn read_before(file: &mut File, end: u64, length: u64) -> io::Result<Vec<u8>> {
    let start = end.saturating_sub(length);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(end - start).read_to_end(&mut bytes)?;
    // A file that is too short is not the one that was written.
    if bytes.len() as u64 == end - start { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
