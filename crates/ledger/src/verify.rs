//! Verification for anybody who has the folder and the public key, and nothing else.

use std::path::Path;

use crate::checkpoint::{Checkpoint, Signed};
use crate::error::{LedgerError, LedgerFault};
use crate::note::VerifierKey;
use crate::walk::Walk;

/// What is true of a ledger that verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// How many records there are, with those that are no longer kept.
    pub records: u64,
    /// How many at the beginning are no longer kept; their hashes are.
    pub dropped: u64,
    /// The last checkpoint.
    pub checkpoint: Checkpoint,
    /// How many checkpoints there are.
    pub checkpoints: u64,
    /// How many records at the end no checkpoint covers yet. Nothing but their form vouches for these.
    pub unsigned: u64,
    /// How many bytes stand behind the last record, of a line that was not written to its end.
    pub unfinished: u64,
    /// The keys that signed, one after the other.
    pub keys: Vec<VerifierKey>,
}

/// Computes everything anew and compares: each line, the tree, its tiles, each checkpoint, each change of the key.
///
/// The key is the first one of the ledger. An error with a fault names the first place that is wrong.
pub fn verify(folder: &Path, key: &VerifierKey) -> Result<Verification, LedgerError> {
    verified(folder, Walk::verifying(folder, key, None)?)
}

/// As [`verify`], and the ledger must continue the one of an older signed checkpoint, kept where the ledger's owner
/// cannot change it. Only this finds out that a ledger was replaced by an older copy of itself.
pub fn verify_against(folder: &Path, key: &VerifierKey, pinned: &str) -> Result<Verification, LedgerError> {
    let wrong = |what: &str| LedgerError::refused(format!("the pinned checkpoint cannot be used: {what}"));
    let pin = Signed::read(pinned.to_owned()).map_err(wrong)?.checkpoint;
    if pin.origin != key.name() {
        return Err(wrong("it is one of another ledger"));
    }
    let walk = Walk::verifying(folder, key, Some(&pin))?;
    if !walk.has_signed(pinned) {
        return Err(wrong("no key of this ledger signed it"));
    }
    verified(folder, walk)
}

fn verified(folder: &Path, walk: Walk<'_>) -> Result<Verification, LedgerError> {
    let unfinished = match &walk.tail {
        Some(tail) if !tail.is_unfinished => return Err(tail.fault.clone().into()),
        Some(tail) => tail.bytes,
        None => 0,
    };
    let unsigned = walk.unsigned();
    let Some(last) = walk.last else {
        let message = "there is no checkpoint, so nothing vouches for what is here".to_owned();
        return Err(LedgerFault { file: folder.display().to_string(), line: 0, index: None, message }.into());
    };
    Ok(Verification {
        records: walk.tiles.size(),
        dropped: walk.segments.first().copied().unwrap_or(0),
        checkpoint: last.checkpoint,
        checkpoints: walk.checkpoints,
        unsigned,
        unfinished,
        keys: walk.keys,
    })
}
