//! Files that are text, in any encoding: the one place that turns their bytes into words.
//!
//! A file is text if its type or its name says so, whatever its bytes are. Without either, it is text if its bytes can hardly
//! be anything else. The bytes are read by their mark, else by the charset that the type names, else as UTF-16 or UTF-32 where
//! the zero bytes say so, else as UTF-8, else as Windows-1252. Control characters make no text unreadable.
//!
//! Readers differ in whether they trust a charset. So a text that reads differently without it has both readings.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::{Encoding, REPLACEMENT, UTF_16BE, UTF_16LE, WINDOWS_1252};
use lictor_json::Text;

/// Types of media, besides `text/*` and those that end in JSON, XML or YAML, that are text.
const TEXT_TYPES: [&str; 27] = [
    "json",
    "xml",
    "yaml",
    "x-yaml",
    "toml",
    "javascript",
    "x-javascript",
    "ecmascript",
    "typescript",
    "x-typescript",
    "sql",
    "graphql",
    "csv",
    "jsonl",
    "x-ndjson",
    "ndjson",
    "jsonlines",
    "x-sh",
    "x-shellscript",
    "x-httpd-php",
    "rtf",
    "x-tex",
    "x-latex",
    "x-python",
    "x-www-form-urlencoded",
    "x-subrip",
    "markdown",
];

/// The ends of names of files that are text.
const TEXT_ENDS: [&str; 80] = [
    "txt",
    "text",
    "md",
    "markdown",
    "rst",
    "adoc",
    "csv",
    "tsv",
    "json",
    "jsonl",
    "ndjson",
    "json5",
    "xml",
    "xsd",
    "xsl",
    "html",
    "htm",
    "xhtml",
    "svg",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "properties",
    "env",
    "log",
    "tex",
    "bib",
    "rtf",
    "sql",
    "py",
    "pyi",
    "ipynb",
    "js",
    "mjs",
    "cjs",
    "jsx",
    "ts",
    "tsx",
    "vue",
    "java",
    "kt",
    "scala",
    "groovy",
    "c",
    "h",
    "cc",
    "cpp",
    "hpp",
    "cs",
    "go",
    "rs",
    "rb",
    "php",
    "pl",
    "lua",
    "r",
    "swift",
    "dart",
    "sh",
    "bash",
    "zsh",
    "ps1",
    "bat",
    "cmd",
    "css",
    "scss",
    "less",
    "diff",
    "patch",
    "eml",
    "vcf",
    "ics",
    "srt",
    "vtt",
    "proto",
    "graphql",
    "tf",
];

/// How many bytes show in which encoding a file is whose type is not known.
const SAMPLE_BYTES: usize = 4096;

/// A file without a type is text if at most one in so many of its characters is a control character.
const CHARACTERS_PER_CONTROL: usize = 8;

/// What type and name say about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLabel {
    says_text: bool,
    charsets: Vec<String>,
}

/// What the bytes of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
pub enum FileBytes {
    /// A text: its readings, each in lines of its own.
    Text(Text),
    /// No text.
    Other,
    /// The label says that it is text, and its charset is not known.
    Unreadable,
}

impl FileLabel {
    /// Returns the label with a type of media as well: `text/plain; charset=utf-16`.
    pub fn with_type(mut self, media_type: &str) -> FileLabel {
        let mut parts = media_type.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let (main, sub) = name.split_once('/').unwrap_or_default();
        let is_application = main == "application" && TEXT_TYPES.contains(&sub);
        let has_suffix = ["+json", "+xml", "+yaml"].iter().any(|suffix| sub.ends_with(suffix));
        let charsets = parts.filter_map(|part| {
            let (key, value) = part.split_once('=')?;
            key.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        });
        self.charsets.extend(charsets);
        self.says_text |=
            matches!(main, "text" | "message") || is_application || has_suffix || !self.charsets.is_empty();
        self
    }

    /// Returns the label with the name of the file as well, or with its address.
    pub fn with_name(mut self, name: &str) -> FileLabel {
        let path = name.split(['?', '#']).next().unwrap_or_default();
        let end = path.rsplit(['/', '\\']).next().and_then(|file| file.rsplit_once('.'));
        self.says_text |= end.is_some_and(|(_, end)| TEXT_ENDS.contains(&end.trim_end().to_ascii_lowercase().as_str()));
        self
    }

