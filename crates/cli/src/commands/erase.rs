//! `lictor erase`: a person is forgotten, and the ledger still verifies.

use std::io::Write;

use lictor::guard::person;
use lictor::recognise::{Recognised, Recogniser};

use crate::args::EraseArgs;
use crate::commands::log::options;
use crate::exit::Outcome;

/// Destroys the key of the subject and records it.
pub(crate) fn run(args: &EraseArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let ledger = lictor_ledger::Ledger::open(&args.log, options())?;
    let mut outcomes: Vec<_> = names(&args.subject).iter().map(|name| ledger.erase(name)).collect();
    ledger.close()?;
    // Somebody is known by one of the names, mostly; the last word is about the name as it was given.
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

/// What records may call a person: the name as it was given, and as it is compared.
fn names(subject: &str) -> Vec<String> {
    let mut found = Recognised::default();
    Recogniser::builtin().text(subject, &mut found);
    let mut names = vec![subject.to_owned()];
    for name in std::iter::once(person(subject).into_owned()).chain(found.subjects.iter().map(ToString::to_string)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
