//! Dates as people write them: digits in three orders, months in several languages.

use super::bytes::{Bytes, byte_at, run_end, run_start};
use super::check::parse_digits;

/// Returns the end of the date that starts here.
pub(super) fn find_date(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    if byte_at(bytes, start).is_ascii_digit() {
        find_day_first_date(bytes, start).or_else(|| find_signed_date(bytes, start))
    } else {
        find_month_first_date(bytes, start)
    }
}

/// Returns the end of a date of digits only: `1990-04-05`, `05/04/1990`, `5.4.90`, `19900405`.
pub(super) fn find_numeric_date(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    let (first, first_end) = read_digits(bytes, start)?;
    let mark = byte_at(bytes, first_end);
    if first.len() == 8 && !mark.is_ascii_alphanumeric() {
        let compact = is_day(&first[..4], &first[4..6], &first[6..]) || is_day(&first[4..], &first[2..4], &first[..2]);
        return compact.then_some(first_end);
    }
    if !matches!(mark, b'-' | b'/' | b'.' | b' ') {
        return None;
    }
    let (second, second_end) = read_digits(bytes, skip_mark(bytes, first_end))?;
    if byte_at(bytes, second_end) != mark {
        return None;
    }
    let (third, third_end) = read_digits(bytes, skip_mark(bytes, second_end))?;
    let fits = match (first.len(), third.len()) {
        (4, 1 | 2) => is_day(first, second, third),
        (1 | 2, 4 | 2) => is_day(third, second, first) || is_day(third, first, second),
        _ => false,
    };
    // A time may follow directly, `1990-04-05T00:00`, but no fourth number.
    let continues = byte_at(bytes, third_end) == mark && byte_at(bytes, third_end + 1).is_ascii_digit() && mark != b' ';
    (fits && !continues).then_some(third_end)
}

/// Returns the end of a date with signs for year, month and day: `1990年5月3日`, `1990년 5월 3일`.
fn find_signed_date(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    let mut place = start;
    let mut parts = [&[][..]; 3];
    for (part, signs) in parts.iter_mut().zip([["年", "년"], ["月", "월"], ["日", "일"]]) {
        let (digits, end) = read_digits(bytes, place)?;
        let sign = bytes.part(end..end + 3)?;
        if !signs.iter().any(|known| known.as_bytes() == sign) {
            return None;
        }
        *part = digits;
        place = run_end(bytes, end + 3, 1, |byte| byte == b' ');
    }
    let end = run_start(bytes, place, 1, |byte| byte == b' ');
    (parts[0].len() == 4 && is_day(parts[0], parts[1], parts[2])).then_some(end)
}

fn find_day_first_date(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    if let Some(end) = find_numeric_date(bytes, start) {
        return Some(end);
    }
    // A day and then a month: `5 April 1990`, `5th of April, 1990`, `5. April 1990`, `5 de abril de 1990`, `05-Apr-90`.
    let (day, mut place) = read_digits(bytes, start)?;
    if !matches!(parse_digits(day), 1..=31) || day.len() > 2 {
        return None;
    }
    let ordinal = run_end(bytes, place, 3, |byte| byte.is_ascii_alphabetic());
    if matches!(bytes.get(place..ordinal), Some(b"st" | b"nd" | b"rd" | b"th" | b"er" | b"TH" | b"o")) {
        place = ordinal;
    }
    place = skip_separator(bytes, place);
    let after = read_month(bytes, place)?;
    read_year(bytes, skip_separator(bytes, after))
}

/// Returns the end of a date with a month and then a day: `April 5, 1990`, `Apr 5th 1990`.
fn find_month_first_date(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    let place = skip_separator(bytes, read_month(bytes, start)?);
    let (day, mut place) = read_digits(bytes, place)?;
    if !matches!(parse_digits(day), 1..=31) || day.len() > 2 {
        return None;
    }
    let ordinal = run_end(bytes, place, 3, |byte| byte.is_ascii_alphabetic());
    if matches!(bytes.get(place..ordinal), Some(b"st" | b"nd" | b"rd" | b"th")) {
        place = ordinal;
    }
    read_year(bytes, skip_separator(bytes, place))
}

