//! One pass over a ledger, in memory that does not grow with it: everything is computed anew and compared.
//!
//! Verification is this pass. So is opening a ledger, which begins at the last place that is known to be settled, and goes
//! on from where the pass ends. Records lead the way:
//! their hashes make the tree, the tree is compared with the tiles, and at every size for which there is a checkpoint
//! its signature and root are checked with the key that signed at that time.

mod notices;
mod segments;
mod tiles;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use crate::checkpoint::{Checkpoint, HISTORY, History, NEWEST, Signed};
use crate::error::{LedgerError, LedgerFault};
use crate::note::{Note, VerifierKey};
use crate::record::LedgerNotice;
use crate::segment;
use crate::settled::{Settled, Start};
use crate::tile::{Place, Tiles};
use crate::tree::Hash;
use crate::walk::notices::Kept;
use crate::walk::tiles::Suspect;

/// The version of the format that is written and read.
pub(crate) const VERSION: u32 = 1;

/// What is said of a checkpoint whose signature is not good.
const NOT_SIGNED: &str = "it is not signed by the key that signs at this size";

/// What the pass is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Telling whether the ledger is good as it is.
    Verifying,
    /// Writing on, after a crash perhaps, so what was never relied on may be cut off.
    Mending,
}

/// What the pass found out; all of it is true of the ledger up to the last good record.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    folder: &'a Path,
    manner: Manner,
    /// The right edge of the tree.
    pub(crate) tiles: Tiles,
    /// Full tiles that no checkpoint covers, so that they may not be in their files yet.
    pub(crate) unwritten: Vec<(Place, Vec<Hash>)>,
    /// Tiles that a loss of power took away, as the records make them under a root that was signed.
    pub(crate) lost: Vec<(Place, Vec<Hash>)>,
    /// The keys that signed, one after the other.
    pub(crate) keys: Vec<VerifierKey>,
    /// The key that signs behind the next checkpoint.
    pub(crate) successor: Option<VerifierKey>,
    /// The last checkpoint, and how many there are.
    pub(crate) last: Option<Signed>,
    pub(crate) checkpoints: u64,
    /// How much of the file with all checkpoints is whole.
    pub(crate) history: u64,
    /// Whether the file with the newest checkpoint is one behind.
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
    /// What stands behind the last good record.
    pub(crate) tail: Option<Tail>,
    pub(crate) covered: u64,
    next: Option<(u64, Signed)>,
    reader: History,
    suspect: Option<Suspect>,
    pin: Option<&'a Checkpoint>,
    kept: Kept,
    dropped: u64,
    /// How many records come before the pass.
    pub(crate) settled: u64,
}

/// What stands behind the last good record and behind the last checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    pub(crate) fault: LedgerFault,
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    /// Whether it is a line without its end and nothing else, as a writer leaves it that was stopped.
    pub(crate) is_unfinished: bool,
    /// Whether records of several batches are in it. Only one batch at a time is not acknowledged.
    pub(crate) has_batches: bool,
}

