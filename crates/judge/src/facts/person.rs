//! Identifiers of persons.

use std::borrow::Cow;

use lictor_recognise::normalize_identifier;

/// Returns a person's identifier in the form in which it is compared: e-mail addresses ignore case, telephone numbers
/// and accounts their grouping.
pub fn person(identifier: &str) -> Cow<'_, str> {
    normalize_identifier(identifier)
}
