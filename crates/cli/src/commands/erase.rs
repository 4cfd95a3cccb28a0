//! `lictor erase`: erases a person from a ledger, which still verifies.

use std::io::Write;

use crate::args::EraseArgs;
use crate::commands::log::options;
use crate::exit::Outcome;
use crate::subject_names::names_in_records;

/// Destroys the key of the subject and records the erasure.
pub(crate) fn run(args: &EraseArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let ledger = lictor_ledger::Ledger::open(&args.log, options())?;
    let mut outcomes: Vec<_> = names_in_records(&args.subject).iter().map(|name| ledger.erase(name)).collect();
    ledger.close()?;
    // Usually one of the names is known; if none is, report the error for the name as given.
    if outcomes.iter().any(Result::is_ok) {
        outcomes.retain(Result::is_ok);
    } else {
        outcomes.truncate(1);
    }
    for outcome in outcomes {
        writeln!(out, "erased; record {} says so, without the name", outcome?.index)?;
    }
    Ok(Outcome::Compliant)
}
