//! Sums, products and the like.
//!
//! Whole numbers stay whole and have 64 bits, as in CEL; with a float on either side the result is a float, since JSON
//! does not tell `2` from `2.0`. A result beyond the range of numbers is unknown, never rounded to infinity.

use std::borrow::Cow;
use std::sync::Arc;

use lictor_logic::Time;

use super::compare::to_i128;
use super::operator::Operator;
use super::reason::{NoValue, Operation, UnknownCause};
use super::run::Run;
use super::value::{CelValue, List};
use lictor_json::Number;

/// Applies an operator to two values.
pub(super) fn apply<'a>(
    run: &Run<'a>,
    operator: Operator,
    left: CelValue<'a>,
    right: CelValue<'a>,
    at: u32,
) -> Result<CelValue<'a>, NoValue> {
    let overflow = || UnknownCause::Overflow(Operation::Arithmetic(operator)).to_unknown(at);
    match (operator, left, right) {
        (operator, CelValue::Number(left), CelValue::Number(right)) => {
            numbers(operator, &left, &right, at).map(CelValue::Number)
        }
        (Operator::Add, CelValue::Text(left), CelValue::Text(right)) => {
            run.spend(left.len() + right.len(), at)?;
            let mut text = left.into_owned();
            text.push_str(&right);
            Ok(CelValue::Text(Cow::Owned(text)))
        }
        (Operator::Add, CelValue::List(left), CelValue::List(right)) => {
            run.spend(left.len() + right.len(), at)?;
            let elements = |list: List<'a>| (0..list.len()).filter_map(move |place| list.get(place));
            let joined: Arc<[CelValue<'a>]> = elements(left).chain(elements(right)).collect();
            Ok(CelValue::List(List::Made(joined)))
        }
        (Operator::Add, CelValue::Time(time), CelValue::Duration(length))
        | (Operator::Add, CelValue::Duration(length), CelValue::Time(time)) => {
            time.0.checked_add(length).map(|sum| CelValue::Time(Time(sum))).ok_or_else(overflow)
        }
        (Operator::Subtract, CelValue::Time(time), CelValue::Duration(length)) => {
            time.0.checked_sub(length).map(|rest| CelValue::Time(Time(rest))).ok_or_else(overflow)
        }
        (Operator::Subtract, CelValue::Time(left), CelValue::Time(right)) => {
            left.0.checked_sub(right.0).map(CelValue::Duration).ok_or_else(overflow)
        }
        (Operator::Add, CelValue::Duration(left), CelValue::Duration(right)) => {
            left.checked_add(right).map(CelValue::Duration).ok_or_else(overflow)
        }
        (Operator::Subtract, CelValue::Duration(left), CelValue::Duration(right)) => {
            left.checked_sub(right).map(CelValue::Duration).ok_or_else(overflow)
        }
        (operator, left, right) => {
            Err(UnknownCause::WrongTypes(Operation::Arithmetic(operator), left.value_type(), right.value_type())
                .to_unknown(at))
        }
    }
}

/// Returns the negated number or duration.
pub(super) fn negate(value: &CelValue<'_>, at: u32) -> Result<CelValue<'static>, NoValue> {
    match value {
        CelValue::Number(Number::Float(number)) => Ok(CelValue::Number(Number::Float(-number))),
        CelValue::Number(number) => numbers(Operator::Subtract, &Number::Integer(0), number, at).map(CelValue::Number),
        CelValue::Duration(length) => length
            .checked_neg()
            .map(CelValue::Duration)
            .ok_or(UnknownCause::Overflow(Operation::Arithmetic(Operator::Subtract)).to_unknown(at)),
        other => {
            Err(UnknownCause::WrongType(Operation::Arithmetic(Operator::Subtract), other.value_type()).to_unknown(at))
        }
    }
}

fn numbers(operator: Operator, left: &Number, right: &Number, at: u32) -> Result<Number, NoValue> {
    let (left, right) = match (to_i128(left), to_i128(right)) {
        (Some(left), Some(right)) => (left, right),
        _ => return floats(operator, left.as_f64(), right.as_f64(), at),
    };
    if right == 0 && matches!(operator, Operator::Divide | Operator::Remainder) {
        return Err(UnknownCause::DivisionByZero.to_unknown(at));
    }
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide => left.checked_div(right),
        // CEL counts in 64 bits, where this division overflows.
        Operator::Remainder if left == i128::from(i64::MIN) && right == -1 => None,
        Operator::Remainder => left.checked_rem(right),
    };
    let fitting = result.and_then(|result| i64::try_from(result).ok());
    fitting.map(Number::Integer).ok_or(UnknownCause::Overflow(Operation::Arithmetic(operator)).to_unknown(at))
}

fn floats(operator: Operator, left: f64, right: f64, at: u32) -> Result<Number, NoValue> {
    let result = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide if right == 0.0 => return Err(UnknownCause::DivisionByZero.to_unknown(at)),
        Operator::Divide => left / right,
        Operator::Remainder => return Err(UnknownCause::Fraction.to_unknown(at)),
    };
    if result.is_finite() {
        Ok(Number::Float(result))
    } else {
        Err(UnknownCause::Overflow(Operation::Arithmetic(operator)).to_unknown(at))
    }
}
