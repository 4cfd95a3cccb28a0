//! The messages that reach the writer besides drafts: commands of callers, and the files back from the disk thread.

use std::sync::mpsc::Sender;

use jiff::Timestamp;

use crate::compose::Batch;
use crate::error::LedgerError;
use crate::files::LedgerFiles;
use crate::note::VerifierKey;

/// The channel for the outcome of a command.
pub(crate) type ReplySender<T> = Sender<Result<T, LedgerError>>;

/// A request to the writer other than appending.
#[derive(Debug)]
pub(crate) enum Command {
    Erase { subject: String, reply: ReplySender<u64> },
    Rotate { reply: ReplySender<VerifierKey> },
    DropBefore { time: Timestamp, reply: ReplySender<u64> },
    Sign { reply: ReplySender<()> },
    Recover { reply: ReplySender<()> },
}

/// The files back from the disk thread, with the outcome and a batch whose memory can be reused. Without files: the
/// disk thread has ended.
#[derive(Debug)]
pub(crate) struct ReturnedStore {
    pub(crate) store: Option<Box<LedgerFiles>>,
    pub(crate) batch: Batch,
    pub(crate) written: Result<(), LedgerError>,
}
