//! Canonical JSON (RFC 8785): one spelling for one value, so that a hash of the text is a hash of the value.
//!
//! Members are sorted by the UTF-16 code units of their names, strings are escaped as little as possible, numbers are
//! written as ECMAScript writes them. One extension of the standard: all 64-bit integers are written exactly, also
//! those that a double cannot hold.

mod check;

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

pub(crate) use crate::canonical::check::Cursor;

/// The deepest nesting of values.
pub(crate) const MAX_DEPTH: usize = 128;

/// A value that nests more deeply than [`MAX_DEPTH`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooDeep;

/// Appends the canonical text of an object.
pub(crate) fn write_object(map: &Map<String, Value>, out: &mut String) -> Result<(), TooDeep> {
    write_members(map, out, 0)
}

fn write_members(map: &Map<String, Value>, out: &mut String, depth: usize) -> Result<(), TooDeep> {
    if depth >= MAX_DEPTH {
        return Err(TooDeep);
    }
    let mut members: Vec<(&String, &Value)> = map.iter().collect();
    members.sort_by(|(a, _), (b, _)| compare_names(a, b));
    out.push('{');
    for (place, (name, member)) in members.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write_string(name, out);
        out.push(':');
        write_value(member, out, depth + 1)?;
    }
    out.push('}');
    Ok(())
}

/// Compares names by their UTF-16 code units. Below U+E000, where bytes begin with less than 0xEE, that is the order of
/// their bytes: only above it do surrogates sort before smaller characters.
fn compare_names(a: &str, b: &str) -> Ordering {
    let is_below = |text: &str| text.bytes().all(|byte| byte < 0xee);
    if is_below(a) && is_below(b) { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

fn write_value(value: &Value, out: &mut String, depth: usize) -> Result<(), TooDeep> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            if depth >= MAX_DEPTH {
                return Err(TooDeep);
            }
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_value(item, out, depth + 1)?;
            }
            out.push(']');
        }
        Value::Object(map) => write_members(map, out, depth)?,
    }
    Ok(())
}

/// Appends a string with its quotes.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[rest..at]);
        rest = at + 1;
        out.push('\\');
        match short_escape(byte) {
            Some(letter) => out.push(char::from(letter)),
            None => {
                out.push_str("u00");
                out.push(if byte < 0x10 { '0' } else { '1' });
                out.push(char::from_digit(u32::from(byte & 0xf), 16).unwrap_or('0'));
            }
        }
    }
    out.push_str(&text[rest..]);
    out.push('"');
}

/// Returns the letter after the backslash, for characters with a short escape.
fn short_escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => return None,
    })
}

fn write_number(number: &Number, out: &mut String) {
    match number.as_f64() {
        Some(float) if number.is_f64() => write_float(float, out),
        _ => {
            let _ = write!(out, "{number}");
        }
    }
}

/// Appends a finite double as `Number::toString` of ECMAScript does.
fn write_float(float: f64, out: &mut String) {
    if float == 0.0 {
        out.push('0');
        return;
    }
    // The shortest digits that parse to the same double, and the position of the decimal point. Of two equally near
    // ones ECMAScript takes the even one, which `format!` does not.
    let shortest = Number::from_f64(float.abs()).map_or_else(String::new, |number| number.to_string());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let leading = all.len() - digits.len();
    let digits = digits.trim_end_matches('0');
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let place = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let point = exponent + place(whole.len()) - place(leading);
    let count = place(digits.len());
    if float < 0.0 {
        out.push('-');
    }
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let at = |place: i32| usize::try_from(place).unwrap_or(0);
    if (count..=21).contains(&point) {
        out.push_str(digits);
        out.push_str(&zeros(point - count));
    } else if (1..=21).contains(&point) {
        out.push_str(&digits[..at(point)]);
        out.push('.');
        out.push_str(&digits[at(point)..]);
    } else if (-5..=0).contains(&point) {
        out.push_str("0.");
        out.push_str(&zeros(-point));
        out.push_str(digits);
    } else {
        out.push_str(&digits[..1]);
        if count > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        let sign = if point > 0 { '+' } else { '-' };
        out.push_str(&format!("e{sign}{}", (point - 1).abs()));
    }
}

#[cfg(test)]
mod tests;