impl<'a> Walk<'a> {
    /// Goes over the ledger with a key that is trusted, and perhaps an older checkpoint that it must continue.
    pub(crate) fn verifying(
        folder: &'a Path,
        trusted: &VerifierKey,
        pin: Option<&'a Checkpoint>,
    ) -> Result<Walk<'a>, LedgerError> {
        Walk::over(folder, Manner::Verifying, Some(trusted), pin)
    }

    /// Goes over the ledger to take it up, with the key that its first record names.
    pub(crate) fn mending(folder: &'a Path) -> Result<Walk<'a>, LedgerError> {
        Walk::over(folder, Manner::Mending, None, None)
    }

    /// Goes over the end of the ledger to take it up, from the last place that was settled under the key that signs it.
    /// None if there is no such place, or if not all is well from there on: going over all of it tells what is not.
    pub(crate) fn resuming(folder: &'a Path, key: &VerifierKey) -> Option<Walk<'a>> {
        let start = Start::find(folder, key)?;
        let mut walk = Walk::new(folder, Manner::Mending, Some(key), None).ok()?;
        let first = walk.segments.first().copied()?;
        // Old segments are missing only where notices were kept of them.
        if first > 0 && !folder.join(segment::NOTICES).exists() {
            return None;
        }
        let Settled { segment, bytes, signed } = start.settled;
        walk.settled = start.tiles.size();
        walk.tiles = start.tiles;
        walk.time = start.time;
        walk.last = Some(signed);
        walk.reader = History::open(folder, start.history).ok()?;
        walk.kept = Kept::nothing();
        walk.dropped = first;
        let read = walk.survey(start.history).and_then(|()| {
            walk.next = walk.next_checkpoint(walk.settled)?;
            walk.read_segments(segment, bytes)?;
            walk.finish(first)
        });
        read.ok().map(|()| walk)
    }

    fn over(
        folder: &'a Path,
        manner: Manner,
        trusted: Option<&VerifierKey>,
        pin: Option<&'a Checkpoint>,
    ) -> Result<Walk<'a>, LedgerError> {
        let mut walk = Walk::new(folder, manner, trusted, pin)?;
        match walk.run() {
            Ok(()) => Ok(walk),
            Err(error) => Err(walk.earliest(error)),
        }
    }

    fn new(
        folder: &'a Path,
        manner: Manner,
        trusted: Option<&VerifierKey>,
        pin: Option<&'a Checkpoint>,
    ) -> Result<Walk<'a>, LedgerError> {
        Ok(Walk {
            folder,
            manner,
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
            reader: History::open(folder, 0)?,
            suspect: None,
            pin,
            kept: Kept::open(folder)?,
            dropped: 0,
            settled: 0,
        })
    }

    fn run(&mut self) -> Result<(), LedgerError> {
        self.survey(0)?;
        self.next = self.next_checkpoint(0)?;
        let first = self.segments.first().copied().unwrap_or(0);
        self.read_dropped(first)?;
        self.read_segments(first, 0)?;
        self.finish(first)
    }

    /// Reads the checkpoints from an offset on to know how far they reach, and compares the newest with the file that
    /// holds it.
    fn survey(&mut self, offset: u64) -> Result<(), LedgerError> {
        let path = self.folder.join(NEWEST);
        let newest = match fs::read_to_string(&path) {
            Ok(note) => Some(note),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(String::new()),
            Err(error) => return Err(LedgerError::file("read", &path, error)),
        };
        let is = |signed: &Option<Signed>| signed.as_ref().map(|signed| &signed.note) == newest.as_ref();
        let mut history = History::open(self.folder, offset)?;
        let mut before = None;
        loop {
            match history.next() {
                Ok(Some(signed)) => before = self.last.replace(signed),
                Ok(None) => break,
                // The newest is put into its file when it is durable here. Behind it, a loss of power may leave anything.
                Err(_) if self.manner == Manner::Mending && is(&self.last) => break,
                Err(error) => return Err(error),
            }
            self.checkpoints += 1;
        }
        self.history = history.bytes;
        self.reader.limit = history.bytes;
        self.covered = self.last.as_ref().map_or(0, |signed| signed.checkpoint.size);
        // The beginning of a checkpoint is what a crash leaves; anything else behind the last one does not belong there.
        let origin = self.last.as_ref().map_or(String::new(), |signed| format!("{}\n", signed.checkpoint.origin));
        let is_beginning = history.unfinished.iter().zip(origin.as_bytes()).all(|(a, b)| a == b);
        if !is_beginning && self.manner == Manner::Verifying {
            return Err(at_checkpoint(history.line, "something stands here that begins no checkpoint").into());
        }
        self.is_newest_behind = !is(&self.last);
        if self.is_newest_behind && !is(&before) {
            let message = format!("this is not the newest of the checkpoints in `{HISTORY}`");
            return Err(LedgerFault { file: NEWEST.into(), line: 0, index: None, message }.into());
        }
        Ok(())
    }

    /// The next checkpoint with its line, which must be for a larger size than the one before.
    fn next_checkpoint(&mut self, size: u64) -> Result<Option<(u64, Signed)>, LedgerError> {
        let line = self.reader.line;
        let Some(signed) = self.reader.next()? else { return Ok(None) };
        if signed.checkpoint.size <= size {
            return Err(at_checkpoint(line, "its size is not larger than that of the checkpoint before").into());
        }
        Ok(Some((line, signed)))
    }

    /// Takes the next leaf into the tree, and compares what can be compared with it.
    fn feed(&mut self, leaf: Hash) -> Result<(), LedgerError> {
        self.tiles.push(leaf);
        let size = self.tiles.size();
        for (place, hashes) in self.tiles.take_full() {
            // A full tile is finished by the leaf just taken, so it ends here.
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
            Some((line, signed)) => self.meet(line, &signed),
            None => Ok(()),
        }
    }

    /// Checks a checkpoint against the tree of exactly its size.
    fn meet(&mut self, line: u64, signed: &Signed) -> Result<(), LedgerError> {
        let Checkpoint { size, root, .. } = signed.checkpoint;
        if !self.keys.last().is_some_and(|key| signed.is_by(key)) {
            return Err(at_checkpoint(line, NOT_SIGNED).into());
        }
        self.compare_partial()?;
        if root != self.tiles.root() {
            return Err(self.accuse(line, signed)?.into());
        }
        if let Some(suspect) = self.suspect.take() {
            return Err(suspect.fault.into());
        }
        self.keys.extend(self.successor.take());
        self.next = self.next_checkpoint(size)?;
        Ok(())
    }

    /// Takes in what the ledger says about itself.
    fn notice(&mut self, index: u64, notice: Option<LedgerNotice>) -> Result<(), String> {
        match notice {
            Some(LedgerNotice::Created { version, key }) if index == 0 => {
                if version != VERSION {
                    return Err(format!("version {version} of the format is not known to this program"));
                }
                let named: VerifierKey = key.parse().map_err(|error: LedgerError| error.to_string())?;
                match self.keys.first() {
                    Some(trusted) if *trusted != named => {
                        return Err(format!("the ledger was created with another key, `{named}`"));
                    }
                    Some(_) => {}
                    None => self.keys.push(named),
                }
            }
            _ if index == 0 => return Err("the first record does not say that the ledger was created".to_owned()),
            Some(LedgerNotice::Created { .. }) => return Err("a ledger is created only once".to_owned()),
            Some(LedgerNotice::Continues { checkpoint }) => {
                if index != 1 {
                    return Err("only the second record says which ledger this one continues".to_owned());
                }
                Signed::read(checkpoint).map_err(|what| format!("what it continues is no checkpoint: {what}"))?;
            }
            Some(LedgerNotice::Rotated { key }) => {
                if self.successor.is_some() {
                    return Err("the key is rotated again before a checkpoint covers the last time".to_owned());
                }
                self.successor = Some(key.parse().map_err(|error: LedgerError| error.to_string())?);
            }
            Some(LedgerNotice::Erased { subject }) => {
                self.erased.insert(subject);
            }
            Some(LedgerNotice::Dropped { before }) if before > index => {
                return Err("records are said to be dropped that come later".to_owned());
            }
            Some(LedgerNotice::Dropped { before }) => self.dropped = self.dropped.max(before),
            Some(LedgerNotice::Cut { .. }) | None => {}
        }
        Ok(())
    }

    /// What must hold when all records were read.
    fn finish(&mut self, first: u64) -> Result<(), LedgerError> {
        let size = self.tiles.size();
        if let Some((line, signed)) = &self.next {
            // A size that nobody signed says nothing about what is missing.
            if !self.keys.last().is_some_and(|key| signed.is_by(key)) {
                return Err(at_checkpoint(*line, NOT_SIGNED).into());
            }
            let promised = signed.checkpoint.size;
            let message = format!("it is missing: a checkpoint covers {promised} records, and {size} are there");
            return Err(self.fault(size, message).into());
        }
        if first > self.dropped {
            let message = "it is missing, and no notice says that it was dropped".to_owned();
            return Err(LedgerFault { index: Some(self.dropped), ..self.fault(first, message) }.into());
        }
        if let Some(pin) = self.pin.filter(|pin| pin.size > size) {
            let message =
                format!("it is missing: the pinned checkpoint has {} records, and {size} are there", pin.size);
            return Err(self.fault(size, message).into());
        }
        Ok(())
    }

    /// Whether one of the keys of this ledger signed a note.
    pub(crate) fn has_signed(&self, note: &str) -> bool {
        Note::read(note).is_ok_and(|note| self.keys.iter().any(|key| key.has_signed(&note)))
    }

    /// How many records no checkpoint covers.
    pub(crate) fn unsigned(&self) -> u64 {
        self.tiles.size() - self.covered
    }
}

fn at_checkpoint(line: u64, message: &str) -> LedgerFault {
    LedgerFault { file: HISTORY.into(), line, index: None, message: message.into() }
}
