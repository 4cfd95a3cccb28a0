//! Timestamps and durations.

use jiff::tz::Offset;
use lictor_logic::Time;

/// A field of a timestamp, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeField {
    FullYear,
    Month,
    Date,
    DayOfMonth,
    DayOfWeek,
    DayOfYear,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

/// The units of lengths of time, in nanoseconds.
const DURATION_UNITS: [(&str, i64); 8] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("ms", 1_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

impl TimeField {
    /// Returns the part of a moment; months and days count as CEL counts them, most from zero.
    pub(super) fn read(self, time: Time) -> Option<i64> {
        let moment = jiff::Timestamp::from_nanosecond(i128::from(time.0)).ok()?;
        let moment = Offset::UTC.to_datetime(moment);
        Some(match self {
            TimeField::FullYear => i64::from(moment.year()),
            TimeField::Month => i64::from(moment.month()) - 1,
            TimeField::Date => i64::from(moment.day()),
            TimeField::DayOfMonth => i64::from(moment.day()) - 1,
            TimeField::DayOfWeek => i64::from(moment.weekday().to_sunday_zero_offset()),
            TimeField::DayOfYear => i64::from(moment.day_of_year()) - 1,
            TimeField::Hours => i64::from(moment.hour()),
            TimeField::Minutes => i64::from(moment.minute()),
            TimeField::Seconds => i64::from(moment.second()),
            TimeField::Milliseconds => i64::from(moment.millisecond()),
        })
    }
}

/// Parses the length of time that a text names: `24h`, `1h30m`, `-1.5s`, `30d`.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total: i128 = 0;
    loop {
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(length);
        let (unit, nanoseconds) = DURATION_UNITS.iter().find(|(unit, _)| tail.starts_with(unit))?;
        total = total.checked_add(parse_amount(number, *nanoseconds)?)?;
        rest = &tail[unit.len()..];
        if rest.is_empty() {
            return i64::try_from(sign * total).ok();
        }
    }
}

/// Parses a decimal number of units, exact to the nanosecond.
fn parse_amount(number: &str, nanoseconds: i64) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || whole.len() > 19 || fraction.len() > 18 || fraction.contains('.') {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i128>().ok() };
    let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    let nanoseconds = i128::from(nanoseconds);
    digits(whole)?.checked_mul(nanoseconds)?.checked_add(digits(fraction)?.checked_mul(nanoseconds)? / scale)
}

/// Writes a length of time as CEL writes it, in seconds: `5400s`, `-1.5s`.
pub(super) fn write_duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let (seconds, rest) = (nanoseconds.unsigned_abs() / 1_000_000_000, nanoseconds.unsigned_abs() % 1_000_000_000);
    if rest == 0 {
        return format!("{sign}{seconds}s");
    }
    let fraction = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::{parse_duration, write_duration};

    #[test]
    fn duration_is_parsed_and_written() {
        let cases = [
            ("0", Some(0), "0s"),
            ("24h", Some(86_400_000_000_000), "86400s"),
            ("1h30m", Some(5_400_000_000_000), "5400s"),
            ("-1.5s", Some(-1_500_000_000), "-1.5s"),
            ("30d", Some(2_592_000_000_000_000), "2592000s"),
            ("0s", Some(0), "0s"),
            ("10ms", Some(10_000_000), "0.01s"),
            ("3us2ns", Some(3_002), "0.000003002s"),
            (".5s", Some(500_000_000), "0.5s"),
            ("0h5m", Some(300_000_000_000), "300s"),
            ("", None, ""),
            ("5", None, ""),
            ("h", None, ""),
            (".s", None, ""),
            ("1.2.3s", None, ""),
            ("1 h", None, ""),
            ("1y", None, ""),
            ("1h5", None, ""),
            ("9999999999999h", None, ""),
            ("99999999999999999999h", None, ""),
        ];
        for (text, nanoseconds, written) in cases {
            assert_eq!(parse_duration(text), nanoseconds, "{text}");
            if let Some(nanoseconds) = nanoseconds {
                assert_eq!(write_duration(nanoseconds), written, "{text}");
            }
        }
    }
}
