//! A line read member by member, each into the type that it should have.
//!
//! Nearly every line of a log is as it should be, and then there is no need for a value of everything in it first.
//! Whatever is not as expected ends the pulling with none: the line is then read again as a value, and what is wrong
//! with it is told by that.

use super::reader::{Cursor, value_at};
use super::{Json, Number, Text, scan};

/// A line that is read member by member.
#[derive(Debug)]
pub struct MemberReader<'a>(Cursor<'a>);

impl<'a> MemberReader<'a> {
    /// Begins an object that has members.
    pub fn object(text: &'a str) -> Option<MemberReader<'a>> {
        let mut pull = MemberReader(Cursor::new(text));
        pull.expect(b'{')?;
        Some(pull)
    }

    /// The next key; one that is written with escapes is unexpected.
    #[inline(always)]
    pub fn key(&mut self) -> Option<&'a str> {
        let key = self.plain()?;
        self.expect(b':')?;
        Some(key)
    }

    /// Whether another member follows; if not, the text ends here.
    #[inline(always)]
    pub fn goes_on(&mut self) -> Option<bool> {
        match self.0.solid() {
            b',' => {
                self.0.at += 1;
                Some(true)
            }
            b'}' => {
                self.0.at += 1;
                self.0.solid();
                self.0.end().ok().map(|()| false)
            }
            _ => None,
        }
    }

    /// A string without escapes, where it lies.
    #[inline(always)]
    pub fn plain(&mut self) -> Option<&'a str> {
        if self.0.solid() != b'"' {
            return None;
        }
        let start = self.0.at + 1;
        let end = scan::plain(self.0.bytes, start);
        if self.0.bytes.get(end) != Some(&b'"') {
            return None;
        }
        self.0.at = end + 1;
        Some(&self.0.text[start..end])
    }

    /// A string.
    #[inline(always)]
    pub fn text(&mut self) -> Option<Text> {
        if self.0.solid() != b'"' {
            return None;
        }
        let start = self.0.at + 1;
        let end = scan::plain(self.0.bytes, start);
        if self.0.bytes.get(end) != Some(&b'"') {
            return self.0.escaped(start, end).ok();
        }
        self.0.at = end + 1;
        Some(Text::new(&self.0.text[start..end]))
    }

    /// A list of strings.
    pub fn texts(&mut self) -> Option<Vec<Text>> {
        self.expect(b'[')?;
        if self.0.solid() == b']' {
            self.0.at += 1;
            return Some(Vec::new());
        }
        let mut texts = Vec::new();
        loop {
            texts.push(self.text()?);
            match self.0.solid() {
                b',' => self.0.at += 1,
                b']' => {
                    self.0.at += 1;
                    return Some(texts);
                }
                _ => return None,
            }
        }
    }

    /// A whole number of 64 bits.
    pub fn integer(&mut self) -> Option<i64> {
        if !matches!(self.0.solid(), b'-' | b'0'..=b'9') {
            return None;
        }
        let mut slot = Json::Null;
        self.0.number(&mut slot).ok()?;
        match slot {
            Json::Number(Number::Integer(value)) => Some(value),
            _ => None,
        }
    }

    /// Goes behind a string without escapes, a number or a word.
    pub fn skip(&mut self) -> Option<()> {
        match self.0.solid() {
            b'"' => self.plain().map(|_| ()),
            b'{' | b'[' => None,
            _ => {
                let rest = &self.0.bytes[self.0.at..];
                self.0.at += rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b'"'))?;
                Some(())
            }
        }
    }

    /// `true` or `false`.
    pub fn truth(&mut self) -> Option<bool> {
        self.value().and_then(|value| value.as_bool())
    }

    /// Any value.
    pub fn value(&mut self) -> Option<Json> {
        value_at(&mut self.0, 1).ok()
    }

    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Option<()> {
        if self.0.solid() != byte {
            return None;
        }
        self.0.at += 1;
        Some(())
    }
}
