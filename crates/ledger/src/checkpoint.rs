//! Checkpoints (C2SP tlog-checkpoint): the size and the root of the tree, signed; and the file with all of them.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use crate::error::{LedgerError, LedgerFault};
use crate::note::{Note, Signer, VerifierKey};
use crate::tree::Hash;

/// The file with the newest checkpoint.
pub(crate) const NEWEST: &str = "checkpoint";

/// The file with all checkpoints, each with a blank line behind it.
pub(crate) const HISTORY: &str = "checkpoints";

/// A note longer than this is none of ours.
const MAX_NOTE: usize = 64 * 1024;

/// What a checkpoint says: a ledger of this origin had this size and this root.
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
    /// The text that is signed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, self.root)
    }
}

impl Checkpoint {
    pub(crate) fn sign(&self, signer: &Signer) -> String {
        signer.sign(&self.to_string())
    }

    /// Reads a signed checkpoint and checks that this key signed it. Other signatures, of witnesses, may stand beside.
    pub fn verify(note: &str, key: &VerifierKey) -> Result<Checkpoint, LedgerError> {
        let wrong = |what: &str| LedgerError::refused(format!("this is no checkpoint of `{}`: {what}", key.name()));
        let signed = Signed::read(note.to_owned()).map_err(wrong)?;
        if signed.checkpoint.origin != key.name() {
            return Err(wrong("its first line names another ledger"));
        }
        let is_signed = Note::read(&signed.note).is_ok_and(|note| key.has_signed(&note));
        if is_signed { Ok(signed.checkpoint) } else { Err(wrong("no good signature by this key is below it")) }
    }
}

/// A checkpoint with its note, whose signature is still to be checked.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) note: String,
}

impl Signed {
    pub(crate) fn read(note: String) -> Result<Signed, &'static str> {
        let text = Note::read(&note)?.text;
        let mut lines = text.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err("it has no three lines");
        };
        let number: u64 = size.parse().map_err(|_| "its size is no number")?;
        if number.to_string() != size {
            return Err("its size is not written as numbers are");
        }
        let root = Hash::from_base64(root).ok_or("its root is no hash in base64")?;
        let checkpoint = Checkpoint { origin: origin.to_owned(), size: number, root };
        Ok(Signed { checkpoint, note })
    }

    /// Whether this is letter by letter what the ledger of a key writes: three lines and one signature.
    pub(crate) fn is_by(&self, key: &VerifierKey) -> bool {
        let Ok(note) = Note::read(&self.note) else { return false };
        self.checkpoint.origin == key.name()
            && note.text == self.checkpoint.to_string()
            && note.signature_count() == 1
            && key.has_signed(&note)
    }
}

/// Reads the file with all checkpoints, one after the other.
#[derive(Debug)]
pub(crate) struct History {
    file: Option<BufReader<File>>,
    /// The line at which the next checkpoint begins.
    pub(crate) line: u64,
    /// How many bytes the checkpoints up to here take.
    pub(crate) bytes: u64,
    /// Where reading ends although there may be more.
    pub(crate) limit: u64,
    /// Bytes of a checkpoint that was not written to its end.
    pub(crate) unfinished: Vec<u8>,
}

impl History {
    /// Reads from an offset on, at which a checkpoint begins.
    pub(crate) fn open(folder: &Path, offset: u64) -> Result<History, LedgerError> {
        let path = folder.join(HISTORY);
        let file = match File::open(&path) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(offset)).map_err(|error| LedgerError::file("read", &path, error))?;
                Some(BufReader::new(file))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(LedgerError::file("open", &path, error)),
        };
        Ok(History { file, line: 1, bytes: offset, limit: u64::MAX, unfinished: Vec::new() })
    }

    /// The next checkpoint that was written to its end.
    pub(crate) fn next(&mut self) -> Result<Option<Signed>, LedgerError> {
        let Some(file) = self.file.as_mut().filter(|_| self.bytes < self.limit) else { return Ok(None) };
        let fault =
            |line, message: &str| LedgerFault { file: HISTORY.into(), line, index: None, message: message.into() };
        let (mut bytes, mut blank, mut lines) = (Vec::new(), 0, 0);
        while blank < 2 {
            let before = bytes.len();
            let read = file.read_until(b'\n', &mut bytes);
            read.map_err(|error| LedgerError::file("read", Path::new(HISTORY), error))?;
            if bytes.last() != Some(&b'\n') || bytes.len() == before {
                self.unfinished = bytes;
                return Ok(None);
            }
            if bytes.len() > MAX_NOTE {
                return Err(fault(self.line, "a checkpoint is longer than any that a ledger writes").into());
            }
            lines += 1;
            blank += u32::from(bytes.len() == before + 1);
        }
        let length = bytes.len() as u64;
        bytes.pop();
        let note = String::from_utf8(bytes).map_err(|_| fault(self.line, "a checkpoint is not UTF-8"))?;
        let signed = Signed::read(note).map_err(|what| fault(self.line, &format!("this is no checkpoint: {what}")))?;
        self.line += lines;
        self.bytes += length;
        Ok(Some(signed))
    }
}
