//! Writes values as JSON text.

use std::fmt::{self, Write};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{Json, Number, join_halves};

/// Writes a value as compact JSON.
pub(super) fn write_json(value: &Json, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Json::Null => out.write_str("null"),
        Json::Bool(value) => write!(out, "{value}"),
        Json::Number(number) => write!(out, "{number}"),
        Json::String(text) => write_string(text, out),
        Json::Array(items) => {
            out.write_char('[')?;
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.write_char(',')?;
                }
                write_json(item, out)?;
            }
            out.write_char(']')
        }
        Json::Object(object) => {
            out.write_char('{')?;
            for (place, (key, value)) in object.iter().enumerate() {
                if place > 0 {
                    out.write_char(',')?;
                }
                write_string(key, out)?;
                out.write_char(':')?;
                write_json(value, out)?;
            }
            out.write_char('}')
        }
    }
}

fn write_string(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            control if (control as u32) < 0x20 => write!(out, "\\u{:04x}", control as u32)?,
            other => out.write_char(other)?,
        }
    }
    out.write_char('"')
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(Number::Integer(value)) => serializer.serialize_i64(*value),
            Json::Number(Number::Wide(high, low)) => serializer.serialize_i128(join_halves(*high, *low)),
            Json::Number(Number::Float(value)) => serializer.serialize_f64(*value),
            // A serializer has no longer numbers. What must stay exact is written as text.
            Json::Number(Number::Long(decimal)) => serializer.serialize_f64(decimal.nearest()),
            Json::String(text) => serializer.serialize_str(text),
            Json::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Json::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.len()))?;
                for (key, value) in object.iter() {
                    map.serialize_entry(key.as_str(), value)?;
                }
                map.end()
            }
        }
    }
}
