//! Words that are split between two parts of a text.
//!
//! Some clients join the parts of a message, others show each on its own. Where a boundary is within a word or a number,
//! they read different words, and neither reading covers the other.

/// Whether clients read different words if they join two texts or not.
pub(crate) fn is_split(before: &str, after: &str) -> bool {
    let is_word = |character: Option<char>| character.is_some_and(|character| character.is_ascii_alphanumeric());
    is_word(before.chars().next_back()) && is_word(after.chars().next())
}
