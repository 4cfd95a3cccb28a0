//! Values of expressions.
//!
//! Values borrow from the event and the policy wherever they can: comparing an argument copies nothing.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use lictor_logic::Time;

use lictor_event::write_time;
use lictor_json::{Json, Number, Object, Text};

/// A value of an expression.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Debug)]
pub enum CelValue<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number; whole numbers and floats compare by value.
    Number(Number),
    /// A text.
    Text(Cow<'a, str>),
    /// A list.
    List(List<'a>),
    /// A map from texts to values.
    Map(Map<'a>),
    /// A moment.
    Time(Time),
    /// A length of time in nanoseconds; below zero it goes back.
    Duration(i64),
}

/// A list, wherever it lives.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// An array of an event or a table.
    Json(&'a [Json]),
    /// Names that an event carries.
    Texts(&'a [Text]),
    /// A list that an expression made.
    Made(Arc<[CelValue<'a>]>),
}

/// A map, wherever it lives.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// An object of an event or a table.
    Json(&'a Object),
    /// A map that an expression made, without duplicate keys.
    Made(Arc<[(Cow<'a, str>, CelValue<'a>)]>),
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    Null,
    Bool,
    Number,
    Text,
    List,
    Map,
    Time,
    Duration,
}

impl<'a> CelValue<'a> {
    pub(super) fn value_type(&self) -> ValueType {
        match self {
            CelValue::Null => ValueType::Null,
            CelValue::Bool(_) => ValueType::Bool,
            CelValue::Number(_) => ValueType::Number,
            CelValue::Text(_) => ValueType::Text,
            CelValue::List(_) => ValueType::List,
            CelValue::Map(_) => ValueType::Map,
            CelValue::Time(_) => ValueType::Time,
            CelValue::Duration(_) => ValueType::Duration,
        }
    }

    /// Returns a borrowed text.
    pub(super) fn borrowed_text(text: &'a str) -> CelValue<'a> {
        CelValue::Text(Cow::Borrowed(text))
    }

    /// Returns an owned text.
    pub(super) fn owned_text(text: String) -> CelValue<'a> {
        CelValue::Text(Cow::Owned(text))
    }

    pub(super) fn integer(number: i64) -> CelValue<'a> {
        CelValue::Number(Number::Integer(number))
    }

    /// Returns the elements of a list; none for anything else.
    pub fn elements(&self) -> Option<impl Iterator<Item = CelValue<'a>> + use<'a>> {
        let CelValue::List(list) = self else { return None };
        let list = list.clone();
        Some((0..list.len()).filter_map(move |place| list.get(place)))
    }

    /// Returns it as a value of a fact. Times are texts in RFC 3339, durations are seconds; `null`, lists and maps
    /// are no values of facts.
    pub fn to_fact_value(&self) -> Option<lictor_logic::Value> {
        match self {
            CelValue::Bool(value) => Some(lictor_logic::Value::Bool(*value)),
            CelValue::Number(Number::Integer(value)) => Some(lictor_logic::Value::Integer(*value)),
            CelValue::Number(number) => lictor_logic::Value::number(number.as_f64()),
            CelValue::Text(text) => Some(lictor_logic::Value::text(&**text)),
            CelValue::Time(time) => Some(lictor_logic::Value::text(write_time(*time))),
            CelValue::Duration(nanoseconds) => lictor_logic::Value::number(*nanoseconds as f64 / 1e9),
            CelValue::Null | CelValue::List(_) | CelValue::Map(_) => None,
        }
    }
}

impl<'a> From<&'a Json> for CelValue<'a> {
    fn from(json: &'a Json) -> CelValue<'a> {
        match json {
            Json::Null => CelValue::Null,
            Json::Bool(value) => CelValue::Bool(*value),
            // Expressions compute with the numbers that most tools read.
            Json::Number(number) => CelValue::Number(number.to_nearest()),
            Json::String(text) => CelValue::borrowed_text(text),
            Json::Array(items) => CelValue::List(List::Json(items)),
            Json::Object(object) => CelValue::Map(Map::Json(object)),
        }
    }
}

impl<'a> List<'a> {
    /// Returns how many elements it has.
    pub fn len(&self) -> usize {
        match self {
            List::Json(items) => items.len(),
            List::Texts(texts) => texts.len(),
            List::Made(values) => values.len(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the element at a position, from zero.
    pub fn get(&self, place: usize) -> Option<CelValue<'a>> {
        match self {
            List::Json(items) => items.get(place).map(CelValue::from),
            List::Texts(texts) => texts.get(place).map(|text| CelValue::borrowed_text(text)),
            List::Made(values) => values.get(place).cloned(),
        }
    }
}

impl<'a> Map<'a> {
    /// Returns how many members it has.
    pub fn len(&self) -> usize {
        match self {
            Map::Json(object) => object.len(),
            Map::Made(members) => members.len(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<CelValue<'a>> {
        match self {
            Map::Json(object) => object.get(key).map(CelValue::from),
            Map::Made(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone()),
        }
    }

    /// Returns the members in their order.
    pub(super) fn members(&self) -> Vec<(Cow<'a, str>, CelValue<'a>)> {
        match self {
            Map::Json(object) => {
                object.iter().map(|(key, value)| (Cow::Borrowed(key.as_str()), CelValue::from(value))).collect()
            }
            Map::Made(members) => members.to_vec(),
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ValueType::Null => "null",
            ValueType::Bool => "a truth value",
            ValueType::Number => "a number",
            ValueType::Text => "a text",
            ValueType::List => "a list",
            ValueType::Map => "a map",
            ValueType::Time => "a time",
            ValueType::Duration => "a duration",
        })
    }
}
