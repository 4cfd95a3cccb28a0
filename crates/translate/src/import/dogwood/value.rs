//! The values of logs and requests, and their values in facts.

use std::collections::BTreeMap;
use std::fmt::Write;

use lictor_logic::Value as FactValue;

use super::syntax::Entity;

/// A record: values by their names.
pub(super) type Record = BTreeMap<String, Value>;

/// A value as a log has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Long(i64),
    /// As it was written.
    Decimal(String),
    Text(String),
    Entity(Entity),
    List(Vec<Value>),
    Record(Record),
}

/// The placeholder for a value that a request lacks. It is equal to no value of an event.
pub(super) const ABSENT: &str = "@absent";

impl Value {
    /// Returns the value in a fact: two are equal exactly if Dogwood takes them for equal. A number is a number, a text
    /// a text. Any other value is a text after an `@`, and a text that begins with one gets a second.
    pub(super) fn to_fact_value(&self) -> FactValue {
        match self {
            Value::Bool(value) => FactValue::Bool(*value),
            Value::Long(value) => FactValue::Integer(*value),
            Value::Text(text) if text.starts_with('@') => FactValue::text(format!("@{text}")),
            Value::Text(text) => FactValue::text(text.as_str()),
            other => FactValue::text(format!("@{}", other.write_unique())),
        }
    }

    /// Returns the value at a path of names.
    pub(super) fn find_path<'v>(record: &'v Record, path: &[String]) -> Option<&'v Value> {
        let (first, rest) = path.split_first()?;
        let found = record.get(first)?;
        match (rest.is_empty(), found) {
            (true, found) => Some(found),
            (false, Value::Record(inner)) => Value::find_path(inner, rest),
            (false, _) => None,
        }
    }

    /// Returns a spelling that no other value has.
    fn write_unique(&self) -> String {
        match self {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Long(value) => format!("long {value}"),
            Value::Decimal(text) => match parse_decimal(text) {
                Some(scaled) => write_decimal(scaled),
                // A text that is no decimal of Cedar is equal to itself only.
                None => format!("decimal {text:?}"),
            },
            Value::Text(text) => format!("{text:?}"),
            Value::Entity(entity) => format!("{}::{:?}", entity.kind, entity.id),
            Value::List(list) => {
                format!("[{}]", list.iter().map(Value::write_unique).collect::<Vec<_>>().join(","))
            }
            Value::Record(members) => {
                let mut text = String::from("{");
                for (name, value) in members {
                    let _ = write!(text, "{name:?}:{},", value.write_unique());
                }
                text + "}"
            }
        }
    }
}

/// Returns a decimal in ten thousandths, as Cedar has it; none if Cedar would refuse it.
pub(super) fn parse_decimal(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.')?;
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(digits) || !plain(fraction) || fraction.len() > 4 {
        return None;
    }
    // Padded to four digits, the digits of both sides are the value.
    format!("{whole}{fraction:0<4}").parse().ok()
}

/// Writes a decimal from its ten thousandths, as short as possible.
fn write_decimal(scaled: i64) -> String {
    let (sign, size) = (if scaled < 0 { "-" } else { "" }, scaled.unsigned_abs());
    let fraction = format!("{:04}", size % 10_000);
    let fraction = fraction.trim_end_matches('0');
    format!("{sign}{}.{}", size / 10_000, if fraction.is_empty() { "0" } else { fraction })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dogwood_decimals_are_equal_as_in_cedar() {
        assert_eq!(parse_decimal("1.5"), parse_decimal("01.50"));
        assert_eq!(parse_decimal("-0.5"), Some(-5000));
        assert_eq!(parse_decimal("-0.0"), parse_decimal("0.0"));
        for text in ["1", "1.", ".5", "1.23456", "1e3", "922337203685477.5808"] {
            assert_eq!(parse_decimal(text), None, "{text}");
        }
        assert_eq!(parse_decimal("-922337203685477.5808"), Some(i64::MIN));
        assert_eq!(Value::Decimal("-1.250".into()).to_fact_value(), FactValue::text("@-1.25"));
    }

    #[test]
    fn dogwood_values_have_distinct_fact_values() {
        let entity = Entity { kind: "A::B".to_owned(), id: "x".to_owned() };
        let values = [
            Value::Null,
            Value::Text("null".into()),
            Value::Text("@null".into()),
            Value::Text(ABSENT.into()),
            Value::Entity(entity.clone()),
            Value::Text("A::B::\"x\"".into()),
            Value::Text("@A::B::\"x\"".into()),
            Value::Decimal("1.0".into()),
            Value::Long(1),
            Value::Text("1".into()),
            Value::List(vec![Value::Long(1)]),
            Value::List(vec![Value::Text("long 1".into())]),
            Value::Bool(true),
            Value::Text("true".into()),
        ];
        for (place, value) in values.iter().enumerate() {
            assert_ne!(value.to_fact_value(), FactValue::text(ABSENT));
            for other in &values[..place] {
                assert_ne!(value.to_fact_value(), other.to_fact_value(), "{value:?} {other:?}");
            }
        }
    }
}
