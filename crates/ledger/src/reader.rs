//! Reading a ledger: its records, what they hold sealed, proofs, checkpoints. Changes nothing and needs no lock.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::checkpoint::{HISTORY, NEWEST, Signed};
use crate::error::{LedgerError, LedgerFault};
use crate::keyfile::SUBJECTS;
use crate::note::VerifierKey;
use crate::proof;
use crate::record::{Content, LedgerNotice, Line, Proof};
use crate::segment::{self, NOTICES};
use crate::subjects::{KeyFile, Subjects};
use crate::tile::FromTiles;
use crate::tree::Hash;

/// A ledger that is only read.
#[derive(Clone, Debug)]
pub struct Reader {
    folder: PathBuf,
}

/// A record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// Its place in the ledger, from 0 on.
    pub index: u64,
    /// When it was written (RFC 3339).
    pub time: String,
    /// What its author wrote; none if the ledger itself did.
    pub body: Option<Map<String, Value>>,
    /// What the ledger says about itself.
    pub notice: Option<LedgerNotice>,
    /// The pseudonyms of those it is about.
    pub subjects: Vec<String>,
    /// The line as it stands in the file, whose hash is in the tree.
    pub line: String,
}

/// What can be said about the payload of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RevealedPayload {
    /// It was kept, and this is it.
    Content(Vec<u8>),
    /// Only a commitment was kept; `Reader::confirms` compares it with a payload.
    Commitment,
    /// The record has none.
    Nothing,
    /// A subject of the record was erased, and with them the key.
    Erased,
}

impl Reader {
    /// Reads the ledger in a folder.
    pub fn open(folder: impl AsRef<Path>) -> Reader {
        Reader { folder: folder.as_ref().to_owned() }
    }

    /// The records from an index on, in order, as far as they are kept.
    pub fn records(&self, from: u64) -> Result<Records, LedgerError> {
        let segments = segment::list(&self.folder)?;
        let start = segments.iter().rposition(|first| *first <= from).unwrap_or(0);
        let waiting = segments.into_iter().skip(start).rev().collect();
        Ok(Records { folder: self.folder.clone(), waiting, open: None, from })
    }

    /// The record with an index.
    pub fn record(&self, index: u64) -> Result<Record, LedgerError> {
        match self.records(index)?.next() {
            Some(Ok(record)) if record.index == index => Ok(record),
            Some(Err(error)) => Err(error),
            Some(Ok(record)) => Err(LedgerError::refused(format!(
                "record {index} is no longer kept; the first that is has the index {}",
                record.index
            ))),
            None => Err(LedgerError::refused(format!("there is no record {index}"))),
        }
    }

    /// The payload of a record, if it was kept and nobody it is about was erased.
    pub fn reveal(&self, index: u64) -> Result<RevealedPayload, LedgerError> {
        let record = self.record(index)?;
        let line = record.read()?;
        let (Content::Body(body) | Content::Notice(body)) = line.content;
        let sealed = match line.proof {
            Proof::Nothing => return Ok(RevealedPayload::Nothing),
            Proof::Commitment(_) => None,
            Proof::Sealed(sealed) => Some(sealed),
        };
        let subjects = self.subjects()?;
        let Some(cast) = subjects.cast_behind(&record.subjects) else { return Ok(RevealedPayload::Erased) };
        let Some(sealed) = sealed else { return Ok(RevealedPayload::Commitment) };
        cast.unseal(index, body, sealed).map(RevealedPayload::Content).ok_or_else(|| {
            LedgerError::refused(format!(
                "the payload of record {index} was not sealed with these keys\nhint: put back the file `{SUBJECTS}` that \
                 belongs to this ledger"
            ))
        })
    }

    /// Whether this is the payload that a record commits to; none if that cannot be told any more, or never could.
    pub fn confirms(&self, index: u64, payload: &[u8]) -> Result<Option<bool>, LedgerError> {
        let record = self.record(index)?;
        let Proof::Commitment(commitment) = record.read()?.proof else { return Ok(None) };
        Ok(self.subjects()?.cast_behind(&record.subjects).map(|cast| {
            let mut made = String::new();
            cast.commit(index, payload, &mut made);
            made == commitment
        }))
    }

    fn subjects(&self) -> Result<Subjects, LedgerError> {
        KeyFile::load(&self.folder.join(SUBJECTS)).map(|(_, subjects)| subjects)
    }

    /// The newest checkpoint, as a signed note.
    pub fn checkpoint(&self) -> Result<String, LedgerError> {
        let path = self.folder.join(NEWEST);
        fs::read_to_string(&path).map_err(|error| LedgerError::file("read", &path, error))
    }

    /// All checkpoints, each with a blank line behind it: what is kept elsewhere, so that no older copy can pass.
    pub fn checkpoints(&self) -> Result<String, LedgerError> {
        let path = self.folder.join(HISTORY);
        fs::read_to_string(&path).map_err(|error| LedgerError::file("read", &path, error))
    }

