//! The strict reader of JSON against serde_json, and what it writes against itself.
//!
//! The readers differ where ours is strict or exact, and nowhere else:
//!
//! | we refuse, serde_json reads | code |
//! |---|---|
//! | a key that an object has already | `json.duplicate_key` |
//! | more levels or values than the limits | `json.too_deep`, `json.too_many_values` |
//! | a whole number beyond 128 bits, which serde_json rounds to a float | `json.number_range` |
//!
//! serde_json refuses 128 levels, which we read. It rounds whole numbers beyond 64 bits, and its floats may be off by
//! the last bits; `-0` is a float to it and a whole number to us.

use lictor_json::{Json, Number, Object, parse};
use serde_json::Value;

/// How far apart, in representable floats, the two readings of a float may be.
const MAX_FLOAT_STEPS: u64 = 4;

/// Codes of texts that we refuse and serde_json may read.
const STRICTER: [&str; 4] = ["json.duplicate_key", "json.too_deep", "json.too_many_values", "json.number_range"];

pub(crate) fn run(input: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(input);
    match parse(input) {
        Ok(ours) => {
            match theirs {
                Ok(theirs) => assert!(is_same(&ours, &theirs), "ours {ours}, theirs {theirs}"),
                Err(error) => assert!(error.to_string().contains("recursion limit"), "serde_json refuses: {error}"),
            }
            assert_eq!(parse(ours.to_string().as_bytes()).as_ref(), Ok(&ours), "written and read again");
            let serialized = serde_json::to_vec(&ours);
            let rounded = round(&ours);
            assert!(serialized.is_ok_and(|bytes| parse(&bytes) == Ok(rounded)), "serialized and read again");
        }
        Err(error) => {
            assert!(error.offset <= input.len(), "offset {} beyond {} bytes", error.offset, input.len());
            if let Ok(text) = std::str::from_utf8(input) {
                assert!(text.is_char_boundary(error.offset), "offset {} inside a character", error.offset);
            }
            assert!(theirs.is_err() || STRICTER.contains(&error.code), "serde_json reads what we refuse: {error:?}");
        }
    }
}

/// Returns a value with its long decimals as floats: serializers know no others.
fn round(value: &Json) -> Json {
    match value {
        Json::Number(Number::Long(decimal)) => Json::Number(Number::Float(decimal.nearest())),
        Json::Array(items) => Json::Array(items.iter().map(round).collect()),
        Json::Object(object) => {
            let mut rounded = Object::default();
            object.iter().for_each(|(key, value)| rounded.insert(key.as_str(), round(value)));
            Json::Object(rounded)
        }
        other => other.clone(),
    }
}

fn is_same(ours: &Json, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(ours), Value::Bool(theirs)) => ours == theirs,
        (Json::Number(ours), Value::Number(theirs)) => is_same_number(ours, theirs),
        (Json::String(ours), Value::String(theirs)) => ours == theirs,
        (Json::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| is_same(ours, theirs))
        }
        (Json::Object(ours), Value::Object(theirs)) => {
            let is_member =
                |((key, ours), (name, theirs)): ((_, _), (&String, _))| key == name && is_same(ours, theirs);
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(is_member)
        }
        _ => false,
    }
}

fn is_same_number(ours: &Number, theirs: &serde_json::Number) -> bool {
    match (ours, theirs.as_i128()) {
        (Number::Integer(ours), Some(theirs)) => i128::from(*ours) == theirs,
        (Number::Wide(..), Some(theirs)) => *ours == Number::whole(theirs),
        (Number::Float(_) | Number::Long(_), Some(_)) => false,
        (Number::Integer(ours), None) => *ours == 0 && theirs.as_f64() == Some(0.0),
        (ours, None) => theirs.as_f64().is_some_and(|theirs| is_near(ours.as_f64(), theirs)),
    }
}

fn is_near(a: f64, b: f64) -> bool {
    a == b || (a.is_sign_positive() == b.is_sign_positive() && a.to_bits().abs_diff(b.to_bits()) <= MAX_FLOAT_STEPS)
}
