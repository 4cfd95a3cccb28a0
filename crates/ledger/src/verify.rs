//! Verification with the folder and the public key, and nothing else.

use std::path::Path;

use crate::checkpoint::{Checkpoint, SignedCheckpoint};
use crate::error::{LedgerError, LedgerFault};
use crate::note::VerifierKey;
use crate::walk::Walk;

/// The result of a successful verification.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// How many records there are, including dropped ones.
    pub records: u64,
    /// How many records were dropped; their hashes are kept.
    pub dropped: u64,
    /// The last checkpoint.
    pub checkpoint: Checkpoint,
    /// How many checkpoints there are.
    pub checkpoints: u64,
    /// How many records at the end are not covered by a checkpoint. Only their format was checked.
    pub unsigned: u64,
    /// How many bytes of an incomplete line follow the last record.
    pub unfinished: u64,
    /// The signing keys, in order.
    pub keys: Vec<VerifierKey>,
}

/// Recomputes and compares everything: each line, the tree, its tiles, each checkpoint, each key rotation.
///
/// The key is the first one of the ledger. An error with a fault names the first wrong place.
pub fn verify(folder: &Path, key: &VerifierKey) -> Result<Verification, LedgerError> {
    summarize(folder, Walk::verify(folder, key, None)?)
}

/// Verifies the ledger and that it continues an older signed checkpoint. Keep that checkpoint where the owner of the
/// ledger cannot change it: unlike [`verify`], this detects a ledger that was replaced by an older copy of itself.
pub fn verify_against(folder: &Path, key: &VerifierKey, pinned: &str) -> Result<Verification, LedgerError> {
    let wrong = |what: &str| LedgerError::refused(format!("invalid pinned checkpoint: {what}"));
    let pin = SignedCheckpoint::read(pinned.to_owned()).map_err(wrong)?.checkpoint;
    if pin.origin != key.name() {
        return Err(wrong("it belongs to another ledger"));
    }
    let walk = Walk::verify(folder, key, Some(&pin))?;
    if !walk.has_signed(pinned) {
        return Err(wrong("no key of this ledger signed it"));
    }
    summarize(folder, walk)
}

fn summarize(folder: &Path, walk: Walk<'_>) -> Result<Verification, LedgerError> {
    let unfinished = match &walk.tail {
        Some(tail) if !tail.is_unfinished => return Err(tail.fault.clone().into()),
        Some(tail) => tail.bytes,
        None => 0,
    };
    let unsigned = walk.unsigned();
    let Some(last) = walk.last else {
        let message = "no checkpoint found, so no record is signed".to_owned();
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
