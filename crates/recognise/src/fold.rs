//! Folds a text to what a person reads: escapes decoded, invisible characters dropped, look-alikes and accents as plain
//! ASCII, digits of all scripts as ASCII digits. Each part keeps its origin in the original.

use std::cell::Cell;
use std::ops::Range;

use unicode_normalization::char::decompose_compatible;

use super::bytes::{Bytes, byte_at, run_end, run_start};
use super::glyph::{Glyph, is_mark, read_glyph};

/// A text as a person reads it.
pub(super) struct FoldedText {
    /// The text.
    pub(super) text: String,
    /// Whether the original has letters of other scripts than Latin, even if they became ASCII.
    pub(super) has_scripts: bool,
    /// How many bytes of it a person sees; hidden text follows.
    pub(super) visible: usize,
    /// Where hidden text starts in the original.
    pub(super) hidden_from: Option<usize>,
    /// The origins of its parts, in the order of the text; empty unless they were asked for.
    parts: Vec<FoldedPart>,
}

/// A part of a folded text.
struct FoldedPart {
    /// Where it starts in the folded text.
    start: usize,
    /// Where it comes from.
    origin: Range<usize>,
    /// Whether it is the original, byte for byte.
    copied: bool,
}

/// Whether a text of ASCII has an escape that can be decoded.
pub(super) fn has_escape(text: &str) -> bool {
    let escapes = memchr::memchr3_iter(b'%', b'&', b'\\', text.as_bytes());
    escapes.into_iter().any(|place| decode_escape(text.into(), place).is_some())
}

/// The most backslashes of one escape. JSON in a text of JSON has two and three of them, and so on.
const MAX_BACKSLASHES: usize = 8;

/// The most bytes of an escape, without the leading zeros of a number: two halves of a character.
const MAX_ESCAPE_BYTES: usize = 2 * (MAX_BACKSLASHES + 5);

/// The most digits of a character's number, without leading zeros.
const MAX_NUMBER_DIGITS: usize = 8;

/// Returns where an escape may start at the end of a text that more text would complete.
pub(super) fn find_open_escape(text: &str) -> Option<usize> {
    let beyond = Cell::new(false);
    let bytes = Bytes::open(text, &beyond);
    let digits = run_start(bytes, text.len(), MAX_NUMBER_DIGITS, |byte| byte.is_ascii_hexdigit());
    let zeros = run_start(bytes, digits, usize::MAX, |byte| byte == b'0');
    let from = zeros.saturating_sub(MAX_ESCAPE_BYTES);
    memchr::memchr3_iter(b'%', b'&', b'\\', &bytes[from..]).map(|place| from + place).find(|place| {
        decode_escape(bytes, *place);
        beyond.get()
    })
}

/// Folds a text; keeps the origins of its parts if asked to.
pub(super) fn fold(text: &str, keep_origin: bool) -> FoldedText {
    let mut folder = Folder {
        folded: FoldedText {
            text: String::with_capacity(text.len() + 16),
            has_scripts: false,
            visible: 0,
            hidden_from: None,
            parts: Vec::new(),
        },
        hidden: Vec::new(),
        keep_origin,
    };
    let bytes = text.as_bytes();
    let mut place = 0;
    while place < bytes.len() {
        let plain = find_special(bytes, place);
        folder.copy(text, place..plain);
        let Some(character) = text.get(plain..).and_then(|rest| rest.chars().next()) else { break };
        let next = plain + character.len_utf8();
        place = next;
        if !character.is_ascii() {
            folder.push_folded(character, plain..next);
            continue;
        }
        match decode_escape(text.into(), plain) {
            Some((decoded, end)) => {
                folder.push_folded(decoded, plain..end);
                place = end;
            }
            None => folder.copy(text, plain..next),
        }
    }
    folder.finish()
}

