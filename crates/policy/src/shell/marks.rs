//! Characters that stand in words for something that the text does not say literally. Unicode reserves them for private
//! use.

use std::borrow::Cow;

/// Stands in a word for the output of the commands before it.
pub(super) const OUTPUT_MARK: char = '\u{e000}';

/// Begins a word that is a file whose content is the rest of the word, as in `<(…)`.
pub(super) const FILE_MARK: char = '\u{e001}';

/// Stands in a word for unknown text.
pub(super) const UNKNOWN_MARK: char = '\u{e002}';

/// Stands for a blank that a variable brings into a word.
pub(super) const BLANK_MARK: char = '\u{e003}';

/// Stands in a word for unknown text from the network.
pub(super) const NETWORK_MARK: char = '\u{e004}';

/// Whether a text has a part that is unknown.
pub(super) fn has_unknown(text: &str) -> bool {
    text.contains([UNKNOWN_MARK, NETWORK_MARK])
}

/// Returns a text without characters that could be taken for our marks.
pub(super) fn remove_marks(text: &str) -> Cow<'_, str> {
    match text.contains(is_mark) {
        true => Cow::Owned(text.replace(is_mark, "_")),
        false => Cow::Borrowed(text),
    }
}

fn is_mark(c: char) -> bool {
    (OUTPUT_MARK..=NETWORK_MARK).contains(&c)
}
