//! Dates as people write them: digits in three orders, months in several languages.

use super::bytes::{at, run};
use super::check::number;

/// Where the date ends that starts here.
pub(super) fn date(bytes: &[u8], start: usize) -> Option<usize> {
    if at(bytes, start).is_ascii_digit() { from_digits(bytes, start) } else { from_month(bytes, start) }
}

/// Where a date ends that has digits only, if there is one: `1990-04-05`, `05/04/1990`, `5.4.90`, `19900405`.
pub(super) fn in_digits(bytes: &[u8], start: usize) -> Option<usize> {
    let (first, first_end) = digits(bytes, start)?;
    let mark = at(bytes, first_end);
    if first.len() == 8 && !mark.is_ascii_alphanumeric() {
        let compact = is_day(&first[..4], &first[4..6], &first[6..]) || is_day(&first[4..], &first[2..4], &first[..2]);
        return compact.then_some(first_end);
    }
    if !matches!(mark, b'-' | b'/' | b'.' | b' ') {
        return None;
    }
    let (second, second_end) = digits(bytes, after_mark(bytes, first_end))?;
    if at(bytes, second_end) != mark {
        return None;
    }
    let (third, third_end) = digits(bytes, after_mark(bytes, second_end))?;
    let fits = match (first.len(), third.len()) {
        (4, 1 | 2) => is_day(first, second, third),
        (1 | 2, 4 | 2) => is_day(third, second, first) || is_day(third, first, second),
        _ => false,
    };
    // A time may follow right behind, `1990-04-05T00:00`, but no fourth number.
    let goes_on = at(bytes, third_end) == mark && at(bytes, third_end + 1).is_ascii_digit() && mark != b' ';
    (fits && !goes_on).then_some(third_end)
}

fn from_digits(bytes: &[u8], start: usize) -> Option<usize> {
    if let Some(end) = in_digits(bytes, start) {
        return Some(end);
    }
    // A day and then a month: `5 April 1990`, `5th of April, 1990`, `5. April 1990`, `5 de abril de 1990`, `05-Apr-90`.
    let (day, mut place) = digits(bytes, start)?;
    if !matches!(number(day), 1..=31) || day.len() > 2 {
        return None;
    }
    let ordinal = run(bytes, place, 3, |byte| byte.is_ascii_alphabetic());
    if matches!(bytes.get(place..ordinal), Some(b"st" | b"nd" | b"rd" | b"th" | b"er" | b"TH" | b"o")) {
        place = ordinal;
    }
    place = between(bytes, place);
    let after = month(bytes, place)?;
    year(bytes, between(bytes, after))
}

/// A month and then a day: `April 5, 1990`, `Apr 5th 1990`.
fn from_month(bytes: &[u8], start: usize) -> Option<usize> {
    let place = between(bytes, month(bytes, start)?);
    let (day, mut place) = digits(bytes, place)?;
    if !matches!(number(day), 1..=31) || day.len() > 2 {
        return None;
    }
    let ordinal = run(bytes, place, 3, |byte| byte.is_ascii_alphabetic());
    if matches!(bytes.get(place..ordinal), Some(b"st" | b"nd" | b"rd" | b"th")) {
        place = ordinal;
    }
    year(bytes, between(bytes, place))
}

fn year(bytes: &[u8], start: usize) -> Option<usize> {
    let (year, end) = digits(bytes, start)?;
    let fits = match year.len() {
        4 => matches!(number(year), 1880..=2099),
        // `Feb 22 11:35` has a time where a year would be.
        2 => at(bytes, end) != b':',
        _ => false,
    };
    fits.then_some(end)
}

fn is_day(year: &[u8], month: &[u8], day: &[u8]) -> bool {
    let year_fits = year.len() == 2 || matches!(number(year), 1880..=2099);
    year_fits && month.len() <= 2 && day.len() <= 2 && matches!(number(month), 1..=12) && matches!(number(day), 1..=31)
}

fn digits(bytes: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let end = run(bytes, start, 9, |byte| byte.is_ascii_digit());
    bytes.get(start..end).filter(|digits| !digits.is_empty()).map(|digits| (digits, end))
}

/// Behind a mark between numbers, and the blank that may follow a point.
fn after_mark(bytes: &[u8], place: usize) -> usize {
    place + 1 + usize::from(at(bytes, place) == b'.' && at(bytes, place + 1) == b' ')
}

/// Behind what may stand between the parts of a date in words.
fn between(bytes: &[u8], start: usize) -> usize {
    let mut place = run(bytes, start, 3, |byte| matches!(byte, b' ' | b',' | b'.' | b'-' | b'/'));
    let word = run(bytes, place, 4, |byte| byte.is_ascii_alphabetic());
    if matches!(bytes.get(place..word), Some(b"of" | b"de" | b"del" | b"da")) && at(bytes, word) == b' ' {
        place = word + 1;
    }
    place
}

/// Where the name of a month ends that starts here.
fn month(bytes: &[u8], start: usize) -> Option<usize> {
    const NAMES: &str = " jan january januar janvier enero gennaio januari janeiro feb february februar fevrier febrero \
         febbraio februari fevereiro mar march marz maerz mars marzo maart marco apr april avril abril aprile may mai \
         mayo maggio mei maio jun june juni juin junio giugno junho jul july juli juillet julio luglio julho aug august \
         aout agosto augustus ago sep sept september septembre septiembre settembre setembro oct october oktober okt \
         octobre octubre ottobre outubro nov november novembre noviembre novembro dec december dezember dez decembre \
         diciembre dicembre dezembro ";
    let end = run(bytes, start, 11, |byte| byte.is_ascii_alphabetic());
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
    fn dates_are_read_in_many_spellings() {
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
            assert_eq!(date(text.as_bytes(), 0), Some(text.len()), "{text}");
        }
        for text in
            ["1990-14-05", "10:30", "5 apples 1990", "April 1990", "12345678", "3.14.15.9", "2024-05", "99/99/99"]
        {
            assert_eq!(date(text.as_bytes(), 0), None, "{text}");
        }
    }
}
