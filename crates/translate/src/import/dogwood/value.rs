//! The values of logs and requests, and how facts of ours carry them.

use std::collections::BTreeMap;
use std::fmt::Write;

use lictor_logic::Value as Carried;

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

/// What stands in the place of a value that a request does not have. It is equal to no value of an event.
pub(super) const ABSENT: &str = "@absent";

impl Value {
    /// The value in a fact: two are equal exactly if Dogwood takes them for equal. A number is a number, a text a text.
    /// What we have no kind of value for is a text behind an `@`, and a text that begins with one gets a second.
    pub(super) fn carried(&self) -> Carried {
        match self {
            Value::Bool(value) => Carried::Bool(*value),
            Value::Long(value) => Carried::Integer(*value),
            Value::Text(text) if text.starts_with('@') => Carried::text(format!("@{text}")),
            Value::Text(text) => Carried::text(text.as_str()),
            other => Carried::text(format!("@{}", other.framed())),
        }
    }

    /// The value at the end of a path of names.
    pub(super) fn at<'v>(record: &'v Record, path: &[String]) -> Option<&'v Value> {
        let (first, rest) = path.split_first()?;
        let found = record.get(first)?;
        match (rest.is_empty(), found) {
            (true, found) => Some(found),
            (false, Value::Record(inner)) => Value::at(inner, rest),
            (false, _) => None,
        }
    }

    /// A spelling that no other value has.
    fn framed(&self) -> String {
        match self {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Long(value) => format!("long {value}"),
            Value::Decimal(text) => match decimal(text) {
                Some(scaled) => spelt(scaled),
                // What Cedar does not take for a decimal is equal to itself only.
                None => format!("decimal {text:?}"),
            },
            Value::Text(text) => format!("{text:?}"),
            Value::Entity(entity) => format!("{}::{:?}", entity.kind, entity.id),
            Value::List(list) => {
                format!("[{}]", list.iter().map(Value::framed).collect::<Vec<_>>().join(","))
            }
            Value::Record(members) => {
                let mut text = String::from("{");
                for (name, value) in members {
                    let _ = write!(text, "{name:?}:{},", value.framed());
                }
                text + "}"
            }
        }
    }
}

/// The value of a decimal in ten thousandths, as Cedar has it; none if Cedar would not take it for one.
pub(super) fn decimal(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.')?;
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(digits) || !plain(fraction) || fraction.len() > 4 {
        return None;
    }
    // Padded to four digits, the digits of both sides are the value.
    format!("{whole}{fraction:0<4}").parse().ok()
}

/// A decimal from its ten thousandths, as short as it can be written.
fn spelt(scaled: i64) -> String {
    let (sign, size) = (if scaled < 0 { "-" } else { "" }, scaled.unsigned_abs());
    let fraction = format!("{:04}", size % 10_000);
    let fraction = fraction.trim_end_matches('0');
    format!("{sign}{}.{}", size / 10_000, if fraction.is_empty() { "0" } else { fraction })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_equal_as_cedar_says() {
        assert_eq!(decimal("1.5"), decimal("01.50"));
        assert_eq!(decimal("-0.5"), Some(-5000));
        assert_eq!(decimal("-0.0"), decimal("0.0"));
        for text in ["1", "1.", ".5", "1.23456", "1e3", "922337203685477.5808"] {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(decimal("-922337203685477.5808"), Some(i64::MIN));
        assert_eq!(Value::Decimal("-1.250".into()).carried(), Carried::text("@-1.25"));
    }

    #[test]
    fn no_two_kinds_of_values_are_carried_alike() {
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
            assert_ne!(value.carried(), Carried::text(ABSENT));
            for other in &values[..place] {
                assert_ne!(value.carried(), other.carried(), "{value:?} {other:?}");
            }
        }
    }
}
