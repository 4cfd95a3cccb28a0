//! Ids of orders, bookings, tickets and invoices.

use std::ops::Range;

use super::bytes::{Bytes, byte_at, byte_before, is_alnum, is_one_of, run_end, run_start};
use super::date;
use super::gap::Gap;
use super::vocabulary::{UNIT, classify};

/// Returns the id that a word announced, at the end of the gap after it.
pub(super) fn find_announced(bytes: Bytes<'_>, gap: &Gap, is_booking: bool) -> Option<Range<usize>> {
    let start = skip_list_number(bytes, gap.end);
    let end = run_end(bytes, start, 32, |byte| is_alnum(byte) || matches!(byte, b'-' | b'_' | b'/'));
    let end = run_start(bytes, end, end - start, |byte| !is_alnum(byte));
    let id = &bytes[start..end];
    let digits = id.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = id.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let is_fraction = matches!(byte_at(bytes, end), b'.' | b',') && byte_at(bytes, end + 1).is_ascii_digit();
    if digits == 0 || is_fraction && !gap.is_marked || is_date_or_ordinal(bytes, start, end) {
        return None;
    }
    let fits = match gap.is_marked {
        // `code (4 digits)`, `4-digit code`.
        true => digits > 2 || !precedes_unit(bytes, end) && !is_one_of(&id[digits..], &["-digit", "-character"]),
        // Without a mark, what follows may be a count, a year, a flight, a product.
        false if letters == 0 => digits >= 5 && !precedes_unit(bytes, end),
        false => {
            let is_upper = !id.iter().any(u8::is_ascii_lowercase);
            is_upper && id.len() >= 4 && !(is_booking && !gap.is_assigned && is_flight(id))
        }
    };
    fits.then_some(start..end)
}

/// Skips the number of the first item of a list: `ids:`, then `1. **`.
fn skip_list_number(bytes: Bytes<'_>, start: usize) -> usize {
    let end = run_end(bytes, start, 2, |byte| byte.is_ascii_digit());
    match matches!(byte_at(bytes, end), b'.' | b')') && byte_at(bytes, end + 1) == b' ' {
        true => run_end(bytes, end + 2, 4, |byte| !is_alnum(byte)),
        false => start,
    }
}

/// Returns the id around a digit by its `#`: `#A-7421`, `#W2378156`.
pub(super) fn find_signed(bytes: Bytes<'_>, digit: usize) -> Option<Range<usize>> {
    let dash = usize::from(byte_before(bytes, digit, 1) == b'-');
    let letters_end = digit.checked_sub(dash)?;
    let letters = run_start(bytes, letters_end, 5, |byte| byte.is_ascii_uppercase());
    let sign = letters.checked_sub(1).filter(|sign| bytes[*sign] == b'#')?;
    let end = run_end(bytes, digit, 16, |byte| is_alnum(byte) || byte == b'-');
    let end = run_start(bytes, end, end - digit, |byte| byte == b'-');
    let digits = bytes[digit..end].iter().filter(|byte| byte.is_ascii_digit()).count();
    // `#A1B2C3` is a color, `page#L12` a place in a page.
    let is_color = matches!(end - letters, 3 | 6 | 8) && bytes[letters..end].iter().all(u8::is_ascii_hexdigit);
    let stands_alone =
        !is_alnum(byte_before(bytes, sign, 1)) && !matches!(byte_before(bytes, sign, 1), b'/' | b'.' | b'&');
    let fits = matches!(letters_end - letters, 1..=4) && digits >= 3 && !is_color && stands_alone;
    fits.then_some(sign..end)
}

/// Whether the text is a date, a time or an ordinal, which occur where ids do.
fn is_date_or_ordinal(bytes: Bytes<'_>, start: usize, end: usize) -> bool {
    let is_time = byte_at(bytes, end) == b':' && byte_at(bytes, end + 1).is_ascii_digit();
    let tail = &bytes[end.saturating_sub(2).max(start)..end];
    let is_ordinal = is_one_of(tail, &["st", "nd", "rd", "th"]) && end - start <= 4;
    is_time || is_ordinal || date::find_date(bytes, start).is_some() || matches!(byte_at(bytes, end), b'%')
}

/// Whether an id is a flight number: two or three letters and up to four digits.
fn is_flight(id: &[u8]) -> bool {
    let letters = id.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    matches!(letters, 2 | 3) && matches!(id.len() - letters, 1..=4) && id[letters..].iter().all(u8::is_ascii_digit)
}

/// Whether a unit follows: `order 10000 units`.
fn precedes_unit(bytes: Bytes<'_>, end: usize) -> bool {
    let word = run_end(bytes, end, 1, |byte| byte == b' ');
    word > end && classify(&bytes[word..run_end(bytes, word, 12, |byte| byte.is_ascii_alphabetic())]).has(UNIT)
}
