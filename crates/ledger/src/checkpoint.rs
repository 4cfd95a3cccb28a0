//! Checkpoints (C2SP tlog-checkpoint): size and root of the tree, signed; and the file with all of them.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use crate::error::{LedgerError, LedgerFault};
use crate::note::{Note, Signer, VerifierKey};
use crate::tree::Hash;

/// The file with the newest checkpoint.
pub(crate) const NEWEST_FILE: &str = "checkpoint";

/// The file with all checkpoints, each followed by a blank line.
pub(crate) const HISTORY_FILE: &str = "checkpoints";

/// The longest note that a ledger writes.
const MAX_NOTE_BYTES: usize = 64 * 1024;

/// The statement of a checkpoint: the ledger of this origin had this size and this root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the ledger.
    pub origin: String,
    /// How many records there were.
    pub size: u64,
    /// The root of the tree over them.
    pub root: Hash,
}

impl fmt::Display for Checkpoint {
    /// Writes the signed text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, self.root)
    }
}

impl Checkpoint {
    pub(crate) fn sign(&self, signer: &Signer) -> String {
        signer.sign(&self.to_string())
    }

    /// Reads a signed checkpoint and checks the signature by this key. It may have other signatures, of witnesses.
    pub fn verify(note: &str, key: &VerifierKey) -> Result<Checkpoint, LedgerError> {
        let wrong = |what: &str| LedgerError::refused(format!("not a checkpoint of `{}`: {what}", key.name()));
        let signed = SignedCheckpoint::read(note.to_owned()).map_err(wrong)?;
        if signed.checkpoint.origin != key.name() {
            return Err(wrong("its first line names another ledger"));
        }
        let is_signed = Note::read(&signed.note).is_ok_and(|note| key.has_signed(&note));
        if is_signed { Ok(signed.checkpoint) } else { Err(wrong("it has no valid signature by this key")) }
    }
}

/// A checkpoint with its note. The signature is not checked yet.
#[derive(Clone, Debug)]
pub(crate) struct SignedCheckpoint {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) note: String,
}

impl SignedCheckpoint {
    pub(crate) fn read(note: String) -> Result<SignedCheckpoint, &'static str> {
        let text = Note::read(&note)?.text;
        let mut lines = text.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err("expected three lines");
        };
        let number: u64 = size.parse().map_err(|_| "its size is not a number")?;
        if number.to_string() != size {
            return Err("its size is not in canonical form");
        }
        let root = Hash::from_base64(root).ok_or("its root is not a hash in base64")?;
        let checkpoint = Checkpoint { origin: origin.to_owned(), size: number, root };
        Ok(SignedCheckpoint { checkpoint, note })
    }

    /// Whether this is exactly the note that the ledger of a key writes: three lines and one valid signature.
    pub(crate) fn is_by(&self, key: &VerifierKey) -> bool {
        let Ok(note) = Note::read(&self.note) else { return false };
        self.checkpoint.origin == key.name()
            && note.text == self.checkpoint.to_string()
            && note.signature_count() == 1
            && key.has_signed(&note)
    }
}

/// A reader of the file with all checkpoints, in order.
#[derive(Debug)]
pub(crate) struct CheckpointReader {
    file: Option<BufReader<File>>,
    /// The line at which the next checkpoint begins.
    pub(crate) line: u64,
    /// How many bytes the checkpoints up to here take.
    pub(crate) bytes: u64,
    /// The offset at which reading stops.
    pub(crate) limit: u64,
    /// The bytes of an incomplete checkpoint at the end.
    pub(crate) unfinished: Vec<u8>,
}

impl CheckpointReader {
    /// Opens the file at an offset at which a checkpoint begins.
    pub(crate) fn open(folder: &Path, offset: u64) -> Result<CheckpointReader, LedgerError> {
        let path = folder.join(HISTORY_FILE);
        let file = match File::open(&path) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(offset)).map_err(|error| LedgerError::file("read", &path, error))?;
                Some(BufReader::new(file))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(LedgerError::file("open", &path, error)),
        };
        Ok(CheckpointReader { file, line: 1, bytes: offset, limit: u64::MAX, unfinished: Vec::new() })
    }

    /// Reads the next complete checkpoint.
    pub(crate) fn next(&mut self) -> Result<Option<SignedCheckpoint>, LedgerError> {
        let Some(file) = self.file.as_mut().filter(|_| self.bytes < self.limit) else { return Ok(None) };
        let fault =
            |line, message: &str| LedgerFault { file: HISTORY_FILE.into(), line, index: None, message: message.into() };
        let (mut bytes, mut blank, mut lines) = (Vec::new(), 0, 0);
        while blank < 2 {
            let before = bytes.len();
            let read = file.read_until(b'\n', &mut bytes);
            read.map_err(|error| LedgerError::file("read", Path::new(HISTORY_FILE), error))?;
            if bytes.last() != Some(&b'\n') || bytes.len() == before {
                self.unfinished = bytes;
                return Ok(None);
            }
            if bytes.len() > MAX_NOTE_BYTES {
                return Err(fault(self.line, "the checkpoint is longer than 64 KiB").into());
            }
            lines += 1;
            blank += u32::from(bytes.len() == before + 1);
        }
        let length = bytes.len() as u64;
        bytes.pop();
        let note = String::from_utf8(bytes).map_err(|_| fault(self.line, "the checkpoint is not UTF-8"))?;
        let signed =
            SignedCheckpoint::read(note).map_err(|what| fault(self.line, &format!("not a checkpoint: {what}")))?;
        self.line += lines;
        self.bytes += length;
        Ok(Some(signed))
    }
}
