//! A reader of records, sealed payloads, proofs and checkpoints. It changes nothing and needs no lock.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::checkpoint::{HISTORY_FILE, NEWEST_FILE, SignedCheckpoint};
use crate::error::{LedgerError, LedgerFault};
use crate::note::VerifierKey;
use crate::proof;
use crate::record::{LedgerNotice, PayloadProof, RecordContent, RecordLine};
use crate::segment::{self, NOTICES_FILE};
use crate::signing_key::SUBJECT_KEYS_FILE;
use crate::subjects::{SubjectKeyFile, Subjects};
use crate::tile::TileHashes;
use crate::tree::Hash;

/// A ledger opened for reading.
#[derive(Clone, Debug)]
pub struct Reader {
    folder: PathBuf,
}

/// A record of the ledger.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record {
    /// Its position in the ledger, from 0.
    pub index: u64,
    /// When it was written (RFC 3339).
    pub time: String,
    /// The content by its author; none for a notice.
    pub body: Option<Map<String, Value>>,
    /// The notice by the ledger itself, if it is one.
    pub notice: Option<LedgerNotice>,
    /// The pseudonyms of its subjects.
    pub subjects: Vec<String>,
    /// The line in the file, whose hash is in the tree.
    pub line: String,
}

/// The payload of a record, as far as it can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RevealedPayload {
    /// The payload.
    Content(Vec<u8>),
    /// Only a commitment: `Reader::confirms` compares it with a payload.
    Commitment,
    /// The record has no payload.
    Nothing,
    /// A subject of the record was erased, so the key is gone.
    Erased,
}

impl Reader {
    /// Returns a reader of the ledger in a folder. Errors appear when it reads.
    pub fn open(folder: impl AsRef<Path>) -> Reader {
        Reader { folder: folder.as_ref().to_owned() }
    }

    /// Returns the kept records from an index on, in order.
    pub fn records(&self, from: u64) -> Result<Records, LedgerError> {
        let segments = segment::list(&self.folder)?;
        let start = segments.iter().rposition(|first| *first <= from).unwrap_or(0);
        let waiting = segments.into_iter().skip(start).rev().collect();
        Ok(Records { folder: self.folder.clone(), waiting, open: None, from })
    }

    /// Returns the record with an index.
    pub fn record(&self, index: u64) -> Result<Record, LedgerError> {
        match self.records(index)?.next() {
            Some(Ok(record)) if record.index == index => Ok(record),
            Some(Err(error)) => Err(error),
            Some(Ok(record)) => Err(LedgerError::refused(format!(
                "record {index} is no longer kept; the first kept record is {}",
                record.index
            ))),
            None => Err(LedgerError::refused(format!("no record {index}: the ledger is shorter"))),
        }
    }

    /// Returns the payload of a record, if it was kept and none of its subjects was erased.
    pub fn reveal(&self, index: u64) -> Result<RevealedPayload, LedgerError> {
        let record = self.record(index)?;
        let line = record.parse_line()?;
        let (RecordContent::Body(body) | RecordContent::Notice(body)) = line.content;
        let sealed = match line.proof {
            PayloadProof::Nothing => return Ok(RevealedPayload::Nothing),
            PayloadProof::Commitment(_) => None,
            PayloadProof::Sealed(sealed) => Some(sealed),
        };
        let subjects = self.subjects()?;
        let Some(group) = subjects.find_group(&record.subjects) else { return Ok(RevealedPayload::Erased) };
        let Some(sealed) = sealed else { return Ok(RevealedPayload::Commitment) };
        group.unseal(index, body, sealed).map(RevealedPayload::Content).ok_or_else(|| {
            LedgerError::refused(format!(
                "the payload of record {index} was not sealed with these keys\nhint: restore the file `{SUBJECT_KEYS_FILE}` of this \
                 ledger"
            ))
        })
    }

    /// Whether a record commits to this payload; none if a subject was erased or there is no commitment.
    pub fn confirms(&self, index: u64, payload: &[u8]) -> Result<Option<bool>, LedgerError> {
        let record = self.record(index)?;
        let PayloadProof::Commitment(commitment) = record.parse_line()?.proof else { return Ok(None) };
        Ok(self.subjects()?.find_group(&record.subjects).map(|group| {
            let mut made = String::new();
            group.commit(index, payload, &mut made);
            made == commitment
        }))
    }

