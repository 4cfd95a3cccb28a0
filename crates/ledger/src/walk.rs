//! One pass over a ledger in bounded memory: recomputes and compares everything.
//!
//! Verification is this pass from the start. Opening a ledger is this pass from the settled position, and appending
//! continues where the pass ends. The pass reads records in order: their hashes make the tree, the tree is compared
//! with the tiles, and at the size of each checkpoint its root and its signature are checked, by the key of that time.

mod notices;
mod segments;
mod tiles;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use crate::checkpoint::{Checkpoint, CheckpointReader, HISTORY_FILE, NEWEST_FILE, SignedCheckpoint};
use crate::error::{LedgerError, LedgerFault};
use crate::note::{Note, VerifierKey};
use crate::segment;
use crate::settled_position::{ResumePoint, SettledPosition};
use crate::tile::{TilePosition, Tiles};
use crate::tree::Hash;
use crate::walk::notices::KeptNotices;
use crate::walk::tiles::SuspectTile;

/// The version of the ledger format.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// The message for a checkpoint with an invalid signature.
const NOT_SIGNED: &str = "not signed by the key that is valid at this size";

/// The purpose of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WalkMode {
    /// To check the ledger as it is.
    Verify,
    /// To append, possibly after a crash: an unacknowledged tail may be cut off.
    Repair,
}

/// The state and the result of the pass, valid up to the last good record.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    folder: &'a Path,
    mode: WalkMode,
    /// The right edge of the tree.
    pub(crate) tiles: Tiles,
    /// Full tiles that no checkpoint covers; they may not be in their files yet.
    pub(crate) unwritten: Vec<(TilePosition, Vec<Hash>)>,
    /// Tiles lost in a power loss, rebuilt from the records under a signed root.
    pub(crate) lost: Vec<(TilePosition, Vec<Hash>)>,
    /// The signing keys, in order.
    pub(crate) keys: Vec<VerifierKey>,
    /// The key that signs after the next checkpoint.
    pub(crate) successor: Option<VerifierKey>,
    /// The last checkpoint, and how many there are.
    pub(crate) last: Option<SignedCheckpoint>,
    pub(crate) checkpoints: u64,
    /// How many bytes of the file with all checkpoints are complete.
    pub(crate) history: u64,
    /// Whether the file of the newest checkpoint holds the one before.
    pub(crate) is_newest_behind: bool,
    /// The time of the last record.
    pub(crate) time: String,
    /// The pseudonyms of erased subjects.
    pub(crate) erased: HashSet<String>,
    /// The first index of each segment.
    pub(crate) segments: Vec<u64>,
    /// How many bytes of the last segment are good, and how many of them no checkpoint covers.
    pub(crate) length: u64,
    pub(crate) unsigned_from: u64,
    /// The bytes after the last good record, if any.
    pub(crate) tail: Option<Tail>,
    pub(crate) covered: u64,
    next: Option<(u64, SignedCheckpoint)>,
    reader: CheckpointReader,
    suspect: Option<SuspectTile>,
    pin: Option<&'a Checkpoint>,
    kept: KeptNotices,
    dropped: u64,
    /// How many records precede the pass.
    pub(crate) settled: u64,
}

/// Bytes after the last good record that no checkpoint covers.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    pub(crate) fault: LedgerFault,
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    /// Whether it is one incomplete line, as a killed writer leaves it.
    pub(crate) is_unfinished: bool,
    /// Whether it holds records of several batches. Only the last batch can be unacknowledged.
    pub(crate) has_batches: bool,
}

