//! Numbers that are counted, summed or computed: `sum[0,24h](a: transfer(p,a)) > 10000`.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::formula::Formula;
use crate::interval::Interval;
use crate::term::Term;
use crate::value::Value;

/// An expression with a value at a position: a term, arithmetic, or an aggregate of the past.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// A value or a variable.
    Term(Term),
    /// Arithmetic on two measures.
    Computed(Arithmetic, Box<Measure>, Box<Measure>),
    /// One value of everything that happened up to now.
    Aggregate(Aggregate),
}

/// One value of everything that happened up to now: of all positions within the bound, and all values of the variables
/// for which the body held there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Aggregate {
    /// How they become one value.
    pub kind: AggregateKind,
    /// The bound, looking back.
    pub interval: Interval,
    /// The variables; the first is summed or compared, the others only distinguish occurrences at one position. The
    /// body's other variables are bound outside: each of their values has its own aggregate.
    pub variables: Box<[Arc<str>]>,
    /// The formula that must hold.
    pub body: Formula,
}

/// How many values become one.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AggregateKind {
    /// The number of occurrences.
    Count,
    /// The number of different values.
    Distinct,
    /// The sum; zero without values.
    Sum,
    /// The smallest number.
    Min,
    /// The largest number.
    Max,
    /// The mean.
    Average,
    /// The last value; the largest of several at one position.
    Latest,
}

impl AggregateKind {
    /// Every kind with its spelling.
    pub const ALL: [(AggregateKind, &'static str); 7] = [
        (AggregateKind::Count, "count"),
        (AggregateKind::Distinct, "distinct"),
        (AggregateKind::Sum, "sum"),
        (AggregateKind::Min, "min"),
        (AggregateKind::Max, "max"),
        (AggregateKind::Average, "avg"),
        (AggregateKind::Latest, "latest"),
    ];

    /// Returns its spelling.
    pub fn name(self) -> &'static str {
        AggregateKind::ALL.iter().find(|(gathering, _)| *gathering == self).map_or("", |(_, name)| name)
    }

    /// Returns the kind of that name.
    pub fn named(name: &str) -> Option<AggregateKind> {
        AggregateKind::ALL.iter().find(|(_, known)| *known == name).map(|(gathering, _)| *gathering)
    }
}

/// The arithmetic operators.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arithmetic {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

impl Arithmetic {
    /// Returns its spelling.
    pub fn symbol(self) -> char {
        match self {
            Arithmetic::Plus => '+',
            Arithmetic::Minus => '-',
            Arithmetic::Times => '*',
            Arithmetic::Over => '/',
        }
    }
}

impl Measure {
    /// Whether an aggregate in it has a time bound.
    pub(crate) fn measures_time(&self) -> bool {
        match self {
            Measure::Term(_) => false,
            Measure::Computed(_, left, right) => left.measures_time() || right.measures_time(),
            Measure::Aggregate(aggregate) => aggregate.interval.is_time(),
        }
    }

    /// Returns the formulas inside, from left to right.
    pub fn operands(&self) -> Vec<Formula> {
        match self {
            Measure::Term(_) => Vec::new(),
            Measure::Computed(_, left, right) => left.operands().into_iter().chain(right.operands()).collect(),
            Measure::Aggregate(aggregate) => vec![aggregate.body],
        }
    }

    /// Returns this measure over other formulas.
    #[must_use]
    pub fn map(&self, operand: &mut dyn FnMut(Formula) -> Formula) -> Measure {
        match self {
            Measure::Term(_) => self.clone(),
            Measure::Computed(sign, left, right) => {
                Measure::Computed(*sign, Box::new(left.map(operand)), Box::new(right.map(operand)))
            }
            Measure::Aggregate(aggregate) => {
                Measure::Aggregate(Aggregate { body: operand(aggregate.body), ..aggregate.clone() })
            }
        }
    }

    /// Returns the terms outside of aggregates.
    pub(crate) fn terms(&self) -> Vec<&Term> {
        match self {
            Measure::Term(term) => vec![term],
            Measure::Computed(_, left, right) => left.terms().into_iter().chain(right.terms()).collect(),
            Measure::Aggregate(_) => Vec::new(),
        }
    }
}

/// A number with twelve exact decimals: money adds up in any order. A number beyond the range saturates, so that it
/// still counts as large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FixedDecimal(i128);

/// Serialized as text, because few formats hold numbers of this length.
impl From<FixedDecimal> for String {
    fn from(number: FixedDecimal) -> String {
        number.0.to_string()
    }
}

impl TryFrom<String> for FixedDecimal {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<FixedDecimal, std::num::ParseIntError> {
        text.parse().map(FixedDecimal)
    }
}

const UNITS_PER_ONE: i128 = 1_000_000_000_000;

impl FixedDecimal {
    pub(crate) const ZERO: FixedDecimal = FixedDecimal(0);

    /// Returns the number of a value; none if it is no number.
    pub fn from_value(value: &Value) -> Option<FixedDecimal> {
        match value {
            Value::Integer(number) => Some(FixedDecimal(i128::from(*number) * UNITS_PER_ONE)),
            Value::Decimal(number) => Some(FixedDecimal::from_float(number.get())),
            Value::Bool(_) | Value::Text(_) => None,
        }
    }

