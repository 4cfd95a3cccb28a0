//! The inside of strings and numbers, where most bytes of a log are.

use memchr::memchr2;

use super::reader::{Cursor, Step};
use super::slots::fill;
use super::{Json, Number, Text};

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Powers of ten that a float holds exactly.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// How many bytes of a string are looked at eight by eight, before it counts as a long one.
const BRIEF: usize = 32;

/// Where the next quote, backslash or control character is, or the end. Eight bytes are looked at together, and of a
/// long string as many as the processor can.
#[inline(always)]
pub(super) fn plain(bytes: &[u8], mut at: usize) -> usize {
    let brief = at + BRIEF;
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let found = special(u64::from_le_bytes(*eight));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
        if at == brief {
            return plain_of_long(bytes, at);
        }
    }
    while let Some(&byte) = bytes.get(at) {
        if byte < b' ' || byte == b'"' || byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}

#[inline(never)]
fn plain_of_long(bytes: &[u8], at: usize) -> usize {
    let end = memchr2(b'"', b'\\', &bytes[at..]).map_or(bytes.len(), |length| at + length);
    let is_control = |byte: &u8| *byte < b' ';
    // Without an early end, a whole vector is compared at once.
    let has_control =
        bytes[at..end].chunks(64).any(|piece| piece.iter().fold(false, |any, byte| any | is_control(byte)));
    match has_control {
        true => bytes[at..end].iter().position(is_control).map_or(end, |length| at + length),
        false => end,
    }
}

/// The high bit of each byte that is a quote, a backslash or a control character. A borrow can set bits above the
/// lowest one that is right, never below it.
fn special(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_slash = slash.wrapping_sub(ONES) & !slash;
    let is_control = word.wrapping_sub(ONES * b' ' as u64) & !word;
    (is_quote | is_slash | is_control) & HIGHS
}

impl Cursor<'_> {
    /// A string that is not plain to its end: from `start`, plain up to `end`.
    #[cold]
    pub(super) fn escaped(&mut self, mut start: usize, mut end: usize) -> Step<Text> {
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
                    text.push(self.escape()?);
                }
                Some(_) => {
                    return Err(self.error("json.control_character", "a raw control character in a string".to_owned()));
                }
                None => return Err(self.error("json.torn", "the text ends inside a string".to_owned())),
            }
            start = self.at;
            end = plain(self.bytes, start);
        }
    }

    /// What the backslash just read stands for.
    fn escape(&mut self) -> Step<char> {
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
            b'u' => return self.code_point(),
            _ => {
                self.at -= 1;
                return Err(self.error("json.escape", "an unknown escape in a string".to_owned()));
            }
        })
    }

    fn code_point(&mut self) -> Step<char> {
        let start = self.at;
        let first = self.unit()?;
        let mut code = first;
        if (0xd800..=0xdbff).contains(&first) {
            let rest = &self.bytes[self.at..];
            if rest.is_empty() || rest == b"\\" {
                self.at = self.bytes.len();
                return Err(self.error("json.torn", "the text ends inside a string".to_owned()));
            }
            if rest.starts_with(b"\\u") {
                self.at += 2;
                let second = self.unit()?;
                if (0xdc00..=0xdfff).contains(&second) {
                    code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                }
            }
        }
        char::from_u32(code).ok_or_else(|| {
            self.at = start;
            self.error("json.lone_surrogate", "half of a surrogate pair stands alone".to_owned())
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Step<u32> {
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

    pub(super) fn number(&mut self, slot: &mut Json) -> Step<()> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let first = self.at;
        let mut digits = 0;
        let whole = self.digits(&mut digits)?;
        if whole > 1 && self.bytes.get(first) == Some(&b'0') {
            self.at = first + 1;
            return Err(self.error("json.syntax", "a number begins with a needless zero".to_owned()));
        }
        let mut decimals = 0;
        if self.peek() == Some(b'.') {
            self.at += 1;
            decimals = self.digits(&mut digits)?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits(&mut 0)?;
            return self.float(start, slot);
        }
        let sign = if negative { -1 } else { 1 };
        // Eighteen digits fit, whatever they are.
        match (decimals, whole + decimals) {
            (0, ..=18) => fill(slot, Json::Number(Number::Integer(sign * digits as i64))),
            (0, _) => match self.text[start..self.at].parse::<i128>() {
                Ok(value) => fill(slot, Json::Number(Number::whole(value))),
                Err(_) => return Err(self.out_of_range(start)),
            },
            // Both numbers are exact as floats, so their quotient is the nearest float there is.
            (..=18, ..=18) if digits < 1 << 53 => {
                fill(slot, Json::Number(Number::Float(sign as f64 * (digits as f64 / TENS[decimals]))));
            }
            _ => return self.float(start, slot),
        }
        Ok(())
    }

    /// Reads some digits and says how many; `value` is right as long as they are no more than eighteen in all.
    fn digits(&mut self, value: &mut u64) -> Step<usize> {
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            *value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == start {
            return Err(self.unexpected("a digit"));
        }
        Ok(self.at - start)
    }

    fn float(&mut self, start: usize, slot: &mut Json) -> Step<()> {
        match self.text[start..self.at].parse::<f64>() {
            Ok(value) if value.is_finite() => {
                fill(slot, Json::Number(Number::Float(value)));
                Ok(())
            }
            _ => Err(self.out_of_range(start)),
        }
    }

    #[cold]
    fn out_of_range(&mut self, start: usize) -> Box<super::JsonError> {
        let written = &self.text[start..self.at.min(start + 40)];
        let message = format!("the number {written} is too large to be kept exactly");
        self.at = start;
        self.error("json.number_range", message)
    }
}
