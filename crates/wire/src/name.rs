//! Names: short words of a vendor or a client that are no text.

/// The most bytes of a name.
const MAX_NAME_BYTES: usize = 256;

/// Whether a string is a name: short, and without anything that separates words.
pub(crate) fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+*$".contains(&byte);
    text.len() <= MAX_NAME_BYTES && text.bytes().all(is_part)
}

/// Whether a string is an id that the client or the vendor chose: short, and of one word.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() <= MAX_NAME_BYTES && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

/// The most digits of the name of a member. Longer ones are numbers of accounts, cards and telephones.
const MAX_MEMBER_DIGITS: usize = 8;

/// Whether a key is the name of a member, and no text.
pub(crate) fn is_member_name(key: &str) -> bool {
    is_name(key) && key.bytes().filter(u8::is_ascii_digit).count() <= MAX_MEMBER_DIGITS
}
