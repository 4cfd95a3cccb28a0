//! The sessions of logs, for commands that make something of them but judge nothing: models, chains, forecasts, answers and
//! exported facts. What could not be read is reported as an audit does, and decides on the exit code.

use lictor::audit::{AuditOptions, LogSessions, SessionEvents, sessions};

use crate::args::LogReadingArgs;
use crate::commands::audit::{format, note_unused_key};
use crate::exit::Outcome;
use crate::ledger_log;
use crate::log_faults::{LogResult, complain, complain_without_events, has_too_many_faults, warn_if_too_many};

/// Returns the sessions of some logs with the outcome of reading them: unjudged if too much could not be read.
pub(crate) fn read_sessions(traces: &[String], args: &LogReadingArgs) -> anyhow::Result<(Vec<SessionEvents>, Outcome)> {
    let options = AuditOptions::default()
        .format(args.input_format.as_deref().map(format).transpose()?)
        .session_key(args.session_key.as_deref().map(Into::into));
    let inputs = ledger_log::find_inputs(traces, options.input_limits())?;
    let LogSessions { sessions, files, faults, .. } =
        sessions(&inputs, &options).inspect_err(complain_without_events)?;
    complain(&faults);
    note_unused_key(args.session_key.as_deref(), &files);
    warn_if_too_many(&files, &faults, args.max_faults, LogResult::Product);
    let is_unread = has_too_many_faults(&files, &faults, args.max_faults);
    Ok((sessions, if is_unread { Outcome::Unjudged } else { Outcome::Compliant }))
}
