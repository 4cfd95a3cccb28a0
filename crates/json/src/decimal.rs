//! Decimals that no float tells apart from their neighbors, and the one form of a decimal by which numbers are compared.
//!
//! `0.1` and `0.10000000000000001` have the same nearest float. Tools that read decimals receive two numbers, so an approval
//! of one is none of the other.

use crate::Text;
use compact_str::format_compact;

/// A decimal that is not how its nearest float is written.
#[derive(Clone, Debug)]
pub struct LongDecimal {
    nearest: f64,
    text: Box<str>,
}

impl LongDecimal {
    /// Returns the decimal of a JSON number; none if its nearest float is written as the same decimal.
    pub(crate) fn new(nearest: f64, text: &str) -> Option<LongDecimal> {
        let is_same = normalize(text) == normalize(zmij::Buffer::new().format_finite(nearest));
        (!is_same).then(|| LongDecimal { nearest, text: text.into() })
    }

    /// Returns the nearest float.
    pub fn nearest(&self) -> f64 {
        self.nearest
    }

    /// Returns the decimal as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for LongDecimal {
    fn eq(&self, other: &LongDecimal) -> bool {
        normalize(&self.text) == normalize(&other.text)
    }
}

/// A text of at most so many bytes has fifteen digits or fewer beside its point: no other decimal as short is this float.
const MAX_SURE_TEXT: usize = 16;

/// Returns a finite float as Rust lays it out, with the digits of other JSON writers: the fewest that are read as this float.
/// Where two such decimals are equally near, as `2.9802322387695312e-8` and `…3e-8` are to 2^-25, Rust takes the upper and they
/// take the even one, so a float that is written and read would else become a long decimal.
pub(crate) fn write_float(value: f64) -> Text {
    let text = format_compact!("{value:?}");
    if text.len() <= MAX_SURE_TEXT {
        return text;
    }
    let mut buffer = zmij::Buffer::new();
    let even = buffer.format_finite(value);
    if normalize(&text) == normalize(even) { text } else { even.into() }
}

/// Returns the one form of a decimal: its digits without zeros at either end, and a power of ten. `1.50` and `15e-1` both
/// become `15e-1`. A decimal whose power of ten does not fit 64 bits stays as it is written.
pub(crate) fn normalize(text: &str) -> Text {
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |unsigned| ("-", unsigned));
    let (mantissa, power) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_zero = |digit: char| digit == '0';
    let digits = format_compact!("{whole}{decimals}");
    let digits = digits.trim_start_matches(is_zero);
    let short = digits.trim_end_matches(is_zero);
    if short.is_empty() {
        return Text::const_new("0");
    }
    let shift = (digits.len() - short.len()) as i64 - decimals.len() as i64;
    match power.parse::<i64>().ok().and_then(|power| power.checked_add(shift)) {
        Some(power) => format_compact!("{sign}{short}e{power}"),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_has_one_form() {
        let cases = [
            ("15e-1", ["1.5", "1.50", "15E-1", "0.15e+1", "0.0150e2"]),
            ("1e0", ["1", "1.0", "1e0", "10e-1", "0.1e1"]),
            ("0", ["0", "-0", "0.000", "0e5", "0e99999999999999999999"]),
            ("-12e2", ["-1200", "-1200.0", "-12e2", "-1.2e3", "-0.012E5"]),
            (
                "9007199254740993e0",
                [
                    "9007199254740993",
                    "9007199254740993.0",
                    "9007199254740993e0",
                    "9.007199254740993e15",
                    "90071992547409930e-1",
                ],
            ),
        ];
        for (form, texts) in cases {
            for text in texts {
                assert_eq!(normalize(text), form, "{text}");
            }
        }
    }

    #[test]
    fn float_between_decimals_takes_the_even_one() {
        let ties = [
            (2f64.powi(-25), "2.9802322387695312e-8"),
            (2f64.powi(50) + 0.25, "1125899906842624.2"),
            (97_691_119_162_302.0 + 0.625, "97691119162302.62"),
        ];
        for (value, text) in ties {
            assert_eq!(write_float(value), text);
            assert!(LongDecimal::new(value, text).is_none(), "{text}");
        }
        assert!(LongDecimal::new(2f64.powi(50) + 0.25, "1125899906842624.3").is_some(), "another decimal");
        let others = [(1e-5, "1e-5"), (1e16, "1e16"), (-0.0, "-0.0"), (0.1, "0.1"), (0.1 + 0.2, "0.30000000000000004")];
        for (value, text) in others {
            assert_eq!(write_float(value), text);
        }
    }

    #[test]
    fn decimal_with_huge_power_stays_as_written() {
        let texts = ["1e-99999999999999999999", "1e-99999999999999999998", "1.5e-9223372036854775808"];
        for text in texts {
            assert_eq!(normalize(text), text);
        }
    }
}
