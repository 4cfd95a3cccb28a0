//! The scope of an expression: the event and what is known about it.

use std::cell::OnceCell;

use super::value::CelValue;
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Text, parse_str};

/// The call that a result answers.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweredCall {
    /// The tool that was called.
    pub tool: Text,
    /// The arguments.
    pub args: Option<Arguments>,
    /// Whether the arguments are one text; see [`Event::has_free_text`].
    pub has_free_text: bool,
}

/// The scope of an expression: an event, and what is known about it.
#[derive(Clone, Debug)]
pub struct EvaluationScope<'a> {
    /// The event.
    pub event: &'a Event,
    /// The call that the event answers.
    pub call: Option<&'a AnsweredCall>,
    /// The element that `it` names.
    pub it: Option<CelValue<'a>>,
    /// The purposes of the event; its own, unless they were computed.
    pub purposes: Option<&'a [Text]>,
    /// The categories of personal data in the event; its own, unless they were computed.
    pub categories: Option<&'a [Text]>,
    /// The persons that the event is about; its own, unless they were computed.
    pub subjects: Option<&'a [Text]>,
    /// Whether only the tool and some arguments of a call are known: everything else about the event is unknown.
    pub is_sketch: bool,
    answer: OnceCell<Option<Json>>,
    words: OnceCell<Text>,
    outer: Option<&'a EvaluationScope<'a>>,
}

impl<'a> EvaluationScope<'a> {
    /// Returns the scope of an event by itself.
    pub fn new(event: &'a Event) -> EvaluationScope<'a> {
        EvaluationScope {
            event,
            call: None,
            it: None,
            purposes: event.purposes.as_deref(),
            categories: event.categories.as_deref(),
            subjects: event.subjects.as_deref(),
            is_sketch: false,
            answer: OnceCell::new(),
            words: OnceCell::new(),
            outer: None,
        }
    }

    /// Returns this scope with an element as `it`.
    pub fn with_element<'s>(&'s self, it: CelValue<'s>) -> EvaluationScope<'s> {
        EvaluationScope {
            event: self.event,
            call: self.call,
            it: Some(it),
            purposes: self.purposes,
            categories: self.categories,
            subjects: self.subjects,
            is_sketch: self.is_sketch,
            answer: OnceCell::new(),
            words: OnceCell::new(),
            outer: Some(self),
        }
    }

    /// Returns all text of the event: its text, then all texts in a result that is a value, since the author of a
    /// result chooses where in it to put a text.
    pub(super) fn full_text(&self) -> Option<&str> {
        if let Some(outer) = self.outer {
            return outer.full_text();
        }
        let Some(result) = &self.event.result else { return self.event.text.as_deref() };
        Some(self.words.get_or_init(|| {
            let mut words = self.event.text.clone().unwrap_or_default();
            append_texts(result, &mut words);
            words
        }))
    }

    /// Returns the answer of a tool: as a value, as its text parsed as JSON, or as its text.
    pub(super) fn result(&self) -> Option<CelValue<'_>> {
        if let Some(outer) = self.outer {
            return outer.result();
        }
        if let Some(result) = &self.event.result {
            return Some(CelValue::from(result));
        }
        let text = self.event.text.as_ref().filter(|_| self.event.kind == Kind::ToolResult)?;
        match self.answer.get_or_init(|| parse_str(text).ok()) {
            Some(parsed) => Some(CelValue::from(parsed)),
            None => Some(CelValue::borrowed_text(text)),
        }
    }
}

/// Adds all texts of a value, each in lines of its own. A key is one if no program would call a member so.
fn append_texts(value: &Json, words: &mut Text) {
    let add = |text: &str, words: &mut Text| {
        if !words.is_empty() {
            words.push('\n');
        }
        words.push_str(text);
    };
    match value {
        Json::String(text) => add(text, words),
        Json::Array(items) => items.iter().for_each(|item| append_texts(item, words)),
        Json::Object(object) => {
            for (key, value) in object.iter() {
                if key.contains(char::is_whitespace) {
                    add(key, words);
                }
                append_texts(value, words);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
