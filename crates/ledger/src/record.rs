//! One record: a line of canonical JSON. How it is written, and how it is read and checked.
//!
//! A record has a `body` that its author chose or a `notice` of the ledger's own, never both; so nobody who appends
//! records can pass for the ledger itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::{self, Cursor};

/// The longest line of a record, newline included.
pub(crate) const MAX_LINE: usize = 16 * 1024 * 1024;

/// What the ledger itself has to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
#[non_exhaustive]
pub enum LedgerNotice {
    /// The ledger begins. The first record of each says so, and with which key.
    Created {
        /// The version of the format.
        version: u32,
        /// The verifier key of the checkpoints that follow.
        key: String,
    },
    /// The ledger takes the place of another one, whose key was lost. The second record says so, or none.
    Continues {
        /// The last checkpoint of the other one, as a signed note.
        checkpoint: String,
    },
    /// Something unfinished stood behind the last whole record and was cut off.
    Cut {
        /// How many bytes.
        bytes: u64,
        /// How many lines, the last perhaps without its end.
        lines: u64,
    },
    /// From the next checkpoint but one, another key signs.
    Rotated {
        /// The new verifier key.
        key: String,
    },
    /// The key of a subject was destroyed.
    Erased {
        /// The pseudonym that the subject had.
        subject: String,
    },
    /// Records are no longer kept, only their hashes.
    Dropped {
        /// All records with a lower index.
        before: u64,
    },
}

impl LedgerNotice {
    /// The notice as canonical JSON.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        // A notice is an object of plain values, so this cannot nest too deeply.
        if let Ok(Value::Object(map)) = serde_json::to_value(self) {
            let _ = canonical::write_object(&map, &mut text);
        }
        text
    }
}

/// What a record says, as canonical JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    Body(&'a str),
    Notice(&'a str),
}

/// What a record holds of its payload, in base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof<'a> {
    Nothing,
    Commitment(&'a str),
    Sealed(&'a str),
}

/// A record as it is written; reading one checks that it is canonical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) index: u64,
    pub(crate) time: &'a str,
    pub(crate) content: Content<'a>,
    pub(crate) proof: Proof<'a>,
    /// The pseudonyms, as an array.
    pub(crate) subjects: &'a str,
}

impl<'a> Line<'a> {
    /// Appends the line without a newline.
    pub(crate) fn write(&self, out: &mut String) {
        out.push('{');
        if let Content::Body(body) = self.content {
            out.extend(["\"body\":", body, ","]);
        }
        if let Proof::Commitment(commitment) = self.proof {
            out.extend(["\"commitment\":\"", commitment, "\","]);
        }
        out.push_str("\"index\":");
        write_index(self.index, out);
        out.push(',');
        if let Content::Notice(notice) = self.content {
            out.extend(["\"notice\":", notice, ","]);
        }
        if let Proof::Sealed(sealed) = self.proof {
            out.extend(["\"sealed\":\"", sealed, "\","]);
        }
        out.extend(["\"subjects\":", self.subjects, ",\"time\":\"", self.time, "\"}"]);
    }

