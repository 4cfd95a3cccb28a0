//! Phone numbers.

use std::ops::Range;

use super::bytes::{Bytes, byte_at, byte_before, is_alnum, is_blank, run_end, starts_with_at};
use super::country::{MAX_DIGITS, find_country};
use super::groups::Groups;
use super::{Confidence, date};
use lictor_json::Text;

/// A phone number.
pub(super) struct Phone {
    /// Its bytes in the text, with its extension.
    pub(super) range: Range<usize>,
    /// Its digits; with a plus in front where the country is known.
    pub(super) name: Text,
    /// How sure it is that this is a phone number.
    pub(super) confidence: Confidence,
}

/// How many digits a number has that a weak word announces, like `call`: fewer may be a count or a room.
const WEAKLY_ANNOUNCED_DIGITS: Range<usize> = 8..14;

/// Returns the number after a plus, from its first digit.
pub(super) fn find_international(bytes: Bytes<'_>, start: usize) -> Option<Phone> {
    let (first, _) = read_digits(bytes, start, MAX_DIGITS, ZeroInBrackets::Skipped)?;
    let country = find_country(&first)?;
    let has_zero = country.has_trunk_zero && first.as_bytes().get(country.code) == Some(&b'0');
    let brackets = if country.keeps_zero { ZeroInBrackets::Dialed } else { ZeroInBrackets::Skipped };
    let (digits, end) = read_digits(bytes, start, country.code + country.most + usize::from(has_zero), brackets)?;
    let (code, rest) = digits.split_at_checked(country.code)?;
    let rest = if has_zero { rest.get(1..)? } else { rest };
    let end = skip_extension(bytes, end);
    let fits = rest.len() >= country.least && !is_alnum(byte_at(bytes, end));
    fits.then(|| Phone {
        range: start.saturating_sub(1)..end,
        name: Text::from(format!("+{code}{rest}")),
        confidence: Confidence::High,
    })
}

/// Returns the number that a word announced.
pub(super) fn find_announced(bytes: Bytes<'_>, start: usize) -> Option<Phone> {
    if byte_at(bytes, start) == b'+' {
        return find_international(bytes, start + 1);
    }
    if is_date(bytes, start) {
        return None;
    }
    let (digits, end) = read_digits(bytes, start, MAX_DIGITS, ZeroInBrackets::Skipped)?;
    let end = skip_extension(bytes, end);
    if !matches!(digits.len(), 7..=MAX_DIGITS) || is_alnum(byte_at(bytes, end)) {
        return None;
    }
    if digits.starts_with("00")
        && let Some(phone) = find_international(bytes, start + 2)
    {
        return Some(Phone { range: start..phone.range.end, confidence: Confidence::Medium, ..phone });
    }
    let name = match find_american_groups(bytes, start) {
        Some(rest) if digits.ends_with(&rest) => format!("+1{rest}"),
        _ => digits,
    };
    Some(Phone { range: start..end, name: Text::from(name), confidence: Confidence::Medium })
}

/// Returns the ten digits of a North American number, by its groups: `555-234-5678`, `(555) 234 5678`, `1 555 234 5678`.
/// Ten digits in other groups, or in none, are those of many countries.
fn find_american_groups(bytes: Bytes<'_>, start: usize) -> Option<String> {
    let mut groups: Vec<&[u8]> = Vec::new();
    let mut place = start;
    while groups.len() < 5 {
        let end = run_end(bytes, place, MAX_DIGITS, |byte| byte.is_ascii_digit());
        let group = bytes.all().get(place..end).filter(|group| !group.is_empty());
        let Some(group) = group else { break };
        groups.push(group);
        place = run_end(bytes, end, 2, |byte| matches!(byte, b' ' | b'-' | b'.' | b'(' | b')' | b'/'));
        if place == end {
            break;
        }
    }
    let groups = if groups.first() == Some(&&b"1"[..]) { &groups[1..] } else { &groups[..] };
    let digits = groups.concat();
    let fits = groups.iter().map(|group| group.len()).eq([3, 3, 4]) && is_american(&digits);
    fits.then(|| String::from_utf8_lossy(&digits).into_owned())
}

/// Whether the number that starts here is a date. Of pairs with blanks in between, more than three are none.
fn is_date(bytes: Bytes<'_>, start: usize) -> bool {
    date::find_numeric_date(bytes, start).is_some_and(|end| {
        let is_in_pairs = end - start == 8 && byte_at(bytes, start + 2) == b' ' && byte_at(bytes, start + 5) == b' ';
        !(is_in_pairs && byte_at(bytes, end) == b' ' && byte_at(bytes, end + 1).is_ascii_digit())
    })
}

