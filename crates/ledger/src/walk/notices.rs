//! The part of the pass over records that are no longer kept: their hashes from the tiles, and the ledger's own notices
//! among them, which are kept for ever, since keys and erasures are in them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::error::{LedgerError, LedgerFault};
use crate::record::{Line, MAX_LINE};
use crate::segment::NOTICES;
use crate::tile::{self, Place, WIDTH};
use crate::tree::Hash;
use crate::walk::Walk;

/// Reads the notices that were kept, in order.
#[derive(Debug)]
pub(super) struct Kept {
    file: Option<BufReader<File>>,
    line: u64,
    next: Option<(u64, Vec<u8>)>,
}

impl Kept {
    pub(super) fn open(folder: &Path) -> Result<Kept, LedgerError> {
        let path = folder.join(NOTICES);
        let file = match File::open(&path) {
            Ok(file) => Some(BufReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(LedgerError::file("open", &path, error)),
        };
        let mut kept = Kept { file, line: 0, next: None };
        kept.advance()?;
        Ok(kept)
    }

    /// Of a pass that begins behind all that was kept.
    pub(super) fn nothing() -> Kept {
        Kept { file: None, line: 0, next: None }
    }

    fn advance(&mut self) -> Result<(), LedgerError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut line = Vec::new();
        file.take(MAX_LINE as u64)
            .read_until(b'\n', &mut line)
            .map_err(|error| LedgerError::file("read", Path::new(NOTICES), error))?;
        self.next = None;
        if line.is_empty() {
            return Ok(());
        }
        self.line += 1;
        let index = match line.pop() {
            Some(b'\n') => Line::read(&line).map(|line| line.index),
            _ => Err("the line has no end".to_owned()),
        };
        self.next = Some((index.map_err(|message| self.fault(None, message))?, line));
        Ok(())
    }

    fn fault(&self, index: Option<u64>, message: String) -> LedgerFault {
        LedgerFault { file: NOTICES.into(), line: self.line, index, message }
    }

    /// Whether there is another line for a record that is still there.
    pub(super) fn differs(&mut self, index: u64, text: &[u8]) -> Result<bool, LedgerError> {
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
    /// Takes in the records before the first that is kept.
    pub(super) fn read_dropped(&mut self, first: u64) -> Result<(), LedgerError> {
        if first > self.covered {
            let message = format!("it is missing: the first segment begins with record {first}");
            return Err(self.fault(0, message).into());
        }
        let mut tile = Vec::new();
        for index in 0..first {
            let place = usize::try_from(index % WIDTH as u64).unwrap_or(0);
            if place == 0 {
                let width = usize::try_from(self.covered - index).map_or(WIDTH, |left| left.min(WIDTH));
                tile = tile::read(self.folder, Place { level: 0, index: index / WIDTH as u64 }, width)?;
            }
            let Some(leaf) = tile.get(place).copied() else { return Ok(()) };
            self.read_kept(index, leaf)?;
            self.feed(leaf)?;
        }
        Ok(())
    }

    /// Takes in the notice of a record that is no longer kept, if it was one.
    fn read_kept(&mut self, index: u64, leaf: Hash) -> Result<(), LedgerError> {
        let (notice, hash) = match &self.kept.next {
            Some((kept, line)) if *kept == index => {
                let notice = Line::read(line).and_then(|line| line.notice());
                (notice.map_err(|message| self.kept.fault(Some(index), message))?, Hash::leaf(line))
            }
            Some((kept, _)) if *kept < index => {
                let message = "the notices are not in order".to_owned();
                return Err(self.kept.fault(Some(*kept), message).into());
            }
            _ if index == 0 => {
                let message = "the first record is missing: it names the key and is never dropped".to_owned();
                return Err(self.kept.fault(Some(0), message).into());
            }
            _ => return Ok(()),
        };
        if hash != leaf {
            let message = "it is not the record whose hash is in the tree".to_owned();
            return Err(self.kept.fault(Some(index), message).into());
        }
        self.notice(index, notice).map_err(|message| self.kept.fault(Some(index), message))?;
        self.kept.advance()
    }
}