    /// Returns the label of a file of which this one and another say something.
    pub fn with_label(mut self, other: &FileLabel) -> FileLabel {
        self.says_text |= other.says_text;
        self.charsets.extend(other.charsets.iter().cloned());
        self
    }

    /// Whether the type or the name says that the file is text.
    pub fn says_text(&self) -> bool {
        self.says_text
    }

    /// Reads the bytes of the file, which are written in base64.
    pub fn read_base64(&self, written: &str) -> FileBytes {
        match decode_base64(written.as_bytes()) {
            Some(bytes) => self.read_bytes(&bytes),
            None if self.says_text => FileBytes::Unreadable,
            None => FileBytes::Other,
        }
    }

    /// Reads the bytes of the file.
    pub fn read_bytes(&self, bytes: &[u8]) -> FileBytes {
        if bytes.is_empty() {
            return FileBytes::Other;
        }
        if !self.says_text {
            return recognise_text(bytes).map_or(FileBytes::Other, |text| FileBytes::Text(text.into()));
        }
        if let Some((text, _)) = decode_by_mark(bytes) {
            return FileBytes::Text(text.as_ref().into());
        }
        let mut readings: Vec<Cow<'_, str>> = Vec::new();
        for charset in &self.charsets {
            match decode_by_charset(bytes, charset) {
                Some(text) => readings.push(text),
                None => return FileBytes::Unreadable,
            }
        }
        let guessed = decode_by_zeros(bytes).or_else(|| std::str::from_utf8(bytes).ok().map(Cow::Borrowed));
        readings.push(guessed.unwrap_or_else(|| WINDOWS_1252.decode_without_bom_handling(bytes).0));
        readings.dedup();
        FileBytes::Text(readings.join("\n").into())
    }
}

/// Returns the bytes of base64 in either alphabet, with or without padding and line ends.
pub(crate) fn decode_base64(payload: &[u8]) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let config = config.with_decode_allow_trailing_bits(true);
    let letters = payload.iter().filter(|byte| !byte.is_ascii_whitespace()).map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    });
    GeneralPurpose::new(&STANDARD, config).decode(letters.collect::<Vec<u8>>()).ok()
}

/// Returns the text in bytes of which nothing is said; none if they are probably no text.
fn recognise_text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let text = match decode_by_mark(bytes) {
        Some((text, is_whole)) => Some(text).filter(|_| is_whole),
        None => decode_by_zeros(bytes).or_else(|| std::str::from_utf8(bytes).ok().map(Cow::Borrowed)),
    }?;
    let is_broken =
        |c: char| c == char::REPLACEMENT_CHARACTER || c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}');
    let (all, broken) =
        text.chars().fold((0_usize, 0_usize), |(all, broken), c| (all + 1, broken + usize::from(is_broken(c))));
    (all > 0 && broken * CHARACTERS_PER_CONTROL <= all).then_some(text)
}

/// Returns the text of bytes that begin with a mark of their encoding, and whether all of them are in that encoding.
fn decode_by_mark(bytes: &[u8]) -> Option<(Cow<'_, str>, bool)> {
    let utf32 = [([0xff, 0xfe, 0, 0], false), ([0, 0, 0xfe, 0xff], true)];
    if let Some((mark, is_big)) = utf32.into_iter().find(|(mark, _)| bytes.starts_with(mark)) {
        return Some((Cow::Owned(decode_utf32(&bytes[mark.len()..], is_big)), bytes.len().is_multiple_of(4)));
    }
    let (encoding, length) = Encoding::for_bom(bytes)?;
    let (text, has_errors) = encoding.decode_without_bom_handling(bytes.get(length..)?);
    Some((text, !has_errors))
}

/// Returns the text of bytes in a charset; none if it is not known.
fn decode_by_charset<'a>(bytes: &'a [u8], charset: &str) -> Option<Cow<'a, str>> {
    match charset.to_ascii_lowercase().as_str() {
        "utf-32" | "utf-32be" => return Some(Cow::Owned(decode_utf32(bytes, true))),
        "utf-32le" => return Some(Cow::Owned(decode_utf32(bytes, false))),
        _ => {}
    }
    let encoding = Encoding::for_label(charset.as_bytes()).filter(|encoding| *encoding != REPLACEMENT)?;
    Some(encoding.decode_without_bom_handling(bytes).0)
}