/// Returns the number that a weak word announced: one for a call or for any number. It must look like one that is
/// dialed: a zero in front, the shape of a North American number, or three groups and more.
pub(super) fn find_weakly_announced(bytes: Bytes<'_>, start: usize) -> Option<Phone> {
    let (digits, _) = read_digits(bytes, start, MAX_DIGITS, ZeroInBrackets::Skipped)?;
    let groups = Groups::read(bytes, start);
    // The largest numbers of 32 bits have the shape of North American ones.
    let is_bound = matches!(digits.as_str(), "2147483647" | "2147483648" | "4294967295" | "4294967296");
    let is_dialed = digits.starts_with('0') && !digits.starts_with("000")
        || digits.len() == 10 && is_american(digits.as_bytes())
        || groups.count() > 2 && groups.has_same_marks(groups.count()) && groups.length(0) < 4;
    if !is_dialed || is_bound || !WEAKLY_ANNOUNCED_DIGITS.contains(&digits.len()) {
        return None;
    }
    let start = start - usize::from(byte_before(bytes, start, 1) == b'(');
    let phone = find_announced(bytes, run_end(bytes, start, 1, |byte| byte == b'('))?;
    Some(Phone { range: start..phone.range.end, confidence: Confidence::Low, ..phone })
}

/// Returns the number that these groups start with, by its shape alone: `555-123-4567`, `06 12 34 56 78`,
/// `07700 900123`, `0170 1234567`, `001-555-123-4567`.
pub(super) fn find_by_shape(bytes: Bytes<'_>, start: usize, groups: &Groups) -> Option<Phone> {
    let number = |count: usize, start: usize, prefix: &str, skip: usize, confidence: Confidence| {
        let digits = groups.digits(count).get(skip..)?;
        let end = skip_extension(bytes, groups.end(count));
        let is_whole =
            !(is_alnum(byte_at(bytes, end)) || byte_at(bytes, end) == b'-' && is_alnum(byte_at(bytes, end + 1)));
        let name = Text::from(format!("{prefix}{}", String::from_utf8_lossy(digits)));
        is_whole.then_some(Phone { range: start..end, name, confidence })
    };
    if groups.starts_with(&[3, 3, 4])
        && is_american(groups.digits(3))
        && groups.has_same_marks(3)
        && matches!(groups.mark(0), b'-' | b'.')
    {
        let has_one = matches!(start.checked_sub(2).and_then(|two| bytes.get(two..start)), Some(b"1-" | b"1."));
        return number(3, if has_one { start - 2 } else { start }, "+1", 0, Confidence::Medium);
    }
    if groups.starts_with(&[2, 2, 2, 2, 2]) && groups.has_same_marks(5) && matches!(groups.mark(0), b' ' | b'.' | b'-')
    {
        let digits = groups.digits(5);
        let is_french = digits[0] == b'0' && digits[1] != b'0' && groups.length(5) == 0;
        return if is_french { number(5, start, "+33", 1, Confidence::Medium) } else { None };
    }
    if groups.starts_with(&[5, 6]) && groups.digits(1).starts_with(b"07") && groups.mark(0) == b' ' {
        return number(2, start, "+44", 1, Confidence::Medium);
    }
    // The rest of a longer number in groups is none: `86 095 742 719`.
    let is_rest = !is_alnum(byte_before(bytes, start, 1)) && byte_before(bytes, start, 2).is_ascii_digit();
    if let Some(count) = count_national_groups(groups).filter(|_| !is_rest) {
        return number(count, start, "", 0, Confidence::Low);
    }
    find_double_zero(bytes, start, groups)
}

/// Returns how many groups are a number with the zero that is dialed within most countries.
fn count_national_groups(groups: &Groups) -> Option<usize> {
    /// The digits of each group, as numbers are printed in Europe, Africa and Oceania.
    const SHAPES: &[&[usize]] = &[
        &[2, 7],
        &[2, 8],
        &[3, 6],
        &[3, 7],
        &[3, 8],
        &[4, 5],
        &[4, 6],
        &[4, 7],
        &[4, 8],
        &[5, 5],
        &[5, 6],
        &[5, 7],
        &[2, 4, 4],
        &[3, 3, 3],
        &[3, 3, 4],
        &[3, 4, 4],
        &[4, 3, 3],
        &[4, 3, 4],
        &[5, 3, 3],
        &[3, 3, 2, 2],
        &[3, 2, 2, 2],
        &[4, 2, 2, 2],
        &[4, 3, 2, 2],
        &[5, 2, 2, 2],
    ];
    let digits = groups.digits(1);
    let is_dialed = digits.len() > 1 && digits[0] == b'0' && digits[1] != b'0';
    let fits = |shape: &[usize]| {
        groups.starts_with(shape)
            && groups.count() == shape.len()
            && groups.has_same_marks(shape.len())
            && matches!(groups.mark(0), b' ' | b'-' | b'/')
    };
    SHAPES.iter().find(|shape| is_dialed && fits(shape)).map(|shape| shape.len())
}

