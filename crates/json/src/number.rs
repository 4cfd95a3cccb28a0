//! Numbers: whole ones exact, others as the nearest float, with their text where that float is written otherwise.

use crate::cursor::{Cursor, ReadResult};
use crate::decimal::LongDecimal;
use crate::slots::fill;
use crate::{Json, JsonError, Number};

/// No two decimals of at most this many digits have the same nearest float, if that is no subnormal number.
const MAX_SURE_DIGITS: usize = 15;

/// The least number with more digits than [`MAX_SURE_DIGITS`].
const LEAST_UNSURE: u64 = 10_u64.pow(MAX_SURE_DIGITS as u32);

/// Powers of ten that a float holds exactly.
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

impl Cursor<'_> {
    pub(super) fn read_number(&mut self, slot: &mut Json) -> ReadResult<()> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let first = self.at;
        let mut digits = 0;
        let whole = self.read_digits(&mut digits)?;
        if whole > 1 && self.bytes.get(first) == Some(&b'0') {
            self.at = first + 1;
            return Err(self.error("json.syntax", "a number has a leading zero".to_owned()));
        }
        let mut decimals = 0;
        if self.peek() == Some(b'.') {
            self.at += 1;
            decimals = self.read_digits(&mut digits)?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.read_digits(&mut 0)?;
            return self.read_float(start, whole + decimals, slot);
        }
        let sign = if negative { -1 } else { 1 };
        // Eighteen digits fit, whatever they are.
        match (decimals, whole + decimals) {
            (0, ..=18) => fill(slot, Json::Number(Number::Integer(sign * digits as i64))),
            (0, _) => match self.text[start..self.at].parse::<i128>() {
                Ok(value) => fill(slot, Json::Number(Number::whole(value))),
                Err(_) => return Err(self.range_error(start)),
            },
            // Both numbers are exact as floats, so their quotient is the nearest float there is.
            (..=18, ..=18) if digits < LEAST_UNSURE => {
                fill(slot, Json::Number(Number::Float(sign as f64 * (digits as f64 / POWERS_OF_TEN[decimals]))));
            }
            _ => return self.read_float(start, whole + decimals, slot),
        }
        Ok(())
    }

    /// Reads digits and returns how many; `value` is right for up to eighteen digits in all.
    fn read_digits(&mut self, value: &mut u64) -> ReadResult<usize> {
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            *value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == start {
            return Err(self.unexpected_error("a digit"));
        }
        Ok(self.at - start)
    }

    fn read_float(&mut self, start: usize, digits: usize, slot: &mut Json) -> ReadResult<()> {
        let text = &self.text[start..self.at];
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                let is_sure = digits <= MAX_SURE_DIGITS && value.is_normal();
                let long = if is_sure { None } else { LongDecimal::new(value, text) };
                fill(slot, Json::Number(long.map_or(Number::Float(value), |long| Number::Long(Box::new(long)))));
                Ok(())
            }
            _ => Err(self.range_error(start)),
        }
    }

    #[cold]
    fn range_error(&mut self, start: usize) -> Box<JsonError> {
        let written = &self.text[start..self.at.min(start + 40)];
        let message = format!("the number {written} is out of range");
        self.at = start;
        self.error("json.number_range", message)
    }
}
