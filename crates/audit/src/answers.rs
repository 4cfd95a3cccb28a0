//! What labelers answered about the events of an audit.
//!
//! The first pass asks; the replay for witnesses reads the same answers again, so that both judge the same events, and
//! no labeler is asked twice.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use lictor_event::labeler::{Labelers, Question};
use lictor_event::{Answer, Event};
use lictor_json::Text;

/// The answers of labelers about events, and the labelers that are asked for those that are missing.
#[derive(Debug, Default)]
pub struct AnswerBook {
    labelers: Labelers,
    known: Mutex<HashMap<EventKey, Vec<Answer>>>,
    /// The events that labelers were asked about.
    asked: Mutex<HashSet<EventKey>>,
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
        self.labelers.complete("", &mut event);
        event.answers.extend(answers.iter().cloned());
        Cow::Owned(event)
    }

    /// Whether the labeler of a question is there.
    pub(crate) fn can_ask(&self, question: &Question) -> bool {
        self.labelers.has(&question.by)
    }

    /// Asks labelers about an event, and adds their answers to it.
    pub(crate) fn ask(&self, key: EventKey, event: &mut Event, before: &[Event], questions: &[Question]) {
        let given = event.answers.len();
        self.labelers.answer("", event, before, questions);
        let answers = &event.answers[given..];
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key.clone()).or_default().extend(answers.iter().cloned());
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }
}
