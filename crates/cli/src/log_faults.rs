//! The places of a log that could not be read: the warnings about them, and when they are too many for a result. One rule
//! for all commands that read logs.

use lictor::audit::AuditError;
use lictor::decode::Fault;
use lictor::input::{hides_call, is_of_unknown_extent};
use lictor::report::{FileReport, escape_hidden};

use crate::complaint;

/// Prints the first faults as warnings.
pub(crate) fn complain(faults: &[Fault]) {
    const MAX_SHOWN_FAULTS: usize = 10;
    for fault in faults.iter().take(MAX_SHOWN_FAULTS) {
        let column = fault.column.map_or_else(String::new, |column| format!(":{column}"));
        // Names and excerpts come from outside, so they must not begin a line of their own.
        let (file, message) = (escape_hidden(&fault.file), escape_hidden(&fault.message));
        complaint::warn(&format!("{file}:{}{column}: {message} [{}]", fault.line, fault.code));
    }
    if faults.len() > MAX_SHOWN_FAULTS {
        complaint::warn(&format!("{} more records could not be read", faults.len() - MAX_SHOWN_FAULTS));
    }
}

/// Prints why an audit has no events, if that is its error.
pub(crate) fn complain_without_events(error: &AuditError) {
    if let AuditError::NoEvents { faults, .. } = error {
        complain(faults);
    }
}

/// What the result of a command is not if too much could not be read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogResult {
    /// Verdicts on the logs.
    Judgement,
    /// Something else that is made of the logs, such as a model.
    Product,
}

impl LogResult {
    /// Returns the beginning of a clause that ends with the name of the logs.
    fn deny(self) -> &'static str {
        match self {
            LogResult::Judgement => "this is no judgement of",
            LogResult::Product => "the result does not cover",
        }
    }
}

/// Warns if a call could not be read, or more than a share of the logs, in percent.
pub(crate) fn warn_if_too_many(files: &[FileReport], faults: &[Fault], percent: f64, result: LogResult) {
    if !has_too_many_faults(files, faults, percent) {
        return;
    }
    let denial = result.deny();
    let find = |is_grave: fn(&Fault) -> bool| faults.iter().find(|fault| is_grave(fault));
    if let Some(fault) = find(is_of_unknown_extent) {
        complaint::warn(&format!(
            "{}: an unknown part could not be read, or may be read wrongly ({}), so {denial} the logs (allow it with \
             --max-faults 100)",
            escape_hidden(&fault.file),
            fault.code
        ));
    } else if let Some(fault) = find(hides_call) {
        complaint::warn(&format!(
            "{}:{}: a call could not be read, so {denial} the logs (allow it with --max-faults 100)",
            escape_hidden(&fault.file),
            fault.line
        ));
    } else {
        complaint::warn(&format!(
            "more than {percent} % of the log could not be read, so {denial} it (allow more with --max-faults)"
        ));
    }
}

/// Whether more than a share of the places in the logs could not be read, in percent. A call that was not read counts as
/// all of them, and so does an unknown part of a file.
pub(crate) fn has_too_many_faults(files: &[FileReport], faults: &[Fault], percent: f64) -> bool {
    let count = faults.len() as f64;
    let events = files.iter().map(|file| file.events).sum::<u64>() as f64;
    let is_grave = faults.iter().any(|fault| is_of_unknown_extent(fault) || hides_call(fault));
    let share = if is_grave { 100.0 } else { 100.0 * count / (count + events) };
    count > 0.0 && share > percent
}
