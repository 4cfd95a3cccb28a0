//! The notices of a ledger, and the pass over dropped records: their hashes from the tiles, and their notices, which
//! are kept forever because they hold keys and erasures.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::checkpoint::SignedCheckpoint;
use crate::error::{LedgerError, LedgerFault};
use crate::note::VerifierKey;
use crate::record::{LedgerNotice, MAX_LINE_BYTES, RecordLine};
use crate::segment::NOTICES_FILE;
use crate::tile::{self, TILE_WIDTH, TilePosition};
use crate::tree::Hash;
use crate::walk::{FORMAT_VERSION, Walk};

/// A reader of the notices of dropped segments, in order.
#[derive(Debug)]
pub(super) struct KeptNotices {
    file: Option<BufReader<File>>,
    line: u64,
    next: Option<(u64, Vec<u8>)>,
}

impl KeptNotices {
    pub(super) fn open(folder: &Path) -> Result<KeptNotices, LedgerError> {
        let path = folder.join(NOTICES_FILE);
        let file = match File::open(&path) {
            Ok(file) => Some(BufReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(LedgerError::file("open", &path, error)),
        };
        let mut kept = KeptNotices { file, line: 0, next: None };
        kept.advance()?;
        Ok(kept)
    }

    /// Returns an empty reader, for a pass that begins after all dropped records.
    pub(super) fn empty() -> KeptNotices {
        KeptNotices { file: None, line: 0, next: None }
    }

    fn advance(&mut self) -> Result<(), LedgerError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut line = Vec::new();
        file.take(MAX_LINE_BYTES as u64)
            .read_until(b'\n', &mut line)
            .map_err(|error| LedgerError::file("read", Path::new(NOTICES_FILE), error))?;
        self.next = None;
        if line.is_empty() {
            return Ok(());
        }
        self.line += 1;
        let index = match line.pop() {
            Some(b'\n') => RecordLine::read(&line).map(|line| line.index),
            _ => Err("the line has no newline".to_owned()),
        };
        self.next = Some((index.map_err(|message| self.fault(None, message))?, line));
        Ok(())
    }

    fn fault(&self, index: Option<u64>, message: String) -> LedgerFault {
        LedgerFault { file: NOTICES_FILE.into(), line: self.line, index, message }
    }

    /// Whether the file holds a different line for a record that still exists.
    pub(super) fn has_other_line(&mut self, index: u64, text: &[u8]) -> Result<bool, LedgerError> {
        match &self.next {
            Some((kept, line)) if *kept <= index => {
                let differs = *kept < index || line != text;
                self.advance()?;
                Ok(differs)
            }
            _ => Ok(false),
        }
    }
}

impl Walk<'_> {
    /// Reads the dropped records, before the first that is kept.
    pub(super) fn read_dropped(&mut self, first: u64) -> Result<(), LedgerError> {
        if first > self.covered {
            let message = format!("missing: the first segment begins with record {first}");
            return Err(self.fault(0, message).into());
        }
        let mut tile = Vec::new();
        for index in 0..first {
            let place = usize::try_from(index % TILE_WIDTH as u64).unwrap_or(0);
            if place == 0 {
                let width = usize::try_from(self.covered - index).map_or(TILE_WIDTH, |left| left.min(TILE_WIDTH));
                tile = tile::read(self.folder, TilePosition { level: 0, index: index / TILE_WIDTH as u64 }, width)?;
            }
            let Some(leaf) = tile.get(place).copied() else { return Ok(()) };
            self.read_kept(index, leaf)?;
            self.push_leaf(leaf)?;
        }
        Ok(())
    }

    /// Applies the notice of a dropped record, if it is one.
    fn read_kept(&mut self, index: u64, leaf: Hash) -> Result<(), LedgerError> {
        let (notice, hash) = match &self.kept.next {
            Some((kept, line)) if *kept == index => {
                let notice = RecordLine::read(line).and_then(|line| line.notice());
                (notice.map_err(|message| self.kept.fault(Some(index), message))?, Hash::leaf(line))
            }
            Some((kept, _)) if *kept < index => {
                let message = "the notices are out of order".to_owned();
                return Err(self.kept.fault(Some(*kept), message).into());
            }
            _ if index == 0 => {
                let message = "the first record is missing: it names the key and is never dropped".to_owned();
                return Err(self.kept.fault(Some(0), message).into());
            }
            _ => return Ok(()),
        };
        if hash != leaf {
            let message = "its hash is not the one in the tree".to_owned();
            return Err(self.kept.fault(Some(index), message).into());
        }
        self.apply_notice(index, notice).map_err(|message| self.kept.fault(Some(index), message))?;
        self.kept.advance()
    }

    /// Applies a notice to the state of the pass.
    pub(super) fn apply_notice(&mut self, index: u64, notice: Option<LedgerNotice>) -> Result<(), String> {
        match notice {
            Some(LedgerNotice::Created { version, key }) if index == 0 => {
                if version != FORMAT_VERSION {
                    return Err(format!("unknown format version {version}; this program supports {FORMAT_VERSION}"));
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
            _ if index == 0 => return Err("the first record is not a `created` notice".to_owned()),
            Some(LedgerNotice::Created { .. }) => return Err("a second `created` notice".to_owned()),
            Some(LedgerNotice::Continues { checkpoint }) => {
                if index != 1 {
                    return Err("a `continues` notice must be the second record".to_owned());
                }
                SignedCheckpoint::read(checkpoint)
                    .map_err(|what| format!("the checkpoint in the notice is invalid: {what}"))?;
            }
            Some(LedgerNotice::Rotated { key }) => {
                if self.successor.is_some() {
                    return Err("a second key rotation before a checkpoint covers the first".to_owned());
                }
                self.successor = Some(key.parse().map_err(|error: LedgerError| error.to_string())?);
            }
            Some(LedgerNotice::Erased { subject }) => {
                self.erased.insert(subject);
            }
            Some(LedgerNotice::Dropped { before }) if before > index => {
                return Err("a `dropped` notice names records that come later".to_owned());
            }
            Some(LedgerNotice::Dropped { before }) => self.dropped = self.dropped.max(before),
            Some(LedgerNotice::Cut { .. }) | None => {}
        }
        Ok(())
    }
}
