//! Errors of a ledger: what happened, where, and what to do about it.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The reason an operation on a ledger failed. Cheap to clone: one failed write is reported to every waiting caller.
#[derive(Clone, Debug)]
pub struct LedgerError {
    kind: Arc<Kind>,
}

#[derive(Debug)]
enum Kind {
    /// The file system refused.
    File { action: &'static str, path: String, source: io::Error },
    /// Another process holds the lock.
    Locked { path: String },
    /// The ledger contradicts its checkpoints.
    Damaged(LedgerFault),
    /// An earlier failure stopped the writer.
    Stopped { cause: LedgerError },
    /// The request is invalid.
    Refused { message: String },
}

/// The first place at which a ledger is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerFault {
    /// The file, relative to the folder of the ledger.
    pub file: String,
    /// The line in the file, from 1 on; 0 if the whole file is meant.
    pub line: u64,
    /// The index of the record, if one is meant.
    pub index: Option<u64>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for LedgerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if let Some(index) = self.index {
            write!(f, ": record {index}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl LedgerError {
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> LedgerError {
        LedgerError::new(Kind::File { action, path: path.display().to_string(), source })
    }

    pub(crate) fn locked(path: &Path) -> LedgerError {
        LedgerError::new(Kind::Locked { path: path.display().to_string() })
    }

    pub(crate) fn refused(message: impl Into<String>) -> LedgerError {
        LedgerError::new(Kind::Refused { message: message.into() })
    }

    pub(crate) fn stopped(cause: LedgerError) -> LedgerError {
        match &*cause.kind {
            Kind::Stopped { .. } => cause,
            _ => LedgerError::new(Kind::Stopped { cause }),
        }
    }

    /// Returns the error for a ledger whose writer threads have ended.
    pub(crate) fn writer_stopped() -> LedgerError {
        LedgerError::refused("the writer thread of the ledger has stopped\nhint: open the ledger again")
    }

    fn new(kind: Kind) -> LedgerError {
        LedgerError { kind: Arc::new(kind) }
    }

    /// Returns the place at which the ledger is damaged, if that is the reason.
    pub fn fault(&self) -> Option<&LedgerFault> {
        match &*self.kind {
            Kind::Damaged(fault) => Some(fault),
            Kind::Stopped { cause } => cause.fault(),
            _ => None,
        }
    }

    /// Whether another process holds the lock of the ledger.
    pub fn is_locked(&self) -> bool {
        matches!(&*self.kind, Kind::Locked { .. })
    }

    /// Whether the disk failed, now or earlier. Call `Ledger::recover` once the disk works again.
    pub fn is_unavailable(&self) -> bool {
        matches!(&*self.kind, Kind::File { .. } | Kind::Stopped { .. })
    }
}

impl From<LedgerFault> for LedgerError {
    fn from(fault: LedgerFault) -> LedgerError {
        LedgerError::new(Kind::Damaged(fault))
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            Kind::File { action, path, source } => write!(f, "{path}: cannot {action}: {source}"),
            Kind::Locked { path } => write!(
                f,
                "{path}: the ledger is locked by another process\nhint: only one process may write a ledger; stop the other one, \
                 or use another folder"
            ),
            Kind::Damaged(fault) => write!(f, "{fault}"),
            Kind::Stopped { cause } => write!(
                f,
                "the ledger stopped recording after an earlier failure: {cause}\nhint: fix the cause, then recover or reopen \
                 the ledger; acknowledged records are safe"
            ),
            Kind::Refused { message } => write!(f, "{message}"),
        }
    }
}

impl std::error::Error for LedgerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.kind {
            Kind::File { source, .. } => Some(source),
            Kind::Stopped { cause } => Some(cause),
            _ => None,
        }
    }
}
