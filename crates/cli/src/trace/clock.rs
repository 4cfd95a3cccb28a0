//! Times in a trace: RFC 3339 with an offset from UTC, or seconds since any origin.
//!
//! A trace uses one of the two, because their origins differ. Seconds are read digit by digit, because a fraction such
//! as 0.1 has no exact binary form and deadlines are exact.

use std::fmt;

use jiff::Timestamp;
use lictor_logic::Time;

use crate::complaint::TextFault;

/// The time format of a trace, known after its first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Clock {
    /// No time so far.
    #[default]
    Unset,
    /// `"2026-05-01T10:00:03Z"`
    Calendar,
    /// `12.5`
    Seconds,
}

const TIME_HINT: &str = "write a time as \"2026-05-01T10:00:03Z\" or as a number of seconds since any origin";

impl Clock {
    /// Reads a time in JSON; `text` is the decoded string, if it is one.
    pub(super) fn read(&mut self, raw: &str, text: Option<&str>) -> Result<Time, TextFault> {
        let fault = |message: String, hint: &str| TextFault::new(0..raw.len(), message, hint);
        let (clock, time) = match text {
            Some(text) => (Clock::Calendar, parse_calendar(text)),
            None => (Clock::Seconds, parse_seconds(raw)),
        };
        let time = time.map_err(|message| fault(message, TIME_HINT))?;
        if *self != Clock::Unset && *self != clock {
            let (before, here) = match clock {
                Clock::Calendar => ("seconds", "a date"),
                _ => ("dates", "a number of seconds"),
            };
            let message = format!("the times before this one are {before}, this is {here}");
            return Err(fault(message, "use one format for all times of a trace, because their origins differ"));
        }
        *self = clock;
        Ok(time)
    }

    /// Formats a time like this trace.
    pub(crate) fn show(self, time: Time) -> impl fmt::Display {
        match (self, Timestamp::from_nanosecond(i128::from(time.0))) {
            (Clock::Calendar, Ok(timestamp)) => timestamp.to_string(),
            _ => {
                let nanoseconds = time.0.unsigned_abs();
                let sign = if time.0 < 0 { "-" } else { "" };
                let (whole, fraction) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
                let fraction = format!(".{fraction:09}");
                format!("{sign}{whole}{}s", fraction.trim_end_matches('0').trim_end_matches('.'))
            }
        }
    }
}

fn parse_calendar(text: &str) -> Result<Time, String> {
    let timestamp: Timestamp = text.parse().map_err(|_| format!("`{}` is not a time", text.escape_debug()))?;
    let nanoseconds = i64::try_from(timestamp.as_nanosecond());
    nanoseconds.map(Time).map_err(|_| format!("`{text}` is out of range; the range is 1678 to 2262"))
}

/// Parses a JSON number of seconds, exact to the nanosecond; further digits are truncated.
fn parse_seconds(raw: &str) -> Result<Time, String> {
    let no_time = || format!("`{raw}` is not a time");
    let out_of_range = || format!("`{raw}` seconds are out of range; times reach about 292 years from their origin");
    if !raw.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return Err(no_time());
    }
    let (mantissa, exponent) = raw.split_once(['e', 'E']).unwrap_or((raw, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| out_of_range())?;
    let (negative, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return Err(no_time());
    }
    // The digit at place `p` of `whole + fraction` counts ten to the power of `units - 1 - p` nanoseconds.
    let units = whole.len() as i64 + i64::from(exponent) + 9;
    let mut nanoseconds: i128 = 0;
    for (place, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        if (place as i64) < units {
            nanoseconds = nanoseconds * 10 + i128::from(digit - b'0');
        }
        if nanoseconds > i128::from(i64::MAX) {
            return Err(out_of_range());
        }
    }
    let missing = units - (whole.len() + fraction.len()) as i64;
    for _ in 0..if nanoseconds == 0 { 0 } else { missing.max(0) } {
        nanoseconds *= 10;
        if nanoseconds > i128::from(i64::MAX) {
            return Err(out_of_range());
        }
    }
    let nanoseconds = i64::try_from(if negative { -nanoseconds } else { nanoseconds });
    nanoseconds.map(Time).map_err(|_| out_of_range())
}
