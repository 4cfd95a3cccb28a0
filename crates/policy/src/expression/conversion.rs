//! Conversions between sorts of values.

use lictor_logic::Time;

use super::function::Function;
use super::reason::{Cause, Doing, Missing};
use super::time::{Part, parse_duration, write_duration};
use super::value::CelValue;
use lictor_event::{parse_time, write_time};
use lictor_json::Number;

/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;

/// Converts a value to what a function makes; what does not say such a thing is unknown.
pub(super) fn convert<'a>(to: Function, value: CelValue<'a>, at: u32) -> Result<CelValue<'a>, Missing> {
    let converted = match (to, &value) {
        (Function::Int, CelValue::Number(number)) => to_whole(*number).map(CelValue::whole),
        (Function::Int, CelValue::Text(text)) => text.parse().ok().map(CelValue::whole),
        (Function::Int, CelValue::Time(time)) => Some(CelValue::whole(time.0.div_euclid(SECOND))),
        (Function::Double, CelValue::Number(number)) => finite(number.as_f64()),
        (Function::Double, CelValue::Text(text)) => text.parse().ok().and_then(finite),
        (Function::String, CelValue::Text(_))
        | (Function::Bool, CelValue::Bool(_))
        | (Function::Timestamp, CelValue::Time(_))
        | (Function::Duration, CelValue::Duration(_)) => return Ok(value),
        (Function::String, CelValue::Number(Number::Float(number))) => Some(CelValue::made(number.to_string())),
        (Function::String, CelValue::Number(number)) => Some(CelValue::made(number.to_string())),
        (Function::String, CelValue::Bool(value)) => Some(CelValue::text(if *value { "true" } else { "false" })),
        (Function::String, CelValue::Time(time)) => Some(CelValue::made(write_time(*time))),
        (Function::String, CelValue::Duration(nanoseconds)) => Some(CelValue::made(write_duration(*nanoseconds))),
        (Function::Bool, CelValue::Text(text)) => match &**text {
            "true" | "True" | "TRUE" | "t" | "T" | "1" => Some(CelValue::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "F" | "0" => Some(CelValue::Bool(false)),
            _ => None,
        },
        (Function::Timestamp, CelValue::Number(Number::Integer(seconds))) => {
            seconds.checked_mul(SECOND).map(|nanoseconds| CelValue::Time(Time(nanoseconds)))
        }
        (Function::Timestamp, CelValue::Text(text)) => parse_time(text).map(CelValue::Time),
        (Function::Duration, CelValue::Text(text)) => parse_duration(text).map(CelValue::Duration),
        _ => return Err(Cause::Sort(Doing::Call(to), value.sort()).at(at)),
    };
    converted.ok_or(Cause::Unreadable(to).at(at))
}

/// The whole part of a number, if it fits 64 bits.
fn to_whole(number: Number) -> Option<i64> {
    // Both limits are powers of two, so they are exact.
    const RANGE: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
    match number {
        Number::Integer(value) => Some(value),
        Number::Float(value) if RANGE.contains(&value) => Some(value as i64),
        Number::Float(_) | Number::Wide(..) => None,
    }
}

fn finite<'a>(number: f64) -> Option<CelValue<'a>> {
    number.is_finite().then_some(CelValue::Number(Number::Float(number)))
}

/// A length of time in whole units; only the clock's units can be asked for.
pub(super) fn part_of_duration<'a>(part: Part, nanoseconds: i64) -> Option<CelValue<'a>> {
    let unit = match part {
        Part::Hours => 3600 * SECOND,
        Part::Minutes => 60 * SECOND,
        Part::Seconds => SECOND,
        Part::Milliseconds => SECOND / 1000,
        _ => return None,
    };
    Some(CelValue::whole(nanoseconds / unit))
}
