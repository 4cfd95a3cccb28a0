//! What an expression may look at.

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
}

/// What an expression may look at: an event, and what is known beside it.
#[derive(Clone, Debug)]
pub struct EvaluationScope<'a> {
    /// The event.
    pub event: &'a Event,
    /// The call that the event answers.
    pub call: Option<&'a AnsweredCall>,
    /// The element that `it` stands for.
    pub it: Option<CelValue<'a>>,
    /// The purposes of the event; its own, unless they were computed.
    pub purposes: Option<&'a [Text]>,
    /// The categories of personal data in the event; its own, unless they were computed.
    pub categories: Option<&'a [Text]>,
    /// The persons that the event is about; its own, unless they were computed.
    pub subjects: Option<&'a [Text]>,
    answer: OnceCell<Option<Json>>,
    words: OnceCell<Text>,
    outer: Option<&'a EvaluationScope<'a>>,
}

impl<'a> EvaluationScope<'a> {
    /// The scope of an event by itself.
    pub fn new(event: &'a Event) -> EvaluationScope<'a> {
        EvaluationScope {
            event,
            call: None,
            it: None,
            purposes: event.purposes.as_deref(),
            categories: event.categories.as_deref(),
            subjects: event.subjects.as_deref(),
            answer: OnceCell::new(),
            words: OnceCell::new(),
            outer: None,
        }
    }

    /// The same scope with an element as `it`.
    pub fn element<'s>(&'s self, it: CelValue<'s>) -> EvaluationScope<'s> {
        EvaluationScope {
            event: self.event,
            call: self.call,
            it: Some(it),
            purposes: self.purposes,
            categories: self.categories,
            subjects: self.subjects,
            answer: OnceCell::new(),
            words: OnceCell::new(),
            outer: Some(self),
        }
    }

    /// What the event says, for whoever reads it: its text, and behind it all texts in a result that is a value. Who writes
    /// a result chooses where in it a text stands.
    pub(super) fn words(&self) -> Option<&str> {
        if let Some(outer) = self.outer {
            return outer.words();
        }
        let Some(result) = &self.event.result else { return self.event.text.as_deref() };
        Some(self.words.get_or_init(|| {
            let mut words = self.event.text.clone().unwrap_or_default();
            add_words(result, &mut words);
            words
        }))
    }

    /// The answer of a tool: as a value, as its text parsed as JSON, or as its text.
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
            None => Some(CelValue::text(text)),
        }
    }
}

/// Adds all texts of a value, each in lines of its own. A key is one if no program would call a member so.
fn add_words(value: &Json, words: &mut Text) {
    let add = |text: &str, words: &mut Text| {
        if !words.is_empty() {
            words.push('\n');
        }
        words.push_str(text);
    };
    match value {
        Json::String(text) => add(text, words),
        Json::Array(items) => items.iter().for_each(|item| add_words(item, words)),
        Json::Object(object) => {
            for (key, value) in object.iter() {
                if key.contains(char::is_whitespace) {
                    add(key, words);
                }
                add_words(value, words);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