    /// Returns the shortest decimal of a float, cut to twelve decimals.
    fn from_float(number: f64) -> FixedDecimal {
        let written = number.to_string();
        let (whole, decimals) = written.split_once('.').unwrap_or((&written, ""));
        let decimals = decimals.get(..12).unwrap_or(decimals);
        match format!("{whole}{decimals:0<12}").parse() {
            Ok(number) => FixedDecimal(number),
            Err(_) if number < 0.0 => FixedDecimal(i128::MIN),
            Err(_) => FixedDecimal(i128::MAX),
        }
    }

    pub(crate) fn from_whole(number: u64) -> FixedDecimal {
        FixedDecimal(i128::from(number) * UNITS_PER_ONE)
    }

    #[must_use]
    pub(crate) fn saturating_add(self, other: FixedDecimal) -> FixedDecimal {
        FixedDecimal(self.0.saturating_add(other.0))
    }

    #[must_use]
    pub(crate) fn saturating_sub(self, other: FixedDecimal) -> FixedDecimal {
        FixedDecimal(self.0.saturating_sub(other.0))
    }

    fn saturating_mul(self, other: FixedDecimal) -> FixedDecimal {
        // In parts, so that no intermediate product leaves the range.
        let (whole, part) = (self.0 / UNITS_PER_ONE, self.0 % UNITS_PER_ONE);
        let small = match part.checked_mul(other.0) {
            Some(product) => product / UNITS_PER_ONE,
            None => (part / 1_000_000).saturating_mul(other.0 / 1_000_000),
        };
        FixedDecimal(whole.saturating_mul(other.0).saturating_add(small))
    }

    /// Returns the quotient; none for a division by zero.
    pub(crate) fn divide(self, other: FixedDecimal) -> Option<FixedDecimal> {
        if other.0 == 0 {
            return None;
        }
        let (whole, rest) = (self.0 / other.0, self.0 % other.0);
        let decimals = match rest.checked_mul(UNITS_PER_ONE) {
            Some(scaled) => scaled / other.0,
            None => rest / (other.0 / UNITS_PER_ONE).max(1),
        };
        Some(FixedDecimal(whole.saturating_mul(UNITS_PER_ONE).saturating_add(decimals)))
    }
}

/// The value of a measure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Quantity {
    Number(FixedDecimal),
    /// A value that is no number: a text or a boolean.
    Other(Value),
    /// No value: the minimum of nothing, a division by zero. No comparison with it is true.
    Nothing,
    /// Unknown: it depends on unknown facts, or on a value that is no number.
    Unknown,
}

impl Quantity {
    pub(crate) fn from_value(value: &Value) -> Quantity {
        match FixedDecimal::from_value(value) {
            Some(number) => Quantity::Number(number),
            None => Quantity::Other(value.clone()),
        }
    }

    pub(crate) fn compute(sign: Arithmetic, left: &Quantity, right: &Quantity) -> Quantity {
        match (left, right) {
            (Quantity::Nothing, _) | (_, Quantity::Nothing) => Quantity::Nothing,
            (Quantity::Number(left), Quantity::Number(right)) => match sign {
                Arithmetic::Plus => Quantity::Number(left.saturating_add(*right)),
                Arithmetic::Minus => Quantity::Number(left.saturating_sub(*right)),
                Arithmetic::Times => Quantity::Number(left.saturating_mul(*right)),
                Arithmetic::Over => left.divide(*right).map_or(Quantity::Nothing, Quantity::Number),
            },
            _ => Quantity::Unknown,
        }
    }

    /// Compares two quantities; none if the result is unknown.
    pub(crate) fn compare(comparison: Comparison, left: &Quantity, right: &Quantity) -> Option<bool> {
        let order = match (left, right) {
            (Quantity::Nothing, _) | (_, Quantity::Nothing) => return Some(false),
            (Quantity::Unknown, _) | (_, Quantity::Unknown) => return None,
            (Quantity::Number(left), Quantity::Number(right)) => left.cmp(right),
            (Quantity::Other(left), Quantity::Other(right)) => return Some(comparison.holds(left, right)),
            // Values of different kinds are unequal and in no order.
            _ => return Some(comparison == Comparison::Unequal),
        };
        Some(match comparison {
            Comparison::Equal => order == Ordering::Equal,
            Comparison::Unequal => order != Ordering::Equal,
            Comparison::Less => order == Ordering::Less,
            Comparison::AtMost => order != Ordering::Greater,
            Comparison::Greater => order == Ordering::Greater,
            Comparison::AtLeast => order != Ordering::Less,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64) -> FixedDecimal {
        FixedDecimal::from_value(&Value::number(value).unwrap_or(Value::Bool(false))).unwrap_or_default()
    }

    #[test]
    fn fixed_decimals_add_up_exactly() {
        assert_eq!(number(0.1).saturating_add(number(0.2)), number(0.3));
        assert_eq!(number(2.5).saturating_mul(number(-4.0)), number(-10.0));
        assert_eq!(number(1.0).divide(number(8.0)), Some(number(0.125)));
        assert_eq!(number(1.0).divide(FixedDecimal::ZERO), None);
        assert_eq!(number(19_999.99).saturating_sub(number(0.99)), number(19_999.0));
    }

    #[test]
    fn fixed_decimal_overflow_saturates() {
        assert!(number(1e300) > number(1e25));
        assert!(number(1e300).saturating_add(number(-1.0)) > number(1e25));
        assert!(number(-1e300) < number(-1e25));
        assert!(number(1e20).saturating_mul(number(1e20)) > number(1e25));
    }
}
