//! All sessions of some inputs, with their events.

use super::log_reading::{LogReading, read_events};
use super::{AuditError, AuditOptions};
use crate::report::FileReport;
use lictor_decode::Fault;
use lictor_decode::input::Input;
use lictor_event::Event;
use lictor_json::Text;

/// A session and its events.
pub type SessionEvents = (Text, Vec<Event>);

/// The sessions of some logs, and what could not be read of them.
#[derive(Debug)]
#[non_exhaustive]
pub struct LogSessions {
    /// The sessions, in the order in which they began.
    pub sessions: Vec<SessionEvents>,
    /// The files, with their formats.
    pub files: Vec<FileReport>,
    /// The places that could not be read, as an audit reports them.
    pub faults: Vec<Fault>,
}

/// Returns the sessions of the inputs. All of it is held in memory: for logs that are to be turned into something else, not
/// for audits.
pub fn sessions(inputs: &[Input], options: &AuditOptions) -> Result<LogSessions, AuditError> {
    let mut sessions: Vec<SessionEvents> = Vec::new();
    let LogReading { files, faults, .. } = read_events(inputs, options, |number, event| {
        if number == sessions.len() {
            let name = event.session.clone().unwrap_or_else(|| Text::new(&event.source.file));
            sessions.push((name, Vec::new()));
        }
        sessions[number].1.push(event);
        Ok(())
    })?;
    Ok(LogSessions { sessions, files, faults })
}
