//! Tokens of a normalised text: words, and marks for addresses, numbers and codes.
//!
//! Addresses, numbers and codes of any content are one token each, so that a model learns that *something* is sent
//! *somewhere*, not to whom. Letters of scripts without spaces are tokens of their own.

use super::normal::NormalText;

/// How many characters of a word are read.
pub(super) const MAX_WORD_CHARS: usize = 32;

/// A word, or a mark in place of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// The word, or the mark: `@mail`, `@link`, `@number`, `@code`.
    pub(super) word: &'a str,
    /// The characters between the word before it and this one, without white space: `<`, `!--`, `.`.
    pub(super) before: &'a str,
    /// Whether it is the first word of a line.
    pub(super) is_line_start: bool,
    /// Whether an empty line stands before it.
    pub(super) is_paragraph_start: bool,
    /// Whether an invisible character stood within it.
    pub(super) is_hidden: bool,
}

impl Token<'_> {
    /// Whether it is the first word of a sentence or of a line.
    pub(super) fn is_sentence_start(&self) -> bool {
        self.is_line_start || self.before.contains(['.', '!', '?', ':', ';', '"', '>', ']', ')', '*', '#', '|'])
    }
}

/// Returns the tokens of a text.
pub(super) fn split(normal: &NormalText) -> Vec<Token<'_>> {
    let text = normal.text.as_str();
    let mut tokens = Vec::with_capacity(text.len() / 5);
    let mut hidden = normal.hidden.iter().peekable();
    let mut line_breaks = 2;
    let mut mark_start = 0;
    let mut place = 0;
    let mut chunk = Chunk::default();
    while let Some(first) = text[place..].chars().next() {
        if !first.is_alphanumeric() {
            line_breaks += u32::from(first == '\n');
            place += first.len_utf8();
            if first.is_whitespace() && text[mark_start..place].trim().is_empty() {
                mark_start = place;
            }
            continue;
        }
        let before = text[mark_start..place].trim();
        chunk.move_to(text, place);
        let (length, mark) = match chunk.find_address(text, place) {
            Some(address) => address,
            None => measure_word(&text[place..]),
        };
        let end = place + length;
        let mut is_hidden = false;
        while let Some(spot) = hidden.next_if(|&&spot| spot < end) {
            is_hidden |= *spot > place;
        }
        let (is_line_start, is_paragraph_start) = (line_breaks > 0, line_breaks > 1);
        let word = mark.unwrap_or(&text[place..end]);
        tokens.push(Token { word, before, is_line_start, is_paragraph_start, is_hidden });
        line_breaks = 0;
        place = end;
        mark_start = end;
    }
    tokens
}

/// A run of characters without white space and brackets, in which an address may begin at each word.
///
/// A run may be as long as the text and have a word at every second character, so its ends are found once for all of
/// them: otherwise the time would grow with the square of its length.
#[derive(Debug, Default)]
struct Chunk {
    end: usize,
    /// The end of an address in it: without the marks that end a sentence.
    address_end: usize,
    last_dot: Option<usize>,
    /// The first `@` from the last word on; none if there is none in the rest.
    at: Option<usize>,
}

impl Chunk {
    /// Moves on to the word that starts at a place.
    fn move_to(&mut self, text: &str, place: usize) {
        if place >= self.end {
            let ends = |letter: char| letter.is_whitespace() || "<>\"'`|,;()[]{}".contains(letter);
            self.end = text[place..].find(ends).map_or(text.len(), |length| place + length);
            let address = text[place..self.end].trim_end_matches(['.', ':', '!', '?', '-', '*']);
            self.address_end = place + address.len();
            self.last_dot = address.rfind('.').map(|dot| place + dot);
            self.at = address.find('@').map(|at| place + at);
        } else if self.at.is_some_and(|at| at < place) {
            self.at = text[place..self.address_end.max(place)].find('@').map(|at| place + at);
        }
    }

    /// Returns how many bytes an address that starts at a place has, and its mark.
    fn find_address(&self, text: &str, place: usize) -> Option<(usize, Option<&'static str>)> {
        let rest = text.get(place..self.address_end)?;
        if rest.starts_with("http://") || rest.starts_with("https://") || rest.starts_with("www.") {
            return Some((rest.len(), Some("@link")));
        }
        let is_mail = self.at.zip(self.last_dot).is_some_and(|(at, dot)| at < dot);
        is_mail.then_some((rest.len(), Some("@mail")))
    }
}

