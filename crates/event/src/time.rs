//! Times as logs write them.
//!
//! Nearly every log writes `2026-05-01T10:00:03.25Z`; that shape is parsed in a few nanoseconds. Any other goes to a
//! full parser, which agrees with the fast one on all that both read.

use lictor_json::Number;
use lictor_logic::Time;

/// Nanoseconds in a second.
const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

/// From which number on a time since 1970 counts milliseconds: as seconds it is in the year 5138.
const MILLISECONDS_FROM: f64 = 1e11;
/// From which number on a time since 1970 counts microseconds.
const MICROSECONDS_FROM: f64 = 1e14;
/// From which number on a time since 1970 counts nanoseconds.
const NANOSECONDS_FROM: f64 = 1e17;

/// Returns the time that an RFC 3339 text names. None without an offset from UTC, since the clock is unknown then.
pub fn parse_time(text: &str) -> Option<Time> {
    parse_common(text.as_bytes()).or_else(|| {
        let moment: jiff::Timestamp = text.trim().parse().ok()?;
        i64::try_from(moment.as_nanosecond()).ok().map(Time)
    })
}

/// Returns the time that a number since 1970 means. Its size tells the unit: seconds, milliseconds, microseconds or
/// nanoseconds. None for a number beyond the times that fit.
pub fn time_since_1970(number: &Number) -> Option<Time> {
    let size = number.as_f64().abs();
    let unit: i64 = match size {
        _ if size < MILLISECONDS_FROM => NANOSECONDS_PER_SECOND,
        _ if size < MICROSECONDS_FROM => 1_000_000,
        _ if size < NANOSECONDS_FROM => 1_000,
        _ if size < i64::MAX as f64 => 1,
        _ => return None,
    };
    match number.to_nearest() {
        Number::Integer(value) => value.checked_mul(unit).map(Time),
        // The fraction apart, so that the whole part stays exact.
        Number::Float(value) => {
            let fraction = (value.fract() * unit as f64).round() as i64;
            (value.trunc() as i64).checked_mul(unit)?.checked_add(fraction).map(Time)
        }
        Number::Wide(..) | Number::Long(_) => None,
    }
}

/// Returns a time in RFC 3339, in UTC.
pub fn write_time(time: Time) -> String {
    let moment = jiff::Timestamp::from_nanosecond(i128::from(time.0));
    moment.map_or_else(|_| time.0.to_string(), |moment| moment.to_string())
}

/// Parses `YYYY-MM-DDThh:mm:ss`, up to nine decimals, and `Z` or `+hh:mm`.
fn parse_common(text: &[u8]) -> Option<Time> {
    let (moment, rest) = text.split_first_chunk::<19>()?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if marks.iter().any(|&(place, mark)| moment[place] != mark) {
        return None;
    }
    let two = |place: usize| parse_two_digits(moment[place], moment[place + 1]);
    let (year, month, day) = (two(0)? * 100 + two(2)?, two(5)?, two(8)?);
    let (hour, minute, second) = (two(11)?, two(14)?, two(17)?);
    if !(1..=12).contains(&month)
        || day < 1
        || day > days_in_month(year, month)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let (fraction, zone) = match rest.split_first()? {
        (b'.', decimals) => parse_fraction(decimals)?,
        _ => (0, rest),
    };
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - parse_offset(zone)?;
    seconds.checked_mul(NANOSECONDS_PER_SECOND)?.checked_add(fraction).map(Time)
}

/// Returns the number of two digits.
fn parse_two_digits(tens: u8, ones: u8) -> Option<i64> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| i64::from(tens) * 10 + i64::from(ones))
}

/// Returns the nanoseconds of up to nine decimals, and the bytes after them.
fn parse_fraction(decimals: &[u8]) -> Option<(i64, &[u8])> {
    let length = decimals.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 || length > 9 {
        return None;
    }
    let (digits, rest) = decimals.split_at(length);
    let value = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some(((length..9).fold(value, |value, _| value * 10), rest))
}

/// Returns how many seconds a clock is ahead of UTC.
fn parse_offset(zone: &[u8]) -> Option<i64> {
    match *zone {
        [b'Z'] => Some(0),
        [sign @ (b'+' | b'-'), h, hh, b':', m, mm] => {
            let (hours, minutes) = (parse_two_digits(h, hh)?, parse_two_digits(m, mm)?);
            let seconds = hours * 3600 + minutes * 60;
            (hours <= 23 && minutes <= 59).then_some(if sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days since the first of January 1970, by Hinnant's algorithm: years begin in March, so that the leap day
/// is last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse_by_jiff(text: &str) -> Option<Time> {
        let moment: jiff::Timestamp = text.parse().ok()?;
        i64::try_from(moment.as_nanosecond()).ok().map(Time)
    }

    proptest! {
        #[test]
        fn time_fast_parser_agrees_with_full_parser(
            year in 0..2400u32, month in 0..14u32, day in 0..33u32, hour in 0..25u32, minute in 0..61u32,
            second in 0..61u32, decimals in "(\\.[0-9]{1,9})?", zone in "Z|[+-](0[0-9]|1[0-9]|2[0-5]):[0-6][0-9]",
        ) {
            let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{decimals}{zone}");
            if let Some(time) = parse_common(text.as_bytes()) {
                prop_assert_eq!(Some(time), parse_by_jiff(&text));
            } else {
                prop_assert_eq!(parse_time(&text), parse_by_jiff(&text));
            }
        }

        #[test]
        fn time_written_reads_back(nanoseconds in any::<i64>()) {
            prop_assert_eq!(parse_time(&write_time(Time(nanoseconds))), Some(Time(nanoseconds)));
        }
    }

    #[test]
    fn time_number_unit_is_told_by_size() {
        let expected = Some(Time(1_777_885_200_250_000_000));
        for number in [
            Number::Float(1_777_885_200.25),
            Number::Integer(1_777_885_200_250),
            Number::Integer(1_777_885_200_250_000),
            Number::Integer(1_777_885_200_250_000_000),
        ] {
            assert_eq!(time_since_1970(&number), expected, "{number}");
        }
        assert_eq!(time_since_1970(&Number::Float(1e19)), None);
        assert_eq!(time_since_1970(&Number::Integer(-1)), Some(Time::from_seconds(-1)));
    }

    #[test]
    fn time_accepts_rfc3339_spellings() {
        assert_eq!(parse_time("1970-01-01T00:00:01Z"), Some(Time::from_seconds(1)));
        assert_eq!(parse_time("1970-01-01T01:00:00.5+01:00"), Some(Time(NANOSECONDS_PER_SECOND / 2)));
        assert_eq!(parse_time("1970-01-01 00:00:01z"), Some(Time::from_seconds(1)));
        assert_eq!(parse_time("2000-02-29T00:00:00Z"), Some(Time::from_seconds(951_782_400)));
    }

    #[test]
    fn time_without_offset_or_date_is_none() {
        for text in
            ["", "yesterday", "2026-05-01", "2026-05-01T10:00:03", "2026-02-30T00:00:00Z", "9999-01-01T00:00:00Z"]
        {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
