//! Values of facts, from what a log holds.

use lictor_logic::Value;
use rustc_hash::FxHashMap;

use super::person::person;
use lictor_json::{Json, Number, Text};

/// How many texts are cached as values; a log may contain any number.
const MAX_CACHED_TEXTS: usize = 50_000;

/// The cached texts with their values.
#[derive(Debug, Default)]
pub(super) struct Values {
    texts: FxHashMap<Text, Value>,
    /// Persons by their identifiers as logs write them.
    persons: FxHashMap<Text, Value>,
}

impl Values {
    /// Returns a text as a value.
    pub(super) fn get(&mut self, text: &str) -> Value {
        find_or_insert(&mut self.texts, text, || Value::text(text))
    }

    /// Returns a person as a value, in the form in which persons are compared. To find that form takes a search for
    /// mailboxes and numbers, and a session mostly names the same few persons.
    pub(super) fn person(&mut self, identifier: &str) -> Value {
        let Values { texts, persons } = self;
        find_or_insert(persons, identifier, || {
            let person = person(identifier);
            find_or_insert(texts, &person, || Value::text(&*person))
        })
    }
}

fn find_or_insert(cache: &mut FxHashMap<Text, Value>, text: &str, make: impl FnOnce() -> Value) -> Value {
    if let Some(value) = cache.get(text) {
        return value.clone();
    }
    if cache.len() >= MAX_CACHED_TEXTS {
        cache.clear();
    }
    let value = make();
    cache.insert(text.into(), value.clone());
    value
}

/// Calls a function for each scalar in a value, with its path. Elements of a list have the path of the list.
pub(super) fn each_scalar(value: &Json, path: &mut String, each: &mut dyn FnMut(&str, &Json)) {
    match value {
        Json::Object(object) => {
            for (key, value) in object.iter() {
                let length = path.len();
                if length > 0 {
                    path.push('.');
                }
                path.push_str(key);
                each_scalar(value, path, each);
                path.truncate(length);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| each_scalar(item, path, each)),
        Json::Null => {}
        scalar => each(path, scalar),
    }
}

/// A scalar as the value of a fact.
pub(super) fn value_of(value: &Json) -> Option<Value> {
    match value {
        Json::String(text) => Some(Value::text(text.as_str())),
        Json::Bool(value) => Some(Value::Bool(*value)),
        Json::Number(Number::Integer(value)) => Some(Value::Integer(*value)),
        Json::Number(Number::Float(value)) => Value::number(*value),
        Json::Number(Number::Long(decimal)) => Value::number(decimal.nearest()),
        // The engine has no exact number for it; as a text it is still equal only to itself.
        Json::Number(wide) => Some(Value::text(wide.to_string())),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Returns a scalar as a speaker would write it.
pub(super) fn plain_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.to_string(),
        other => other.to_string(),
    }
}
