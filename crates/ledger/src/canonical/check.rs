//! Is this text canonical? Read once, in place, without building values: verification does this for every record.

use crate::canonical::{MAX_DEPTH, short_escape, write_float};

/// What is not canonical, and at which byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Odd {
    pub(crate) at: usize,
    pub(crate) message: &'static str,
}

/// A place in a text that is read as canonical JSON.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// Reads one object that is the whole text; tells each member by its name as written and its text.
    pub(crate) fn whole_object(
        mut self,
        mut member: impl FnMut(&'a str, &'a str) -> Result<(), &'static str>,
    ) -> Result<(), Odd> {
        self.object(0, &mut member)?;
        if self.at < self.text.len() { Err(self.odd("something stands behind the object")) } else { Ok(()) }
    }

    fn odd(&self, message: &'static str) -> Odd {
        Odd { at: self.at, message }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, byte: u8, message: &'static str) -> Result<(), Odd> {
        if self.peek() != Some(byte) {
            return Err(self.odd(message));
        }
        self.at += 1;
        Ok(())
    }

    fn object(
        &mut self,
        depth: usize,
        member: &mut dyn FnMut(&'a str, &'a str) -> Result<(), &'static str>,
    ) -> Result<(), Odd> {
        if depth >= MAX_DEPTH {
            return Err(self.odd("nested too deeply"));
        }
        self.skip(b'{', "an object should begin here")?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let mut last: Option<&str> = None;
        loop {
            let start = self.at;
            let name = self.string()?;
            if last.is_some_and(|last| !is_before(last, name)) {
                return Err(Odd { at: start, message: "names are not sorted, or one stands twice" });
            }
            last = Some(name);
            self.skip(b':', "a colon is missing behind the name, or there is white space")?;
            let value = self.at;
            self.value(depth + 1)?;
            member(name, &self.text[value..self.at]).map_err(|message| Odd { at: value, message })?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.odd("a comma or the end of the object is missing")),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), Odd> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'{') => self.object(depth, &mut |_, _| Ok(())),
            Some(b'[') => self.array(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                let rest = &self.text.as_bytes()[self.at..];
                let word = [&b"true"[..], b"false", b"null"].into_iter().find(|word| rest.starts_with(word));
                self.at += word.ok_or_else(|| self.odd("this is no value"))?.len();
                Ok(())
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Odd> {
        if depth >= MAX_DEPTH {
            return Err(self.odd("nested too deeply"));
        }
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.odd("a comma or the end of the array is missing")),
            }
        }
    }

    /// Reads a string and gives what stands between the quotes.
    fn string(&mut self) -> Result<&'a str, Odd> {
        self.skip(b'"', "a string should begin here")?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        loop {
            let plain = bytes[self.at..].iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\');
            self.at += plain.ok_or_else(|| self.odd("the string does not end"))?;
            match bytes[self.at] {
                b'"' => {
                    self.at += 1;
                    return Ok(&self.text[start..self.at - 1]);
                }
                b'\\' => self.escape()?,
                _ => return Err(self.odd("a control character stands in a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Odd> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let length = match rest {
            [b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r', ..] => 2,
            [b'u', b'0', b'0', high @ (b'0' | b'1'), low @ (b'0'..=b'9' | b'a'..=b'f'), ..] => {
                let low = if low.is_ascii_digit() { low - b'0' } else { low - b'a' + 10 };
                if short_escape((high - b'0') * 16 + low).is_some() {
                    return Err(self.odd("this character has a shorter escape"));
                }
                6
            }
            _ => return Err(self.odd("this character is escaped in a way that is not canonical")),
        };
        self.at += length;
        Ok(())
    }

    fn number(&mut self) -> Result<(), Odd> {
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
                _ => return Err(self.odd("this is no number")),
            }
            if canonical != text {
                return Err(self.odd("a number is not written canonically"));
            }
        }
        self.at += length;
        Ok(())
    }
}

/// An integer of up to 64 bits without leading zeros.
fn is_exact_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let leads = digits.starts_with('0') && text != "0";
    // 18 digits always fit; more are looked at.
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