impl FoldedText {
    /// Returns the bytes of the original that a range of the folded text comes from.
    pub(super) fn origin(&self, range: Range<usize>) -> Range<usize> {
        // The original of one byte. Copied parts are ASCII, so a byte of them is a character.
        let of_byte = |place: usize| {
            let next = self.parts.partition_point(|piece| piece.start <= place);
            let piece = next.checked_sub(1).map(|number| &self.parts[number])?;
            let copy = piece.origin.start + (place - piece.start);
            Some(if piece.copied { copy..copy + 1 } else { piece.origin.clone() })
        };
        match (of_byte(range.start), of_byte(range.end.saturating_sub(1))) {
            // Hidden text comes after all other text but originates anywhere.
            (Some(first), Some(last)) => first.start.min(last.start)..first.end.max(last.end),
            _ => 0..0,
        }
    }
}

/// The state of folding one text.
struct Folder {
    folded: FoldedText,
    /// Letters that only a machine reads, with where they come from.
    hidden: Vec<(char, Range<usize>)>,
    keep_origin: bool,
}

impl Folder {
    fn copy(&mut self, text: &str, origin: Range<usize>) {
        let Some(part) = text.get(origin.clone()).filter(|part| !part.is_empty()) else { return };
        self.keep_part(origin, true);
        self.folded.text.push_str(part);
    }

    fn keep_part(&mut self, origin: Range<usize>, copied: bool) {
        if self.keep_origin {
            self.folded.parts.push(FoldedPart { start: self.folded.text.len(), origin, copied });
        }
    }

    fn push_folded(&mut self, character: char, origin: Range<usize>) {
        if character.is_ascii() {
            self.keep_part(origin, false);
            return self.folded.text.push(character);
        }
        // Accents, signs and pictures are of no script.
        self.folded.has_scripts |= matches!(character as u32, 0x370..0x2000 | 0x2E80..0x1F000 | 0x20000..);
        match read_glyph(character) {
            Glyph::Nothing => {}
            Glyph::Hidden(letter) => self.hidden.push((letter, origin)),
            Glyph::Digit(digit) => {
                self.keep_part(origin, false);
                self.folded.text.push(digit);
            }
            Glyph::Ascii(looks) => {
                self.keep_part(origin, false);
                self.folded.text.push_str(looks);
            }
            Glyph::Other => {
                self.keep_part(origin, false);
                push_decomposed(character, &mut self.folded.text);
            }
        }
    }

    fn finish(mut self) -> FoldedText {
        self.folded.visible = self.folded.text.len();
        self.folded.hidden_from = self.hidden.first().map(|(_, origin)| origin.start);
        if !self.hidden.is_empty() {
            self.keep_part(0..0, false);
            self.folded.text.push('\n');
            for (letter, origin) in std::mem::take(&mut self.hidden) {
                self.keep_part(origin, false);
                self.folded.text.push(letter);
            }
        }
        self.folded
    }
}

/// Writes the parts of a character that are ASCII or look like it, or the character itself.
fn push_decomposed(character: char, text: &mut String) {
    let start = text.len();
    decompose_compatible(character, |part| match read_glyph(part) {
        _ if part.is_ascii() => text.push(part),
        Glyph::Ascii(looks) => text.push_str(looks),
        Glyph::Digit(digit) => text.push(digit),
        _ => {}
    });
    if text.len() == start && !is_mark(character) {
        text.push(character);
    }
}

/// Returns where the next byte that needs folding is.
fn find_special(bytes: &[u8], start: usize) -> usize {
    let mut place = start;
    // Eight at a time; the last few one by one.
    while let Some(eight) = bytes.get(place..).and_then(|rest| rest.first_chunk::<8>()) {
        let is_plain = eight.iter().fold(true, |all, byte| all & !is_special(*byte));
        if !is_plain {
            break;
        }
        place += 8;
    }
    bytes[place..].iter().position(|byte| is_special(*byte)).map_or(bytes.len(), |skip| place + skip)
}

fn is_special(byte: u8) -> bool {
    (byte >= 0x80) | (byte == b'%') | (byte == b'&') | (byte == b'\\')
}

