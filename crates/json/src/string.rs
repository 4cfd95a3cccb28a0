//! Strings, where most bytes of a log are.

use crate::cursor::{Cursor, ReadResult};
use crate::{Text, scan};

/// How many bytes a text holds without memory of its own.
const MAX_INLINE_TEXT_BYTES: usize = 24;

impl Cursor<'_> {
    /// Reads a string into an empty text; returns whether it is written without escapes.
    #[inline(always)]
    pub(super) fn read_string(&mut self, into: &mut Text) -> ReadResult<bool> {
        let start = self.at + 1;
        let end = scan::find_special(self.bytes, start);
        if self.bytes.get(end) != Some(&b'"') {
            *into = self.read_escaped(start, end)?;
            return Ok(false);
        }
        self.at = end + 1;
        let plain = &self.text[start..end];
        if plain.len() <= MAX_INLINE_TEXT_BYTES {
            into.push_str(plain);
        } else {
            *into = Text::new(plain);
        }
        Ok(true)
    }

    /// Reads a string that begins at `start` and needs no unescaping up to `end`.
    #[cold]
    pub(super) fn read_escaped(&mut self, mut start: usize, mut end: usize) -> ReadResult<Text> {
        let mut text = String::with_capacity((end - start) * 2 + 32);
        loop {
            text.push_str(&self.text[start..end]);
            self.at = end;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Text::from(text));
                }
                Some(b'\\') => {
                    self.at += 1;
                    text.push(self.read_escape()?);
                }
                Some(_) => {
                    return Err(self.error("json.control_character", "raw control character in a string".to_owned()));
                }
                None => return Err(self.error("json.torn", "the text ends inside a string".to_owned())),
            }
            start = self.at;
            end = scan::find_special(self.bytes, start);
        }
    }

    /// Reads the escape after a backslash.
    fn read_escape(&mut self) -> ReadResult<char> {
        let Some(letter) = self.peek() else {
            return Err(self.error("json.torn", "the text ends inside a string".to_owned()));
        };
        self.at += 1;
        Ok(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.read_code_point(),
            _ => {
                self.at -= 1;
                return Err(self.error("json.escape", "unknown escape in a string".to_owned()));
            }
        })
    }

    fn read_code_point(&mut self) -> ReadResult<char> {
        let start = self.at;
        let first = self.read_code_unit()?;
        let mut code = first;
        if (0xd800..=0xdbff).contains(&first) {
            let rest = &self.bytes[self.at..];
            if rest.is_empty() || rest == b"\\" {
                self.at = self.bytes.len();
                return Err(self.error("json.torn", "the text ends inside a string".to_owned()));
            }
            if rest.starts_with(b"\\u") {
                self.at += 2;
                let second = self.read_code_unit()?;
                if (0xdc00..=0xdfff).contains(&second) {
                    code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                }
            }
        }
        char::from_u32(code).ok_or_else(|| {
            self.at = start;
            self.error("json.lone_surrogate", "lone surrogate: half of a surrogate pair".to_owned())
        })
    }

    /// Reads four hexadecimal digits.
    fn read_code_unit(&mut self) -> ReadResult<u32> {
        let mut code = 0;
        for _ in 0..4 {
            match self.peek().map(|byte| (byte as char).to_digit(16)) {
                Some(Some(digit)) => code = code << 4 | digit,
                Some(None) => {
                    return Err(self.error("json.escape", "`\\u` needs four hexadecimal digits".to_owned()));
                }
                None => return Err(self.error("json.torn", "the text ends inside a string".to_owned())),
            }
            self.at += 1;
        }
        Ok(code)
    }
}
