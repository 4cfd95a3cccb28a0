//! What labelers answered about the events of an audit: read from a file, or asked while it runs.
//!
//! The first pass asks; the replay for witnesses reads the same answers again, so that both judge the same events, and
//! no labeler is asked twice.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use lictor_event::labeler::{Labelers, Question};
use lictor_event::{Answer, Event};
use lictor_json::{Json, Object, Text};

/// The answers of labelers about events, and the labelers that are asked for those that are missing.
#[derive(Debug, Default)]
pub struct AnswerBook {
    labelers: Labelers,
    known: Mutex<HashMap<EventKey, Vec<Answer>>>,
    /// The events that labelers were asked about, in no order.
    asked: Mutex<Vec<EventKey>>,
}

/// An event by the file in which its session begins, the name of the session, and its step there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct EventKey {
    pub(crate) file: Arc<str>,
    pub(crate) session: Text,
    pub(crate) step: u32,
}

impl AnswerBook {
    /// Returns a book without answers. Labelers are asked for what it does not know.
    pub fn new(labelers: Labelers) -> AnswerBook {
        AnswerBook { labelers, ..AnswerBook::default() }
    }

    /// Adds answers as [`write_asked`](AnswerBook::write_asked) writes them, an event on each line.
    ///
    /// # Errors
    ///
    /// A line is no such event. The last line may be torn, as a process that was killed leaves it.
    pub fn read(&mut self, text: &str) -> Result<(), AnswersError> {
        let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
        let is_torn = !text.is_empty() && !text.ends_with('\n');
        let lines: Vec<&str> = text.lines().collect();
        for (place, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match read_line(line) {
                Ok((key, answers)) => {
                    known.insert(key, answers);
                }
                Err(_) if is_torn && place + 1 == lines.len() => {}
                Err(message) => return Err(AnswersError { line: place + 1, message }),
            }
        }
        Ok(())
    }

    /// Returns the answers that labelers gave since the book was made, an event on each line, in the order of files,
    /// sessions and steps.
    pub fn write_asked(&self) -> String {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        asked.sort_unstable();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = asked.iter().filter_map(|key| Some(write_line(key, known.get(key)?)));
        lines.collect()
    }

    /// Returns all answers that it knows.
    pub fn answers(&self) -> Vec<Answer> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).values().flatten().cloned().collect()
    }

    /// How many events labelers were asked about.
    pub fn asked_events(&self) -> usize {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the event with the answers that are known of it.
    pub(crate) fn add_known<'e>(&self, key: &EventKey, event: &'e Event) -> Cow<'e, Event> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = known.get(key).map(Vec::as_slice).unwrap_or_default();
        if event.answers.is_empty() && answers.is_empty() {
            return Cow::Borrowed(event);
        }
        let mut event = event.clone();
        self.labelers.complete(&mut event);
        event.answers.extend(answers.iter().cloned());
        Cow::Owned(event)
    }

    /// Asks labelers about an event, and returns it with their answers.
    pub(crate) fn ask<'e>(
        &self,
        key: EventKey,
        event: Cow<'e, Event>,
        before: &[Event],
        questions: &[Question],
    ) -> Cow<'e, Event> {
        let questions: Vec<Question> = questions.iter().filter(|it| self.labelers.has(&it.by)).cloned().collect();
        if questions.is_empty() {
            return event;
        }
        let mut event = event.into_owned();
        let given = event.answers.len();
        self.labelers.answer("", &mut event, before, &questions);
        let answers = &event.answers[given..];
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key.clone()).or_default().extend(answers.iter().cloned());
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(key);
        Cow::Owned(event)
    }
}

fn read_line(line: &str) -> Result<(EventKey, Vec<Answer>), String> {
    let value = lictor_json::parse_str(line).map_err(|error| error.to_string())?;
    let text = |key: &str| value.text(key).ok_or_else(|| format!("`{key}` must be a string"));
    let step = value.get("step").and_then(Json::as_i64).and_then(|step| u32::try_from(step).ok());
    let step = step.ok_or("`step` must be the number of the event in its session, from 1")?;
    let answers = value.get("answers").and_then(Json::as_array).ok_or("`answers` must be a list")?;
    let answers = answers.iter().map(Answer::from_json).collect::<Result<_, String>>()?;
    Ok((EventKey { file: text("file")?.into(), session: text("session")?.into(), step }, answers))
}

fn write_line(key: &EventKey, answers: &[Answer]) -> String {
    let mut object = Object::new();
    object.insert("file", &*key.file);
    object.insert("session", key.session.clone());
    object.insert("step", i64::from(key.step));
    object.insert("answers", Json::Array(answers.iter().map(Answer::to_json).collect()));
    format!("{}\n", Json::from(object))
}

/// Why a file is no list of answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswersError {
    line: usize,
    message: String,
}

impl fmt::Display for AnswersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is no event with answers: {}", self.line, self.message)
    }
}

impl std::error::Error for AnswersError {}
