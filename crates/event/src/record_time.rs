//! When a record was written: the members by which logs name a time, and the values that are times.

use lictor_logic::Time;

use crate::parse_log_time;
use crate::time::time_since_1970;
use lictor_json::{Json, Number, Object};

/// Members by which logs name the time of a record, the most telling first.
pub const TIME_KEYS: [&str; 9] =
    ["time", "timestamp", "@timestamp", "ts", "datetime", "created_at", "createdAt", "created", "date"];

/// Below this a number is not read as the time of a `date`: `20260501` is a day of the calendar.
const FIRST_DATE_NUMBER: f64 = 1e8;

/// The longest text that may be meant as a time. Longer ones are words.
const MAX_TIME_BYTES: usize = 100;

/// Returns the time that a value names: a text with its offset from UTC, or a number since 1970. A text of digits is
/// a number. Exports of MongoDB write it as the member `$date`.
pub fn read_time(value: &Json) -> Option<Time> {
    match value {
        Json::String(text) => parse_log_time(text).or_else(|| parse_digits(text).as_ref().and_then(time_since_1970)),
        Json::Number(number) => time_since_1970(number),
        Json::Object(object) => read_plain_time(object.get("$date")?),
        _ => None,
    }
}

/// Returns the time within `$date`: a text or a number, or a number of 64 bits as a text.
fn read_plain_time(value: &Json) -> Option<Time> {
    match value.get("$numberLong") {
        Some(number) => time_since_1970(&Number::Integer(number.as_str()?.parse().ok()?)),
        None if value.as_object().is_some() => None,
        None => read_time(value),
    }
}

/// Returns the time of a record, by the first usual member that holds one.
pub fn find_time(record: &Object) -> Option<Time> {
    TIME_KEYS.iter().find_map(|key| read_member(record, key))
}

/// Returns the time at which a record with a whole history was written. Unlike [`find_time`] it ignores when the record
/// was created: that may be the beginning of the conversation.
pub fn find_history_time(record: &Object) -> Option<Time> {
    TIME_KEYS.iter().filter(|key| !key.starts_with("created")).find_map(|key| read_member(record, key))
}

/// Returns the member that is meant as the time of a record but is none, such as a text without an offset from UTC: its
/// key and text. None if another member holds a time.
pub fn find_unread_time(record: &Object) -> Option<(&'static str, &str)> {
    let unread = || {
        TIME_KEYS.iter().find_map(|key| {
            let text = record.get(key)?.as_str()?;
            is_meant_as_time(text).then_some((*key, text))
        })
    };
    if find_time(record).is_some() { None } else { unread() }
}

fn read_member(record: &Object, key: &str) -> Option<Time> {
    let value = record.get(key)?;
    // Zero is how many writers leave a time out.
    let is_used = match value {
        Json::Number(number) => {
            let size = number.as_f64();
            size > 0.0 && (key != "date" || size >= FIRST_DATE_NUMBER)
        }
        _ => true,
    };
    read_time(value).filter(|_| is_used)
}

/// Returns the number of a text that is long enough to be a time since 1970.
fn parse_digits(text: &str) -> Option<Number> {
    let is_digits = text.len() >= 9 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let whole = || text.parse().ok().map(Number::Integer);
    let number = || text.parse().ok().map(Number::Float);
    is_digits.then(|| whole().or_else(number))?
}

/// Whether a text is meant as a moment: it has a time of day, as in `2026-05-01 10:00:03` and `5/1/26, 10:00 AM`, or is a
/// day and a time in digits, as in `20260501T100003`.
fn is_meant_as_time(text: &str) -> bool {
    let text = text.trim().as_bytes();
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let has_minutes = |part: &[u8]| matches!(part, [h, b':', m, mm, ..] if [h, m, mm].into_iter().all(is_digit));
    let has_time_of_day = || {
        let mut places = text.windows(4).enumerate().filter(|(_, part)| has_minutes(part));
        places.any(|(place, _)| !text.get(place + 4).is_some_and(is_digit))
    };
    let is_compact = || {
        text.len() >= 13
            && matches!(text.get(8), Some(b'T' | b' '))
            && text.iter().enumerate().take(13).all(|(place, byte)| place == 8 || is_digit(byte))
    };
    text.len() <= MAX_TIME_BYTES && (has_time_of_day() || is_compact())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Object {
        match lictor_json::parse_str(text) {
            Ok(Json::Object(object)) => object,
            _ => Object::new(),
        }
    }

    #[test]
    fn record_time_is_read_by_usual_names() {
        for key in TIME_KEYS {
            for value in ["\"2026-05-04T09:00:00Z\"", "1777885200", "1777885200000", "\"1777885200\""] {
                let found = find_time(&record(&format!("{{\"{key}\":{value}}}")));
                assert_eq!(found, Some(Time::from_seconds(1_777_885_200)), "{key} {value}");
            }
        }
    }

    #[test]
    fn record_time_of_mongodb_is_read() {
        for value in [
            r#"{"$date":"2026-05-04T09:00:00Z"}"#,
            r#"{"$date":1777885200000}"#,
            r#"{"$date":{"$numberLong":"1777885200000"}}"#,
        ] {
            let found = find_time(&record(&format!("{{\"createdAt\":{value}}}")));
            assert_eq!(found, Some(Time::from_seconds(1_777_885_200)), "{value}");
        }
        assert_eq!(find_time(&record(r#"{"ts":{"$date":{"$date":1777885200}}}"#)), None);
    }

    #[test]
    fn record_time_skips_values_that_are_none() {
        for text in [
            r#"{"created":true}"#,
            r#"{"date":20260501}"#,
            r#"{"date":"2026-05-01"}"#,
            r#"{"time":"noon"}"#,
            r#"{"created":0}"#,
            r#"{"ts":{"seconds":1}}"#,
        ] {
            assert_eq!((find_time(&record(text)), find_unread_time(&record(text))), (None, None), "{text}");
        }
        let both = record(r#"{"time":"noon","timestamp":"2026-05-04T09:00:00Z"}"#);
        assert_eq!(find_time(&both), Some(Time::from_seconds(1_777_885_200)));
    }

    #[test]
    fn record_time_of_two_meanings_is_named() {
        for time in [
            "04/05/2026 09:00:00",
            "4.5.2026 9:00",
            "5/4/26, 9:00 AM",
            "May 4, 2026, 9:00:00 AM",
            "Mon, 04 May 2026 09:00:00",
            "Mon, 04 May 2026 09:00:00 CET",
            "Mon May  4 09:00:00 2026",
            "09:00:00",
            "20260504T090000",
            "20260504 090000",
        ] {
            let other = record(&format!(r#"{{"timestamp":"{time}"}}"#));
            assert_eq!((find_time(&other), find_unread_time(&other)), (None, Some(("timestamp", time))), "{time}");
        }
        for text in ["at 127.0.0.1:8080", "4:5", "soon: 10", "20260504", "build-20260504T0900"] {
            assert_eq!(find_unread_time(&record(&format!(r#"{{"time":"{text}"}}"#))), None, "{text}");
        }
    }

    #[test]
    fn record_time_without_offset_is_named() {
        let naive = record(r#"{"timestamp":"2026-05-01 10:00:03,250"}"#);
        assert_eq!(find_unread_time(&naive), Some(("timestamp", "2026-05-01 10:00:03,250")));
        let other = record(r#"{"timestamp":"2026-05-01 10:00:03","created":1777885200}"#);
        assert_eq!(find_unread_time(&other), None);
    }
}
