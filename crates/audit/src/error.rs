//! Why an audit failed.

use std::fmt;
use std::io;

use lictor_decode::Fault;
use lictor_decode::input::InputError;
use lictor_json::Text;
use lictor_judge::session::SessionError;

use crate::report::FileReport;

/// Why an audit failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum AuditError {
    /// An input cannot be read at all.
    Input(InputError),
    /// The inputs have no events.
    NoEvents {
        /// The places that could not be read.
        faults: Vec<Fault>,
        /// The files that were read.
        files: Vec<FileReport>,
    },
    /// The threads could not be started.
    Threads(String),
    /// The judge refused a session.
    Session(SessionError),
    /// The entries of other systems cannot be joined, and why.
    Join(String),
    /// What does not fit into memory cannot be kept in a temporary file.
    Spool(io::Error),
    /// No record has the member that should name its session.
    SessionKey {
        /// The path of the member.
        key: Text,
        /// The paths of the members that may tell sessions.
        members: Vec<Text>,
    },
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuditError::Input(error) => error.fmt(f),
            AuditError::NoEvents { faults, .. } => {
                f.write_str("no events to judge")?;
                match faults.len() {
                    0 => f.write_str("; check the files and --input-format"),
                    1 => f.write_str("; one place could not be read"),
                    count => write!(f, "; {count} places could not be read"),
                }
            }
            AuditError::Threads(message) => write!(f, "cannot start threads: {message}"),
            AuditError::Session(error) => error.fmt(f),
            AuditError::Join(message) => f.write_str(message),
            AuditError::Spool(error) => {
                let folder = std::env::temp_dir();
                write!(f, "cannot keep events in a temporary file in {}: {error}", folder.display())?;
                f.write_str("\nhint: make room there, or name another folder by TMPDIR")
            }
            AuditError::SessionKey { key, members } => {
                write!(f, "no record of the logs has a member `{key}` that could name its session\nhint: ")?;
                match &members[..] {
                    [] => f.write_str(
                        "no other member reads like the name of a session; without a name, each file is one",
                    ),
                    members => write!(f, "members that may tell sessions are `{}`", members.join("`, `")),
                }
            }
        }
    }
}

impl std::error::Error for AuditError {
    /// Returns the source of the wrapped error, whose message is this error's own.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            AuditError::Input(error) => error.source(),
            AuditError::Session(error) => error.source(),
            AuditError::Spool(error) => error.source(),
            AuditError::NoEvents { .. }
            | AuditError::Threads(_)
            | AuditError::Join(_)
            | AuditError::SessionKey { .. } => None,
        }
    }
}

impl From<SessionError> for AuditError {
    fn from(error: SessionError) -> AuditError {
        AuditError::Session(error)
    }
}

impl From<InputError> for AuditError {
    fn from(error: InputError) -> AuditError {
        AuditError::Input(error)
    }
}
