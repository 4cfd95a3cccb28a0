//! The scope of an expression: the event and what is known about it.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::value::CelValue;
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Text, parse_str};
use lictor_recognise::{TextCollector, TextReadings};

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
    /// The readings of the event's texts; none if they are its text as it is.
    readings: OnceCell<Option<Text>>,
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
            readings: OnceCell::new(),
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
            readings: OnceCell::new(),
            outer: Some(self),
        }
    }

    /// Returns all text of the event: its text, then all texts in a result that is a value, since the author of a
    /// result chooses where in it to put a text.
    pub(super) fn full_text(&self) -> Option<&str> {
        if let Some(outer) = self.outer {
            return outer.full_text();
        }
        if self.event.result.is_none() {
            return self.event.text.as_deref();
        }
        let collect = || self.collect_texts(TextCollector::default()).map(Text::from).unwrap_or_default();
        Some(self.words.get_or_init(collect))
    }

    /// Returns all text of the event as a person or a model reads it, in all its [readings](TextReadings).
    pub(super) fn plain_text(&self) -> Option<&str> {
        if let Some(outer) = self.outer {
            return outer.plain_text();
        }
        let read = || {
            let texts = self.collect_texts(TextCollector::unpacking_json())?;
            match TextReadings::new(&texts).join() {
                Cow::Borrowed(_) if self.event.result.is_none() && matches!(texts, Cow::Borrowed(_)) => None,
                readings => Some(Text::from(readings)),
            }
        };
        self.readings.get_or_init(read).as_deref().or(self.event.text.as_deref())
    }

    fn collect_texts(&self, mut texts: TextCollector<'a>) -> Option<Cow<'a, str>> {
        self.event.text.iter().for_each(|text| texts.add_text(text));
        self.event.result.iter().for_each(|result| texts.add_value(result));
        texts.finish()
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
