//! Strict JSON for logs of agents: a text that two readers could understand differently is refused.
//!
//! A log is evidence, and its writer may be an attacker. So a duplicate key in one object is an error (readers differ
//! in which one they use), and so are a lone surrogate, a raw control character, nesting deeper than [`MAX_DEPTH`] and
//! a second value after the first. Whole numbers are exact, and a decimal that no float holds keeps its text. The parser does not recurse.
//!
//! [`edit_text`] changes values within a JSON text and leaves every other byte as it was. [`SseFramer`] cuts server-sent
//! events out of a stream of bytes, for every crate that reads them.

mod cursor;
mod decimal;
mod edit;
mod error;
mod member_reader;
mod number;
mod reader;
mod scan;
mod slots;
mod sse;
mod string;
mod write;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

pub use compact_str::CompactString as Text;
pub use decimal::LongDecimal;
pub use edit::{JsonEdit, JsonPath, JsonStep, edit_text, find_elements, find_value, join_path, remove_members};
pub use error::JsonError;
pub use member_reader::MemberReader;
pub use reader::{MAX_DEPTH, MAX_VALUES, parse, parse_str, read_utf8};
pub use sse::{SseField, SseFrame, SseFramer, write_sse_event};

/// A JSON value.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(Text),
    /// A list of values.
    Array(Vec<Json>),
    /// Keys with their values.
    Object(Object),
}

/// A JSON number. Whole numbers stay whole.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// A whole number that fits 64 bits.
    Integer(i64),
    /// A whole number beyond 64 bits, as two halves so that a value stays small: high, then low.
    Wide(i64, u64),
    /// A number that is the nearest float of its text, and that this float is written as.
    Float(f64),
    /// A decimal with more digits than its nearest float has, such as `0.10000000000000001`.
    Long(Box<LongDecimal>),
}

/// The members of a JSON object, in the order in which they were written. INVARIANT: no duplicate keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(Vec<(Text, Json)>);

impl Json {
    /// Returns the string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the whole number, if it is one that fits 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Json::Number(Number::Integer(value)) => Some(*value),
            _ => None,
        }
    }

    /// Returns the object, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Json::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    /// Returns a member of an object; none for any other value.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_object()?.get(key)
    }

    /// Returns the string under a key of an object.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// Returns the value at a dotted path: keys of objects and positions in arrays.
    pub fn at(&self, path: &str) -> Option<&Json> {
        let mut value = self;
        for step in path.split('.') {
            value = match value {
                Json::Object(object) => object.get(step)?,
                Json::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(value)
    }

    /// Takes the value out and leaves `null`.
    pub fn take(&mut self) -> Json {
        std::mem::replace(self, Json::Null)
    }
}

impl Object {
    /// Returns an object without members.
    pub fn new() -> Object {
        Object::default()
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let place = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(place).1)
    }

    /// Sets the value of a key.
    pub fn insert(&mut self, key: impl Into<Text>, value: impl Into<Json>) {
        let (key, value) = (key.into(), value.into());
        match self.0.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key, value)),
        }
    }

    /// Returns the members in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Json)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an object of members whose keys differ.
    pub fn from_members(members: Vec<(Text, Json)>) -> Object {
        Object(members)
    }

    /// Returns the members by value.
    pub fn into_members(self) -> Vec<(Text, Json)> {
        self.0
    }
}

/// Up to this many members are searched for a duplicate key; more are hashed.
const MAX_SEARCHED_MEMBERS: usize = 16;

impl FromIterator<(Text, Json)> for Object {
    /// Of duplicate keys the later value wins.
    fn from_iter<I: IntoIterator<Item = (Text, Json)>>(members: I) -> Object {
        let mut members = members.into_iter();
        let mut object = Object::new();
        for (key, value) in members.by_ref().take(MAX_SEARCHED_MEMBERS) {
            object.insert(key, value);
        }
        let Some(next) = members.next() else { return object };
        let mut places: HashMap<Text, usize> =
            object.0.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect();
        for (key, value) in std::iter::once(next).chain(members) {
            match places.entry(key) {
                Entry::Occupied(known) => object.0[*known.get()].1 = value,
                Entry::Vacant(new) => {
                    object.0.push((new.key().clone(), value));
                    new.insert(object.0.len() - 1);
                }
            }
        }
        object
    }
}

impl<const N: usize> From<[(&str, Json); N]> for Object {
    /// Of duplicate keys the later value wins.
    fn from(members: [(&str, Json); N]) -> Object {
        members.into_iter().map(|(key, value)| (Text::new(key), value)).collect()
    }
}

impl Number {
    /// Returns a whole number of up to 128 bits.
    pub fn whole(value: i128) -> Number {
        match i64::try_from(value) {
            Ok(value) => Number::Integer(value),
            Err(_) => Number::Wide((value >> 64) as i64, value as u64),
        }
    }

    /// Returns the number as a float; large whole numbers and long decimals lose their last digits.
    pub fn as_f64(&self) -> f64 {
        match self {
            Number::Integer(value) => *value as f64,
            Number::Wide(high, low) => join_halves(*high, *low) as f64,
            Number::Float(value) => *value,
            Number::Long(decimal) => decimal.nearest(),
        }
    }

    /// Returns the number as most readers of JSON read it: a long decimal becomes its nearest float.
    pub fn to_nearest(&self) -> Number {
        match self {
            Number::Long(decimal) => Number::Float(decimal.nearest()),
            number => number.clone(),
        }
    }

    /// Returns the number as an exact decimal, in one form: two numbers are equal if and only if their forms are, so `1` and
    /// `1.0` have the same, `0.1` and `0.10000000000000001` do not.
    pub fn to_decimal(&self) -> Text {
        match self {
            Number::Long(decimal) => decimal::normalize(decimal.as_str()),
            number => decimal::normalize(&number.to_string()),
        }
    }
}

fn join_halves(high: i64, low: u64) -> i128 {
    (i128::from(high) << 64) | i128::from(low)
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(value) => write!(f, "{value}"),
            Number::Wide(high, low) => write!(f, "{}", join_halves(*high, *low)),
            // As JSON writers do: a whole float keeps its point. One that is not finite came from no JSON.
            Number::Float(value) if value.is_finite() => f.write_str(&decimal::write_float(*value)),
            Number::Float(value) => write!(f, "{value:?}"),
            Number::Long(decimal) => f.write_str(decimal.as_str()),
        }
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Json {
        Json::String(value.into())
    }
}

impl From<Text> for Json {
    fn from(value: Text) -> Json {
        Json::String(value)
    }
}

impl From<String> for Json {
    fn from(value: String) -> Json {
        Json::String(value.into())
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Json {
        Json::Number(Number::Integer(value))
    }
}

impl From<Object> for Json {
    fn from(value: Object) -> Json {
        Json::Object(value)
    }
}

impl<const N: usize> From<[(&str, Json); N]> for Json {
    fn from(members: [(&str, Json); N]) -> Json {
        Json::Object(members.into())
    }
}

impl From<Vec<Json>> for Json {
    fn from(value: Vec<Json>) -> Json {
        Json::Array(value)
    }
}

/// Writes compact JSON text.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write::write_json(self, f)
    }
}

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
