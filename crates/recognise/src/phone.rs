//! Phone numbers.

use std::ops::Range;

use super::bytes::{Bytes, byte_at, is_alnum};
use super::date;
use super::groups::Groups;
use lictor_json::Text;

/// A phone number.
pub(super) struct Phone {
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    /// Its digits; with a plus in front where the country is known.
    pub(super) name: Text,
}

/// The most digits of a number with its country code (ITU-T E.164).
const MAX_DIGITS: usize = 15;

/// Returns the number after a plus, from its first digit.
pub(super) fn find_international(bytes: Bytes<'_>, start: usize) -> Option<Phone> {
    let (first, _) = read_digits(bytes, start, MAX_DIGITS)?;
    let country = find_country(&first)?;
    let (digits, end) = read_digits(bytes, start, country.code + country.most)?;
    let fits = digits.len() >= country.code + country.least && !is_alnum(byte_at(bytes, end));
    fits.then(|| Phone { range: start.saturating_sub(1)..end, name: Text::from(format!("+{digits}")) })
}

/// Returns the number that a word announced.
pub(super) fn find_announced(bytes: Bytes<'_>, start: usize) -> Option<Phone> {
    if byte_at(bytes, start) == b'+' {
        return find_international(bytes, start + 1);
    }
    if date::find_numeric_date(bytes, start).is_some() {
        return None;
    }
    let (digits, end) = read_digits(bytes, start, MAX_DIGITS)?;
    if !matches!(digits.len(), 7..=MAX_DIGITS) || is_alnum(byte_at(bytes, end)) {
        return None;
    }
    let name = match digits.strip_prefix("00") {
        Some(rest) if find_country(rest).is_some() => format!("+{rest}"),
        _ if digits.len() == 10 && is_american(digits.as_bytes()) => format!("+1{digits}"),
        _ if digits.len() == 11 && digits.starts_with('1') && is_american(&digits.as_bytes()[1..]) => {
            format!("+{digits}")
        }
        _ => digits,
    };
    Some(Phone { range: start..end, name: Text::from(name) })
}

/// Returns the number that these groups start with, by its shape alone: `555-123-4567`, `(555) 123-4567`,
/// `06 12 34 56 78`, `07700 900123`.
pub(super) fn find_by_shape(bytes: Bytes<'_>, start: usize, groups: &Groups) -> Option<Phone> {
    let number = |count: usize, start: usize, prefix: &str, skip: usize| {
        let digits = groups.digits(count).get(skip..)?;
        let end = groups.end(count);
        let is_whole =
            !(is_alnum(byte_at(bytes, end)) || byte_at(bytes, end) == b'-' && is_alnum(byte_at(bytes, end + 1)));
        let name = Text::from(format!("{prefix}{}", String::from_utf8_lossy(digits)));
        is_whole.then_some(Phone { range: start..end, name })
    };
    if groups.starts_with(&[3, 3, 4])
        && is_american(groups.digits(3))
        && groups.has_same_marks(3)
        && matches!(groups.mark(0), b'-' | b'.')
    {
        let has_one = matches!(start.checked_sub(2).and_then(|two| bytes.get(two..start)), Some(b"1-" | b"1."));
        return number(3, if has_one { start - 2 } else { start }, "+1", 0);
    }
    if groups.starts_with(&[2, 2, 2, 2, 2]) && groups.has_same_marks(5) && matches!(groups.mark(0), b' ' | b'.' | b'-')
    {
        let digits = groups.digits(5);
        let is_french = digits[0] == b'0' && digits[1] != b'0' && groups.length(5) == 0;
        return if is_french { number(5, start, "+33", 1) } else { None };
    }
    let is_british = groups.starts_with(&[5, 6]) && groups.digits(1).starts_with(b"07") && groups.mark(0) == b' ';
    is_british.then(|| number(2, start, "+44", 1)).flatten()
}

/// Returns `(555) 123-4567`, from the first digit.
pub(super) fn find_in_brackets(bytes: Bytes<'_>, start: usize) -> Option<Phone> {
    if byte_at(bytes, start + 3) != b')' {
        return None;
    }
    let (digits, end) = read_digits(bytes, start, 10)?;
    let fits = digits.len() == 10 && is_american(digits.as_bytes()) && !is_alnum(byte_at(bytes, end));
    fits.then(|| Phone { range: start.saturating_sub(1)..end, name: Text::from(format!("+1{digits}")) })
}