fn read_year(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    let (year, end) = read_digits(bytes, start)?;
    let fits = match year.len() {
        4 => matches!(parse_digits(year), 1880..=2099),
        // `Feb 22 11:35` has a time where a year would be.
        2 => byte_at(bytes, end) != b':',
        _ => false,
    };
    fits.then_some(end)
}

fn is_day(year: &[u8], month: &[u8], day: &[u8]) -> bool {
    let year_fits = year.len() == 2 || matches!(parse_digits(year), 1880..=2099);
    year_fits
        && month.len() <= 2
        && day.len() <= 2
        && matches!(parse_digits(month), 1..=12)
        && matches!(parse_digits(day), 1..=31)
}

fn read_digits(bytes: Bytes<'_>, start: usize) -> Option<(&[u8], usize)> {
    let end = run_end(bytes, start, 9, |byte| byte.is_ascii_digit());
    bytes.all().get(start..end).filter(|digits| !digits.is_empty()).map(|digits| (digits, end))
}

/// Skips a mark between numbers, and the blank that may follow a point.
fn skip_mark(bytes: Bytes<'_>, place: usize) -> usize {
    place + 1 + usize::from(byte_at(bytes, place) == b'.' && byte_at(bytes, place + 1) == b' ')
}

/// Skips the separators and small words between the parts of a date.
fn skip_separator(bytes: Bytes<'_>, start: usize) -> usize {
    let mut place = run_end(bytes, start, 3, |byte| matches!(byte, b' ' | b',' | b'.' | b'-' | b'/'));
    let word = run_end(bytes, place, 4, |byte| byte.is_ascii_alphabetic());
    if matches!(bytes.get(place..word), Some(b"of" | b"de" | b"del" | b"da")) && byte_at(bytes, word) == b' ' {
        place = word + 1;
    }
    place
}

/// Returns the end of the month name that starts here.
fn read_month(bytes: Bytes<'_>, start: usize) -> Option<usize> {
    const NAMES: &str = " jan january januar janvier enero gennaio januari janeiro feb february februar fevrier febrero \
         febbraio februari fevereiro mar march marz maerz mars marzo maart marco apr april avril abril aprile may mai \
         mayo maggio mei maio jun june juni juin junio giugno junho jul july juli juillet julio luglio julho aug august \
         aout agosto augustus ago sep sept september septembre septiembre settembre setembro oct october oktober okt \
         octobre octubre ottobre outubro nov november novembre noviembre novembro dec december dezember dez decembre \
         diciembre dicembre dezembro ";
    let end = run_end(bytes, start, 11, |byte| byte.is_ascii_alphabetic());
    let mut name = [b' '; 13];
    let length = end - start;
    if length < 3 {
        return None;
    }
    name[1..=length].copy_from_slice(&bytes[start..end]);
    name.make_ascii_lowercase();
    memchr::memmem::find(NAMES.as_bytes(), &name[..length + 2]).map(|_| end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_is_found_in_many_spellings() {
        let dates = [
            "1990-04-05",
            "1990/4/5",
            "05/04/1990",
            "4/5/90",
            "5.4.1990",
            "05. 04. 1990",
            "19900405",
            "05041990",
            "April 5, 1990",
            "Apr 5th 1990",
            "5 April 1990",
            "5th of April, 1990",
            "5. April 1990",
            "5 avril 1990",
            "5 de abril de 1990",
            "05-Apr-1990",
            "1er mars 1980",
            "31 dicembre 1999",
            "1990 04 05",
        ];
        for text in dates {
            assert_eq!(find_date(text.into(), 0), Some(text.len()), "{text}");
        }
        for text in
            ["1990-14-05", "10:30", "5 apples 1990", "April 1990", "12345678", "3.14.15.9", "2024-05", "99/99/99"]
        {
            assert_eq!(find_date(text.into(), 0), None, "{text}");
        }
    }
}
