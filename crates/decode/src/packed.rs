//! Values as bytes, for temporary files that only this process reads.
//!
//! Each `put_…` has a `take_…` that returns exactly what was written.

use lictor_json::{self as json, Json, Object, Text};

/// Writes a number, a small one in few bytes.
pub fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front; none if the bytes are damaged.
pub fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0u64, 0);
    loop {
        let byte = take_byte(bytes)?;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

/// Writes a text.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Takes a text off the front; none if the bytes are damaged.
pub fn take_text(bytes: &mut &[u8]) -> Option<Text> {
    let length = usize::try_from(take_number(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    std::str::from_utf8(text).ok().map(Text::new)
}

/// Writes a value that may be missing.
pub fn put_option<T>(out: &mut Vec<u8>, value: Option<T>, put: impl FnOnce(&mut Vec<u8>, T)) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put(out, value);
    }
}

/// Takes a value that may be missing off the front; none if the bytes are damaged.
pub fn take_option<T>(bytes: &mut &[u8], take: impl FnOnce(&mut &[u8]) -> Option<T>) -> Option<Option<T>> {
    match take_byte(bytes)? {
        0 => Some(None),
        _ => take(bytes).map(Some),
    }
}

/// Writes a list.
pub fn put_list<T>(out: &mut Vec<u8>, list: &[T], put: impl Fn(&mut Vec<u8>, &T)) {
    put_number(out, list.len() as u64);
    list.iter().for_each(|item| put(out, item));
}

/// Takes a list off the front; none if the bytes are damaged.
pub fn take_list<T>(bytes: &mut &[u8], take: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    (0..take_number(bytes)?).map(|_| take(bytes)).collect()
}

/// Writes a JSON value.
pub fn put_json(out: &mut Vec<u8>, value: &Json) {
    match value {
        Json::Null => out.push(0),
        Json::Bool(value) => out.extend([1, u8::from(*value)]),
        Json::String(text) => {
            out.push(2);
            put_text(out, text);
        }
        Json::Array(list) => {
            out.push(3);
            put_list(out, list, put_json);
        }
        Json::Object(object) => {
            out.push(4);
            put_number(out, object.iter().count() as u64);
            for (key, value) in object.iter() {
                put_text(out, key);
                put_json(out, value);
            }
        }
        Json::Number(_) => {
            out.push(5);
            put_text(out, &value.to_string());
        }
    }
}

/// Takes a JSON value off the front; none if the bytes are damaged.
pub fn take_json(bytes: &mut &[u8]) -> Option<Json> {
    Some(match take_byte(bytes)? {
        0 => Json::Null,
        1 => Json::Bool(take_byte(bytes)? == 1),
        2 => Json::String(take_text(bytes)?),
        3 => Json::Array(take_list(bytes, take_json)?),
        4 => {
            let member = |bytes: &mut &[u8]| Some((take_text(bytes)?, take_json(bytes)?));
            Json::Object(Object::from_members(take_list(bytes, member)?))
        }
        _ => json::parse_str(&take_text(bytes)?).ok()?,
    })
}

/// Takes a byte off the front; none if there is none.
pub fn take_byte(bytes: &mut &[u8]) -> Option<u8> {
    take_fixed::<1>(bytes).map(|[byte]| byte)
}

/// Takes so many bytes off the front; none if there are fewer.
pub fn take_fixed<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}
