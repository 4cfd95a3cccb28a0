//! The line of a record: canonical JSON, written, read and checked.
//!
//! A record has a `body` by its author or a `notice` by the ledger, never both, so an author cannot forge a notice.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::{self, Cursor};

/// The longest line of a record, newline included.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// A statement of the ledger about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
#[non_exhaustive]
pub enum LedgerNotice {
    /// The first record of every ledger: its format and its first key.
    Created {
        /// The version of the format.
        version: u32,
        /// The verifier key of the checkpoints that follow.
        key: String,
    },
    /// The ledger replaces one whose key was lost. Always the second record, if there is one.
    Continues {
        /// The last checkpoint of the other one, as a signed note.
        checkpoint: String,
    },
    /// An unfinished tail after the last whole record was cut off.
    Cut {
        /// How many bytes.
        bytes: u64,
        /// How many lines, the last one possibly incomplete.
        lines: u64,
    },
    /// The signing key was rotated: the next checkpoint is the last one by the old key.
    Rotated {
        /// The new verifier key.
        key: String,
    },
    /// The key of a subject was destroyed.
    Erased {
        /// The pseudonym that the subject had.
        subject: String,
    },
    /// Old records were dropped; their hashes are kept.
    Dropped {
        /// All records with a lower index.
        before: u64,
    },
}

impl LedgerNotice {
    /// Returns the notice as canonical JSON.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        // A notice is an object of plain values, so this cannot nest too deeply.
        if let Ok(Value::Object(map)) = serde_json::to_value(self) {
            let _ = canonical::write_object(&map, &mut text);
        }
        text
    }
}

/// The body or the notice of a record, as canonical JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordContent<'a> {
    Body(&'a str),
    Notice(&'a str),
}

/// The commitment or the sealed payload of a record, in base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PayloadProof<'a> {
    Nothing,
    Commitment(&'a str),
    Sealed(&'a str),
}

/// A record as one line. Reading it checks that it is canonical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordLine<'a> {
    pub(crate) index: u64,
    pub(crate) time: &'a str,
    pub(crate) content: RecordContent<'a>,
    pub(crate) proof: PayloadProof<'a>,
    /// The pseudonyms, as an array.
    pub(crate) subjects: &'a str,
}

impl<'a> RecordLine<'a> {
    /// Appends the line without a newline.
    pub(crate) fn write(&self, out: &mut String) {
        out.push('{');
        if let RecordContent::Body(body) = self.content {
            out.extend(["\"body\":", body, ","]);
        }
        if let PayloadProof::Commitment(commitment) = self.proof {
            out.extend(["\"commitment\":\"", commitment, "\","]);
        }
        out.push_str("\"index\":");
        write_index(self.index, out);
        out.push(',');
        if let RecordContent::Notice(notice) = self.content {
            out.extend(["\"notice\":", notice, ","]);
        }
        if let PayloadProof::Sealed(sealed) = self.proof {
            out.extend(["\"sealed\":\"", sealed, "\","]);
        }
        out.extend(["\"subjects\":", self.subjects, ",\"time\":\"", self.time, "\"}"]);
    }

    /// Reads a line without its newline, or returns what is wrong with it.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<RecordLine<'a>, String> {
        let text =
            std::str::from_utf8(bytes).map_err(|error| format!("byte {}: not UTF-8", error.valid_up_to() + 1))?;
        let (mut content, mut proof, mut index, mut subjects, mut time) =
            (None, PayloadProof::Nothing, None, None, None);
        let read = Cursor::new(text).read_object(|name, value| {
            match name {
                "body" if value.starts_with('{') => content = Some(RecordContent::Body(value)),
                "notice" if content.is_none() => content = Some(RecordContent::Notice(value)),
                "commitment" => proof = PayloadProof::Commitment(unquote(value)?),
                "sealed" if proof == PayloadProof::Nothing => proof = PayloadProof::Sealed(unquote(value)?),
                "index" => index = Some(value.parse().map_err(|_| "the index is not a number")?),
                "subjects" if value.starts_with('[') => subjects = Some(value),
                "time" => time = Some(unquote(value)?),
                _ => return Err("unknown member of a record, or a value of the wrong type"),
            }
            Ok(())
        });
        read.map_err(|error| format!("byte {}: {}", error.offset + 1, error.message))?;
        let (Some(content), Some(index), Some(subjects), Some(time)) = (content, index, subjects, time) else {
            return Err("a record needs an index, a time, subjects, and a body or a notice".to_owned());
        };
        if !is_time(time) {
            return Err(format!("`{time}` is not a time like 2026-01-31T12:00:00.000000Z"));
        }
        Ok(RecordLine { index, time, content, proof, subjects })
    }

    /// Returns the notice if the record is one, or an error if this version does not know it.
    pub(crate) fn notice(&self) -> Result<Option<LedgerNotice>, String> {
        let RecordContent::Notice(text) = self.content else { return Ok(None) };
        serde_json::from_str(text).map(Some).map_err(|error| format!("unknown notice: {error}"))
    }

    /// Returns the pseudonyms of the subjects.
    pub(crate) fn pseudonyms(&self) -> Vec<String> {
        serde_json::from_str(self.subjects).unwrap_or_default()
    }
}

