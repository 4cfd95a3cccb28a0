//! Equality and order of values.
//!
//! Numbers compare by their exact value: `1` equals `1.0`, and no whole number equals a float that only comes near.
//! Values of different sorts are never equal and have no order.

use std::cmp::Ordering;

use super::operator::Order;
use super::reason::{NoValue, Operation, UnknownCause};
use super::run::Run;
use super::value::{CelValue, List, Map};
use lictor_json::Number;

/// Whether two values are equal.
pub(super) fn are_equal(run: &Run<'_>, left: &CelValue<'_>, right: &CelValue<'_>, at: u32) -> Result<bool, NoValue> {
    Ok(match (left, right) {
        (CelValue::Null, CelValue::Null) => true,
        (CelValue::Bool(left), CelValue::Bool(right)) => left == right,
        (CelValue::Number(left), CelValue::Number(right)) => order_numbers(*left, *right).is_eq(),
        (CelValue::Text(left), CelValue::Text(right)) => {
            run.scan(left.len(), at)?;
            left == right
        }
        (CelValue::Time(left), CelValue::Time(right)) => left == right,
        (CelValue::Duration(left), CelValue::Duration(right)) => left == right,
        (CelValue::List(left), CelValue::List(right)) => equal_lists(run, left, right, at)?,
        (CelValue::Map(left), CelValue::Map(right)) => equal_maps(run, left, right, at)?,
        _ => false,
    })
}

/// Whether a value is equal to an element of a list.
pub(super) fn is_among(run: &Run<'_>, value: &CelValue<'_>, list: &List<'_>, at: u32) -> Result<bool, NoValue> {
    run.spend(list.len() / 8, at)?;
    if let (CelValue::Text(text), List::Texts(texts)) = (value, list) {
        run.scan(text.len().saturating_mul(texts.len()), at)?;
        return Ok(texts.iter().any(|known| known == text));
    }
    for place in 0..list.len() {
        if let Some(element) = list.get(place)
            && are_equal(run, value, &element, at)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a comparison by order holds between two values.
pub(super) fn is_ordered(
    run: &Run<'_>,
    order: Order,
    left: &CelValue<'_>,
    right: &CelValue<'_>,
    at: u32,
) -> Result<bool, NoValue> {
    let ordering = match (left, right) {
        (CelValue::Number(left), CelValue::Number(right)) => order_numbers(*left, *right),
        (CelValue::Text(left), CelValue::Text(right)) => {
            run.scan(left.len(), at)?;
            left.cmp(right)
        }
        (CelValue::Bool(left), CelValue::Bool(right)) => left.cmp(right),
        (CelValue::Time(left), CelValue::Time(right)) => left.cmp(right),
        (CelValue::Duration(left), CelValue::Duration(right)) => left.cmp(right),
        _ => {
            return Err(
                UnknownCause::WrongTypes(Operation::Order(order), left.value_type(), right.value_type()).to_unknown(at)
            );
        }
    };
    Ok(order.holds(ordering))
}

fn equal_lists(run: &Run<'_>, left: &List<'_>, right: &List<'_>, at: u32) -> Result<bool, NoValue> {
    if left.len() != right.len() {
        return Ok(false);
    }
    run.spend(left.len() / 8, at)?;
    for place in 0..left.len() {
        if let (Some(left), Some(right)) = (left.get(place), right.get(place))
            && !are_equal(run, &left, &right, at)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_maps(run: &Run<'_>, left: &Map<'_>, right: &Map<'_>, at: u32) -> Result<bool, NoValue> {
    if left.len() != right.len() {
        return Ok(false);
    }
    // Keys are looked up one by one.
    run.spend(left.len().saturating_mul(left.len()) / 8, at)?;
    for (key, value) in left.members() {
        match right.get(&key) {
            Some(other) if are_equal(run, &value, &other, at)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Returns the order of two numbers. Neither is NaN: JSON has none, and no operation makes one.
pub(super) fn order_numbers(left: Number, right: Number) -> Ordering {
    match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => left.cmp(&right),
        (left, right) => match (to_i128(left), to_i128(right)) {
            (Some(left), Some(right)) => left.cmp(&right),
            (Some(left), None) => order_with_float(left, right.as_f64()),
            (None, Some(right)) => order_with_float(right, left.as_f64()).reverse(),
            (None, None) => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
        },
    }
}

/// Returns a whole number in full width; none for a float.
pub(super) fn to_i128(number: Number) -> Option<i128> {
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
