//! The syntax of names: which ones are written bare, and which in backticks.

use std::fmt;

use crate::spelling::Sign;
use crate::value::write_quoted;

/// Whether a text is a name without backticks, if it is no operator.
pub(crate) fn is_name(text: &str) -> bool {
    let mut parts = text.split('.');
    let plain = |part: &str| !part.is_empty() && part.chars().all(continues_name);
    parts.next().is_some_and(|first| first.starts_with(begins_name) && plain(first)) && parts.all(plain) && text != "_"
}

/// Whether a name may begin with a character.
pub(crate) fn begins_name(character: char) -> bool {
    (character.is_alphabetic() && !is_symbol(character)) || character == '_'
}

/// Whether a character may follow the first one of a name.
pub(crate) fn continues_name(character: char) -> bool {
    (character.is_alphanumeric() && !is_symbol(character)) || character == '_'
}

/// Whether a letter such as `𝒰` is always an operator.
fn is_symbol(character: char) -> bool {
    !character.is_ascii() && Sign::from_symbol(character.encode_utf8(&mut [0; 4])).is_some()
}

/// Writes the name of a fact, in backticks if it would not parse as one.
pub(crate) fn write_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    if is_name(name) { f.write_str(name) } else { write_quoted(f, name, '`') }
}