/// Returns the digits of a number as they are dialed; none if the text has too few.
pub(super) fn normalize(text: &str) -> Option<Text> {
    let start = text.bytes().position(|byte| byte.is_ascii_digit() || byte == b'+')?;
    find_announced(text.into(), start).map(|phone| phone.name)
}

/// Reads at most so many digits with their separators; returns them and where they end.
fn read_digits(bytes: Bytes<'_>, start: usize, most: usize) -> Option<(String, usize)> {
    let mut digits = String::new();
    let (mut place, mut end) = (start, start);
    while digits.len() < most {
        match byte_at(bytes, place) {
            digit @ b'0'..=b'9' => {
                digits.push(digit as char);
                end = place + 1;
            }
            b' ' | b'-' | b'.' | b'(' | b')' | b'/' if place - end < 2 && !digits.is_empty() => {
                // A point with a blank after it ends a sentence.
                if byte_at(bytes, place) == b'.' && byte_at(bytes, place + 1) == b' ' {
                    break;
                }
            }
            _ => break,
        }
        place += 1;
    }
    (!digits.is_empty()).then_some((digits, end))
}

/// Whether digits are a North American number: neither the area nor the exchange starts with 0 or 1.
fn is_american(digits: &[u8]) -> bool {
    digits.len() == 10 && digits[0] > b'1' && digits[3] > b'1' && digits[1..3] != *b"11"
}

/// The shape of a country's numbers.
struct Country {
    /// How many digits its code has.
    code: usize,
    /// How many digits follow at least.
    least: usize,
    /// How many digits follow at most.
    most: usize,
}

/// Returns the country whose code a number starts with.
fn find_country(digits: &str) -> Option<Country> {
    const TWO_DIGIT_CODES: &str = " 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 \
         66 81 82 84 86 90 91 92 93 94 95 98 ";
    /// The countries whose numbers have fewer digits at most.
    const MAX_DIGITS_BY_CODE: &[(&str, usize)] = &[
        ("30", 10),
        ("31", 9),
        ("32", 9),
        ("33", 9),
        ("34", 9),
        ("36", 9),
        ("39", 10),
        ("40", 9),
        ("41", 9),
        ("44", 10),
        ("45", 8),
        ("46", 9),
        ("47", 8),
        ("48", 9),
        ("49", 11),
        ("52", 10),
        ("55", 11),
        ("61", 9),
        ("81", 10),
        ("86", 11),
        ("90", 10),
        ("91", 10),
        ("351", 9),
        ("353", 9),
        ("358", 10),
        ("380", 9),
        ("420", 9),
    ];
    if digits.starts_with(['1', '7']) {
        return Some(Country { code: 1, least: 10, most: 10 });
    }
    if digits.starts_with('0') {
        return None;
    }
    let has_two = digits.get(..2).is_some_and(|two| TWO_DIGIT_CODES.split(' ').any(|code| code == two));
    let code = if has_two { 2 } else { 3 };
    let most = MAX_DIGITS_BY_CODE
        .iter()
        .find(|(known, _)| digits.get(..code) == Some(known))
        .map_or(MAX_DIGITS - code, |(_, most)| *most);
    Some(Country { code, least: 6, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phone_number_is_normalized() {
        for text in ["+1 (555) 234-5678", "+15552345678", "+1.555.234.5678", "+1-555-234-5678 2024-05-20"] {
            assert_eq!(
                find_announced(text.into(), 0).map(|phone| phone.name).as_deref(),
                Some("+15552345678"),
                "{text}"
            );
        }
        for (text, name) in [
            ("0049 151 23456789", "+4915123456789"),
            ("555-234-5678", "+15552345678"),
            ("030/1234567", "0301234567"),
            ("+33 6 12 34 56 78 42", "+33612345678"),
        ] {
            assert_eq!(find_announced(text.into(), 0).map(|phone| phone.name).as_deref(), Some(name), "{text}");
        }
    }

    #[test]
    fn phone_lookalikes_are_not_found() {
        for text in ["2024-05-20", "12345", "+0200", "+12", "+1 5552", "12:30", "1234567890123456"] {
            assert!(find_announced(text.into(), 0).is_none(), "{text}");
        }
    }
}