/// Returns the character of the escape at a position, and where the escape ends.
pub(super) fn decode_escape(bytes: Bytes<'_>, place: usize) -> Option<(char, usize)> {
    match byte_at(bytes, place) {
        b'%' => decode_percent(bytes, place),
        b'&' => decode_entity(bytes, place),
        b'\\' => decode_backslash(bytes, place),
        _ => None,
    }
}

/// `%40`, or as many of these as a character has bytes.
fn decode_percent(bytes: Bytes<'_>, place: usize) -> Option<(char, usize)> {
    let mut decoded = [0; 4];
    for count in 1..=4 {
        let escape = bytes.part(place + 3 * (count - 1)..place + 3 * count)?;
        decoded[count - 1] = match escape {
            [b'%', high, low] => parse_hex(&[*high, *low])? as u8,
            _ => return None,
        };
        if let Ok(text) = std::str::from_utf8(&decoded[..count]) {
            return text.chars().next().map(|character| (character, place + 3 * count));
        }
    }
    None
}

/// `&#64;`, `&#x40;`, `&commat;`; numbers may lack the semicolon, as browsers allow.
fn decode_entity(bytes: Bytes<'_>, place: usize) -> Option<(char, usize)> {
    if byte_at(bytes, place + 1) == b'#' {
        let is_hex = byte_at(bytes, place + 2) | 0x20 == b'x';
        let start = place + if is_hex { 3 } else { 2 };
        let class = if is_hex { u8::is_ascii_hexdigit } else { u8::is_ascii_digit };
        // Readers of HTML skip as many zeros as there are.
        let zeros = run_end(bytes, start, usize::MAX, |byte| byte == b'0');
        let end = run_end(bytes, zeros, MAX_NUMBER_DIGITS, |byte| class(&byte));
        let start = start.max(zeros.saturating_sub(1));
        let digits = std::str::from_utf8(bytes.get(start..end)?).ok()?;
        let number = u32::from_str_radix(digits, if is_hex { 16 } else { 10 }).ok()?;
        return Some((char::from_u32(number)?, end + usize::from(byte_at(bytes, end) == b';')));
    }
    const NAMES: [(&str, char); 20] = [
        ("amp;", '&'),
        ("lt;", '<'),
        ("gt;", '>'),
        ("quot;", '"'),
        ("apos;", '\''),
        ("nbsp;", ' '),
        ("commat;", '@'),
        ("period;", '.'),
        ("comma;", ','),
        ("colon;", ':'),
        ("sol;", '/'),
        ("num;", '#'),
        ("hyphen;", '-'),
        ("dash;", '-'),
        ("lowbar;", '_'),
        ("plus;", '+'),
        ("shy;", '\u{ad}'),
        ("zwj;", '\u{200d}'),
        ("zwnj;", '\u{200c}'),
        ("ZeroWidthSpace;", '\u{200b}'),
    ];
    let is_named = |name: &str| {
        let end = (place + 1 + name.len()).min(bytes.len());
        let rest = bytes.get(place + 1..end).unwrap_or_default();
        name.as_bytes().starts_with(rest) && bytes.part(place + 1..place + 1 + name.len()).is_some()
    };
    NAMES.iter().find(|(name, _)| is_named(name)).map(|(name, character)| (*character, place + 1 + name.len()))
}

/// `\u0040`, `\x40`, `\n`: JSON inside a text; with more backslashes, JSON inside that. `\@`, `\.`: signs of Markdown.
fn decode_backslash(bytes: Bytes<'_>, place: usize) -> Option<(char, usize)> {
    let letter = run_end(bytes, place, MAX_BACKSLASHES, |byte| byte == b'\\');
    let character = match byte_at(bytes, letter) {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        quoted @ (b'"' | b'\'' | b'/' | b'@' | b'.' | b'-' | b'_' | b'+' | b'(' | b')') => quoted as char,
        b'x' => {
            let character = bytes.part(letter + 1..letter + 3).and_then(parse_hex).and_then(char::from_u32);
            return character.map(|character| (character, letter + 3)).or(unescape_backslash(place, letter));
        }
        b'u' => return decode_units(bytes, place, letter).or(unescape_backslash(place, letter)),
        _ => return unescape_backslash(place, letter),
    };
    Some((character, letter + 1))
}

