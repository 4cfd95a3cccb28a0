//! Conversions between sorts of values.

use lictor_logic::Time;

use super::function::Function;
use super::reason::{NoValue, Operation, UnknownCause};
use super::time::{TimeField, parse_duration, write_duration};
use super::value::CelValue;
use lictor_event::{parse_time, write_time};
use lictor_json::Number;

/// Nanoseconds in a second.
const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

/// Converts a value to the result type of a function; a value that cannot be converted is unknown.
pub(super) fn convert<'a>(to: Function, value: CelValue<'a>, at: u32) -> Result<CelValue<'a>, NoValue> {
    let converted = match (to, &value) {
        (Function::Int, CelValue::Number(number)) => to_whole(number).map(CelValue::integer),
        (Function::Int, CelValue::Text(text)) => text.parse().ok().map(CelValue::integer),
        (Function::Int, CelValue::Time(time)) => Some(CelValue::integer(time.0.div_euclid(NANOSECONDS_PER_SECOND))),
        (Function::Double, CelValue::Number(number)) => finite_number(number.as_f64()),
        (Function::Double, CelValue::Text(text)) => text.parse().ok().and_then(finite_number),
        (Function::String, CelValue::Text(_))
        | (Function::Bool, CelValue::Bool(_))
        | (Function::Timestamp, CelValue::Time(_))
        | (Function::Duration, CelValue::Duration(_)) => return Ok(value),
        (Function::String, CelValue::Number(Number::Float(number))) => Some(CelValue::owned_text(number.to_string())),
        (Function::String, CelValue::Number(number)) => Some(CelValue::owned_text(number.to_string())),
        (Function::String, CelValue::Bool(value)) => {
            Some(CelValue::borrowed_text(if *value { "true" } else { "false" }))
        }
        (Function::String, CelValue::Time(time)) => Some(CelValue::owned_text(write_time(*time))),
        (Function::String, CelValue::Duration(nanoseconds)) => Some(CelValue::owned_text(write_duration(*nanoseconds))),
        (Function::Bool, CelValue::Text(text)) => match &**text {
            "true" | "True" | "TRUE" | "t" | "T" | "1" => Some(CelValue::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "F" | "0" => Some(CelValue::Bool(false)),
            _ => None,
        },
        (Function::Timestamp, CelValue::Number(Number::Integer(seconds))) => {
            seconds.checked_mul(NANOSECONDS_PER_SECOND).map(|nanoseconds| CelValue::Time(Time(nanoseconds)))
        }
        (Function::Timestamp, CelValue::Text(text)) => parse_time(text).map(CelValue::Time),
        (Function::Duration, CelValue::Text(text)) => parse_duration(text).map(CelValue::Duration),
        _ => return Err(UnknownCause::WrongType(Operation::Call(to), value.value_type()).to_unknown(at)),
    };
    converted.ok_or(UnknownCause::Unreadable(to).to_unknown(at))
}

/// Returns the whole part of a number, if it fits 64 bits.
fn to_whole(number: &Number) -> Option<i64> {
    // Both limits are powers of two, so they are exact.
    const RANGE: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
    match number {
        Number::Integer(value) => Some(*value),
        Number::Float(value) if RANGE.contains(value) => Some(*value as i64),
        Number::Float(_) | Number::Wide(..) | Number::Long(_) => None,
    }
}

fn finite_number<'a>(number: f64) -> Option<CelValue<'a>> {
    number.is_finite().then_some(CelValue::Number(Number::Float(number)))
}

/// Returns a length of time in whole units; only the clock's units can be asked for.
pub(super) fn duration_field<'a>(field: TimeField, nanoseconds: i64) -> Option<CelValue<'a>> {
    let unit = match field {
        TimeField::Hours => 3600 * NANOSECONDS_PER_SECOND,
        TimeField::Minutes => 60 * NANOSECONDS_PER_SECOND,
        TimeField::Seconds => NANOSECONDS_PER_SECOND,
        TimeField::Milliseconds => NANOSECONDS_PER_SECOND / 1000,
        _ => return None,
    };
    Some(CelValue::integer(nanoseconds / unit))
}
