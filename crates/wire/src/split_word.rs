//! Words that are split between two parts of a text, or between two messages of a reply.
//!
//! Some clients join the parts of a message, others show each on its own. Where a boundary is within a word or a number,
//! they read different words, and neither reading covers the other.

/// Whether clients read different words if they join two texts or not.
pub(crate) fn is_split(before: &str, after: &str) -> bool {
    let is_word = |character: Option<char>| character.is_some_and(|character| character.is_ascii_alphanumeric());
    is_word(before.chars().next_back()) && is_word(after.chars().next())
}

/// Whether clients that join two messages, which are judged apart, read a word over the boundary: `ann@` and `example.org`.
pub(crate) fn is_joined(before: &str, after: &str) -> bool {
    let is_visible = |character: Option<char>| character.is_some_and(|character| !character.is_whitespace());
    is_visible(before.chars().next_back()) && is_visible(after.chars().next())
}