/// Removes the quotes of a string without escapes.
fn unquote(value: &str) -> Result<&str, &'static str> {
    let text = value.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    text.filter(|text| !text.contains('\\')).ok_or("expected a string without escapes")
}

/// Appends a number. Many times faster than `format!`, which matters at a million records a second.
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

/// Formats a time in UTC with six digits of the second, so that the texts sort like the times.
pub(crate) fn format_time(time: jiff::Timestamp) -> String {
    format!("{time:.6}")
}

fn is_time(text: &str) -> bool {
    let shape = b"dddd-dd-ddTdd:dd:dd.ddddddZ";
    text.len() == shape.len()
        && text.bytes().zip(shape).all(|(byte, kind)| if *kind == b'd' { byte.is_ascii_digit() } else { byte == *kind })
        && text.parse::<jiff::Timestamp>().is_ok_and(|time| !text.contains(":60.") && format_time(time) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_index_matches_format() {
        for index in [0, 1, 9, 10, 255, 1_000_000, 9_007_199_254_740_993, u64::MAX] {
            let mut text = String::new();
            write_index(index, &mut text);
            assert_eq!(text, index.to_string());
        }
    }

    #[test]
    fn record_line_reads_back_as_written() {
        for content in [RecordContent::Body(r#"{"a":1}"#), RecordContent::Notice(r#"{"before":3,"event":"dropped"}"#)] {
            for proof in [PayloadProof::Nothing, PayloadProof::Commitment("AA=="), PayloadProof::Sealed("AA==")] {
                let line =
                    RecordLine { index: 7, time: "2026-01-31T12:00:00.000001Z", content, proof, subjects: r#"["x"]"# };
                let mut text = String::new();
                line.write(&mut text);
                assert_eq!(RecordLine::read(text.as_bytes()), Ok(line), "{text}");
            }
        }
    }

    #[test]
    fn record_line_error_names_its_byte() {
        for (text, message) in [
            (r#"{"body":{},"index":1,"subjects":[],"time":"2026-13-01T00:00:00.000000Z"}"#, "is not a time"),
            (r#"{"body":{},"index":1,"subjects":[],"time":"2026-01-01T00:00:60.000000Z"}"#, "is not a time"),
            (r#"{"body":{},"index":1,"subjects":[]}"#, "a record needs"),
            (r#"{"body":{},"index":1,"notice":{},"subjects":[],"time":"x"}"#, "byte 31: unknown member"),
            (r#"{"body":{},"more":1}"#, "byte 19: unknown member"),
            (r#"{"body":[],"index":1}"#, "byte 9: unknown member"),
        ] {
            let wrong = RecordLine::read(text.as_bytes()).unwrap_err();
            assert!(wrong.contains(message), "{text}: {wrong}");
        }
    }
}
