//! `lictor erase`: erases a person from a ledger, which still verifies.

use std::io::Write;

use lictor::guard::person;
use lictor::recognise::{PersonalData, Recogniser};

use crate::args::EraseArgs;
use crate::commands::log::options;
use crate::exit::Outcome;

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

/// Returns the names of a person in records: as given, and normalized.
pub(crate) fn names_in_records(subject: &str) -> Vec<String> {
    let mut found = PersonalData::default();
    Recogniser::builtin().text(subject, &mut found);
    let mut names = vec![subject.to_owned()];
    for name in std::iter::once(person(subject).into_owned()).chain(found.subjects.iter().map(ToString::to_string)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