    /// Returns the pseudonym of a subject in records, by the keys in the folder; none if no record names the subject.
    pub fn pseudonym(&self, subject: &str) -> Result<Option<String>, LedgerError> {
        Ok(self.subjects()?.pseudonym(subject))
    }

    fn subjects(&self) -> Result<Subjects, LedgerError> {
        SubjectKeyFile::load(&self.folder.join(SUBJECT_KEYS_FILE)).map(|(_, subjects)| subjects)
    }

    /// Returns the newest checkpoint, as a signed note.
    pub fn checkpoint(&self) -> Result<String, LedgerError> {
        let path = self.folder.join(NEWEST_FILE);
        fs::read_to_string(&path).map_err(|error| LedgerError::file("read", &path, error))
    }

    /// Returns all checkpoints, each followed by a blank line. Keep them elsewhere to detect an older copy of the
    /// ledger.
    pub fn checkpoints(&self) -> Result<String, LedgerError> {
        let path = self.folder.join(HISTORY_FILE);
        fs::read_to_string(&path).map_err(|error| LedgerError::file("read", &path, error))
    }

    /// Returns the first key that the ledger names. Compare it with the key that its owner published.
    pub fn first_key(&self) -> Result<VerifierKey, LedgerError> {
        let from_notices =
            || fs::read_to_string(self.folder.join(NOTICES_FILE)).ok()?.lines().next().map(str::to_owned);
        let line = match self.records(0)?.next().transpose()? {
            Some(record) if record.index == 0 => record.line,
            _ => from_notices().ok_or_else(|| LedgerError::refused("the ledger has no first record"))?,
        };
        match RecordLine::read(line.as_bytes()).and_then(|line| line.notice()) {
            Ok(Some(LedgerNotice::Created { key, .. })) => key.parse(),
            _ => Err(LedgerError::refused("the first record of the ledger names no key")),
        }
    }

    /// Returns the size of the newest checkpoint, up to which there are proofs.
    pub fn size(&self) -> Result<u64, LedgerError> {
        let signed = SignedCheckpoint::read(self.checkpoint()?).map_err(|message| {
            LedgerError::from(LedgerFault { file: NEWEST_FILE.into(), line: 0, index: None, message: message.into() })
        })?;
        Ok(signed.checkpoint.size)
    }

    /// Returns the root of the tree of a size.
    pub fn root(&self, size: u64) -> Result<Hash, LedgerError> {
        proof::root(&mut self.tiles(size)?, size)
    }

    /// Returns the proof that a record is in the tree of a size, for [`crate::check_inclusion`].
    pub fn prove_inclusion(&self, index: u64, size: u64) -> Result<Vec<Hash>, LedgerError> {
        proof::prove_inclusion(&mut self.tiles(size)?, index, size)
    }

    /// Returns the proof that the tree of the newer size continues the older, for [`crate::check_consistency`].
    pub fn prove_consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>, LedgerError> {
        proof::prove_consistency(&mut self.tiles(new)?, old, new)
    }

    fn tiles(&self, size: u64) -> Result<TileHashes<'_>, LedgerError> {
        let newest = self.size()?;
        if size > newest {
            return Err(LedgerError::refused(format!(
                "no proofs for {size} records: the newest checkpoint covers only {newest}"
            )));
        }
        Ok(TileHashes { folder: &self.folder, size: newest })
    }
}

impl Record {
    fn parse_line(&self) -> Result<RecordLine<'_>, LedgerError> {
        let fault = |message| LedgerFault { file: segment::FOLDER.into(), line: 0, index: Some(self.index), message };
        RecordLine::read(self.line.as_bytes()).map_err(|message| fault(message).into())
    }

    /// Returns the hash of the record in the tree.
    pub fn hash(&self) -> Hash {
        Hash::leaf(self.line.as_bytes())
    }
}

/// An iterator over records in order.
#[derive(Debug)]
pub struct Records {
    folder: PathBuf,
    /// The segments to come, the next one last.
    waiting: Vec<u64>,
    open: Option<(u64, u64, BufReader<File>)>,
    from: u64,
}

impl Records {
    /// Reads the next complete line, with its segment and its number there.
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
            let read = RecordLine::read(line.as_bytes()).map_err(fault)?;
            let body = match read.content {
                RecordContent::Body(text) => serde_json::from_str(text).ok(),
                RecordContent::Notice(_) => None,
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
