//! What can go wrong with a ledger: what happened, where, and what to do about it.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Why something could not be done. Cheap to copy, for one failed write is told to everybody who waits for it.
#[derive(Clone, Debug)]
pub struct LedgerError {
    kind: Arc<Kind>,
}

#[derive(Debug)]
enum Kind {
    /// The file system refused.
    File { action: &'static str, path: String, source: io::Error },
    /// Another writer has the ledger.
    Locked { path: String },
    /// The ledger is not what its checkpoints say.
    Damaged(LedgerFault),
    /// An earlier failure stopped the writer.
    Stopped { cause: LedgerError },
    /// The caller asked for something that cannot be.
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
        LedgerError::of(Kind::File { action, path: path.display().to_string(), source })
    }

    pub(crate) fn locked(path: &Path) -> LedgerError {
        LedgerError::of(Kind::Locked { path: path.display().to_string() })
    }

    pub(crate) fn refused(message: impl Into<String>) -> LedgerError {
        LedgerError::of(Kind::Refused { message: message.into() })
    }

    pub(crate) fn stopped(cause: LedgerError) -> LedgerError {
        match &*cause.kind {
            Kind::Stopped { .. } => cause,
            _ => LedgerError::of(Kind::Stopped { cause }),
        }
    }

    /// The threads that write have ended, for whatever reason.
    pub(crate) fn gone() -> LedgerError {
        LedgerError::refused("the writer of the ledger has stopped\nhint: open the ledger again")
    }

    fn of(kind: Kind) -> LedgerError {
        LedgerError { kind: Arc::new(kind) }
    }

    /// The place at which the ledger is damaged, if that is the reason.
    pub fn fault(&self) -> Option<&LedgerFault> {
        match &*self.kind {
            Kind::Damaged(fault) => Some(fault),
            Kind::Stopped { cause } => cause.fault(),
            _ => None,
        }
    }

    /// Whether another writer has the ledger.
    pub fn is_locked(&self) -> bool {
        matches!(&*self.kind, Kind::Locked { .. })
    }

    /// Whether the disk failed, now or earlier; `Ledger::recover` helps once the disk does its work again.
    pub fn is_unavailable(&self) -> bool {
        matches!(&*self.kind, Kind::File { .. } | Kind::Stopped { .. })
    }
}

impl From<LedgerFault> for LedgerError {
    fn from(fault: LedgerFault) -> LedgerError {
        LedgerError::of(Kind::Damaged(fault))
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            Kind::File { action, path, source } => write!(f, "{path}: cannot {action}: {source}"),
            Kind::Locked { path } => write!(
                f,
                "{path}: another writer has this ledger\nhint: one process writes a ledger; stop the other one, or give \
                 this one a folder of its own"
            ),
            Kind::Damaged(fault) => write!(f, "{fault}"),
            Kind::Stopped { cause } => write!(
                f,
                "nothing more is recorded since an earlier failure: {cause}\nhint: mend the cause, then recover or open \
                 the ledger again; what was acknowledged is there"
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