/// Returns a number in groups whose first starts with `00` and the code of a country.
fn find_double_zero(bytes: Bytes<'_>, start: usize, groups: &Groups) -> Option<Phone> {
    let head = groups.digits(1);
    // `00 44 161 496 0345`
    if head == b"00" && groups.count() > 2 && groups.mark(0) == b' ' {
        let phone = find_international(bytes, groups.end(1) + 1)?;
        return Some(Phone { range: start..phone.range.end, confidence: Confidence::Medium, ..phone });
    }
    if !(head.starts_with(b"00") && matches!(head.len(), 3..=5) && head.get(2) != Some(&b'0') && groups.count() > 1) {
        return None;
    }
    let phone = find_international(bytes, start + 2)?;
    Some(Phone { range: start..phone.range.end, confidence: Confidence::Medium, ..phone })
}

/// Returns `(555) 123-4567` or `(030) 1234567`, from the first digit.
pub(super) fn find_in_brackets(bytes: Bytes<'_>, start: usize) -> Option<Phone> {
    let close = run_end(bytes, start, 6, |byte| byte.is_ascii_digit());
    if byte_at(bytes, close) != b')' {
        return None;
    }
    let is_dialed = byte_at(bytes, start) == b'0' && byte_at(bytes, start + 1) != b'0';
    let (digits, end) = read_digits(bytes, start, if is_dialed { 12 } else { 10 }, ZeroInBrackets::Skipped)?;
    let end = skip_extension(bytes, end);
    if is_alnum(byte_at(bytes, end)) {
        return None;
    }
    let range = start.saturating_sub(1)..end;
    if close - start == 3 && digits.len() == 10 && is_american(digits.as_bytes()) {
        return Some(Phone { range, name: Text::from(format!("+1{digits}")), confidence: Confidence::Medium });
    }
    let fits = is_dialed && matches!(close - start, 2..=5) && digits.len() >= 8;
    fits.then(|| Phone { range, name: Text::from(digits), confidence: Confidence::Low })
}

/// Returns the digits of a number as they are dialed; none if the text has too few.
pub(super) fn normalize(text: &str) -> Option<Text> {
    let start = text.bytes().position(|byte| byte.is_ascii_digit() || byte == b'+')?;
    find_announced(text.into(), start).map(|phone| phone.name)
}

/// What `(0)` within a number means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ZeroInBrackets {
    /// It is dialed only if the country code is left out.
    Skipped,
    /// It belongs to the number.
    Dialed,
}

/// Reads at most so many digits with their separators; returns them and where they end.
fn read_digits(bytes: Bytes<'_>, start: usize, most: usize, zero: ZeroInBrackets) -> Option<(String, usize)> {
    let mut digits = String::new();
    let (mut place, mut end, mut separators) = (start, start, 0);
    while digits.len() < most {
        match byte_at(bytes, place) {
            digit @ b'0'..=b'9' => {
                digits.push(digit as char);
                end = place + 1;
                separators = 0;
            }
            b'(' if !digits.is_empty() && separators < 2 && starts_with_at(bytes, place, "(0)") => {
                if zero == ZeroInBrackets::Dialed {
                    digits.push('0');
                }
                place += 2;
                separators = 0;
            }
            b' ' if !digits.is_empty() && separators == 0 && starts_with_at(bytes, place, " / ") => {
                place += 2;
                separators = 2;
            }
            b' ' | b'-' | b'.' | b'(' | b')' | b'/' if separators < 2 && !digits.is_empty() => {
                // A point with a blank after it ends a sentence.
                if byte_at(bytes, place) == b'.' && byte_at(bytes, place + 1) == b' ' {
                    break;
                }
                separators += 1;
            }
            _ => break,
        }
        place += 1;
    }
    (!digits.is_empty()).then_some((digits, end))
}

/// Returns where the extension after a number ends: `x123`, ` ext. 45`; the end of the number if there is none.
fn skip_extension(bytes: Bytes<'_>, end: usize) -> usize {
    let mark = run_end(bytes, end, 1, is_blank);
    if byte_at(bytes, mark) | 0x20 != b'x' && byte_at(bytes, mark) | 0x20 != b'e' {
        return end;
    }
    let Some(word) = ["x", "ext"].into_iter().find(|word| starts_with_at(bytes, mark, word)) else { return end };
    let digits = run_end(bytes, mark + word.len(), 2, |byte| matches!(byte, b'.' | b' '));
    let after = run_end(bytes, digits, 6, |byte| byte.is_ascii_digit());
    if after > digits && !is_alnum(byte_at(bytes, after)) { after } else { end }
}

/// Whether digits are a North American number: neither the area nor the exchange starts with 0 or 1.
fn is_american(digits: &[u8]) -> bool {
    digits.len() == 10 && digits[0] > b'1' && digits[3] > b'1' && digits[1..3] != *b"11"
}

#[cfg(test)]
mod tests;