    /// The key that the ledger says it was created with. To be compared with what its owner published.
    pub fn first_key(&self) -> Result<VerifierKey, LedgerError> {
        let from_notices = || fs::read_to_string(self.folder.join(NOTICES)).ok()?.lines().next().map(str::to_owned);
        let line = match self.records(0)?.next().transpose()? {
            Some(record) if record.index == 0 => record.line,
            _ => from_notices().ok_or_else(|| LedgerError::refused("the ledger has no first record"))?,
        };
        match Line::read(line.as_bytes()).and_then(|line| line.notice()) {
            Ok(Some(LedgerNotice::Created { key, .. })) => key.parse(),
            _ => Err(LedgerError::refused("the first record of the ledger names no key")),
        }
    }

    /// The size of the newest checkpoint, up to which there are proofs.
    pub fn size(&self) -> Result<u64, LedgerError> {
        let signed = Signed::read(self.checkpoint()?).map_err(|message| {
            LedgerError::from(LedgerFault { file: NEWEST.into(), line: 0, index: None, message: message.into() })
        })?;
        Ok(signed.checkpoint.size)
    }

    /// The root of the tree of a size.
    pub fn root(&self, size: u64) -> Result<Hash, LedgerError> {
        proof::root(&mut self.tiles(size)?, size)
    }

    /// The hashes that show that a record is in the tree of a size, for [`crate::check_inclusion`].
    pub fn prove_inclusion(&self, index: u64, size: u64) -> Result<Vec<Hash>, LedgerError> {
        proof::inclusion(&mut self.tiles(size)?, index, size)
    }

    /// The hashes that show that the tree of the newer size continues the older, for [`crate::check_consistency`].
    pub fn prove_consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>, LedgerError> {
        proof::consistency(&mut self.tiles(new)?, old, new)
    }

    fn tiles(&self, size: u64) -> Result<FromTiles<'_>, LedgerError> {
        let newest = self.size()?;
        if size > newest {
            return Err(LedgerError::refused(format!(
                "there are no proofs for {size} records: the newest checkpoint covers {newest}"
            )));
        }
        Ok(FromTiles { folder: &self.folder, size: newest })
    }
}

impl Record {
    fn read(&self) -> Result<Line<'_>, LedgerError> {
        let fault = |message| LedgerFault { file: segment::FOLDER.into(), line: 0, index: Some(self.index), message };
        Line::read(self.line.as_bytes()).map_err(|message| fault(message).into())
    }

    /// The hash of the record in the tree.
    pub fn hash(&self) -> Hash {
        Hash::leaf(self.line.as_bytes())
    }
}

/// Records in order.
#[derive(Debug)]
pub struct Records {
    folder: PathBuf,
    /// The segments to come, the next one last.
    waiting: Vec<u64>,
    open: Option<(u64, u64, BufReader<File>)>,
    from: u64,
}

impl Records {
    /// The next line that is whole, with its segment and place.
    fn next_line(&mut self) -> Result<Option<(u64, u64, String)>, LedgerError> {
        loop {
            let (first, place, file) = match &mut self.open {
                Some((first, place, file)) => (*first, place, file),
                None => {
                    let Some(first) = self.waiting.pop() else { return Ok(None) };
                    let path = self.folder.join(segment::path(first));
                    let file = File::open(&path).map_err(|error| LedgerError::file("open", &path, error))?;
                    self.open = Some((first, 0, BufReader::new(file)));
                    continue;
                }
            };
            let mut line = String::new();
            file.read_line(&mut line)
                .map_err(|error| LedgerError::file("read", &self.folder.join(segment::path(first)), error))?;
            if line.pop() != Some('\n') {
                self.open = None;
                continue;
            }
            *place += 1;
            return Ok(Some((first, *place, line)));
        }
    }

    fn next_record(&mut self) -> Result<Option<Record>, LedgerError> {
        while let Some((first, place, line)) = self.next_line()? {
            if first + place <= self.from {
                continue;
            }
            let fault = |message| LedgerFault { file: segment::path(first), line: place, index: None, message };
            let read = Line::read(line.as_bytes()).map_err(fault)?;
            let body = match read.content {
                Content::Body(text) => serde_json::from_str(text).ok(),
                Content::Notice(_) => None,
            };
            let notice = read.notice().map_err(fault)?;
            let (index, time, subjects) = (read.index, read.time.to_owned(), read.pseudonyms());
            return Ok(Some(Record { index, time, body, notice, subjects, line }));
        }
        Ok(None)
    }
}

impl Iterator for Records {
    type Item = Result<Record, LedgerError>;

    fn next(&mut self) -> Option<Result<Record, LedgerError>> {
        self.next_record().transpose()
    }
}
