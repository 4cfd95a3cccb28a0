//! The names by which a ledger knows a person.

use lictor::guard::person;
use lictor::recognise::{PersonalData, Recogniser};

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
