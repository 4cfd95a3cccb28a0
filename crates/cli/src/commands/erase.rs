//! `lictor erase`: a person is forgotten, and the ledger still verifies.

use std::io::Write;

use crate::args::EraseArgs;
use crate::commands::log::options;
use crate::exit::Outcome;

/// Destroys the key of the subject and records it.
pub(crate) fn run(args: &EraseArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let ledger = lictor_ledger::Ledger::open(&args.log, options())?;
    let receipt = ledger.erase(&args.subject)?;
    ledger.close()?;
    writeln!(out, "erased; record {} says so, without the name", receipt.index)?;
    Ok(Outcome::Compliant)
}