/// Returns the character whose number in UTF-16 follows the `u` after some backslashes.
fn decode_units(bytes: Bytes<'_>, place: usize, letter: usize) -> Option<(char, usize)> {
    let unit = parse_hex(bytes.part(letter + 1..letter + 5)?)?;
    if let Some(character) = char::from_u32(unit) {
        return Some((character, letter + 5));
    }
    // Two halves of a character beyond the first plane.
    let next = letter + 5 + (letter - place);
    let escape = bytes.part(letter + 5..next + 5)?;
    let digits = escape.strip_prefix(bytes.get(place..letter)?)?.strip_prefix(b"u")?;
    let pair = [unit as u16, parse_hex(digits)? as u16];
    Some((char::decode_utf16(pair).next()?.ok()?, next + 5))
}

/// Two backslashes that escape nothing else are one.
fn unescape_backslash(place: usize, end: usize) -> Option<(char, usize)> {
    (end - place >= 2).then_some(('\\', place + 2))
}

fn parse_hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| Some(number * 16 + (*digit as char).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold_text(text: &str) -> String {
        fold(text, false).text
    }

    #[test]
    fn fold_returns_text_as_read() {
        let cases = [
            ("ａｌｉｃｅ＠ｅｘａｍｐｌｅ．ｃｏｍ", "alice@example.com"),
            ("a\u{200b}l\u{ad}ice", "alice"),
            ("аlісе", "alice"),
            ("٤١١١ ۴۱۱۱ ४१११", "4111 4111 4111"),
            ("𝐚𝐥𝐢𝐜𝐞 ⓐⓛⓘⓒⓔ 🅰🅻🅸🅲🅴", "alice alice ALICE"),
            ("①②③ ❶❷", "123 12"),
            ("alice%40example.com", "alice@example.com"),
            ("%E2%82%ACx 100% %zz 5%de", "€x 100% %zz 5%de"),
            ("a&#64;b &#x40;&commat;&amp;&nope;", "a@b @@&&nope;"),
            ("a&#0000000064;b &#x00000000000000000040;c &#000064 &#;", "a@b @c @ &#;"),
            (r"a\u0040b\n\ud83d\ude00 c:\dir", "a@b\n😀 c:\\dir"),
            (r#"a\\u0040b\\n\\ud83d\\ude00 c:\\dir \\\"x\\\\n"#, "a@b\n😀 c:\\dir \"x\n"),
            ("Straße Müller né Łódź", "Strasse Muller ne Lodz"),
            ("z\u{335}a\u{301}l\u{327}go", "zalgo"),
            ("日本語 한국어 がぎ", "日本語 한국어 がぎ"),
            ("1️⃣2️⃣", "12"),
            ("x\u{e0061}\u{e0040}\u{e0062}y", "xy\na@b"),
        ];
        for (text, wanted) in cases {
            assert_eq!(fold_text(text), wanted, "{text}");
        }
    }

    #[test]
    fn fold_keeps_origin_of_parts() {
        let text = "Ä %40 straße z\u{200b}9 ＠";
        let folded = fold(text, true);
        let origin = |part: &str| {
            let start = folded.text.find(part).unwrap();
            &text[folded.origin(start..start + part.len())]
        };
        assert_eq!(origin("A"), "Ä");
        assert_eq!(origin("@"), "%40");
        assert_eq!(origin("strass"), "straß");
        assert_eq!(origin("se"), "ße");
        assert_eq!(origin("z9"), "z\u{200b}9");
        assert_eq!(origin("9 @"), "9 ＠");
    }

    #[test]
    fn fold_ignores_escape_lookalikes() {
        for text in ["100% sure", "R&D & more", r"C:\dir\file", "50%", "&", "\\", "%4", "&#;", "&#xZZ;"] {
            assert!(!has_escape(text), "{text}");
        }
        assert!(has_escape("a%40b") && has_escape("a&#64b") && has_escape(r"a\u0040"));
    }
}