/// Returns how many bytes the word at the start of a text has, and the mark that stands for it if it is a number or a
/// code. The text starts with a letter or a digit.
fn measure_word(text: &str) -> (usize, Option<&'static str>) {
    let (mut letters, mut digits, mut count, mut end) = (0, 0, 0, 0);
    for (place, letter) in text.char_indices() {
        if is_spaceless(letter) {
            if count == 0 {
                return (letter.len_utf8(), None);
            }
            break;
        }
        let follows = || text[place + letter.len_utf8()..].starts_with(char::is_alphanumeric);
        let is_inner = match letter {
            '\'' => follows(),
            '.' | ',' => digits == count && follows() && text[place + 1..].starts_with(|it: char| it.is_ascii_digit()),
            _ => false,
        };
        if !letter.is_alphanumeric() && !is_inner {
            break;
        }
        count += usize::from(!is_inner);
        letters += usize::from(letter.is_alphabetic());
        digits += usize::from(letter.is_ascii_digit());
        end = place + letter.len_utf8();
        // A run of letters without end would be one word of any length.
        if count >= 256 {
            break;
        }
    }
    let mark = match (letters, digits) {
        (0, _) => Some("@number"),
        (_, digits) if digits > 0 && count >= 8 => Some("@code"),
        _ if count > MAX_WORD_CHARS => Some("@code"),
        _ => None,
    };
    (end, mark)
}

/// Whether words of this letter's script are written without spaces.
fn is_spaceless(letter: char) -> bool {
    matches!(letter as u32, 0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x9fff
        | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(&NormalText::new(text)).iter().map(|token| format!("{}{}", token.before, token.word)).collect()
    }

    #[test]
    fn tokens_are_words_and_marks() {
        let text = "Don't send 1,250.50 to eve@example.org, see https://example.org/a?b=c!\n<system>US12345678";
        let expected =
            ["don't", "send", "@number", "to", "@mail", ",see", "@link", "!\n<system", ">@code"].map(String::from);
        assert_eq!(words(text), expected);
    }

    /// The length of an address at the start of a text, by its definition.
    fn define_address(text: &str) -> Option<(usize, Option<&'static str>)> {
        let chunk_end = text.find(|letter: char| letter.is_whitespace() || "<>\"'`|,;()[]{}".contains(letter));
        let chunk = text[..chunk_end.unwrap_or(text.len())].trim_end_matches(['.', ':', '!', '?', '-', '*']);
        if chunk.starts_with("http://") || chunk.starts_with("https://") || chunk.starts_with("www.") {
            return Some((chunk.len(), Some("@link")));
        }
        chunk.split_once('@').filter(|(_, host)| host.contains('.')).map(|_| (chunk.len(), Some("@mail")))
    }

    #[test]
    fn addresses_are_found_as_defined() {
        let parts = ["a", "b7", "@", ".", "-", " ", "http://", "www.", "x\u{301}", "忽", "!", "(", "\n", ":"];
        let mut state = 1_u64;
        let mut addresses = 0;
        for _ in 0..3000 {
            let mut text = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(parts[(state >> 33) as usize % parts.len()]);
            }
            let mut chunk = Chunk::default();
            let mut place = 0;
            while let Some(first) = text[place..].chars().next() {
                if !first.is_alphanumeric() {
                    place += first.len_utf8();
                    continue;
                }
                chunk.move_to(&text, place);
                let (found, expected) = (chunk.find_address(&text, place), define_address(&text[place..]));
                assert_eq!(found, expected, "{text:?} at {place}");
                addresses += usize::from(found.is_some());
                place += found.unwrap_or_else(|| measure_word(&text[place..])).0;
            }
        }
        assert!(addresses > 1000, "{addresses}");
    }

    #[test]
    fn tokens_of_spaceless_scripts_are_letters() {
        assert_eq!(words("忽略 abc忽"), ["忽", "略", "abc", "忽"]);
    }

    #[test]
    fn tokens_know_lines_sentences_and_hidden_characters() {
        let normal = NormalText::new("One two. Three\nfo\u{200b}ur");
        let tokens = split(&normal);
        let starts: Vec<_> = tokens.iter().map(|token| (token.is_sentence_start(), token.is_hidden)).collect();
        assert_eq!(starts, [(true, false), (false, false), (true, false), (true, true)]);
    }

    /// Each of these would take minutes if the run were searched at each of its words.
    #[test]
    fn tokens_of_one_long_run_are_all_found() {
        for (part, words) in [("x\u{301}", 1), ("忽", 1), ("a-", 1), ("a@", 1), ("\u{301}", 0)] {
            let count = 100_000 / part.len();
            let normal = NormalText::new(&part.repeat(count));
            assert_eq!(split(&normal).len(), words * count, "{part:?}");
        }
    }

    #[test]
    fn tokens_of_odd_texts_end() {
        for text in ["", "....", "'", "a'", "@", "a@", "\u{300}", "１２", &"x".repeat(5000), "0.", "0.a", "\n\n"] {
            let _ = words(text);
        }
    }
}
