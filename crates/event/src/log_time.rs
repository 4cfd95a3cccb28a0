//! Times as mail, HTTP and programming languages write them, beside RFC 3339.
//!
//! Only texts that name one moment are times: they have an offset from UTC, and the month is a word or the year comes
//! first. `04/05/2026 09:00` has neither, so it is none. Abbreviations of zones other than UTC mean different clocks in
//! different countries, so they are no offsets.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use lictor_logic::Time;

use crate::parse_time;

/// The longest text that is read: some add the name of their zone.
const MAX_BYTES: usize = 100;

/// How programs write a moment, with `%z` for its offset.
const PATTERNS: [&str; 4] = [
    // Python, Ruby, Go and databases, with a space before the offset.
    "%Y-%m-%d %H:%M:%S%.f %z",
    "%Y-%m-%dT%H:%M:%S%.f %z",
    // JavaScript.
    "%a %b %d %Y %H:%M:%S %z",
    // Apache and nginx.
    "%d/%b/%Y:%H:%M:%S %z",
];

/// Returns the time that a text in a log names: in RFC 3339, RFC 2822, or as a program writes it with an offset.
pub(crate) fn parse_log_time(text: &str) -> Option<Time> {
    parse_time(text).or_else(|| parse_written(text))
}

fn parse_written(text: &str) -> Option<Time> {
    if text.len() > MAX_BYTES || !text.contains(':') {
        return None;
    }
    // JavaScript adds the name of the zone.
    let text = text.split_once(" (").map_or(text, |(text, _)| text).trim();
    let (moment, offset) = split_offset(text)?;
    let text = format!("{moment} {offset}");
    let by_pattern = || PATTERNS.iter().find_map(|pattern| Timestamp::strptime(pattern, &text).ok());
    let moment = rfc2822::parse(&text).ok().map(|moment| moment.timestamp()).or_else(by_pattern)?;
    i64::try_from(moment.as_nanosecond()).ok().map(Time)
}

/// Splits a text into a moment and its offset from UTC, as `+hhmm`.
fn split_offset(text: &str) -> Option<(&str, String)> {
    let (moment, zone) = text.rsplit_once(' ')?;
    let is_utc = |zone: &str| matches!(zone, "GMT" | "UTC" | "UT" | "Z");
    if is_utc(zone) {
        // Go writes the offset and the name of the zone.
        return Some(split_offset(moment).unwrap_or_else(|| (moment, "+0000".to_owned())));
    }
    let zone = zone.strip_prefix("GMT").or_else(|| zone.strip_prefix("UTC")).unwrap_or(zone);
    let digits: String = zone.strip_prefix(['+', '-'])?.chars().filter(|letter| *letter != ':').collect();
    let is_offset = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_offset.then(|| (moment.trim_end(), format!("{}{digits}", &zone[..1])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_read_as_programs_write_it() {
        for text in [
            "Mon, 04 May 2026 09:00:00 +0000",
            "Mon, 4 May 2026 09:00:00 GMT",
            "Mon, 04 May 2026 09:00:00 UTC",
            "04 May 2026 11:00:00 +0200",
            "Mon, 04 May 2026 09:00 -0000",
            "Mon, 04 May 2026 05:00:00 -0400 (EDT)",
            "Mon May 04 2026 11:00:00 GMT+0200 (Central European Summer Time)",
            "04/May/2026:09:00:00 +0000",
            "2026-05-04 09:00:00 UTC",
            "2026-05-04 09:00:00 +0000",
            "2026-05-04 11:00:00 +02:00",
            "2026-05-04 11:00:00.000 +0200",
            "2026-05-04T09:00:00 Z",
            "2026-05-04 09:00:00.000000 +0000 UTC",
        ] {
            assert_eq!(parse_log_time(text), Some(Time::from_seconds(1_777_885_200)), "{text}");
        }
    }

    #[test]
    fn time_of_two_meanings_is_none() {
        for text in [
            "04/05/2026 09:00:00",
            "04/05/2026 09:00:00 +0000",
            "Mon, 04 May 2026 09:00:00",
            "Mon, 04 May 2026 09:00:00 CET",
            "Mon, 04 May 2026 09:00:00 EST",
            "Mon, 04 May 2026 09:00:00 A",
            "Tue, 04 May 2026 09:00:00 +0000",
            "2026-05-04 09:00:00",
            "Mon May  4 09:00:00 2026",
            "04 May 2026 25:00:00 +0000",
            "9:00 UTC",
            "Monday at 9:00 GMT",
            "é (:",
        ] {
            assert_eq!(parse_log_time(text), None, "{text}");
        }
    }
}
