//! The values of facts: truth values, numbers and strings, in one order.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A datum inside a fact.
///
/// Numbers are kept exactly where they are whole; `3` and `3.0` are the same value. All values have one order, in which
/// numbers are ordered by size, whole or not.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged, from = "ValueRepr")]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number that is not whole, or too large for an integer.
    Decimal(Decimal),
    /// A string.
    Text(Arc<str>),
}

/// A value as serialized data has it: `3.0` becomes a whole number.
#[derive(Deserialize)]
#[serde(untagged)]
enum ValueRepr {
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(Arc<str>),
}

impl From<ValueRepr> for Value {
    fn from(written: ValueRepr) -> Value {
        match written {
            ValueRepr::Bool(value) => Value::Bool(value),
            ValueRepr::Integer(value) => Value::Integer(value),
            ValueRepr::Number(value) => Value::number(value).unwrap_or(Value::Decimal(Decimal(value))),
            ValueRepr::Text(value) => Value::Text(value),
        }
    }
}

impl Value {
    /// Returns a number, whole if possible; `None` for NaN and the infinities.
    pub fn number(number: f64) -> Option<Value> {
        if !number.is_finite() {
            return None;
        }
        if number.fract() == 0.0 && is_in_range(number) {
            return Some(Value::Integer(number as i64));
        }
        Some(Value::Decimal(Decimal(number)))
    }

    /// Returns a string value.
    pub fn text(text: impl Into<Arc<str>>) -> Value {
        Value::Text(text.into())
    }

    /// Returns the order of two values of one kind; `None` for different kinds.
    pub fn order(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
            (Value::Decimal(a), Value::Decimal(b)) => Some(a.cmp(b)),
            (Value::Integer(a), Value::Decimal(b)) => Some(b.cmp_integer(*a).reverse()),
            (Value::Decimal(a), Value::Integer(b)) => Some(a.cmp_integer(*b)),
            _ => None,
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        let sort = |value: &Value| match value {
            Value::Bool(_) => 0,
            Value::Integer(_) => 1,
            Value::Decimal(_) => 2,
            Value::Text(_) => 3,
        };
        self.order(other).unwrap_or(Ordering::Equal).then(sort(self).cmp(&sort(other)))
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Whether the floor of a number fits an `i64`. Both limits are powers of two, so they are exact.
fn is_in_range(number: f64) -> bool {
    (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number)
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Integer(value) => write!(f, "{value}"),
            // Digits without a point or an exponent would be read as a whole number.
            Value::Decimal(value) if value.0.fract() == 0.0 => write!(f, "{:e}", value.0),
            Value::Decimal(value) => write!(f, "{:?}", value.0),
            Value::Text(value) => write_quoted(f, value, '"'),
        }
    }
}

/// Writes a string or a name so that the parser reads the same one back.
pub(crate) fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    use fmt::Write;
    f.write_char(quote)?;
    for character in text.chars() {
        match character {
            c if c == quote || c == '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char(quote)
}

/// A finite number that is not whole (or exceeds an integer's range), with a total order.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Decimal(f64);

impl Decimal {
    /// Returns the number itself.
    pub fn get(self) -> f64 {
        self.0
    }

    fn cmp_integer(self, integer: i64) -> Ordering {
        // A decimal within the integers' range has a fraction, so its floor decides; beyond the range its sign does.
        if !is_in_range(self.0) {
            return if self.0 > 0.0 { Ordering::Greater } else { Ordering::Less };
        }
        if (self.0.floor() as i64) < integer { Ordering::Less } else { Ordering::Greater }
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Decimal {}
impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}
impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}
