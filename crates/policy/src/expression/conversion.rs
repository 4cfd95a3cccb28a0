//! Conversions between sorts of values.

use lictor_logic::Time;

use super::function::Function;
use super::reason::{Cause, Doing, Missing};
use super::time::{Part, parse_duration, write_duration};
use super::value::Value;
use lictor_event::{parse_time, write_time};
use lictor_json::Number;

/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;

/// Converts a value to what a function makes; what does not say such a thing is unknown.
pub(super) fn convert<'a>(to: Function, value: Value<'a>, at: u32) -> Result<Value<'a>, Missing> {
    let converted = match (to, &value) {
        (Function::Int, Value::Number(number)) => to_whole(*number).map(Value::whole),
        (Function::Int, Value::Text(text)) => text.parse().ok().map(Value::whole),
        (Function::Int, Value::Time(time)) => Some(Value::whole(time.0.div_euclid(SECOND))),
        (Function::Double, Value::Number(number)) => finite(number.as_f64()),
        (Function::Double, Value::Text(text)) => text.parse().ok().and_then(finite),
        (Function::String, Value::Text(_))
        | (Function::Bool, Value::Bool(_))
        | (Function::Timestamp, Value::Time(_))
        | (Function::Duration, Value::Duration(_)) => return Ok(value),
        (Function::String, Value::Number(Number::Float(number))) => Some(Value::made(number.to_string())),
        (Function::String, Value::Number(number)) => Some(Value::made(number.to_string())),
        (Function::String, Value::Bool(value)) => Some(Value::text(if *value { "true" } else { "false" })),
        (Function::String, Value::Time(time)) => Some(Value::made(write_time(*time))),
        (Function::String, Value::Duration(nanoseconds)) => Some(Value::made(write_duration(*nanoseconds))),
        (Function::Bool, Value::Text(text)) => match &**text {
            "true" | "True" | "TRUE" | "t" | "T" | "1" => Some(Value::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "F" | "0" => Some(Value::Bool(false)),
            _ => None,
        },
        (Function::Timestamp, Value::Number(Number::Integer(seconds))) => {
            seconds.checked_mul(SECOND).map(|nanoseconds| Value::Time(Time(nanoseconds)))
        }
        (Function::Timestamp, Value::Text(text)) => parse_time(text).map(Value::Time),
        (Function::Duration, Value::Text(text)) => parse_duration(text).map(Value::Duration),
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

fn finite<'a>(number: f64) -> Option<Value<'a>> {
    number.is_finite().then_some(Value::Number(Number::Float(number)))
}

/// A length of time in whole units; only the clock's units can be asked for.
pub(super) fn part_of_duration<'a>(part: Part, nanoseconds: i64) -> Option<Value<'a>> {
    let unit = match part {
        Part::Hours => 3600 * SECOND,
        Part::Minutes => 60 * SECOND,
        Part::Seconds => SECOND,
        Part::Milliseconds => SECOND / 1000,
        _ => return None,
    };
    Some(Value::whole(nanoseconds / unit))
}
