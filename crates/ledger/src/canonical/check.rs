//! The check that a text is canonical JSON, in place and without building values: verification runs it on every record.

use crate::canonical::{MAX_DEPTH, short_escape, write_float};

/// A violation of the canonical form, and its byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CanonicalError {
    pub(crate) offset: usize,
    pub(crate) message: &'static str,
}

/// A reader of canonical JSON.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// Reads one object that is the whole text, and calls `member` with each name, as written, and the text of its
    /// value.
    pub(crate) fn read_object(
        mut self,
        mut member: impl FnMut(&'a str, &'a str) -> Result<(), &'static str>,
    ) -> Result<(), CanonicalError> {
        self.skip_object(0, &mut member)?;
        if self.at < self.text.len() { Err(self.error("unexpected text after the object")) } else { Ok(()) }
    }

    fn error(&self, message: &'static str) -> CanonicalError {
        CanonicalError { offset: self.at, message }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, byte: u8, message: &'static str) -> Result<(), CanonicalError> {
        if self.peek() != Some(byte) {
            return Err(self.error(message));
        }
        self.at += 1;
        Ok(())
    }

    fn skip_object(
        &mut self,
        depth: usize,
        member: &mut dyn FnMut(&'a str, &'a str) -> Result<(), &'static str>,
    ) -> Result<(), CanonicalError> {
        if depth >= MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        self.skip(b'{', "expected an object")?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let mut last: Option<&str> = None;
        loop {
            let start = self.at;
            let name = self.read_string()?;
            if last.is_some_and(|last| !is_before(last, name)) {
                return Err(CanonicalError { offset: start, message: "names are not sorted, or one is duplicated" });
            }
            last = Some(name);
            self.skip(b':', "expected a colon after the name, without white space")?;
            let value = self.at;
            self.skip_value(depth + 1)?;
            member(name, &self.text[value..self.at]).map_err(|message| CanonicalError { offset: value, message })?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.error("expected a comma or the end of the object")),
            }
        }
    }

    fn skip_value(&mut self, depth: usize) -> Result<(), CanonicalError> {
        match self.peek() {
            Some(b'"') => self.read_string().map(|_| ()),
            Some(b'{') => self.skip_object(depth, &mut |_, _| Ok(())),
            Some(b'[') => self.skip_array(depth),
            Some(b'-' | b'0'..=b'9') => self.skip_number(),
            _ => {
                let rest = &self.text.as_bytes()[self.at..];
                let word = [&b"true"[..], b"false", b"null"].into_iter().find(|word| rest.starts_with(word));
                self.at += word.ok_or_else(|| self.error("not a value"))?.len();
                Ok(())
            }
        }
    }

    fn skip_array(&mut self, depth: usize) -> Result<(), CanonicalError> {
        if depth >= MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.skip_value(depth + 1)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.error("expected a comma or the end of the array")),
            }
        }
    }

    /// Reads a string and returns the text between the quotes.
    fn read_string(&mut self) -> Result<&'a str, CanonicalError> {
        self.skip(b'"', "expected a string")?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        loop {
            let plain = bytes[self.at..].iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\');
            self.at += plain.ok_or_else(|| self.error("unterminated string"))?;
            match bytes[self.at] {
                b'"' => {
                    self.at += 1;
                    return Ok(&self.text[start..self.at - 1]);
                }
                b'\\' => self.skip_escape()?,
                _ => return Err(self.error("control character in a string")),
            }
        }
    }

    fn skip_escape(&mut self) -> Result<(), CanonicalError> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let length = match rest {
            [b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r', ..] => 2,
            [b'u', b'0', b'0', high @ (b'0' | b'1'), low @ (b'0'..=b'9' | b'a'..=b'f'), ..] => {
                let low = if low.is_ascii_digit() { low - b'0' } else { low - b'a' + 10 };
                if short_escape((high - b'0') * 16 + low).is_some() {
                    return Err(self.error("this character has a shorter escape"));
                }
                6
            }
            _ => return Err(self.error("the escape of this character is not canonical")),
        };
        self.at += length;
        Ok(())
    }

    fn skip_number(&mut self) -> Result<(), CanonicalError> {
        let start = self.at;
        let bytes = &self.text.as_bytes()[start..];
        let length = bytes
            .iter()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .unwrap_or(bytes.len());
        let text = &self.text[start..start + length];
        if !is_exact_integer(text) {
            let mut canonical = String::new();
            match text.parse::<f64>() {
                Ok(float) if float.is_finite() => write_float(float, &mut canonical),
                _ => return Err(self.error("not a number")),
            }
            if canonical != text {
                return Err(self.error("the number is not in canonical form"));
            }
        }
        self.at += length;
        Ok(())
    }
}

/// Whether a text is an integer of up to 64 bits without leading zeros.
fn is_exact_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let leads = digits.starts_with('0') && text != "0";
    // 18 digits always fit.
    plain && !leads && (digits.len() <= 18 || text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok())
}

/// Whether a name sorts before another; both as written between quotes.
fn is_before(a: &str, b: &str) -> bool {
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii() && byte != b'\\');
    if plain(a) && plain(b) {
        return a < b;
    }
    let read = |text: &str| serde_json::from_str::<String>(&format!("\"{text}\"")).unwrap_or_default();
    read(a).encode_utf16().lt(read(b).encode_utf16())
}
