//! Equality and order of values.
//!
//! Numbers compare by what they are worth, exactly: `1` equals `1.0`, and no whole number equals a float that only
//! comes near. Values of different sorts are never equal and have no order.

use std::cmp::Ordering;

use super::evaluate::Run;
use super::node::Order;
use super::reason::{Cause, Doing, Missing};
use super::value::{List, Map, Value};
use lictor_json::Number;

/// Whether two values are equal.
pub(super) fn equal(run: &Run<'_>, left: &Value<'_>, right: &Value<'_>, at: u32) -> Result<bool, Missing> {
    Ok(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Number(left), Value::Number(right)) => order_numbers(*left, *right).is_eq(),
        (Value::Text(left), Value::Text(right)) => {
            run.scan(left.len(), at)?;
            left == right
        }
        (Value::Time(left), Value::Time(right)) => left == right,
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::List(left), Value::List(right)) => equal_lists(run, left, right, at)?,
        (Value::Map(left), Value::Map(right)) => equal_maps(run, left, right, at)?,
        _ => false,
    })
}

/// Whether a value is equal to an element of a list.
pub(super) fn is_among(run: &Run<'_>, value: &Value<'_>, list: &List<'_>, at: u32) -> Result<bool, Missing> {
    run.spend(list.len() / 8, at)?;
    if let (Value::Text(text), List::Texts(texts)) = (value, list) {
        run.scan(text.len().saturating_mul(texts.len()), at)?;
        return Ok(texts.iter().any(|known| known == text));
    }
    for place in 0..list.len() {
        if let Some(element) = list.get(place)
            && equal(run, value, &element, at)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether two values stand in an order.
pub(super) fn ordered(
    run: &Run<'_>,
    order: Order,
    left: &Value<'_>,
    right: &Value<'_>,
    at: u32,
) -> Result<bool, Missing> {
    let ordering = match (left, right) {
        (Value::Number(left), Value::Number(right)) => order_numbers(*left, *right),
        (Value::Text(left), Value::Text(right)) => {
            run.scan(left.len(), at)?;
            left.cmp(right)
        }
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Time(left), Value::Time(right)) => left.cmp(right),
        (Value::Duration(left), Value::Duration(right)) => left.cmp(right),
        _ => return Err(Cause::Sorts(Doing::Order(order), left.sort(), right.sort()).at(at)),
    };
    Ok(order.holds(ordering))
}

fn equal_lists(run: &Run<'_>, left: &List<'_>, right: &List<'_>, at: u32) -> Result<bool, Missing> {
    if left.len() != right.len() {
        return Ok(false);
    }
    run.spend(left.len() / 8, at)?;
    for place in 0..left.len() {
        if let (Some(left), Some(right)) = (left.get(place), right.get(place))
            && !equal(run, &left, &right, at)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(run: &Run<'_>, left: &Map<'_>, right: &Map<'_>, at: u32) -> Result<bool, Missing> {
    if left.len() != right.len() {
        return Ok(false);
    }
    // Keys are looked up one by one.
    run.spend(left.len().saturating_mul(left.len()) / 8, at)?;
    for (key, value) in left.members() {
        match right.get(&key) {
            Some(other) if equal(run, &value, &other, at)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The order of two numbers. Neither is NaN: JSON has none, and no operation makes one.
pub(super) fn order_numbers(left: Number, right: Number) -> Ordering {
    match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => left.cmp(&right),
        (left, right) => match (whole(left), whole(right)) {
            (Some(left), Some(right)) => left.cmp(&right),
            (Some(left), None) => order_with_float(left, right.as_f64()),
            (None, Some(right)) => order_with_float(right, left.as_f64()).reverse(),
            (None, None) => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
        },
    }
}

/// A whole number in full width; none for a float.
pub(super) fn whole(number: Number) -> Option<i128> {
    match number {
        Number::Integer(value) => Some(i128::from(value)),
        Number::Wide(high, low) => Some((i128::from(high) << 64) | i128::from(low)),
        Number::Float(_) => None,
    }
}

fn order_with_float(whole: i128, float: f64) -> Ordering {
    const LIMIT: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if float >= LIMIT {
        return Ordering::Less;
    }
    if float < -LIMIT {
        return Ordering::Greater;
    }
    // Cutting off the fraction is exact, and so is what is left.
    whole.cmp(&(float.trunc() as i128)).then_with(|| 0.0_f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
}
