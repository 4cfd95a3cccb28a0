//! The fields of an event line.

use lictor_logic::Time;

use crate::{Arguments, parse_log_time, time_since_1970};
use lictor_json::{Json, Number, Text};

/// A mistake in a line: its code and message.
pub(super) struct FieldError {
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// A member of a line that has a field in the event.
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a mut Json,
}

impl Field<'_> {
    pub(super) fn read_text(self, into: &mut Option<Text>) -> Result<(), FieldError> {
        match self.value.take() {
            Json::Null => Ok(()),
            Json::String(text) => {
                *into = Some(text);
                Ok(())
            }
            other => self.type_error("a string", &other),
        }
    }

    /// A list of strings, or one string.
    pub(super) fn read_texts(self, into: &mut Option<Vec<Text>>) -> Result<(), FieldError> {
        let texts = match self.value.take() {
            Json::Null => return Ok(()),
            Json::String(text) => vec![text],
            Json::Array(items) => {
                let mut texts = Vec::with_capacity(items.len());
                for item in items {
                    match item {
                        Json::String(text) => texts.push(text),
                        other => return self.type_error("a list of strings", &other),
                    }
                }
                texts
            }
            other => return self.type_error("a list of strings", &other),
        };
        *into = Some(texts);
        Ok(())
    }

    pub(super) fn read_integer(self, into: &mut Option<i64>) -> Result<(), FieldError> {
        match &*self.value {
            Json::Null => Ok(()),
            Json::Number(Number::Integer(value)) => {
                *into = Some(*value);
                Ok(())
            }
            other => self.type_error("a whole number of 64 bits", other),
        }
    }

    pub(super) fn read_bool(self, into: &mut bool) -> Result<(), FieldError> {
        match &*self.value {
            Json::Null => Ok(()),
            Json::Bool(value) => {
                *into = *value;
                Ok(())
            }
            other => self.type_error("true or false", other),
        }
    }

    pub(super) fn read_time(self, into: &mut Option<Time>) -> Result<(), FieldError> {
        *into = match &*self.value {
            Json::Null => return Ok(()),
            Json::String(text) => parse_log_time(text),
            Json::Number(number) => time_since_1970(number),
            _ => None,
        };
        if into.is_some() {
            return Ok(());
        }
        self.type_error("a time with its offset, such as \"2026-05-01T10:00:03Z\", or a number since 1970", self.value)
    }

    pub(super) fn read_arguments(self, into: &mut Option<Arguments>) -> Result<(), FieldError> {
        match self.value.take() {
            Json::Null => Ok(()),
            // An event is written so if its arguments were not recorded.
            Json::String(text) if text.trim().is_empty() => {
                *into = Some(Arguments::Unparsed(Text::default()));
                Ok(())
            }
            value @ (Json::Object(_) | Json::String(_)) => {
                *into = Some(Arguments::from_json(value));
                Ok(())
            }
            other => self.type_error("an object, or a string that holds one", &other),
        }
    }

    pub(super) fn check_version(self, known: i64) -> Result<(), FieldError> {
        match &*self.value {
            Json::Null => Ok(()),
            Json::Number(Number::Integer(version)) if *version == known => Ok(()),
            Json::Number(Number::Integer(version)) if *version > known => Err(FieldError {
                code: "native.version",
                message: format!(
                    "the event has version {version}, but this Lictor reads version {known}; use a newer Lictor"
                ),
            }),
            other => self.type_error(&format!("the version, which is {known}"), other),
        }
    }

    fn type_error(&self, expected: &str, found: &Json) -> Result<(), FieldError> {
        let message = format!("`{}` must be {expected}, found {}", self.name, describe_value(found));
        Err(FieldError { code: "native.field", message })
    }
}

/// Describes a value for a message.
pub(super) fn describe_value(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => format!("the number {number}"),
        Json::String(text) => {
            let start: String = text.chars().take(40).collect();
            format!("the string {start:?}{}", if start.len() < text.len() { " and so on" } else { "" })
        }
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    }
}
