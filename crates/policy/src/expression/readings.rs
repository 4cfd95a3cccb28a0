//! Values of one JSON type that a tool may read as values of another.
//!
//! Many tools convert their arguments before they use them: `"900"` becomes a number, `"yes"` and 1 become true, and a
//! list of one element becomes the element. A policy that asks for `args.force == true` must not be evaded by `"true"`.
//! Nor does such a call break it for sure, since a tool may refuse it. So the comparison is unknown.

use lictor_json::Number;

use super::value::CelValue;

/// The texts that readers take for true, in small letters.
const TRUE_TEXTS: [&str; 5] = ["true", "t", "yes", "y", "on"];

/// The texts that readers take for false, in small letters.
const FALSE_TEXTS: [&str; 5] = ["false", "f", "no", "n", "off"];

/// Whether a usual reader may take one value for the other, which is of another type. Neither is a list.
pub(super) fn may_read_as(value: &CelValue<'_>, other: &CelValue<'_>) -> bool {
    match (value, other) {
        (CelValue::Text(text), CelValue::Number(number)) | (CelValue::Number(number), CelValue::Text(text)) => {
            may_read_number(text, number.as_f64())
        }
        (CelValue::Text(text), CelValue::Bool(truth)) | (CelValue::Bool(truth), CelValue::Text(text)) => {
            may_read_truth(text, *truth)
        }
        (CelValue::Number(number), CelValue::Bool(truth)) | (CelValue::Bool(truth), CelValue::Number(number)) => {
            is_truth_number(number, *truth)
        }
        _ => false,
    }
}

/// Whether a text may be read as this number. Readers differ in the precision of numbers, so the nearest float decides.
fn may_read_number(text: &str, number: f64) -> bool {
    // Many readers know the digits of all scripts.
    if !text.is_ascii() && text.chars().any(|c| c.is_numeric() && !c.is_ascii()) {
        return true;
    }
    let digits = text.trim().replace('_', "");
    let unsigned = digits.trim_start_matches(['+', '-']);
    let read = match unsigned.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => read_digits(&digits, unsigned, 16),
        Some("0o") => read_digits(&digits, unsigned, 8),
        Some("0b") => read_digits(&digits, unsigned, 2),
        _ => digits.parse().ok(),
    };
    read == Some(number)
}

/// Reads digits after a prefix of two characters.
fn read_digits(signed: &str, unsigned: &str, radix: u32) -> Option<f64> {
    let value = u64::from_str_radix(unsigned.get(2..)?, radix).ok()? as f64;
    Some(if signed.starts_with('-') { -value } else { value })
}

fn may_read_truth(text: &str, truth: bool) -> bool {
    let text = text.trim();
    let known = if truth { TRUE_TEXTS } else { FALSE_TEXTS };
    known.iter().any(|known| known.eq_ignore_ascii_case(text)) || may_read_number(text, f64::from(u8::from(truth)))
}

/// Whether a number is the one that stands for a truth value: 1 or 0.
fn is_truth_number(number: &Number, truth: bool) -> bool {
    number.as_f64() == f64::from(u8::from(truth))
}
