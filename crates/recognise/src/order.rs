//! Ids of orders, bookings, tickets and invoices.

use std::ops::Range;

use super::bytes::{at, before, is_alnum, is_one_of, run, run_back};
use super::date;
use super::gap::Gap;
use super::vocabulary::{UNIT, classes};

/// Where the id ends that a word announced, at the end of the gap behind it.
pub(super) fn announced(bytes: &[u8], gap: &Gap, is_booking: bool) -> Option<Range<usize>> {
    let start = after_list_number(bytes, gap.end);
    let end = run(bytes, start, 32, |byte| is_alnum(byte) || matches!(byte, b'-' | b'_' | b'/'));
    let end = run_back(bytes, end, end - start, |byte| !is_alnum(byte));
    let id = &bytes[start..end];
    let digits = id.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = id.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let is_fraction = matches!(at(bytes, end), b'.' | b',') && at(bytes, end + 1).is_ascii_digit();
    if digits == 0 || is_fraction && !gap.is_marked || is_other(bytes, start, end) {
        return None;
    }
    let fits = match gap.is_marked {
        // `code (4 digits)`, `4-digit code`.
        true => digits > 2 || !counts_something(bytes, end) && !is_one_of(&id[digits..], &["-digit", "-character"]),
        // Without a mark, what follows may be a count, a year, a flight, a product.
        false if letters == 0 => digits >= 5 && !counts_something(bytes, end),
        false => {
            let is_upper = !id.iter().any(u8::is_ascii_lowercase);
            is_upper && id.len() >= 4 && !(is_booking && !gap.is_assigned && is_flight(id))
        }
    };
    fits.then_some(start..end)
}

/// Behind the number of the first item of a list: `ids:`, then `1. **`.
fn after_list_number(bytes: &[u8], start: usize) -> usize {
    let end = run(bytes, start, 2, |byte| byte.is_ascii_digit());
    match matches!(at(bytes, end), b'.' | b')') && at(bytes, end + 1) == b' ' {
        true => run(bytes, end + 2, 4, |byte| !is_alnum(byte)),
        false => start,
    }
}

/// The id around a digit that shows itself by its sign: `#A-7421`, `#W2378156`.
pub(super) fn signed(bytes: &[u8], digit: usize) -> Option<Range<usize>> {
    let dash = usize::from(before(bytes, digit, 1) == b'-');
    let letters_end = digit.checked_sub(dash)?;
    let letters = run_back(bytes, letters_end, 5, |byte| byte.is_ascii_uppercase());
    let sign = letters.checked_sub(1).filter(|sign| bytes[*sign] == b'#')?;
    let end = run(bytes, digit, 16, |byte| is_alnum(byte) || byte == b'-');
    let end = run_back(bytes, end, end - digit, |byte| byte == b'-');
    let digits = bytes[digit..end].iter().filter(|byte| byte.is_ascii_digit()).count();
    // `#A1B2C3` is a color, `page#L12` a place in a page.
    let is_color = matches!(end - letters, 3 | 6 | 8) && bytes[letters..end].iter().all(u8::is_ascii_hexdigit);
    let stands_alone = !is_alnum(before(bytes, sign, 1)) && !matches!(before(bytes, sign, 1), b'/' | b'.' | b'&');
    let fits = matches!(letters_end - letters, 1..=4) && digits >= 3 && !is_color && stands_alone;
    fits.then_some(sign..end)
}

/// Dates, times and ordinals, which stand where ids stand.
fn is_other(bytes: &[u8], start: usize, end: usize) -> bool {
    let is_time = at(bytes, end) == b':' && at(bytes, end + 1).is_ascii_digit();
    let tail = &bytes[end.saturating_sub(2).max(start)..end];
    let is_ordinal = is_one_of(tail, &["st", "nd", "rd", "th"]) && end - start <= 4;
    is_time || is_ordinal || date::date(bytes, start).is_some() || matches!(at(bytes, end), b'%')
}

/// `HAT123`, `LH 400`: two or three letters and up to four digits.
fn is_flight(id: &[u8]) -> bool {
    let letters = id.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    matches!(letters, 2 | 3) && matches!(id.len() - letters, 1..=4) && id[letters..].iter().all(u8::is_ascii_digit)
}

/// Whether a small word follows: `order 10000 units`.
fn counts_something(bytes: &[u8], end: usize) -> bool {
    let word = run(bytes, end, 1, |byte| byte == b' ');
    word > end && classes(&bytes[word..run(bytes, word, 12, |byte| byte.is_ascii_alphabetic())]).has(UNIT)
}
