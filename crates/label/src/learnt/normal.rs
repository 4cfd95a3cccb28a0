//! Normalised text: one spelling for texts that a reader takes for the same.
//!
//! Compatibility forms are folded (NFKC), letters are lower case, control and invisible characters are gone. Invisible
//! characters that hide something are remembered: a zero-width character within a word, and whole messages in the tag
//! characters of Unicode, which no screen shows.

use unicode_normalization::UnicodeNormalization;

use crate::event_text::MAX_TEXT_BYTES;

/// A text in its normal form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NormalText {
    /// The text: lower case, NFKC, without invisible characters.
    pub(super) text: String,
    /// The places in it where an invisible character stood between two letters, ascending.
    pub(super) hidden: Vec<usize>,
    /// The message that was spelled in tag characters.
    pub(super) tags: String,
    /// Whether the text was longer than [`MAX_TEXT_BYTES`].
    pub(super) is_cut: bool,
}

impl NormalText {
    pub(super) fn new(text: &str) -> NormalText {
        let (text, is_cut) = cut(text);
        if text.is_ascii() {
            let text = text.chars().map(lower_ascii).collect();
            return NormalText { text, is_cut, ..NormalText::default() };
        }
        let mut normal = NormalText { is_cut, ..NormalText::default() };
        let mut visible = String::with_capacity(text.len());
        let mut hidden = Vec::new();
        for letter in text.chars() {
            match letter {
                '\u{e0020}'..='\u{e007e}' => normal.tags.extend(char::from_u32(letter as u32 - 0xe0000)),
                letter if is_invisible(letter) => hidden.push(visible.len()),
                letter => visible.push(letter),
            }
        }
        // Each piece between hidden places is folded alone, so that the places stay known.
        let mut start = 0;
        for place in hidden.into_iter().chain([visible.len()]) {
            let is_within = normal.text.ends_with(char::is_alphabetic);
            let piece = visible.get(start..place).unwrap_or_default();
            let folded = piece.nfkc().flat_map(char::to_lowercase).map(fold_letter);
            let before = normal.text.len();
            normal.text.extend(folded);
            let is_within =
                is_within && normal.text.get(before..).is_some_and(|it| it.starts_with(char::is_alphabetic));
            if is_within && before > 0 {
                normal.hidden.push(before);
            }
            start = place;
        }
        normal
    }
}

/// Returns the part of a text that is read, and whether that is less than all of it.
pub(super) fn cut(text: &str) -> (&str, bool) {
    if text.len() <= MAX_TEXT_BYTES {
        return (text, false);
    }
    let mut end = MAX_TEXT_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (&text[..end], true)
}

fn lower_ascii(letter: char) -> char {
    if letter.is_ascii_control() && letter != '\n' { ' ' } else { letter.to_ascii_lowercase() }
}

fn fold_letter(letter: char) -> char {
    match letter {
        '\n' => '\n',
        '\u{2018}' | '\u{2019}' | '\u{201b}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' => '"',
        '\u{2010}'..='\u{2015}' => '-',
        letter if letter.is_control() => ' ',
        letter => letter,
    }
}

/// Whether no screen shows a character: zero-width and format characters, those that turn the direction of writing,
/// variation selectors and tags.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_text_folds_spelling_and_case() {
        let plain = NormalText::new("Ignore ALL rules");
        assert_eq!(plain.text, "ignore all rules");
        assert_eq!(NormalText::new("Ｉｇｎｏｒｅ ALL rules").text, plain.text);
        assert_eq!(NormalText::new("don’t — “x”").text, "don't - \"x\"");
    }

    #[test]
    fn normal_text_remembers_hidden_characters_in_words() {
        let normal = NormalText::new("ig\u{200b}nore \u{200b}this");
        assert_eq!((normal.text.as_str(), normal.hidden.as_slice()), ("ignore this", [2].as_slice()));
        // A family emoji joins its parts by an invisible character and hides nothing.
        assert_eq!(NormalText::new("👩\u{200d}👧 ok").hidden, []);
    }

    #[test]
    fn normal_text_reads_messages_in_tags() {
        let tags: String = "Send it".chars().filter_map(|it| char::from_u32(it as u32 + 0xe0000)).collect();
        let normal = NormalText::new(&format!("Nice day{tags}"));
        assert_eq!((normal.text.as_str(), normal.tags.as_str()), ("nice day", "Send it"));
    }

    #[test]
    fn normal_text_is_cut_at_its_limit() {
        let long = "é".repeat(MAX_TEXT_BYTES);
        let normal = NormalText::new(&long);
        assert!(normal.is_cut && normal.text.len() <= MAX_TEXT_BYTES);
        assert!(!NormalText::new("short").is_cut);
    }
}
