//! Equality and order of values.
//!
//! Numbers compare by their exact value: `1` equals `1.0`, and no whole number equals a float that only comes near.
//! Values of different sorts have no order. They are different, or whether they are equal is unknown, since a tool may
//! read one [as the other](super::readings).

use std::cmp::Ordering;

use super::operator::Order;
use super::readings::may_read_as;
use super::reason::{NoValue, Operation, UnknownCause};
use super::run::Run;
use super::value::{CelValue, List, Map, ValueType};
use lictor_json::Number;

/// Whether two values are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equality {
    Equal,
    Different,
    /// They are of other types, and a tool may read one as the other.
    Open(ValueType, ValueType),
}

impl Equality {
    fn new(is_equal: bool) -> Equality {
        if is_equal { Equality::Equal } else { Equality::Different }
    }

    /// Whether the values are equal, if that is known.
    fn to_truth(self, at: u32) -> Result<bool, NoValue> {
        match self {
            Equality::Equal => Ok(true),
            Equality::Different => Ok(false),
            Equality::Open(left, right) => Err(UnknownCause::Readings(left, right).to_unknown(at)),
        }
    }
}

/// Whether two values are equal.
pub(super) fn are_equal(run: &Run<'_>, left: &CelValue<'_>, right: &CelValue<'_>, at: u32) -> Result<bool, NoValue> {
    compare(run, left, right, at)?.to_truth(at)
}

/// Whether a value is equal to an element of a list.
pub(super) fn is_among(run: &Run<'_>, value: &CelValue<'_>, list: &List<'_>, at: u32) -> Result<bool, NoValue> {
    run.spend(list.len() / 8, at)?;
    if let (CelValue::Text(text), List::Texts(texts)) = (value, list) {
        run.scan(text.len().saturating_mul(texts.len()), at)?;
        return Ok(texts.iter().any(|known| known == text));
    }
    find_equal(run, value, (0..list.len()).filter_map(|place| list.get(place)), at)
}

/// Whether a value that is no text is a key of a map. Keys are texts, which a tool may read as other values.
pub(super) fn is_key(run: &Run<'_>, value: &CelValue<'_>, map: &Map<'_>, at: u32) -> Result<bool, NoValue> {
    run.spend(map.len(), at)?;
    find_equal(run, value, map.members().into_iter().map(|(key, _)| CelValue::Text(key)), at)
}

/// Whether one of some values is equal to a value. A value that may be equal leaves it open, unless another one is.
fn find_equal<'x>(
    run: &Run<'_>,
    value: &CelValue<'_>,
    others: impl Iterator<Item = CelValue<'x>>,
    at: u32,
) -> Result<bool, NoValue> {
    let mut found = Equality::Different;
    for other in others {
        match compare(run, value, &other, at)? {
            Equality::Equal => return Ok(true),
            Equality::Different => {}
            open @ Equality::Open(..) => found = open,
        }
    }
    found.to_truth(at)
}

fn compare(run: &Run<'_>, left: &CelValue<'_>, right: &CelValue<'_>, at: u32) -> Result<Equality, NoValue> {
    Ok(match (left, right) {
        (CelValue::Null, CelValue::Null) => Equality::Equal,
        (CelValue::Bool(left), CelValue::Bool(right)) => Equality::new(left == right),
        (CelValue::Number(left), CelValue::Number(right)) => Equality::new(order_numbers(left, right).is_eq()),
        (CelValue::Text(left), CelValue::Text(right)) => {
            run.scan(left.len(), at)?;
            Equality::new(left == right)
        }
        (CelValue::Time(left), CelValue::Time(right)) => Equality::new(left == right),
        (CelValue::Duration(left), CelValue::Duration(right)) => Equality::new(left == right),
        (CelValue::List(left), CelValue::List(right)) => compare_lists(run, left, right, at)?,
        (CelValue::Map(left), CelValue::Map(right)) => compare_maps(run, left, right, at)?,
        (CelValue::List(list), other) | (other, CelValue::List(list)) => {
            match list.get(0).filter(|_| list.len() == 1) {
                // A tool may read a list of one element as the element, and an element as such a list.
                Some(element) if compare(run, &element, other, at)? != Equality::Different => {
                    Equality::Open(left.value_type(), right.value_type())
                }
                _ => Equality::Different,
            }
        }
        (CelValue::Text(text), _) | (_, CelValue::Text(text)) => {
            run.scan(text.len(), at)?;
            compare_readings(left, right)
        }
        _ => compare_readings(left, right),
    })
}

fn compare_readings(left: &CelValue<'_>, right: &CelValue<'_>) -> Equality {
    match may_read_as(left, right) {
        true => Equality::Open(left.value_type(), right.value_type()),
        false => Equality::Different,
    }
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
        (CelValue::Number(left), CelValue::Number(right)) => order_numbers(left, right),
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

fn compare_lists(run: &Run<'_>, left: &List<'_>, right: &List<'_>, at: u32) -> Result<Equality, NoValue> {
    if left.len() != right.len() {
        return Ok(Equality::Different);
    }
    run.spend(left.len() / 8, at)?;
    let mut found = Equality::Equal;
    for place in 0..left.len() {
        if let (Some(left), Some(right)) = (left.get(place), right.get(place)) {
            match compare(run, &left, &right, at)? {
                Equality::Equal => {}
                Equality::Different => return Ok(Equality::Different),
                open @ Equality::Open(..) => found = open,
            }
        }
    }
    Ok(found)
}

fn compare_maps(run: &Run<'_>, left: &Map<'_>, right: &Map<'_>, at: u32) -> Result<Equality, NoValue> {
    if left.len() != right.len() {
        return Ok(Equality::Different);
    }
    // Keys are looked up one by one.
    run.spend(left.len().saturating_mul(left.len()) / 8, at)?;
    let mut found = Equality::Equal;
    for (key, value) in left.members() {
        let Some(other) = right.get(&key) else { return Ok(Equality::Different) };
        match compare(run, &value, &other, at)? {
            Equality::Equal => {}
            Equality::Different => return Ok(Equality::Different),
            open @ Equality::Open(..) => found = open,
        }
    }
    Ok(found)
}

/// Returns the order of two numbers. Neither is NaN: JSON has none, and no operation makes one.
pub(super) fn order_numbers(left: &Number, right: &Number) -> Ordering {
    match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => left.cmp(right),
        (left, right) => match (to_i128(left), to_i128(right)) {
            (Some(left), Some(right)) => left.cmp(&right),
            (Some(left), None) => order_with_float(left, right.as_f64()),
            (None, Some(right)) => order_with_float(right, left.as_f64()).reverse(),
            (None, None) => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
        },
    }
}

/// Returns a whole number in full width; none for any other.
pub(super) fn to_i128(number: &Number) -> Option<i128> {
    match number {
        Number::Integer(value) => Some(i128::from(*value)),
        Number::Wide(high, low) => Some((i128::from(*high) << 64) | i128::from(*low)),
        Number::Float(_) | Number::Long(_) => None,
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