impl<'a> Walk<'a> {
    /// Walks the whole ledger with a trusted key, and optionally an older checkpoint that it must continue.
    pub(crate) fn verify(
        folder: &'a Path,
        trusted: &VerifierKey,
        pin: Option<&'a Checkpoint>,
    ) -> Result<Walk<'a>, LedgerError> {
        Walk::complete(folder, WalkMode::Verify, Some(trusted), pin)
    }

    /// Walks the whole ledger to append to it, with the key of its first record.
    pub(crate) fn repair(folder: &'a Path) -> Result<Walk<'a>, LedgerError> {
        Walk::complete(folder, WalkMode::Repair, None, None)
    }

    /// Walks the ledger from the settled position to append to it. Returns none if there is no such position or
    /// anything after it is wrong; [`Walk::repair`] then finds out what.
    pub(crate) fn resume(folder: &'a Path, key: &VerifierKey) -> Option<Walk<'a>> {
        let start = ResumePoint::find(folder, key)?;
        let mut walk = Walk::new(folder, WalkMode::Repair, Some(key), None).ok()?;
        let first = walk.segments.first().copied()?;
        // Segments are dropped only after their notices are copied.
        if first > 0 && !folder.join(segment::NOTICES_FILE).exists() {
            return None;
        }
        let SettledPosition { segment, bytes, signed } = start.settled;
        walk.settled = start.tiles.size();
        walk.tiles = start.tiles;
        walk.time = start.time;
        walk.last = Some(signed);
        walk.reader = CheckpointReader::open(folder, start.history).ok()?;
        walk.kept = KeptNotices::empty();
        walk.dropped = first;
        let read = walk.read_checkpoints(start.history).and_then(|()| {
            walk.next = walk.next_checkpoint(walk.settled)?;
            walk.read_segments(segment, bytes)?;
            walk.check_end(first)
        });
        read.ok().map(|()| walk)
    }

    fn complete(
        folder: &'a Path,
        mode: WalkMode,
        trusted: Option<&VerifierKey>,
        pin: Option<&'a Checkpoint>,
    ) -> Result<Walk<'a>, LedgerError> {
        let mut walk = Walk::new(folder, mode, trusted, pin)?;
        match walk.run() {
            Ok(()) => Ok(walk),
            Err(error) => Err(walk.pick_earliest(error)),
        }
    }

    fn new(
        folder: &'a Path,
        mode: WalkMode,
        trusted: Option<&VerifierKey>,
        pin: Option<&'a Checkpoint>,
    ) -> Result<Walk<'a>, LedgerError> {
        Ok(Walk {
            folder,
            mode,
            tiles: Tiles::default(),
            unwritten: Vec::new(),
            lost: Vec::new(),
            keys: trusted.cloned().into_iter().collect(),
            successor: None,
            last: None,
            checkpoints: 0,
            history: 0,
            is_newest_behind: false,
            time: String::new(),
            erased: HashSet::new(),
            segments: segment::list(folder)?,
            length: 0,
            unsigned_from: 0,
            tail: None,
            covered: 0,
            next: None,
            reader: CheckpointReader::open(folder, 0)?,
            suspect: None,
            pin,
            kept: KeptNotices::open(folder)?,
            dropped: 0,
            settled: 0,
        })
    }

    fn run(&mut self) -> Result<(), LedgerError> {
        self.read_checkpoints(0)?;
        self.next = self.next_checkpoint(0)?;
        let first = self.segments.first().copied().unwrap_or(0);
        self.read_dropped(first)?;
        self.read_segments(first, 0)?;
        self.check_end(first)
    }

    /// Reads the checkpoints from an offset on, to know how many records they cover, and compares the newest with its
    /// own file.
    fn read_checkpoints(&mut self, offset: u64) -> Result<(), LedgerError> {
        let path = self.folder.join(NEWEST_FILE);
        let newest = match fs::read_to_string(&path) {
            Ok(note) => Some(note),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(String::new()),
            Err(error) => return Err(LedgerError::file("read", &path, error)),
        };
        let is = |signed: &Option<SignedCheckpoint>| signed.as_ref().map(|signed| &signed.note) == newest.as_ref();
        let mut history = CheckpointReader::open(self.folder, offset)?;
        let mut before = None;
        loop {
            match history.next() {
                Ok(Some(signed)) => before = self.last.replace(signed),
                Ok(None) => break,
                // The newest is copied to its own file once it is durable here. A power loss may leave garbage after
                // it.
                Err(_) if self.mode == WalkMode::Repair && is(&self.last) => break,
                Err(error) => return Err(error),
            }
            self.checkpoints += 1;
        }
        self.history = history.bytes;
        self.reader.limit = history.bytes;
        self.covered = self.last.as_ref().map_or(0, |signed| signed.checkpoint.size);
        // A crash leaves the start of a checkpoint after the last one; anything else does not belong there.
        let origin = self.last.as_ref().map_or(String::new(), |signed| format!("{}\n", signed.checkpoint.origin));
        let is_beginning = history.unfinished.iter().zip(origin.as_bytes()).all(|(a, b)| a == b);
        if !is_beginning && self.mode == WalkMode::Verify {
            return Err(checkpoint_fault(history.line, "unexpected data: not the start of a checkpoint").into());
        }
        self.is_newest_behind = !is(&self.last);
        if self.is_newest_behind && !is(&before) {
            let message = format!("not the newest checkpoint in `{HISTORY_FILE}`");
            return Err(LedgerFault { file: NEWEST_FILE.into(), line: 0, index: None, message }.into());
        }
        Ok(())
    }

    /// Reads the next checkpoint with its line. Its size must be larger than that of the one before.
    fn next_checkpoint(&mut self, size: u64) -> Result<Option<(u64, SignedCheckpoint)>, LedgerError> {
        let line = self.reader.line;
        let Some(signed) = self.reader.next()? else { return Ok(None) };
        if signed.checkpoint.size <= size {
            return Err(checkpoint_fault(line, "the size is not larger than that of the checkpoint before").into());
        }
        Ok(Some((line, signed)))
    }

    /// Adds the next leaf to the tree, and compares completed tiles and checkpoints.
    fn push_leaf(&mut self, leaf: Hash) -> Result<(), LedgerError> {
        self.tiles.push(leaf);
        let size = self.tiles.size();
        for (place, hashes) in self.tiles.take_full() {
            // The leaf just added completes the tile, so the tile ends at this size.
            if size <= self.covered {
                self.compare_full(place, &hashes)?;
            } else {
                self.unwritten.push((place, hashes));
            }
        }
        if self.pin.is_some_and(|pin| pin.size == size && pin.root != self.tiles.root()) {
            let message = format!("the first {size} records are not those of the pinned checkpoint");
            return Err(LedgerFault { file: segment::FOLDER.into(), line: 0, index: None, message }.into());
        }
        match self.next.take_if(|(_, signed)| signed.checkpoint.size == size) {
            Some((line, signed)) => self.check_checkpoint(line, &signed),
            None => Ok(()),
        }
    }

    /// Checks a checkpoint against the tree of exactly its size.
    fn check_checkpoint(&mut self, line: u64, signed: &SignedCheckpoint) -> Result<(), LedgerError> {
        let Checkpoint { size, root, .. } = signed.checkpoint;
        if !self.keys.last().is_some_and(|key| signed.is_by(key)) {
            return Err(checkpoint_fault(line, NOT_SIGNED).into());
        }
        self.compare_partial()?;
        if root != self.tiles.root() {
            return Err(self.find_culprit(line, signed)?.into());
        }
        if let Some(suspect) = self.suspect.take() {
            return Err(suspect.fault.into());
        }
        self.keys.extend(self.successor.take());
        self.next = self.next_checkpoint(size)?;
        Ok(())
    }

    /// Checks the conditions that must hold after the last record.
    fn check_end(&mut self, first: u64) -> Result<(), LedgerError> {
        let size = self.tiles.size();
        if let Some((line, signed)) = &self.next {
            // An unsigned size is no evidence of missing records.
            if !self.keys.last().is_some_and(|key| signed.is_by(key)) {
                return Err(checkpoint_fault(*line, NOT_SIGNED).into());
            }
            let promised = signed.checkpoint.size;
            let message = format!("missing: a checkpoint covers {promised} records, but only {size} exist");
            return Err(self.fault(size, message).into());
        }
        if first > self.dropped {
            let message = "missing, and no notice says that it was dropped".to_owned();
            return Err(LedgerFault { index: Some(self.dropped), ..self.fault(first, message) }.into());
        }
        if let Some(pin) = self.pin.filter(|pin| pin.size > size) {
            let message = format!("missing: the pinned checkpoint has {} records, but only {size} exist", pin.size);
            return Err(self.fault(size, message).into());
        }
        Ok(())
    }

    /// Whether a key of this ledger signed a note.
    pub(crate) fn has_signed(&self, note: &str) -> bool {
        Note::read(note).is_ok_and(|note| self.keys.iter().any(|key| key.has_signed(&note)))
    }

    /// Returns how many records no checkpoint covers.
    pub(crate) fn unsigned(&self) -> u64 {
        self.tiles.size() - self.covered
    }
}

fn checkpoint_fault(line: u64, message: &str) -> LedgerFault {
    LedgerFault { file: HISTORY_FILE.into(), line, index: None, message: message.into() }
}
