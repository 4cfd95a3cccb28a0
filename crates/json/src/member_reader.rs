//! Reads a JSON object member by member, each into the expected type, without a value of the whole.
//!
//! Nearly every line of a log is as expected. At anything else a method returns none: the caller then parses the line
//! as a value, which reports what is wrong.

use super::cursor::Cursor;
use super::reader::read_value;
use super::{Json, Number, Text, scan};

/// A reader of one object, member by member.
#[derive(Debug)]
pub struct MemberReader<'a>(Cursor<'a>);

impl<'a> MemberReader<'a> {
    /// Opens an object that has members.
    pub fn open(text: &'a str) -> Option<MemberReader<'a>> {
        let mut reader = MemberReader(Cursor::new(text));
        reader.expect(b'{')?;
        Some(reader)
    }

    /// Reads the next key; none if it is written with escapes.
    #[inline(always)]
    pub fn read_key(&mut self) -> Option<&'a str> {
        let key = self.read_plain_text()?;
        self.expect(b':')?;
        Some(key)
    }

    /// Whether another member follows; if not, the text must end here.
    #[inline(always)]
    pub fn has_next(&mut self) -> Option<bool> {
        match self.0.peek_solid() {
            b',' => {
                self.0.at += 1;
                Some(true)
            }
            b'}' => {
                self.0.at += 1;
                self.0.peek_solid();
                self.0.expect_end().ok().map(|()| false)
            }
            _ => None,
        }
    }

    /// Reads a string without escapes, without a copy.
    #[inline(always)]
    pub fn read_plain_text(&mut self) -> Option<&'a str> {
        if self.0.peek_solid() != b'"' {
            return None;
        }
        let start = self.0.at + 1;
        let end = scan::find_special(self.0.bytes, start);
        if self.0.bytes.get(end) != Some(&b'"') {
            return None;
        }
        self.0.at = end + 1;
        Some(&self.0.text[start..end])
    }

    /// Reads a string.
    #[inline(always)]
    pub fn read_text(&mut self) -> Option<Text> {
        if self.0.peek_solid() != b'"' {
            return None;
        }
        let start = self.0.at + 1;
        let end = scan::find_special(self.0.bytes, start);
        if self.0.bytes.get(end) != Some(&b'"') {
            return self.0.read_escaped(start, end).ok();
        }
        self.0.at = end + 1;
        Some(Text::new(&self.0.text[start..end]))
    }

    /// Reads a list of strings.
    pub fn read_texts(&mut self) -> Option<Vec<Text>> {
        self.expect(b'[')?;
        if self.0.peek_solid() == b']' {
            self.0.at += 1;
            return Some(Vec::new());
        }
        let mut texts = Vec::new();
        loop {
            texts.push(self.read_text()?);
            match self.0.peek_solid() {
                b',' => self.0.at += 1,
                b']' => {
                    self.0.at += 1;
                    return Some(texts);
                }
                _ => return None,
            }
        }
    }

    /// Reads a whole number of 64 bits.
    pub fn read_integer(&mut self) -> Option<i64> {
        if !matches!(self.0.peek_solid(), b'-' | b'0'..=b'9') {
            return None;
        }
        let mut slot = Json::Null;
        self.0.read_number(&mut slot).ok()?;
        match slot {
            Json::Number(Number::Integer(value)) => Some(value),
            _ => None,
        }
    }

    /// Skips a string without escapes, a number or a word.
    pub fn skip_value(&mut self) -> Option<()> {
        match self.0.peek_solid() {
            b'"' => self.read_plain_text().map(|_| ()),
            b'{' | b'[' => None,
            _ => {
                let rest = &self.0.bytes[self.0.at..];
                self.0.at += rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b'"'))?;
                Some(())
            }
        }
    }

    /// Reads `true` or `false`.
    pub fn read_bool(&mut self) -> Option<bool> {
        self.read_value().and_then(|value| value.as_bool())
    }

    /// Reads any value.
    pub fn read_value(&mut self) -> Option<Json> {
        read_value(&mut self.0, 1).ok()
    }

    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Option<()> {
        if self.0.peek_solid() != byte {
            return None;
        }
        self.0.at += 1;
        Some(())
    }
}