    /// Reads a line without its newline, or says what is wrong with it.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Line<'a>, String> {
        let text =
            std::str::from_utf8(bytes).map_err(|error| format!("byte {}: not UTF-8", error.valid_up_to() + 1))?;
        let (mut content, mut proof, mut index, mut subjects, mut time) = (None, Proof::Nothing, None, None, None);
        let read = Cursor::new(text).whole_object(|name, value| {
            match name {
                "body" if value.starts_with('{') => content = Some(Content::Body(value)),
                "notice" if content.is_none() => content = Some(Content::Notice(value)),
                "commitment" => proof = Proof::Commitment(unquoted(value)?),
                "sealed" if proof == Proof::Nothing => proof = Proof::Sealed(unquoted(value)?),
                "index" => index = Some(value.parse().map_err(|_| "the index is no number")?),
                "subjects" if value.starts_with('[') => subjects = Some(value),
                "time" => time = Some(unquoted(value)?),
                _ => return Err("a record has no such member, or not with this value"),
            }
            Ok(())
        });
        read.map_err(|odd| format!("byte {}: {}", odd.at + 1, odd.message))?;
        let (Some(content), Some(index), Some(subjects), Some(time)) = (content, index, subjects, time) else {
            return Err("a record has an index, a time, subjects, and a body or a notice".to_owned());
        };
        if !is_time(time) {
            return Err(format!("`{time}` is no time like 2026-01-31T12:00:00.000000Z"));
        }
        Ok(Line { index, time, content, proof, subjects })
    }

    /// The notice of the ledger, if this is one; an error says that nobody knows such a notice.
    pub(crate) fn notice(&self) -> Result<Option<LedgerNotice>, String> {
        let Content::Notice(text) = self.content else { return Ok(None) };
        serde_json::from_str(text).map(Some).map_err(|error| format!("an unknown notice: {error}"))
    }

    /// The pseudonyms.
    pub(crate) fn pseudonyms(&self) -> Vec<String> {
        serde_json::from_str(self.subjects).unwrap_or_default()
    }
}

/// A string without escapes, between quotes.
fn unquoted(value: &str) -> Result<&str, &'static str> {
    let text = value.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    text.filter(|text| !text.contains('\\')).ok_or("this should be a plain string")
}

/// Appends a number; many times faster than formatting it, which shows when a million records a second are written.
fn write_index(index: u64, out: &mut String) {
    let (mut digits, mut at, mut rest) = ([b'0'; 20], 20, index);
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

/// A time as records have it: in UTC, with six digits of the second, so that texts sort as times do.
pub(crate) fn time_text(time: jiff::Timestamp) -> String {
    format!("{time:.6}")
}

fn is_time(text: &str) -> bool {
    let shape = b"dddd-dd-ddTdd:dd:dd.ddddddZ";
    text.len() == shape.len()
        && text.bytes().zip(shape).all(|(byte, kind)| if *kind == b'd' { byte.is_ascii_digit() } else { byte == *kind })
        && text.parse::<jiff::Timestamp>().is_ok_and(|time| !text.contains(":60.") && time_text(time) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_they_are_formatted() {
        for index in [0, 1, 9, 10, 255, 1_000_000, 9_007_199_254_740_993, u64::MAX] {
            let mut text = String::new();
            write_index(index, &mut text);
            assert_eq!(text, index.to_string());
        }
    }

    #[test]
    fn a_line_reads_back_as_it_was_written() {
        for content in [Content::Body(r#"{"a":1}"#), Content::Notice(r#"{"before":3,"event":"dropped"}"#)] {
            for proof in [Proof::Nothing, Proof::Commitment("AA=="), Proof::Sealed("AA==")] {
                let line = Line { index: 7, time: "2026-01-31T12:00:00.000001Z", content, proof, subjects: r#"["x"]"# };
                let mut text = String::new();
                line.write(&mut text);
                assert_eq!(Line::read(text.as_bytes()), Ok(line), "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_record_is_told_with_its_place() {
        for (text, message) in [
            (r#"{"body":{},"index":1,"subjects":[],"time":"2026-13-01T00:00:00.000000Z"}"#, "is no time"),
            (r#"{"body":{},"index":1,"subjects":[],"time":"2026-01-01T00:00:60.000000Z"}"#, "is no time"),
            (r#"{"body":{},"index":1,"subjects":[]}"#, "a record has"),
            (r#"{"body":{},"index":1,"notice":{},"subjects":[],"time":"x"}"#, "byte 31: a record has no such member"),
            (r#"{"body":{},"more":1}"#, "byte 19: a record has no such member"),
            (r#"{"body":[],"index":1}"#, "byte 9: a record has no such member"),
        ] {
            let wrong = Line::read(text.as_bytes()).unwrap_err();
            assert!(wrong.contains(message), "{text}: {wrong}");
        }
    }
}