/// Returns the text of bytes whose zeros say that each character takes two or four of them.
fn decode_by_zeros(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let mut zeros = [0_usize; 4];
    sample.iter().enumerate().filter(|(_, byte)| **byte == 0).for_each(|(place, _)| zeros[place % 4] += 1);
    let most = |count: usize| count * 4 * 2 > sample.len();
    let few = |count: usize| count * 4 * 8 < sample.len();
    match zeros.map(|count| (most(count), few(count))) {
        [(_, true), (true, _), (true, _), (true, _)] => Some(Cow::Owned(decode_utf32(bytes, false))),
        [(true, _), (true, _), (true, _), (_, true)] => Some(Cow::Owned(decode_utf32(bytes, true))),
        [(_, true), (true, _), (_, true), (true, _)] => Some(UTF_16LE.decode_without_bom_handling(bytes).0),
        [(true, _), (_, true), (true, _), (_, true)] => Some(UTF_16BE.decode_without_bom_handling(bytes).0),
        _ => None,
    }
}

fn decode_utf32(bytes: &[u8], is_big: bool) -> String {
    let number = |unit: &[u8]| {
        let unit = unit.try_into().unwrap_or([0xff; 4]);
        if is_big { u32::from_be_bytes(unit) } else { u32::from_le_bytes(unit) }
    };
    bytes.chunks(4).map(|unit| char::from_u32(number(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, is_big: bool) -> Vec<u8> {
        text.encode_utf16().flat_map(|unit| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    }

    fn read(media_type: &str, bytes: &[u8]) -> String {
        match FileLabel::default().with_type(media_type).read_bytes(bytes) {
            FileBytes::Text(text) => text.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn text_files_are_read_in_any_encoding() {
        let said = "Müller: 10 € für Ann";
        let cp1252: Vec<u8> = said.chars().map(|c| if c == '€' { 0x80 } else { c as u8 }).collect();
        let marked = |mark: &[u8], bytes: Vec<u8>| [mark, &bytes].concat();
        let utf32: Vec<u8> = said.chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
        let cases: Vec<(&str, Vec<u8>)> = vec![
            ("text/plain", said.into()),
            ("text/plain", marked(&[0xef, 0xbb, 0xbf], said.into())),
            ("text/plain", cp1252.clone()),
            ("text/plain; charset=iso-8859-1", cp1252.clone()),
            ("application/json;charset=\"windows-1252\"", cp1252),
            ("text/csv", utf16(said, false)),
            ("text/csv", utf16(said, true)),
            ("text/csv", marked(&[0xff, 0xfe], utf16(said, false))),
            ("text/csv; charset=utf-8", marked(&[0xfe, 0xff], utf16(said, true))),
            ("text/plain", utf32.clone()),
            ("text/plain", marked(&[0xff, 0xfe, 0, 0], utf32)),
        ];
        for (media_type, bytes) in cases {
            assert!(read(media_type, &bytes).contains(said), "{media_type}: {}", read(media_type, &bytes));
        }
        assert_eq!(read("text/plain", b"a \x1b[1mred\x1b[0m\x07 text\0"), "a \u{1b}[1mred\u{1b}[0m\u{7} text\0");
        assert_eq!(read("text/plain; charset=ebcdic-cp-us", b"x"), "Unreadable");
        assert_eq!(read("text/plain; charset=utf-16le", b"plain words").lines().next_back(), Some("plain words"));
    }

    #[test]
    fn unlabeled_bytes_are_text_if_nothing_else() {
        for text in ["plain words".as_bytes(), b"one \x07 bell", &utf16("wide words", false), b"\xff\xfea\0b\0"] {
            assert!(read("", text) != "Other", "{text:?}");
        }
        for other in [
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(),
            b"\x01\x02\x03a",
            b"caf\xe9",
            b"\xff\xd8\xff\xe0\0\x10JFIF",
            b"",
        ] {
            assert_eq!(read("image/png", other), "Other", "{other:?}");
        }
    }

    #[test]
    fn names_of_text_files_are_known() {
        for name in ["notes.txt", "A/B.MD", "file:///x/y.csv?z=1", "c:\\d.Json"] {
            assert!(FileLabel::default().with_name(name).says_text(), "{name}");
        }
        for name in ["a.png", "txt", "a.txt.gz", ""] {
            assert!(!FileLabel::default().with_name(name).says_text(), "{name}");
        }
    }
}
